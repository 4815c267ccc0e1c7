# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What stands between an app and its judge or seeder, and says whose fault a failure is."""

from __future__ import annotations

from typing import Final

from support.defences.edit import defence

_ATTRIBUTION = "grading/attribution.py"
_HYGIENE = "grading/untrusted_text.py"
_CSP = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'

DEFENCES: Final = (
    defence(
        "page_data_clip",
        "of an observation so many characters are handed to a model",
        (
            "grading/recording_browser.py",
            "unframed(clip(observation.text, PAGE_CHARS))",
            "unframed(observation.text)",
        ),
    ),
    defence(
        "frame_of_shell_data",
        "a program's output cannot end its own frame, nor hide in it",
        (
            _HYGIENE,
            'return unframed(escape_unsafe(clip(text, limit).replace("\\r\\n", "\\n")))',
            "return clip(text, limit)",
        ),
    ),
    defence(
        "shell_output_clip",
        "of a program's output so many characters are handed to a model",
        (
            _HYGIENE,
            'return unframed(escape_unsafe(clip(text, limit).replace("\\r\\n", "\\n")))',
            'return unframed(escape_unsafe(text.replace("\\r\\n", "\\n")))',
        ),
    ),
    defence(
        "lookalikes_read",
        "letters that look like Latin ones hide no word from the flags",
        (_HYGIENE, "dict.fromkeys((readable, as_latin(readable)))", "[readable]"),
    ),
    defence(
        "seed_summary_quoted",
        "the seeder's report is quoted line by line",
        ("grading/qa/agent.py", "quoted_lines(task.seed_summary or", "str(task.seed_summary or"),
    ),
    defence(
        "strict_verdict_arguments",
        "verdicts have no place for a number; unknown arguments are refused",
        (
            "grading/qa/verdict_tools.py",
            'extra="forbid", strict=True)',
            'extra="ignore", strict=False)',
        ),
    ),
    defence(
        "verdicts_match_plan",
        "a verdict is about the step at hand and follows from what was seen",
        (
            "grading/qa/verdict_recorder.py",
            "            return self.refuse(objection)\n",
            "            pass\n",
        ),
        (
            "grading/qa/verdict_recorder.py",
            "if result is CheckOutcome.PASSED and (early := self._unseen(current)):",
            "if result is None and (early := self._unseen(current)):",
        ),
    ),
    defence(
        "quote_from_plan",
        "what makes a failure non-fatal is quoted from the plan",
        ("grading/qa/verdict_recorder.py", "if is_non_fatal(step.prose, quote):", "if step.prose:"),
    ),
    defence(
        "claims_checked",
        "what a judge cites is looked up in what it was shown",
        ("grading/qa/citations.py", "        if not wrong:\n", "        if wrong or not wrong:\n"),
    ),
    defence(
        "signs_checked",
        "a claim of signs alone is looked up as well",
        ("grading/qa/citations.py", "if not wanted and not signs:", "if not wanted:"),
    ),
    defence(
        "report_policy",
        "the report lets nothing run or load that is not its own",
        (
            "report/templates/report.html.j2",
            _CSP,
            '<meta name="was-a-policy" content="',
        ),
    ),
    defence(
        "env_deny_list",
        "a seed cannot set what changes how programs are loaded or whom they talk to",
        ("stack/envfile.py", "if not is_denied(name) and", "if name and"),
    ),
    defence(
        "seed_links",
        "of a seed's folder regular files are read, links never followed",
        (
            "sandbox/zone/daemon/files.py",
            "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC",
            "os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC",
        ),
    ),
    defence(
        "seeding_read_only",
        "the app's server cannot write to the seed",
        (
            "stack/local/boxes.py",
            'state="seeding", writable=seeds)',
            'state="seeding", writable=True)',
        ),
        (
            "stack/compose/compose.yaml",
            '"seeding:/seeding:ro,nocopy"]',
            '"seeding:/seeding:nocopy"]',
        ),
    ),
    defence(
        "seeding_control_watched",
        "an app that gets at the control's seed all the same is found out there",
        (_ATTRIBUTION, "        if await _meddled(stack):\n", "        if not stack:\n"),
    ),
    defence(
        "seeding_control",
        "an app that does not stand even an empty seed is at fault itself",
        ("grading/plan/attempt.py", "if broken is None:\n", "if broken is None or fault:\n"),
    ),
    defence(
        "app_gone_is_its_fault",
        "an app whose process has ended failed by itself",
        (
            _ATTRIBUTION,
            "if status.running or _port(stack.url) in status.listening_ports:",
            "if status:",
        ),
    ),
)
