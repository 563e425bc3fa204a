PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One BLAS thread: the matrices are small, and results then do not depend on the number of cores.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MPLBACKEND := Agg

.PHONY: help demo test lint slow docs bench floors wheel clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	touch $@

demo: $(READY)  ## the paper's figures recomputed, and the chance test on three examples
	$(BIN)/chanceline reproduce --quick --out results/demo
	for example in breast-cancer noise planted; do $(BIN)/chanceline test --example $$example || exit 1; done

test: $(READY) lint  ## everything that belongs to every change
	# Three processes on two cores, as some tests wait: for browsers, signals, limits of time.
	$(BIN)/python -m pytest -n 3 --dist worksteal -q

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks scripts docs/gallery/*.py
	$(BIN)/ruff format --check --quiet src tests benchmarks scripts docs/gallery/*.py
	$(BIN)/mypy

slow: $(READY)  ## longer statistical and full-size checks
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m slow

docs: $(READY)  ## build the documentation, warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir results/site

bench: BENCH := .venv-bench/bin/python
bench:  ## every benchmark table in docs/, for hours; DATA=FOLDER of tables for those on real data
	$(PYTHON) -m venv .venv-bench
	# FasterRisk asks for versions of other packages that are long gone, but works without what NumPy 2.3 removed.
	$(BENCH) -m pip install --quiet --disable-pip-version-check --editable '.[bench,excel]' requests 'numpy<2.3'
	$(BENCH) -m pip install --quiet --disable-pip-version-check --no-deps fasterrisk
	for script in adjust biht breaking classes cost expected first_use front_claims large memory names patience plane pool rsb sets signs theory traps; do \
		$(BENCH) benchmarks/$$script.py || exit 1; done
	$(BENCH) benchmarks/power.py --tests ours 'largest t' 'Σr²' 'higher criticism' 'energy distance' 'shrunken centroids' 'L1 logistic' 'random forest'
	$(BENCH) benchmarks/search.py --instances 10 --large 2
	if [ -n "$(DATA)" ]; then $(BENCH) benchmarks/front.py --data $(DATA) && $(BENCH) benchmarks/front_test.py $(DATA) && \
		$(BENCH) benchmarks/rules.py --tables $(DATA) && $(BENCH) benchmarks/confirm.py --data $(DATA); fi

floors:  ## run the tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv .venv-floors
	.venv-floors/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-floors/bin/uv pip install --quiet --python .venv-floors/bin/python --resolution lowest-direct --editable '.[dev]'
	# Old packages warn about their own dependencies: warnings are not errors here (in the tutorials' test they always are).
	# Pinned results and the memory's example have other last digits with an older OpenBLAS (docs/performance.md).
	.venv-floors/bin/python -m pytest -n 2 -q -W default --ignore tests/test_golden.py --deselect tests/docs/test_pages.py::test_tutorials_run \
		--deselect 'tests/docs/test_examples.py::test_examples[docs/neuroscientist.md]'

wheel: $(READY)  ## build the wheel and the source archive, install each into an empty environment and run the examples there
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	for file in dist/*.whl dist/*.tar.gz; do \
		rm -rf dist/env && $(PYTHON) -m venv dist/env && dist/env/bin/python -m pip install --quiet --disable-pip-version-check $$file || exit 1; \
		for page in README.md docs/analyst.md docs/physicist.md docs/prepare-your-table.md; do dist/env/bin/python scripts/examples.py $$page || exit 1; done; \
	done
	rm -rf dist/env

clean:  ## remove what the targets made
	rm -rf $(VENV) .venv-floors .venv-bench dist results .pytest_cache .mypy_cache .ruff_cache
