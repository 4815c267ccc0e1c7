# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/schema/: the JSON schemas of what `--json` prints."""

from __future__ import annotations

import json
from pathlib import Path

from vibench_gym.cli.wire import MODELS

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schema"


def main() -> None:
    """Write one file per command."""
    FOLDER.mkdir(exist_ok=True)
    for command, model in MODELS.items():
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **model.model_json_schema(mode="serialization"),
        }
        text = json.dumps(schema, indent=2, sort_keys=True)
        (FOLDER / f"{command}.schema.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
