# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
.PHONY: setup demo test core-coverage coverage fmt lint type imports bench schema lock ci
BIN := .venv/bin
JOBS ?= 4
CODE := src tests scripts resources_servers responses_api_agents

setup:
	@scripts/setup.sh

demo: setup
	@$(BIN)/vibench-gym demo

test: setup
	$(BIN)/pytest -n $(JOBS) --dist loadscope --no-loadscope-reorder --durations=15

# What decides about scores has no line or branch that its own tests do not reach.
core-coverage: setup
	$(BIN)/pytest tests/core -n $(JOBS) -q --cov=vibench_gym.core --cov-report=term:skip-covered --cov-fail-under=100

# All of the tests, measured in every process; measuring makes them about a third slower.
coverage: setup
	$(BIN)/pytest -n $(JOBS) --dist loadscope --no-loadscope-reorder --cov --cov-report=term:skip-covered

fmt: setup
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

lint: setup
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/codespell $(CODE) docs tasks *.md
	$(BIN)/reuse --suppress-deprecation lint --quiet

type: setup
	$(BIN)/mypy
	$(BIN)/mypy resources_servers
	$(BIN)/mypy responses_api_agents

imports: setup
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python scripts/bench.py

schema: setup
	$(BIN)/python scripts/schema.py

lock:
	$(BIN)/uv pip compile --quiet --universal --python-version 3.13.14 --generate-hashes --no-header --no-annotate --extra gym --group dev pyproject.toml -o requirements.lock

# The demo comes before the tests, so that the log ends with pytest's summary.
ci: lint type imports core-coverage demo test
