# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
.PHONY: setup demo test core-coverage coverage redteam teeth faults kills mutation fmt lint type imports bench schema lock ci
BIN := .venv/bin
JOBS ?= 4
CODE := src tests scripts resources_servers responses_api_agents

setup:
	@scripts/setup.sh

demo: setup
	@$(BIN)/vibench-gym demo

test: setup
	$(BIN)/pytest -n $(JOBS) --dist loadscope --no-loadscope-reorder --durations=15 $(BUT)

# What decides about scores has no line or branch that its own tests do not reach.
core-coverage: setup
	$(BIN)/pytest tests/core -n $(JOBS) -q --cov=vibench_gym.core --cov-report=term:skip-covered --cov-fail-under=100

# All of the tests, measured in every process; measuring makes them about a third slower.
coverage: setup
	$(BIN)/pytest -n $(JOBS) --dist loadscope --no-loadscope-reorder --cov --cov-report=term:skip-covered

redteam: setup
	$(BIN)/pytest tests/redteam -n $(JOBS) --dist loadscope --no-loadscope-reorder

# Every defence removed in turn, from a copy of the source; K=name for one of them.
teeth: setup
	$(BIN)/pytest tests/redteam/test_teeth.py --teeth -n $(JOBS) --dist loadscope --no-loadscope-reorder $(if $(K),-k $(K))

faults: setup
	$(BIN)/pytest tests/faults -n $(JOBS) --dist loadscope --no-loadscope-reorder -q

# 200 random kills take about an hour on two idle cores; `make test` has 8 of them.
kills: setup
	$(BIN)/pytest tests/kills --kills $(or $(KILLS),200) -n $(or $(KILL_JOBS),2) --dist loadscope --no-loadscope-reorder

# About 12 minutes on two idle cores; what survives has to be argued in docs/mutation.md.
mutation: setup
	$(BIN)/mutmut run --max-children $(or $(MUTATION_JOBS),2)
	$(BIN)/mutmut results

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

# The checks use one core each, and run core's tests; the demo comes before the tests, so that the log ends with pytest's summary.
ci: setup
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint type imports core-coverage
	@$(MAKE) --no-print-directory demo
	@$(MAKE) --no-print-directory test BUT=--ignore=tests/core
