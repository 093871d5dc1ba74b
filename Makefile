# Tasks of development; `make` alone lists them.  Every target sets up what it needs:
# system packages, the virtual environment .venv and the build (see .ci/prepare).
#
#   PYTHON=/path/to/python3   use this interpreter (3.10 or newer)
#   PYTEST_ARGS="-k mesh"     further arguments for pytest ("-n 0": in one process, for --pdb)
#   EXECUTE=0                 make docs does not run notebooks
#   PYTHONS="python3.12 ..."  interpreters for which to build wheels (3.10 to 3.13)

PYTHON ?=
PYTEST_ARGS ?=
PYTHONS ?=
OUT ?= out/demo
EXECUTE ?= 1

BIN := .venv/bin
PREPARE := PYTHON="$(PYTHON)" bash .ci/prepare

.DEFAULT_GOAL := help
.PHONY: help demo test lint test-asan test-tsan bench build docs docs-links wheel test-wheel clean

help:
	@echo "make demo       build everything, reduce and simulate a sample, write pictures to $(OUT)"
	@echo "make test       build everything, run the tests"
	@echo "make lint       check format, types and warnings of the sources"
	@echo "make test-asan  run the tests under the address and undefined-behaviour sanitizers"
	@echo "make test-tsan  run the tests of several threads under the thread sanitizer"
	@echo "make bench      print the table of timings"
	@echo "make docs       build the documentation site in build/site (EXECUTE=0: without running notebooks)"
	@echo "make docs-links check links of the documentation to other sites"
	@echo "make build      set up and build only (environment: .venv)"
	@echo "make wheel      build wheels with all libraries inside, in dist (x86-64 Linux)"
	@echo "make test-wheel run the tests on the wheel of an interpreter (PYTHON)"
	@echo "make clean      remove everything that was built"

build:
	@$(PREPARE) build

demo:
	@$(PREPARE) build
	@$(BIN)/reducedfem demo --out $(OUT)

test:
	@$(PREPARE) build test
	@$(BIN)/python -m pytest -n "$$(nproc)" --maxprocesses 8 --max-worker-restart 0 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-asan:
	@$(PREPARE) build test
	@bash .ci/sanitized asan $(PYTEST_ARGS)

test-tsan:
	@$(PREPARE) build test
	@bash .ci/sanitized tsan $(PYTEST_ARGS)

lint:
	@$(PREPARE) build lint docs
	@bash .ci/lint

bench:
	@$(PREPARE) build test
	@$(BIN)/python benchmarks/run.py

docs:
	@$(PREPARE) build docs
	@EXECUTE="$(EXECUTE)" $(BIN)/python docs/site/build.py

docs-links:
	@$(PREPARE) build docs
	@EXECUTE=0 $(BIN)/python docs/site/build.py --links

wheel:
	@bash .ci/wheel/build $(PYTHONS)

test-wheel:
	@bash .ci/wheel/test $(or $(PYTHON),python3) $(PYTEST_ARGS)

clean:
	rm -rf .venv build out dist python/*.egg-info python/reducedfem/*.so
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path "./.git/*" -prune -exec rm -rf {} +
