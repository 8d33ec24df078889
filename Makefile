# Every target sets up what it needs: a virtual environment in .venv with pinned versions.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
BENCH := .venv/.benchmarks
REPRODUCE := .venv/.reproduce
DOCS := .venv/.docs
BDE := .venv/.bde
JOBS ?= 2

.PHONY: demo test lint docs benchmark statistics calibration tables reproduce reproduce-quick reproduce-report clean

demo: $(STAMP)
	$(BIN)/hyperplanes demo --out demo.png

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DOCS)
	$(BIN)/typer hyperplanes.cli.program utils docs --name hyperplanes --title "Commands and options" \
		--output docs/reference/commands.md
	rm -rf site
	$(BIN)/sphinx-build --fail-on-warning --fresh-env --quiet -d site/doctrees docs site/html
	$(BIN)/python -m pytest tests/documentation -m site

benchmark: $(BENCH)
	$(BIN)/python benchmarks/foundation.py

tables: $(BDE)
	$(BIN)/python benchmarks/tables.py --picture ranks.png

reproduce: $(REPRODUCE)
	$(BIN)/hyperplanes reproduce all --document docs/reproduction.md

reproduce-report: $(STAMP)
	$(BIN)/hyperplanes reproduce all --report-only --document docs/reproduction.md

reproduce-quick: $(REPRODUCE)
	$(BIN)/hyperplanes reproduce all --quick --jobs $(JOBS)

statistics: $(REPRODUCE)
	$(BIN)/python -m pytest -n $(JOBS) -m long

calibration: $(STAMP)
	$(BIN)/python benchmarks/calibration.py

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hyperplanes needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

$(BENCH): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[benchmarks]"
	touch $@

$(REPRODUCE): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[reproduce]"
	touch $@

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

$(BDE): $(BENCH)
	$(PYTHON) -m venv .venv/bde
	.venv/bde/bin/python -m pip install --quiet sklearn-contrib-bde==1.0.2 $$(grep -E "^(jax|numpy)==" constraints.txt)
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo.png reproduction-quick site
