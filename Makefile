# `make reproduce` and `make test` need Python 3.11 or newer and nothing else:
# each builds .venv from the locked versions in requirements/ when that is missing or old.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help reproduce explore test test-all test-oldest test-newest browser ask-browser torch \
	check format coverage bench docs dist lock clean

NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo $$p; break; }; done)
endif

BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
# Only archives whose hash is in the lock; `make lock` writes it.
INSTALL_LOCKED := $(PIP_INSTALL) --require-hashes
# The tests of a file share what they compile: they stay in one process.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile
TEST_FOLDERS := $(filter-out %__pycache__/,$(sort $(wildcard tests/*/)))

# What Python has compiled is kept, whatever a machine says: every test process would compile it again.
export PYTHONDONTWRITEBYTECODE :=

help:  ## this list
	@echo "make TARGET, where TARGET is"
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; do \
		printf '  %-11s %s\n' "$$name" "$$text"; done

# The workers use every core, so that compiling a program in several threads, as XLA does, takes a third more time.
reproduce: export XLA_FLAGS := $(XLA_FLAGS) --xla_cpu_parallel_codegen_split_count=1 --xla_cpu_use_fusion_emitters=false
reproduce: .venv/base.stamp  ## figures and numbers of the papers, computed, in report/index.html
	@$(BIN)/tutelage reproduce --workers $$($(BIN)/python -c 'import os; print(os.cpu_count() or 1)')

explore: .venv/explore.stamp  ## a page of sliders and pictures, in a browser
	@$(BIN)/tutelage explore

# What these tests compile runs for milliseconds: not optimized and in one piece, it is compiled in half the time.
# `make test-all` compiles as users do.
test coverage: export XLA_FLAGS := $(XLA_FLAGS) --xla_backend_optimization_level=0 \
	--xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1 \
	--xla_cpu_use_fusion_emitters=false
# A second thread of OpenBLAS waits for work in a loop, on the core of the other test process.
test coverage: export OPENBLAS_NUM_THREADS := 1
# The tests of a folder share what they compile: they stay in one process (tests/conftest.py).
test: .venv/test.stamp ask-browser  ## all tests but the slow ones
	$(PYTEST) --dist loadscope

# No test needs another one: every folder runs alone, in an order of its own.
test-all: .venv/test.stamp ask-browser torch  ## all tests, slow ones included, each folder alone and shuffled
	@failed=; for part in $(TEST_FOLDERS) "$(wildcard tests/test_*.py) src/tutelage"; do \
		$(PYTEST) -p randomly -m "slow or not slow" $$part || failed="$$failed $$part"; \
	done; [ -z "$$failed" ] || { echo "Failed:$$failed"; exit 1; }

# Before a release: the fast tests, compiled as users do, at both ends of what pyproject.toml allows.
test-oldest: .venv-oldest/stamp ask-browser  ## the fast tests on the oldest versions of all libraries
test-newest: .venv-newest/stamp ask-browser  ## the fast tests on the newest ones
test-oldest test-newest: test-%:
	.venv-$*/bin/python -m pytest -n 2 --dist loadfile

.venv-oldest/stamp: pyproject.toml constraints-oldest.txt
.venv-oldest/stamp: CONSTRAINTS := -c constraints-oldest.txt
.venv-newest/stamp: pyproject.toml
.venv-oldest/stamp .venv-newest/stamp:
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS) -e '.[test]'
	@touch $@

# Some tests open pages in Chromium: that of the system, or one that Playwright has downloaded.  A browser is installed by
# `make browser`, in continuous integration, or after a question; without one those tests are skipped.
FIND_BROWSER := { command -v chromium || command -v chromium-browser || command -v google-chrome || \
	ls "$${PLAYWRIGHT_BROWSERS_PATH:-$$HOME/.cache/ms-playwright}"/chromium-*/chrome-*/chrome; } >/dev/null 2>&1
CAN_INSTALL := [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null

ask-browser:
	@$(FIND_BROWSER) && exit 0; answer=no; \
	if $(CAN_INSTALL); then \
		if [ -n "$$CI" ]; then answer=y; \
		elif [ -t 0 ]; then printf 'Install Debian'"'"'s chromium for the tests of pages? [y/N] '; read -r answer; fi; \
	fi; \
	case "$$answer" in [yY]*) $(MAKE) --no-print-directory browser;; \
	*) echo "No Chromium was found: the tests that open pages are skipped. 'make browser', as root, installs it.";; esac

browser:  ## install Debian's chromium, for the tests of pages; as root
	@$(CAN_INSTALL) || { echo "This needs root and apt-get; any other Chromium on the PATH is as good."; exit 1; }
	@timeout 300 sh -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install \
		--yes --no-install-recommends chromium' >/dev/null 2>&1 \
	|| echo "No chromium could be installed: the tests that need it are skipped"

# This version is the wheel for processors: the one for GPUs would fetch gigabytes. It is not on the package index, and not in the
# lock. Where pip does not find it the tests with PyTorch are skipped, and say so. Its sympy asks for an older mpmath than ours.
TORCH := torch==2.13.0+cpu sympy==1.14.0 networkx==3.6.1 filelock==4.2.10

torch: .venv/test.stamp
	@$(BIN)/python -c 'import torch' 2>/dev/null || { echo "Installing PyTorch for its tests"; \
		timeout 600 $(PIP_INSTALL) $(TORCH) >/dev/null 2>&1 || echo "No PyTorch for processors could be installed: its tests are skipped"; }

check: .venv/dev.stamp ask-browser  ## formatting, lint, types, and the documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory docs
	$(PYTEST) -n 0 tests/test_docs.py

format: .venv/dev.stamp  ## rewrite the sources in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

coverage: .venv/dev.stamp ask-browser  ## which lines the fast tests run, as a table
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n 2 --dist loadfile
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered --sort=cover

dist: .venv/base.stamp  ## wheel and source archive, in dist/
	$(BIN)/python -m hatchling build -d dist

bench: .venv/bench.stamp  ## accuracy and speed, as tables, also of programs written in an afternoon
	@set -e; for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script; done

docs: .venv/docs.stamp  ## the documentation as web pages, in site/
	@rm -rf site
	$(BIN)/python docs/extensions/notebooks.py
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d build/doctrees docs site
	@echo "open site/index.html"

lock: .venv-lock/stamp  ## exact versions and hashes, in requirements/; OPTIONS=--upgrade for the newest
	PATH="$(CURDIR)/.venv-lock/bin:$$PATH" .venv-lock/bin/python requirements/lock.py $(OPTIONS)

.venv-lock/stamp:
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.8
	@touch $@

clean:  ## remove everything that was built
	rm -rf .venv .venv-oldest .venv-newest .venv-lock site jupyter_execute docs/api report .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What users install, the digits of milletari2019, and the build backend.
.venv/base.stamp: pyproject.toml requirements/base.txt
	@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' || { \
		echo "tutelage needs Python 3.11 or newer; found: $(or $(PYTHON),none)."; \
		echo "Install one, or name it: make PYTHON=path/to/python3.12"; exit 1; }
	@[ ! -L .venv ] || { echo ".venv is a link: building here would empty the folder behind it. Remove the link first."; exit 1; }
	@echo "Building .venv with the locked versions (about a minute, once)"
	$(PYTHON) -m venv --clear .venv
	$(INSTALL_LOCKED) -r requirements/base.txt
	$(PIP_INSTALL) --no-build-isolation -e .
	@touch $@

.venv/test.stamp .venv/explore.stamp .venv/docs.stamp: .venv/base.stamp
.venv/dev.stamp .venv/bench.stamp: .venv/test.stamp
.venv/test.stamp .venv/explore.stamp .venv/docs.stamp .venv/dev.stamp .venv/bench.stamp: .venv/%.stamp: requirements/%.txt
	$(INSTALL_LOCKED) -r $<
	@touch $@
