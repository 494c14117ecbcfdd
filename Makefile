# `make reproduce` and `make test` need Python 3.11 or newer and nothing else:
# each builds .venv from the versions pinned in constraints.txt when that is missing or old.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help reproduce test test-all check format bench docs clean

NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo $$p; break; }; done)
endif

BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# The build backend runs in an environment of its own, which -c does not reach.
export PIP_BUILD_CONSTRAINT := constraints.txt
PYTEST := $(BIN)/python -m pytest -n 2

help:  ## this list
	@echo "make TARGET, where TARGET is"
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; do \
		printf '  %-10s %s\n' "$$name" "$$text"; done

reproduce: .venv/test.stamp  ## published numbers of the papers beside computed ones
	@$(BIN)/tutelage reproduce

test: .venv/test.stamp  ## all tests but the slow ones
	$(PYTEST)

test-all: .venv/test.stamp  ## all tests, slow ones included
	$(PYTEST) -m "slow or not slow"

check: .venv/dev.stamp  ## formatting, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/dev.stamp  ## rewrite the sources in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/test.stamp  ## accuracy and speed of the averages, as tables
	@set -e; for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script; done

docs: .venv/docs.stamp  ## the documentation as web pages, in site/
	$(BIN)/mkdocs build --quiet --strict
	$(BIN)/pdoc --output-directory site/api tutelage
	@echo "open site/index.html"

clean:  ## remove everything that was built
	rm -rf .venv site .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/test.stamp: pyproject.toml constraints.txt
	@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' || { \
		echo "tutelage needs Python 3.11 or newer; found: $(or $(PYTHON),none)."; \
		echo "Install one, or name it: make PYTHON=path/to/python3.12"; exit 1; }
	@echo "Building .venv with the pinned versions (about a minute, once)"
	$(PYTHON) -m venv --clear .venv
	$(PIP_INSTALL) -e '.[test]'
	@touch $@

.venv/dev.stamp: .venv/test.stamp
	$(PIP_INSTALL) -e '.[test,dev]'
	@touch $@

.venv/docs.stamp: .venv/test.stamp
	$(PIP_INSTALL) -e '.[test,docs]'
	@touch $@
