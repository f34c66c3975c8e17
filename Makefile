# make demo   the paper's experiments at small sizes, as one page: report/index.html
# make test   lint, then the test suite
# make bench  ratios against peers, side by side in one run
# All of them create .venv themselves; that is quick once it exists.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench clean

.venv/.dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv/.bench: .venv/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

demo: .venv/.dev
	$(BIN)/zonodpp reproduce --quick --out report

test: lint
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.bench
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf .venv report .numba_cache .pytest_cache .mypy_cache .ruff_cache
