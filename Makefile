# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
.PHONY: setup demo test fmt lint type imports bench schema lock ci
BIN := .venv/bin
JOBS ?= 3

setup:
	@scripts/setup.sh

demo: setup
	@$(BIN)/vibench-gym demo

test: setup
	$(BIN)/pytest -n $(JOBS) --dist worksteal --cov --cov-report=term:skip-covered --durations=15
	@$(BIN)/coverage report --include='*/vibench_gym/core/*' --fail-under=100 > .coverage-core.txt || { cat .coverage-core.txt; exit 1; }

fmt: setup
	$(BIN)/ruff format src tests scripts
	$(BIN)/ruff check --fix src tests scripts

lint: setup
	$(BIN)/ruff format --check src tests scripts
	$(BIN)/ruff check src tests scripts
	$(BIN)/codespell src tests docs tasks scripts *.md
	$(BIN)/reuse --suppress-deprecation lint --quiet

type: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python scripts/bench.py

schema: setup
	$(BIN)/python scripts/schema.py

lock:
	$(BIN)/uv pip compile --quiet --universal --python-version 3.13 --generate-hashes --no-header --no-annotate --group dev pyproject.toml -o requirements.lock

# The demo comes before the tests, so that the log ends with pytest's summary.
ci: lint type imports demo test
