# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Uids for boxes: leased, never shared."""

from __future__ import annotations

import os

import pytest

from vibench_gym.sandbox.zone import uids
from vibench_gym.sandbox.zone.uids import UidLease


class TestUids:
    @pytest.mark.skipif(uids.uid_base() is None, reason="boxes run with our own uid here")
    def test_leases_do_not_overlap_and_are_given_back(self) -> None:
        first, second = UidLease.acquire(), UidLease.acquire()
        used = {first.app, first.database, first.browser}
        assert len(used) == 3
        assert not used & {second.app, second.database, second.browser}
        assert first.dedicated
        again = first.app
        first.release()
        first.release()
        third = UidLease.acquire()
        assert third.app <= again
        second.release()
        third.release()

    def test_an_ordinary_user_has_one_uid(self) -> None:
        lease = UidLease(None, None)
        assert {lease.app, lease.database, lease.browser} == {os.geteuid()}
        assert not lease.dedicated
        lease.release()

    def test_what_is_not_mapped_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(uids, "_mapped", lambda _table, _base: False)
        assert uids.uid_base() is None
        assert not UidLease.acquire().dedicated
