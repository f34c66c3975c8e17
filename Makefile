# make demo   the paper's experiments at small sizes, as one page: report/index.html
# make test   lint, then the test suite
# make test-processors  the compiled tests again, for a plain processor and with bounds checks
# make bench  ratios against peers, side by side in one run
# make docs   the site: docs/_build/html/index.html; a warning or a broken link is an error
# make test-lowest  the test suite with the lowest versions that pyproject.toml names
# make wheel  wheel and sdist, checked, and the wheel tried in an empty environment
# All of them create .venv themselves; that is quick once it exists. Another Python in an environment of
# its own: make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Tests of the kernels of samplers, with the shapes and numbers at which one may fail.
COMPILED := tests/exact/test_exact.py tests/exchange/test_exchange.py tests/trees tests/best \
  $(addprefix tests/zonotope/test_,hit_and_run.py zonotope.py volume.py) \
  $(addprefix tests/targets/test_,network.py dpp.py conditioning.py)
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal

.PHONY: demo test test-processors lint bench docs test-lowest wheel clean

$(VENV)/.dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

demo: $(VENV)/.dev
	$(BIN)/python -m paper --quick --out report

test: lint
	$(PYTEST)

# Other processors round differently, so chains take other paths there: no test may depend on one.
test-processors: $(VENV)/.dev
	NUMBA_CPU_NAME=generic $(PYTEST) $(COMPILED)
	NUMBA_BOUNDSCHECK=1 $(PYTEST) $(COMPILED)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/deptry src

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build/html $(ARGS)
	$(BIN)/python tools/links.py docs/_build/html

test-lowest:
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tools/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint .venv-lowest/constraints.txt --editable '.[test]'
	.venv-lowest/bin/python -m pytest --numprocesses auto --dist worksteal

wheel: $(VENV)/.dev
	rm -rf dist .venv-wheel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[all]"
	.venv-wheel/bin/python -P tools/smoke.py
	rm -rf .venv-wheel

clean:
	rm -rf .venv .venv-* dist report docs/_build docs/gallery docs/reference/generated .numba_cache .pytest_cache .mypy_cache .ruff_cache
