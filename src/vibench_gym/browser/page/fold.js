// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
//
// A selector engine that folds a big document for one snapshot. Asked for with limits it gives the
// body, and until the end of the task in which it is asked, a walk down the document in this isolated
// world meets what is on the screen, what can be used near it, their ancestors, and words in place of
// the rest. The page is not changed and cannot notice: only getters of this world are replaced, and
// only for that long. With `next`, it is the next walk from the body that is folded, for a frame that
// is walked in a task of its own. No clock decides anything: a slow machine sees what a fast one does.
(() => {
  const makeFolder = () => {
    const getter = (owner, name) => Function.prototype.call.bind(
      Object.getOwnPropertyDescriptor(owner.prototype, name).get);
    const method = (owner, name) => Function.prototype.call.bind(owner.prototype[name]);
    // Borrowed, for elements called "firstChild" shadow a form's own.
    const firstChild = getter(Node, "firstChild"), nextSibling = getter(Node, "nextSibling");
    const parentNode = getter(Node, "parentNode"), shadowOf = getter(Element, "shadowRoot");
    const firstElement = getter(Element, "firstElementChild");
    const firstInRoot = getter(DocumentFragment, "firstElementChild");
    const nextElement = getter(Element, "nextElementSibling");
    const boxOf = method(Element, "getBoundingClientRect"), matches = method(Element, "matches");
    const isRendered = method(Element, "checkVisibility"), closest = method(Element, "closest");
    const allIn = method(Element, "getElementsByTagName"), slotOf = getter(Element, "assignedSlot");
    const bodyOf = getter(Document, "body"), focusIn = getter(Document, "activeElement");
    const inRoot = getter(ShadowRoot, "activeElement");
    const meets = method(Document, "elementFromPoint");
    const make = method(Document, "createElement"), makeText = method(Document, "createTextNode");
    const range = method(Document, "createRange")(document);

    const USABLE = "a[href],button,input,select,textarea,summary,iframe,[contenteditable]," +
      "[tabindex]:not([tabindex^='-']),[onclick],[role=button],[role=link],[role=checkbox]," +
      "[role=radio],[role=switch],[role=tab],[role=menuitem],[role=option],[role=textbox]," +
      "[role=combobox],[role=searchbox],[role=slider],[role=spinbutton]";
    const ROW = "tr,li,[role=row],[role=listitem],[role=treeitem]";
    // What is named by its content stays free of words of ours.
    const NAMED = "a,button,tr,td,th,h1,h2,h3,h4,h5,h6,label,option,summary,[role]";

    // A text outside of the document, in a parent of its own, as the walk wants it.
    const words = text => {
      const node = makeText(document, text);
      make(document, "i").append(node);
      return node;
    };
    const isEmpty = box => box.width === 0 && box.height === 0;
    // Or just beside it, as what an action adds at the end of a page.
    const BESIDE = 100;
    const isOnScreen = box => !isEmpty(box) && box.bottom > -BESIDE && box.right > -BESIDE &&
      box.top < innerHeight + BESIDE && box.left < innerWidth + BESIDE;
    // As it is displayed: what is put into a slot is inside of that.
    const parentOf = node => {
      const parent = slotOf(node) ?? parentNode(node);
      if (parent instanceof ShadowRoot) return parent.host;
      return parent instanceof Element ? parent : null;
    };
    const isSeen = element => isRendered(element, {visibilityProperty: true}) ||
      getComputedStyle(element).display === "contents";

    // Every element that has a box, in the document's order; subtrees without any are left out.
    function* rendered(body) {
      const stack = [body];
      while (stack.length) {
        const element = stack.pop();
        const sibling = element === body ? null : nextElement(element);
        if (sibling) stack.push(sibling);
        let box = boxOf(element);
        if (isEmpty(box)) {
          const display = getComputedStyle(element).display;
          if (display === "none") continue;
          if (display === "contents") {
            range.selectNodeContents(element);
            box = range.getBoundingClientRect();
          }
        }
        yield [element, box];
        const child = firstElement(element), shadow = shadowOf(element);
        if (child) stack.push(child);
        if (shadow && firstInRoot(shadow)) stack.push(firstInRoot(shadow));
      }
    }

    // What a pointer would meet on the screen, with its ancestors.
    function met() {
      const found = new Set();
      for (let y = 4; y < innerHeight; y += 12) {
        for (let x = 4; x < innerWidth; x += 16) {
          let element = meets(document, x, y), inner = element;
          while (inner && shadowOf(inner)) {
            inner = shadowOf(inner).elementFromPoint(x, y);
            if (!inner || inner === element) break;
            element = inner;
          }
          for (; element && !found.has(element); element = parentOf(element)) found.add(element);
        }
      }
      return found;
    }

    function focused() {
      let element = focusIn(document);
      while (element && shadowOf(element) && inRoot(shadowOf(element)))
        element = inRoot(shadowOf(element));
      return element;
    }

    // The elements to show: kept with their ancestors.
    function chosen(body, limits) {
      let seen = [], walked = 0;
      const usable = [];
      for (const [element, box] of rendered(body)) {
        if (isOnScreen(box)) seen.push(element);
        else if (!isEmpty(box) && matches(element, USABLE)) {
          const away = Math.max(-box.bottom, box.top - innerHeight, 0) +
            Math.max(-box.right, box.left - innerWidth, 0);
          usable.push([away, element]);
        }
        if (++walked >= limits.walked) break;
      }
      if (seen.length > limits.seen || walked >= limits.walked) {
        // More lies there than is shown: what is on top comes first, then what is not deep, for a
        // page says what happened in a line of its own, not in one of a thousand cells.
        const top = met(), depths = new Map();
        const depth = element => {
          const path = [];
          for (; element && !depths.has(element); element = parentOf(element)) path.push(element);
          let known = element ? depths.get(element) : 0;
          while (path.length) depths.set(path.pop(), ++known);
          return known;
        };
        const others = seen.filter(element => !top.has(element));
        others.sort((one, other) => depth(one) - depth(other));
        seen = [...top, ...others];
      }
      const kept = new Set([body]);
      const keep = element => {
        for (; element && !kept.has(element); element = parentOf(element)) kept.add(element);
      };
      if (focused()) keep(focused());
      const keepSome = (elements, most) => {
        for (const element of elements) {
          if (most <= 0) return;
          if (kept.has(element) || !isSeen(element)) continue;
          keep(element);
          most--;
        }
      };
      keepSome(seen, limits.seen);
      usable.sort((one, other) => one[0] - other[0]);
      keepSome(usable.map(([, element]) => element), limits.usable);
      return kept;
    }

    // The part of a long text that is on the screen, found by where its characters stand; of a part
    // that is long itself both ends.
    function partOnScreen(node, limits) {
      const text = node.data;
      const firstThat = is => {
        let low = 0, high = text.length - 1;
        while (low < high) {
          const middle = (low + high) >> 1;
          range.setStart(node, middle);
          range.setEnd(node, middle + 1);
          if (is(range.getBoundingClientRect())) high = middle; else low = middle + 1;
        }
        return low;
      };
      const start = firstThat(box => !isEmpty(box) && box.bottom > 0);
      const end = firstThat(box => !isEmpty(box) && box.top >= innerHeight) + 1;
      const gap = count => count > 0 ? ` [... ${count} characters not shown] ` : "";
      const half = limits.text >> 1, between = end - start - 2 * half;
      const shown = between <= 0 ? text.slice(start, end)
        : text.slice(start, start + half) + gap(between) + text.slice(end - half, end);
      return gap(start) + shown + gap(text.length - end);
    }

    // The children of a kept element, as the walk is to meet them.
    function children(element, first, kept, limits) {
      const list = [], marks = !matches(element, NAMED);
      // The words of a label stay, for they name what can be used.
      const isSelect = element instanceof HTMLSelectElement, isLabel = matches(element, "label");
      let elements = 0, characters = 0, options = 0, labelled = 0;
      const mark = () => {
        const parts = [];
        if (elements) parts.push(`${elements} element${elements > 1 ? "s" : ""}`);
        if (characters) parts.push(`${characters} characters`);
        if (parts.length && marks) list.push(words(` [... ${parts.join(", ")} not shown] `));
        elements = characters = 0;
      };
      for (let node = first; node; node = nextSibling(node)) {
        if (node instanceof Element) {
          const isOption = isSelect && (node.selected || ++options <= limits.options);
          if (kept.has(node) || isOption || isLabel && labelled++ < limits.options) {
            mark();
            list.push(node);
          } else if (isSelect || !isEmpty(boxOf(node))) elements++;
        } else if (node instanceof Text && node.data) {
          if (!node.data.trim()) {
            if (!elements && !characters) list.push(node);
            continue;
          }
          range.selectNode(node);
          const box = range.getBoundingClientRect();
          if (isOnScreen(box) || isLabel && node.data.length <= limits.text) {
            mark();
            list.push(node.data.length > limits.text ? words(partOnScreen(node, limits)) : node);
          } else if (!isEmpty(box)) characters += node.data.length;
        }
      }
      mark();
      return list;
    }

    // Whether an element belongs to something usable that is small enough to be shown whole, or to a
    // row of a table or list: without the row's words nobody knows which of its buttons is which.
    function isWhole(element, limits) {
      const usable = closest(element, USABLE);
      if (usable !== null && allIn(usable, "*").length <= limits.whole) return true;
      const row = closest(element, ROW);
      return row !== null && allIn(row, "*").length <= limits.row;
    }

    let restore = null;

    // Replace getters of this world until `restore`.
    function replace(getters, methods) {
      if (restore) restore();
      const undo = [];
      for (const [owner, name, make] of [...getters, ...methods]) {
        const was = Object.getOwnPropertyDescriptor(owner, name);
        Object.defineProperty(owner, name, {...was, ...make(was)});
        undo.push(() => Object.defineProperty(owner, name, was));
      }
      restore = () => { restore = null; undo.forEach(again => again()); };
      return restore;
    }

    function fold(body, limits) {
      const kept = chosen(body, limits), first = new Map(), next = new Map();
      for (const element of kept) {
        if (isWhole(element, limits)) continue;
        for (const parent of [element, shadowOf(element)]) {
          if (!parent) continue;
          const list = children(element, firstChild(parent), kept, limits);
          first.set(parent, list[0] ?? null);
          list.forEach((node, at) => next.set(node, list[at + 1] ?? null));
        }
      }
      const from = map => was => ({get() {
        const folded = map.get(this);
        return folded === undefined ? was.get.call(this) : folded;
      }});
      const assigned = was => ({value(options) {
        const all = was.value.call(this, options);
        return kept.has(this) ? all.filter(n => !(n instanceof Element) || kept.has(n)) : all;
      }});
      const undo = replace(
        [[Node.prototype, "firstChild", from(first)], [Node.prototype, "nextSibling", from(next)]],
        [[HTMLSlotElement.prototype, "assignedNodes", assigned]]);
      queueMicrotask(() => { if (restore === undo) undo(); });
    }

    // Fold when somebody walks down from the body, within the time that a snapshot is waited for.
    function foldNext(body, limits) {
      const undo = replace([[Node.prototype, "firstChild", was => ({get() {
        if (this !== body) return was.get.call(this);
        fold(body, limits);
        return this.firstChild;
      }})]], []);
      setTimeout(() => { if (restore === undo) undo(); }, limits.next * 1000);
    }

    return limits => {
      const body = bodyOf(document);
      if (body) (limits.next ? foldNext : fold)(body, limits);
      return body ? [body] : [];
    };
  };
  // Made when it is first asked for: in other worlds than ours nothing of it runs.
  let folder = null;
  const queryAll = (root, limits) => (folder ??= makeFolder())(JSON.parse(limits));
  return {queryAll, query: (root, limits) => queryAll(root, limits)[0] ?? null};
})()
