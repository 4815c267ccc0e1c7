# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The task fields of a row, for `gym env schema` and the validation of data sets.

Field names are those of the ViBench environment that NeMo Gym ships; the last two are ours, and
stand only in rows that need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from pydantic.config import JsonDict

_BOTH: JsonDict = {"consumed_by": ["seed_session", "verify"]}
_SEED: JsonDict = {"consumed_by": ["seed_session"]}
_VERIFY: JsonDict = {"consumed_by": ["verify"]}


class TaskData(BaseModel):
    """One app and one artifact of it; paths are relative to the ViBench root."""

    model_config = ConfigDict(extra="allow")

    app: str = Field(
        description="Folder of the app below prds/, or the name of a bundled task.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
        json_schema_extra=_BOTH,
    )
    artifact: str = Field(
        default="mvp",
        description="What of the app is built: mvp, feature1, feature1-on_mvp, ...",
        json_schema_extra=_BOTH,
    )
    prd_files: list[str] = Field(
        default_factory=list,
        description="PRDs for the builder, prds/<app>/prd/*.txt, in order; none: the artifact's.",
        json_schema_extra=_SEED,
    )
    test_plans: list[str] = Field(
        default_factory=list,
        description="Plans to grade, prds/<app>/tests/<artifact>/*.txt; none: all of them.",
        json_schema_extra=_VERIFY,
    )
    asset_dirs: list[str] = Field(
        default_factory=list,
        description="Folders for the builder, prds/<app>/assets[/...], staged at /app/assets.",
        json_schema_extra=_SEED,
    )
    test_assets_dir: str | None = Field(
        default=None,
        description="prds/<app>/test_assets: files for the QA agent, never for the builder.",
        json_schema_extra=_VERIFY,
    )
    starting_tree: dict[str, str] | None = Field(
        default=None,
        description="What a feature is built on top of: {source: reference}, or {sha256: digest} "
        "of an artifact in the store; the reference of its MVP if left out.",
        json_schema_extra=_SEED,
    )
    needs_app_key: bool = Field(
        default=False,
        description="The app calls a model when it is used; skipped where none is given to it.",
        json_schema_extra=_BOTH,
    )
