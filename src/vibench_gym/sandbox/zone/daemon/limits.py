# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Limits that a process is given by rlimits."""

from __future__ import annotations

import os
import resource


def set_limit(kind: int, most: int) -> None:
    """Set both limits of this process, as far as it may."""
    hard = resource.getrlimit(kind)[1]
    value = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (value, value))


def limit_processes(pid: int, most: int, owner: tuple[int, int] | None) -> None:
    """Set another process's limit; as its real uid, for root may lack CAP_SYS_RESOURCE."""
    ours = os.getuid(), os.getgid()
    uid, gid = owner or ours
    try:
        os.setresgid(gid, -1, -1)
        os.setresuid(uid, -1, -1)
        resource.prlimit(pid, resource.RLIMIT_NPROC, (most, most))
    finally:
        os.setresuid(ours[0], -1, -1)
        os.setresgid(ours[1], -1, -1)
