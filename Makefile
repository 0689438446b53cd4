# Everything a checkout needs, from Python 3.11 or 3.12 and make alone.
#   make demo    a small policy learns to click, trained by TRL's GRPOTrainer on our reward; writes out/demo/
#   make test    all tests; make test-fast: without those marked slow
# TORCH_INDEX=URL installs PyTorch from another index, such as PyTorch's own index of CPU wheels.

PYTHON ?= $(shell for python in python3.11 python3.12 python3 python; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null && echo $$python && break; done)
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
DATA ?= ../shared/data

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := grounding_rewards adapters tests examples benchmarks docs

.PHONY: setup demo test test-fast matrix lint fix bench published docs cases clean

setup: .venv/complete

.venv/complete: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or 3.12 found; name one: make $(MAKECMDGOALS) PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH)
	$(PIP) install --quiet -c constraints.txt hatchling editables
	$(PIP) install --quiet -c constraints.txt --no-build-isolation -e '.[dev,docs,trl,verl]'
	@touch $@

demo: setup
	$(BIN)/python examples/train_trl_cpu.py

test: setup
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup

test-fast: setup
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup -m "not slow and not gpu"

matrix: setup
	$(BIN)/python tests/matrix.py

lint: setup
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/bandit --quiet --configfile pyproject.toml --severity-level medium --confidence-level medium \
		--recursive grounding_rewards adapters

fix: setup
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: setup
	$(BIN)/python benchmarks/every.py

published: setup
	$(BIN)/python benchmarks/published_figures.py --data $(DATA)

docs: setup
	GROUNDING_REWARDS_PLUGINS= $(BIN)/python -m docs.gallery.make
	$(BIN)/python -m sphinx -q -W --keep-going -c docs . out/site

cases: setup
	$(BIN)/python -W ignore -m tests.parsing.test_cases
	$(BIN)/python -W ignore -m tests.recipes.test_cases
	$(BIN)/python -W ignore -m tests.verifiers.test_cases

clean:
	rm -rf .venv out dist
