# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A folder of this user alone, also where every user may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.private_folder import private_folder
from vibench_gym.gym.server.host_limiter import default_slots_dir

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gym


def test_where_everybody_writes_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("", encoding="utf-8")

    private_folder(tmp_path / "link")
    for name in ("file", "file/below"):
        with pytest.raises(ConfigError):
            private_folder(tmp_path / name)
    tmp_path.chmod(0o1777)
    with pytest.raises(ConfigError, match="not a writable folder of this user"):
        private_folder(tmp_path / "link")
    private_folder(tmp_path / "new/deep")
    assert (tmp_path / "new/deep").stat().st_mode & 0o777 == 0o700
    assert default_slots_dir().is_absolute()
