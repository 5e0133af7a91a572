# Everything here does its own set-up; `make demo` is the place to start.
VENV := .venv
BIN := $(VENV)/bin
BENCH := .bench
FUZZ := .fuzz
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE := copy
export UV_COMPILE_BYTECODE := 1
# Hundreds of tests start the program: without compiled files each compiles it anew.
export PYTHONDONTWRITEBYTECODE :=

# Tests wait for sockets and sleeps a third of their time: one worker more than cores.
WORKERS ?= $(shell expr $$(nproc) + 1)

.DEFAULT_GOAL := help
.PHONY: help league setup ray demo docs reference test test-faults peers test-peers fuzz check format experiments experiments-objects experiments-pages experiments-text experiments-queries experiments-one lock clean coverage test-mutants test-servers release

help:  ## show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | column -t -s '	'

setup: $(VENV)/.ready  ## build the environment in .venv

$(VENV)/.ready: requirements/dev.txt pyproject.toml | tools/bootstrap
	@tools/bootstrap $(UV)
	@$(UV) venv --quiet --clear --python python3 $(VENV)
	@$(UV) pip sync --quiet --python $(BIN)/python requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	@$(BIN)/python -m compileall -q -j 0 -x '/(test_|conftest)' src lab tests examples
	@touch $@

ray: setup  ## add Ray (80 MB) to the environment, for the tests that need it
	@$(BIN)/python -c 'import ray' 2>/dev/null || \
	  $(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/ray.txt

# Each worker finds all tests, and would compile them once more: that takes it half a minute.
$(VENV)/.collected: $(VENV)/.ready
	@$(BIN)/pytest -qq --collect-only tests/laws tests/live tests/web > /dev/null 2>&1 & \
	 $(BIN)/pytest -qq --collect-only --ignore tests/laws --ignore tests/live --ignore tests/web \
	   tests examples > /dev/null 2>&1; wait; touch $@

demo: setup  ## keep a small web site fresh on a budget, offline, in under a minute
	@$(BIN)/halflife demo

docs: setup reference  ## build the book as a static site in out/book, and check it
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs auto docs out/book
	@$(BIN)/python tools/check_book.py out/book

reference: setup  ## write the reference pages of the book from the code
	@$(BIN)/python -m tools.reference

# Workers fill the cores; threads of linear algebra inside each would only wait for one another.
test: $(VENV)/.collected  ## run every test
	@$(BIN)/python -m compileall -q -j 0 src
	@OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal

test-faults: setup  ## crash, cut the power, fill the disk, set the clock: thousands of times
	@HALFLIFE_FAULTS=full $(BIN)/pytest -n 2 --dist worksteal --timeout 900 --durations 15 -m faults tests/faults

RUNS := 20000
JOBS := 1
fuzz: $(FUZZ)/.ready  ## made-up bodies for every reader, RUNS=20000 each; last line is JSON
	@$(FUZZ)/bin/python tools/fuzz.py --runs $(RUNS) --jobs $(JOBS)

peers:  ## download other projects' test suites for `make test-peers`
	@python3 tools/fetch_peers.py

test-peers: setup peers  ## robots.txt and URLs against the suites of Google, of browsers and another parser
	@$(BIN)/pytest -n 0 -rs tests/test_peers.py

MUTANTS ?= 60
SEED ?= 1
MODULES ?= *
test-mutants: setup  ## change one operator at a time and see which tests notice: MUTANTS=60 SEED=1 MODULES='*.belief.*'
	@set -f; $(BIN)/python tools/mutants.py --count $(MUTANTS) --seed $(SEED) --modules $(MODULES) --report out/mutants.json

coverage: setup  ## the share of the pure layers' lines that their own tests reach; at least 95 %
	@$(BIN)/python tools/pure_coverage.py

test-servers: setup  ## real servers (PyPI, npm, Debian) against halflife; installs what is missing when root
	@tools/install-servers
	@HALFLIFE_SERVERS=all $(BIN)/pytest -n 2 --dist loadfile --timeout 600 --durations 15 tests/servers

check: setup  ## lint, types, import contracts, sizes
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tools/check_sizes.py

format: setup  ## put the code in its normal form
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

RECORDED = $(if $(DATA),$(DATA),$(wildcard ../shared/data))
league: setup  ## measure the book's figures into results/*.json and write its tables [ONLY=A,B] [DATA=DIR]
	$(BIN)/python -m lab.results $(if $(RECORDED),--data "$(RECORDED)") $(if $(ONLY),--only "$(ONLY)")

experiments: setup  ## print every figure that takes minutes (docs/figures.md)
	@mkdir -p out
	$(BIN)/halflife bench allocate --items 1000000 --json | tee out/allocate.json
	$(BIN)/halflife bench allocate --items 1000000 --shape weibull --json | tee out/weibull.json
	$(BIN)/python -m lab.turns --items 1000000 --looks 10 --json | tee out/turns.json
	$(BIN)/python -m lab.bench fit | tee out/fit.json
	$(BIN)/python -m lab.bench index | tee out/index.json
	$(BIN)/python -m lab.bench learn --seeds 8 | tee out/learn.json
	$(BIN)/python lab/benchmarks/kill9.py --kills 100 --scrapy $(BENCH)/bin/python | tee out/kill9.json
	$(BIN)/python lab/benchmarks/fetch.py --scrapy $(BENCH)/bin/python | tee out/fetch.json

experiments: $(BENCH)/.ready

experiments-objects: setup  ## forecasts and policies on every recorded set source in DATA=DIR
	@test -d "$(DATA)" || { echo "give a folder of recorded set sources: make $@ DATA=DIR"; exit 2; }
	@mkdir -p out
	$(BIN)/python -m lab.objects "$(DATA)" > out/objects.json
	$(BIN)/python -m lab.set_policies "$(DATA)" > out/setpolicies.json
	@! test -f "$(DATA)/../sites/pages.parquet" || \
	  $(BIN)/python -m lab.unseen "$(DATA)/../sites" > out/unseen.json

experiments-pages: setup  ## every policy on the page histories in DATA=DIR, with a picture
	@test -d "$(DATA)" || { echo "give a folder of page histories: make $@ DATA=DIR"; exit 2; }
	$(BIN)/python -m lab.league "$(DATA)" out
	$(BIN)/python -m lab.correlation "$(DATA)" > out/correlation.json

experiments-text: setup  ## how summaries of the text databases in DATA=DIR age, and rules for renewing them
	@test -d "$(DATA)" || { echo "give a folder of text databases: make $@ DATA=DIR"; exit 2; }
	$(BIN)/python -m lab.text_study "$(DATA)" out

SOME = $(if $(ONLY),--only "$(ONLY)")
experiments-queries: setup  ## every way to ask query-only sources, on the object histories in DATA=DIR [ONLY=A,B]
	@test -d "$(DATA)" || { echo "give a folder of object histories: make $@ DATA=DIR"; exit 2; }
	@mkdir -p out
	$(BIN)/python -m lab.querygraph $(SOME) "$(DATA)" > out/querygraph.json
	$(BIN)/python -m lab.formsize $(SOME) "$(DATA)" > out/formsize.json
	$(BIN)/python -m lab.newrecords $(SOME) "$(DATA)" out > out/newrecords.json
	$(BIN)/python -m lab.probes $(SOME) "$(DATA)" > out/probes.json
	$(BIN)/python -m lab.citations out > out/citations.json
	$(BIN)/python -m lab.known_records $(SOME) "$(DATA)" > out/contentfreshness.json
	$(BIN)/python -m lab.probeforms 40 > out/probeforms.json

experiments-one: setup  ## one budget over sources of every kind, on DATA=DIR with objects/ and sites/
	@test -d "$(DATA)/objects" -a -d "$(DATA)/sites" || { echo "give a folder with objects/ and sites/: make $@ DATA=DIR"; exit 2; }
	@mkdir -p out
	$(BIN)/python -m lab.one "$(DATA)" out > out/one.json
	$(BIN)/python -m lab.onetargets "$(DATA)" out > out/onetargets.json
	$(BIN)/python -m lab.mixedlive "$(DATA)" out > out/mixedlive.json

$(BENCH)/.ready: | tools/bootstrap
	@tools/bootstrap $(UV)
	@$(UV) venv --quiet --clear --python python3 $(BENCH)
	@$(UV) pip install --quiet --python $(BENCH)/bin/python --group bench
	@touch $@

$(FUZZ)/.ready: pyproject.toml | tools/bootstrap
	@tools/bootstrap $(UV)
	@$(UV) venv --quiet --clear --python python3 $(FUZZ)
	@$(UV) pip install --quiet --python $(FUZZ)/bin/python --group fuzz --editable '.[extract,pdf,urlwatch]'
	@touch $@

PYTHONS ?= 3.11 3.12 3.13
release: setup  ## wheel, sdist and SBOM in dist/, tried in empty environments: PYTHONS='3.11 3.12 3.13'
	@tools/bootstrap $(UV)
	@$(BIN)/python tools/man_page.py > docs/halflife.1
	@$(BIN)/python tools/release.py --uv $(UV) --out dist --pythons $(PYTHONS)

lock:  ## choose new versions for the locked environment
	@tools/bootstrap $(UV)
	@echo uv | $(UV) pip compile --quiet --no-header --no-annotate --no-emit-index-url --generate-hashes \
	  - -o requirements/bootstrap.txt --upgrade
	@$(UV) pip compile --quiet --no-header --no-annotate --no-emit-index-url --generate-hashes \
	  --python-version 3.11 --group dev pyproject.toml -o requirements/dev.txt --upgrade
	@echo 'ray>=2.50' | $(UV) pip compile --quiet --no-header --no-annotate --no-emit-index-url --generate-hashes \
	  --python-version 3.11 --constraint requirements/dev.txt - -o requirements/ray.txt --upgrade

clean:  ## remove what was built
	rm -rf $(VENV) $(BENCH) $(FUZZ) .uv .peers .servers out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
