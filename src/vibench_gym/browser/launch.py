# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Starts Chromium so that it resolves no outside name and looks like any user's browser.

An app must not be able to tell that it is being graded: no `navigator.webdriver`, no
"HeadlessChrome" in the user agent, in client hints or in workers (hence a command line switch and
not Playwright's per-page emulation, which also drops the client hints' brands).
"""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from vibench_gym.core.errors import BrowserFailed, PrerequisiteMissing

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser, Playwright

LAUNCH_TIMEOUT_S = 30.0
VERSION_TIMEOUT_S = 10.0

_SWITCHES = (
    "--headless=new",
    "--disable-blink-features=AutomationControlled",
    "--lang=en-US",
    "--accept-lang=en-US,en",
    "--no-pings",
    "--disable-domain-reliability",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-client-side-phishing-detection",
    "--safebrowsing-disable-auto-update",
    # Nothing but the app's own loopback has a name here, not even where a network is at hand.
    (
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, "
        "EXCLUDE 127.0.0.1, EXCLUDE [::1]"
    ),
)


# Playwright's defaults switch off these protections, which every user's browser has.
_PROTECTIONS_OFF = ("--disable-popup-blocking", "--disable-ipc-flooding-protection")


async def chromium_version(executable: Path) -> str:
    """The browser's own version, for example `156.0.8078.108`.

    Raises:
        PrerequisiteMissing: there is no such program.
        BrowserFailed: it does not start, or does not say its version.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            str(executable),
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_environment(),
        )
    except FileNotFoundError:
        raise PrerequisiteMissing(
            f"Chromium is not at {str(executable)!r}", "apt-get install chromium"
        ) from None
    except OSError as error:
        raise BrowserFailed(f"{str(executable)!r} does not start: {error}") from error
    try:
        async with asyncio.timeout(VERSION_TIMEOUT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        raise BrowserFailed(f"{str(executable)!r} --version does not answer") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    match = re.search(rb"\b(\d+\.\d+\.\d+\.\d+)\b", output)
    if match is None:
        raise BrowserFailed(f"{str(executable)!r} --version says {output[:200]!r}")
    return match[1].decode()


def user_agent(version: str) -> str:
    """The user agent that this version sends when it is not headless."""
    major = version.partition(".")[0]
    return (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        f"Chrome/{major}.0.0.0 Safari/537.36"
    )


async def launch_chromium(
    playwright: Playwright,
    *,
    executable: Path,
    version: str,
    chromium_sandbox: bool,
    traces_dir: Path | None,
    work_dir: Path | None,
    viewport: tuple[int, int],
) -> Browser:
    """Start it.

    Raises:
        BrowserFailed: it does not come up.
    """
    settings: dict[str, Any] = {"traces_dir": traces_dir} if traces_dir is not None else {}
    try:
        async with asyncio.timeout(LAUNCH_TIMEOUT_S + 5):
            return await playwright.chromium.launch(
                executable_path=executable,
                chromium_sandbox=chromium_sandbox,
                headless=True,
                args=[
                    *_SWITCHES,
                    f"--user-agent={user_agent(version)}",
                    f"--window-size={viewport[0]},{viewport[1]}",
                ],
                env={**_environment(), **temporary_folder(work_dir)},
                timeout=LAUNCH_TIMEOUT_S * 1000,
                ignore_default_args=_PROTECTIONS_OFF,
                handle_sighup=False,
                handle_sigint=False,
                handle_sigterm=False,
                **settings,
            )
    except (PlaywrightError, TimeoutError) as error:
        raise BrowserFailed(f"Chromium does not start: {str(error)[:2000]}") from error


def temporary_folder(work_dir: Path | None) -> dict[str, str]:
    """The environment variable that gives a program its folder for temporary files."""
    return {} if work_dir is None else {"TMPDIR": str(work_dir)}


def _environment() -> dict[str, str]:
    """A small environment instead of the grader's own, which may hold keys."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "LANG": "en_US.UTF-8", "TZ": "UTC"}
