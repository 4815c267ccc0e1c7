# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Takes away what acts by itself in an app's database, and leaves its tables and data.

It is for a control: a seed that stands without it and fails with it was broken by it. Names are
looked up in `pg_catalog` first, so that nothing of the app's stands in for a function used here,
and no procedural language is needed: the app may have dropped it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vibench_gym.stack import postgres_session

if TYPE_CHECKING:
    from vibench_gym.stack.readiness import Connect

_OPTIONS: Final = "-c search_path=pg_catalog -c lock_timeout=5s -c statement_timeout=15s"
"""Settings of our session; they win over those of the role."""
_END_OTHER_SESSIONS: Final = """
select pg_terminate_backend(pid) from pg_stat_activity
where pid <> pg_backend_pid() and backend_type = 'client backend'
"""
_WAYS: Final = (
    "select format('drop event trigger %I', evtname) from pg_event_trigger",
    """select format('drop trigger %I on %s cascade', tgname, tgrelid::regclass)
    from pg_trigger where not tgisinternal and tgparentid = 0""",
    """select format('drop rule %I on %s cascade', rulename, ev_class::regclass)
    from pg_rewrite where rulename <> '_RETURN' and oid >= 16384""",
    """select format('alter table %s disable row level security', oid::regclass)
    from pg_class where relrowsecurity""",
    # Only checks that ask the session or run a function of the app's: `check (n > 0)` tells a seed
    # that is wrong from one that is right.
    """select format('alter table %s drop constraint if exists %I cascade',
        conrelid::regclass, conname)
    from pg_constraint where contype = 'c' and conrelid <> 0
    and (conbin::text like '%SQLVALUEFUNCTION%' or exists (
        select from regexp_matches(conbin::text, ':(?:funcid|opfuncid) ([0-9]+)', 'g') as called(id)
        join pg_proc on pg_proc.oid = called.id[1]::oid
        where pronamespace <> 'pg_catalog'::regnamespace or provolatile <> 'i'))""",
    """select case when setrole = 0 then format('alter database %I reset all', datname)
        when setdatabase = 0 then format('alter role %I reset all', rolname)
        else format('alter role %I in database %I reset all', rolname, datname) end
    from pg_db_role_setting
    left join pg_database on pg_database.oid = setdatabase
    left join pg_roles on pg_roles.oid = setrole
    where setrole <> 0 or setdatabase <> 0""",
)
"""Queries for the statements to run, in this order: event triggers watch the rest."""
_SETTINGS: Final = (
    "alter role all reset all",
    "alter system reset all",
    "select pg_reload_conf()",
)


async def disarm(connect: Connect, *, alone: bool) -> None:
    """Drop what acts by itself, and reset settings of roles, databases and the server.

    Args:
        connect: opens connections in the app's network.
        alone: end all other sessions first.

    Raises:
        DatabaseRefused: it could not be done; some of it may have been.
    """
    async with postgres_session.session(connect, options=_OPTIONS) as session:
        if alone:
            await session.query(_END_OTHER_SESSIONS)
        for ways in _WAYS:
            for statement in await session.query(ways):
                await session.query(statement)
        for statement in _SETTINGS:
            await session.query(statement)
