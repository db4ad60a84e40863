# Needs make and Python >= 3.11. The first target that runs Python creates .venv from
# requirements.lock; it is brought up to date whenever the lock or the package's
# metadata change. `make PYTHON=/path/to/python3.12 ...` names another interpreter.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3 python; do \
	path=$$(command -v $$name) || continue; \
	"$$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo "$$path"; break; }; done)

PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest -n 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow check site format lock venv clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(READY) ## all-reduce on 256 GPUs: synthesise, verify, replay, compare
	$(BIN)/lightloom demo --out out/demo

test: $(READY) ## all tests but the slow ones
	$(PYTEST) -m "not slow"

test-slow: $(READY) ## the slow tests, and those of hypothesis with all examples
	$(PYTEST) -m "slow or hypothesis"

check: $(READY) ## format, lint, types, walls, spelling, lock, weight
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell
	$(BIN)/python .ci/check_lock.py
	$(BIN)/python .ci/check_weight.py

site: $(READY) ## the documentation as a site, in out/site; warnings are errors
	$(BIN)/python -m sphinx -q -E -W --keep-going -d out/doctrees -c docs/site . out/site
	$(BIN)/python .ci/check_site.py out/site

format: $(READY) ## format, and apply the fixes that are safe
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(READY) ## renew requirements.lock (needs a package index); UPGRADE=1 moves every pin
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
		$(if $(UPGRADE),--upgrade) --extra dev pyproject.toml -o requirements.lock

venv: $(READY) ## .venv and nothing else

$(READY): requirements.lock pyproject.toml lightloom/__init__.py
ifeq ($(strip $(PYTHON)),)
	@echo "error: no Python >= 3.11 found on PATH; install one, or run:" \
		"make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 2
else
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: $(PYTHON) is not a Python >= 3.11" >&2; exit 2; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); \
		echo "error: $(PYTHON) cannot make virtual environments; on Debian and" \
		"Ubuntu install the package python3-venv" >&2; exit 2; }
	@echo "installing the pinned dependencies into $(VENV)"
	@$(PIP) install --require-hashes --no-deps -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --no-index --editable .
	@touch $@
endif

clean: ## remove what make and its tools leave, .venv excepted
	rm -rf build dist out/demo out/site out/doctrees .hypothesis .mypy_cache .pytest_cache .ruff_cache \
		.import_linter_cache
	find lightloom tests -name __pycache__ -type d -prune -exec rm -rf {} +
