# Everything a contributor or CI runs. The virtual environment makes itself; uv is used when it is
# on the path, otherwise venv and pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
UV := $(shell command -v uv 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help venv check test quick interop durability fuzz demo bench fmt docs oracle clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

venv: $(STAMP) ## Make the virtual environment

$(STAMP): pyproject.toml
ifneq ($(UV),)
	$(UV) venv -q --allow-existing --python $(PYTHON) $(VENV)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(UV) pip install -q -e '.[cli,fleet,server]' --group dev
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -q -e '.[cli,fleet,server]' --group dev
endif
	@touch $@

check: venv ## Lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: venv ## All tests
	$(BIN)/python -m pytest

quick: venv ## The tests that take no time, for while you work
	$(BIN)/python -m pytest -m "not slow"

interop: venv ## Compare the server with a real one, and drive it with real clients (needs Go)
	$(BIN)/python -m tests.interop.build
	$(BIN)/python -m tests.interop.replay
	$(BIN)/python -m tests.interop.live --seed 1 hostile sequences
	$(BIN)/python -m tests.interop.clients
	$(BIN)/python -m tests.interop.kubectl

durability: venv ## Kill, cut off and corrupt stores many times over
	DRAY_DURABILITY_KILLS=300 DRAY_DURABILITY_SERVER_KILLS=300 \
	DRAY_DURABILITY_POWER_FAILURES=2000 DRAY_DURABILITY_FLIPS=1000 \
	  $(BIN)/python -m pytest tests/e2e/test_store_durability.py tests/e2e/test_server_durability.py

fuzz: venv ## Requests made from our OpenAPI documents, and damaged copies of recorded ones
	$(PYTHON) -m venv .fuzz
	.fuzz/bin/python -m pip install -q schemathesis
	.fuzz/bin/python -m tests.fuzz.schemathesis_run --python $(BIN)/python
	$(BIN)/python -m tests.fuzz.server --minutes 5

demo: venv ## Show what dray can do today
	$(BIN)/python examples/demo.py

bench: venv ## Measure speed against references, side by side
ifneq ($(UV),)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(UV) pip install -q --group bench
else
	$(BIN)/python -m pip install -q --group bench
endif
	$(BIN)/python -m benchmarks

fmt: venv ## Format, and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: venv ## Write the generated parts of docs/
	$(BIN)/python -m docs.generate

oracle: venv ## Record upstream's answers again (needs Go)
	$(BIN)/python tests/oracle/record.py
	$(BIN)/python tests/oracle/cel/record.py
	$(BIN)/python tests/oracle/allocator/record.py

clean: ## Remove what the other targets made
	rm -rf $(VENV) .fuzz .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
