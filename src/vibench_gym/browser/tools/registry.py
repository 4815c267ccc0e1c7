# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Every browser tool, in the order in which a model reads them. The one place that lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vibench_gym.browser.tools.elements import Check, Click, Fill, Hover, Select
from vibench_gym.browser.tools.environment import Clipboard, Dialog, Geolocation, Offline, Viewport
from vibench_gym.browser.tools.files import Download, Upload
from vibench_gym.browser.tools.keyboard import Press, Type
from vibench_gym.browser.tools.navigation import Back, Forward, Open, Reload
from vibench_gym.browser.tools.observation import Read, Screenshot, Snapshot
from vibench_gym.browser.tools.pointer import Drag, Mouse
from vibench_gym.browser.tools.tabs import CloseTab, NewContext, NewTab, Switch
from vibench_gym.browser.tools.waiting import WaitFor
from vibench_gym.core.toolset import ToolSet

if TYPE_CHECKING:
    from vibench_gym.browser.tools.base import BrowserTool

BROWSER_TOOLS: Final[ToolSet[BrowserTool]] = ToolSet(
    Open,
    Click,
    Fill,
    Type,
    Press,
    Select,
    Check,
    Hover,
    Drag,
    Mouse,
    Upload,
    Download,
    Dialog,
    WaitFor,
    Back,
    Forward,
    Reload,
    NewTab,
    NewContext,
    Switch,
    CloseTab,
    Geolocation,
    Offline,
    Clipboard,
    Viewport,
    Screenshot,
    Read,
    Snapshot,
)
