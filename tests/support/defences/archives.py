# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What an archive passes before its files are the app's."""

from __future__ import annotations

from typing import Final

from support.defences.edit import defence

_MEMBERS = "sandbox/archive/members.py"
_WRITE = "sandbox/archive/tree_writer.py"
_LINKS = "sandbox/archive/links.py"

DEFENCES: Final = (
    defence(
        "archive_names",
        "a name that leads upwards is dropped",
        (_MEMBERS, 'if b".." in parts:', "if not name:"),
    ),
    defence(
        "archive_hard_links",
        "a hard link copies a file of the archive only",
        (
            _WRITE,
            "            self._copy(path, member)\n",
            (
                '            data = open(b"/" + member.link.lstrip(b"./"), "rb").read()\n'
                "            self._file(path, Member(member.name, 'file', chunks=iter((data,))))\n"
            ),
        ),
    ),
    defence(
        "archive_link_targets",
        "a link leads to something inside",
        (_LINKS, '_APP + b"/"):\n        return OUTWARD', '_APP + b"/"):\n        return None'),
        (_LINKS, "place:\n                return OUTWARD", "place:\n                continue"),
        (_LINKS, 'if not target.startswith(b"/"):', "if target:"),
    ),
    defence(
        "archive_link_chains",
        "a link is walked from where the links before it lead",
        (_LINKS, "if len(place) <= deepest else None", "if not followed else None"),
    ),
    defence(
        "archive_link_texts",
        "a text that no link can have is dropped, like any bad member",
        (_LINKS, 'if b"\\0" in target:', 'if target == b"\\0":'),
    ),
    defence(
        "archive_link_names",
        "a link that is named like the archive's one folder is dropped",
        (_WRITE, "if self._links.pop((top,), None) is not None:", "if not top:"),
    ),
    defence(
        "archive_links_last",
        "links are made last, and none is followed before",
        (
            _WRITE,
            "            self._links[path] = member.link\n",
            (
                "            self._open_parent(path[:-1])\n"
                "            os.symlink(member.link, path[-1], dir_fd=self._parent_fd)\n"
            ),
        ),
        ("sandbox/archive/folders.py", "os.O_DIRECTORY | os.O_NOFOLLOW", "os.O_DIRECTORY"),
    ),
    defence(
        "archive_format",
        "one archive is one app: a tar is read as a tar",
        (
            "sandbox/archive/unpack.py",
            "if not plain and magic.startswith(_ZIP):",
            "if _ZIP[0] in magic:",
        ),
    ),
    defence(
        "archive_printable",
        "names are shown as one line of plain text",
        (
            _MEMBERS,
            (
                'escaped = "".join(c if c.isprintable() else'
                ' c.encode("unicode_escape").decode() for c in text)'
            ),
            "escaped = text",
        ),
    ),
    defence(
        "archive_special_files",
        "special files are dropped and named",
        (
            _WRITE,
            (
                '        if member.kind == "special":\n'
                "            self.drop(path, member.name, member.note)\n"
            ),
            (
                '        if member.kind == "special":\n'
                "            self._open_parent(path[:-1])\n"
                "            os.mkfifo(path[-1], dir_fd=self._parent_fd)\n"
            ),
        ),
    ),
    defence(
        "archive_modes",
        "setuid, setgid and sticky bits are not kept",
        (
            _WRITE,
            'sticky."""\n    return mode & 0o777',
            'sticky."""\n    return mode & 0o7777',
        ),
        (
            "sandbox/archive/pack.py",
            "info.mode = member.mode & 0o777",
            "info.mode = member.mode",
        ),
    ),
    defence(
        "archive_bytes",
        "a budget of bytes, holes included (four times as many, lest a case fill the disk)",
        (
            _MEMBERS,
            "if self.logical_bytes + size > self.budget.logical_bytes:",
            "if self.logical_bytes + size > 4 * self.budget.logical_bytes:",
        ),
    ),
    defence(
        "archive_headers",
        "a header has a size at most",
        (
            "sandbox/archive/tar.py",
            'if extended.size > MAX_EXTENDED:\n        too_large(f"extended',
            'if size < 0:\n        too_large(f"extended',
        ),
        ("sandbox/archive/zip.py", "if directory > MAX_DIRECTORY:", "if directory < 0:"),
    ),
    defence(
        "archive_header_chain",
        "the headers of one member have a size at most, all together",
        ("sandbox/archive/tar.py", "    extended.size += size\n", "    extended.size = size\n"),
    ),
    defence(
        "archive_zip64",
        "a zip's directory has the size of the largest record that a reader may take",
        (
            "sandbox/archive/zip.py",
            "directory = max(directory if directory != _IN_ZIP64 else 0, larger or 0)",
            "directory = min(directory, larger or directory)",
        ),
    ),
    defence(
        "archive_members",
        "a budget of members",
        (_MEMBERS, "if self.members > self.budget.members:", "if self.members < 0:"),
    ),
    defence(
        "archive_paths",
        "a budget of depth and of the length of names",
        (_MEMBERS, "if len(name) > self.budget.path_bytes:", "if not name:"),
        (_MEMBERS, "if len(parts) > self.budget.depth:", "if not name:"),
    ),
)
