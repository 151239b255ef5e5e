# make demo    set up, and serve the built-in model, split into prefill and decode, on this machine
# make test    set up, and run every check: lint, unit tests, integration tests
#
# PYTHON=...   the Python to use (3.11 to 3.13)      VENV=...   where to set up (.venv)

PYTHON ?=
VENV ?= .venv
BIN = $(VENV)/bin
SETUP = python=$$(tools/find-python $(PYTHON)) && "$$python" tools/bootstrap.py --venv "$(VENV)"

unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME VIRTUAL_ENV
.PHONY: demo test setup dev lint unit integration lock clean
.NOTPARALLEL:

demo: setup
	@$(BIN)/rayspan up

test: lint unit integration

setup:
	@$(SETUP)

dev:
	@$(SETUP) --dev

lint: dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/lock.py --check

unit: dev
	HF_HUB_OFFLINE=1 $(BIN)/pytest tests/unit

integration: dev
	HF_HUB_OFFLINE=1 $(BIN)/pytest -m integration tests/integration

lock: dev
	$(BIN)/python tools/lock.py

clean:
	@if [ -e "$(VENV)/rayspan-setup.json" ]; then rm -rf "$(VENV)"; fi
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
