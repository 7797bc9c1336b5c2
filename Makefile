# make help lists what there is. Python 3.11 or newer; PYTHON=... names another one.

PYTHON ?= python3
BIN := .venv/bin
# Bytecode is written even where the environment says otherwise: the tests start some hundred processes.
TESTS := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal
SERVES := .venv/.serves
READY := .venv/.ready
CHROMIUM ?= chromium
PYTHONS ?= python3.12 python3.13 python3.14
DRIVER := .cache/browser
CLIENT := clients/typescript
CONSOLE := gateway/console
PAGE := gateway/streamweir_gateway/console/static/index.html
PAGE_SOURCES := $(shell find $(CONSOLE) $(CLIENT)/src -name node_modules -prune -o -path $(CONSOLE)/test -prune -o -type f -print)
HAS_NODE := command -v npm > /dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2> /dev/null
HAS_VITE_NODE := command -v npm > /dev/null && node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 12) || (a == 20 && b >= 19) ? 0 : 1)' 2> /dev/null

.DEFAULT_GOAL := help
.PHONY: help setup run console test test-python test-node test-typescript test-console fast long check lint bench bench-quick soak storm costs mutate real compat pythons audit browser image clients docs pictures format clean

help:  ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## make .venv with the package and the development tools in it
	@:

$(SERVES): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "streamweir needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	@echo "Setting up .venv with what serving needs, once: half a minute" >&2
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade 'pip>=25.1' >&2
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[gateway]' >&2
	@touch $@

$(READY): $(SERVES)
	@echo "Setting up .venv with the development tools, once: a minute" >&2
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[gateway]' --group dev >&2
	@touch $@

run: $(SERVES)  ## serve config.yaml with its console; LISTEN=HOST:PORT listens elsewhere, CONSOLE_LISTEN=HOST:PORT the console
	@if $(HAS_VITE_NODE); then $(MAKE) -s --no-print-directory $(PAGE) > /dev/null || echo 'The page of the console is not built; its API works' >&2; fi
	@$(if $(LISTEN),CONSOLE_LISTEN=$(or $(CONSOLE_LISTEN),127.0.0.1:0)) exec $(BIN)/streamweir serve config.yaml $(if $(LISTEN),--listen $(LISTEN))

console: $(CONSOLE)/node_modules/.ready  ## build the page of the console (Node 20.19 or newer)
	@cd $(CONSOLE) && npm run --silent build -- --logLevel warn

$(PAGE): $(CONSOLE)/node_modules/.ready $(PAGE_SOURCES)
	@echo "Building the page of the console: some seconds" >&2
	@cd $(CONSOLE) && timeout 120 npm run --silent build -- --logLevel warn >&2

$(CONSOLE)/node_modules/.ready: $(CONSOLE)/package.json $(CONSOLE)/package-lock.json
	@echo "Setting up $(CONSOLE)/node_modules, once: some seconds" >&2
	@cd $(CONSOLE) && timeout 120 npm ci --silent --ignore-scripts --no-audit --no-fund --fetch-retries=1 >&2
	@touch $@

# The page comes first: the test of the package would build it meanwhile, and after `npm ci` of its own.
test: $(READY)  ## run the tests, the TypeScript client's too where Node 20 is; ARGS="-k retries" hands pytest more options
ifdef ARGS
	@$(TESTS) $(ARGS)
else
	@if $(HAS_VITE_NODE); then $(MAKE) -s --no-print-directory $(PAGE) || true; fi
	@$(MAKE) -s --no-print-directory test-node & node=$$!; $(MAKE) -s --no-print-directory test-python; code=$$?; wait $$node && exit $$code
endif

test-python: $(READY)
	@$(TESTS)

test-node:
	@if $(HAS_NODE); then $(MAKE) -s --no-print-directory test-typescript; \
	else echo 'The tests of clients/typescript are left out: they need Node 20 or newer, and npm'; fi
	@if $(HAS_VITE_NODE); then $(MAKE) -s --no-print-directory test-console; \
	else echo 'The tests of gateway/console are left out: they need Node 20.19 or newer, and npm'; fi

test-typescript: $(READY) $(CLIENT)/node_modules/.ready  ## run the TypeScript client's tests alone (Node 20; a browser where Chromium is)
	@cd $(CLIENT) && npm run --silent lint && npm run --silent check:types && npm test --silent

test-console: $(CONSOLE)/node_modules/.ready $(PAGE)  ## lint, types, unit tests and build of the console's page (Node 20.19)
	@cd $(CONSOLE) && npm run --silent lint && npm test --silent

$(CLIENT)/node_modules/.ready: $(CLIENT)/package.json $(CLIENT)/package-lock.json
	@echo "Setting up $(CLIENT)/node_modules, once: a minute" >&2
	@cd $(CLIENT) && timeout 300 npm ci --silent --ignore-scripts --no-audit --no-fund >&2
	@touch $@

fast: $(READY)  ## run the fast tests (two minutes on two processors): all but those marked slow
	@$(TESTS) -m 'not slow and not browser and not image and not long' --hypothesis-profile fast $(ARGS)

long: $(READY)  ## run the tests that take up to a minute each: packages, an added dialect, growth, soak commands in short
	@$(TESTS) -n 2 -m long $(ARGS)

check: lint test  ## format, lint, types, tests: all that has to hold before a commit

lint: $(READY)  ## format, lint, types and the configuration, without the tests
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/streamweir check config.yaml > /dev/null

bench: $(READY)  ## measure the gateway beside its peers (half an hour); writes docs/performance.md
	@$(BIN)/python bench/micro.py --write
	@$(BIN)/python bench/run.py

bench-quick: $(READY)  ## the same in under three minutes; prints only
	@$(BIN)/python bench/micro.py
	@$(BIN)/python bench/run.py --quick

soak: $(READY)  ## abort 10,000 streams, meet every fault: what the gateway keeps, what it grows by; SEED=7 (five minutes, Linux)
	@$(BIN)/python tests/soak/run.py $(if $(SEED),--seed $(SEED))
	@$(BIN)/python tests/soak/faults.py $(if $(SEED),--seed $(SEED))

storm: $(READY)  ## clients that read nothing of a flood and leave, workers that hang; SEED=7 (four minutes, Linux)
	@$(BIN)/python tests/soak/storm.py $(if $(SEED),--seed $(SEED))
	@$(BIN)/python tests/soak/hung_workers.py

costs: $(READY)  ## hostile messages of up to 8 MiB, 200 of each dialect: time and memory in proportion (half an hour); ARGS="-k legacy"
	@$(BIN)/python -m pytest -q -m '' tests/library/test_costs.py tests/library/test_frame_growth.py --hostile 200 --event-bytes 8388608 $(ARGS)

mutate: $(READY)  ## mutate and cut 20,000 recorded streams; COUNT=2000 SEED=7, CASE=12 for one alone
	@PYTHONPATH=tests/support $(BIN)/python tests/mutate/run.py $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(CASE),--case $(CASE))

browser: $(READY) $(DRIVER)/.ready  ## let pages in Chromium try to start runs (Debian's, installed if missing; needs Node 20)
	@command -v $(CHROMIUM) > /dev/null || { timeout 120 apt-get update -qq && timeout 600 apt-get install -qq --no-install-recommends $(CHROMIUM); } > /dev/null
	@CHROMIUM=$(CHROMIUM) timeout 900 $(BIN)/python -m pytest -q -m browser tests/browser $(ARGS)

clients: $(READY)  ## let official clients read every recorded stream; ARGS="ai-6 ag-ui-1.0" these alone (needs Node 20)
	@PYTHONPATH=tests/support $(BIN)/python tests/clients/read_all.py $(ARGS)
	@$(if $(ARGS),true,PYTHONPATH=tests/support $(BIN)/python tests/clients/newest_types.py)
	@$(if $(ARGS),true,PYTHONPATH=tests/support $(BIN)/python tests/clients/read_pages.py)
	@$(if $(ARGS),true,PYTHONPATH=tests/support $(BIN)/python tests/clients/read_live.py)
	@$(if $(ARGS),true,PYTHONPATH=tests/support $(BIN)/python tests/clients/lead_loops.py)
	@$(if $(ARGS),true,PYTHONPATH=tests/support $(BIN)/python tests/clients/read_chat_page.py)

image: $(READY) console  ## build the image of deploy/ and ask it for a stream (needs buildah, crun, mmdebstrap; a minute)
	@timeout 900 $(BIN)/python -m pytest -q -m image tests/deploy $(ARGS)

$(DRIVER)/.ready: tests/browser/package.json tests/browser/package-lock.json
	@mkdir -p $(DRIVER)
	@cp $^ $(DRIVER)
	@timeout 120 npm ci --prefix $(DRIVER) --silent --ignore-scripts --no-audit --no-fund
	@touch $@

real: $(READY)  ## put the gateway and the middleware before real servers with a scripted model; ARGS="hayhooks" for one
	@PYTHONPATH=tests/support $(BIN)/python tests/real/ask_all.py $(ARGS)

compat: $(READY)  ## run the middleware's tests on the oldest and the newest starlette
	@PYTHONPATH=tests/support $(BIN)/python tests/compat/run.py

pythons: $(READY)  ## run the fast tests on the other versions of Python that are installed; PYTHONS names them
	@for python in $(PYTHONS); do \
	$$python -c '' 2> /dev/null || { echo "$$python is not installed"; continue; }; \
	place=.cache/pythons/$$(basename $$python); echo "$$python" >&2; \
	test -e $$place/.ready || { $$python -m venv $$place && $$place/bin/python -m pip install -qq --disable-pip-version-check \
	--upgrade 'pip>=25.1' && $$place/bin/python -m pip install -qq --editable '.[gateway]' --group dev && touch $$place/.ready; } || exit 1; \
	$$place/bin/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal -p no:cacheprovider \
	-m 'not slow and not browser and not image and not long' --hypothesis-profile fast || exit 1; done

audit: $(READY)  ## look what is installed up among the known advisories (needs a source of them)
	@test -x .cache/audit/bin/pip-audit || { $(PYTHON) -m venv .cache/audit && .cache/audit/bin/pip install -qq 'pip-audit>=2.9,<3'; }
	@$(BIN)/python -m pip freeze -qq --exclude-editable > .cache/audit/resolved.txt
	@.cache/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement .cache/audit/resolved.txt

docs: $(READY)  ## write what the documents say of each dialect, from the dialects
	@$(BIN)/python docs/generate.py

pictures: $(READY) $(PAGE)  ## take the pictures of docs/console.md (Node 20.19, Chromium)
	@$(BIN)/python docs/pictures.py $(CURDIR)/$(CONSOLE) "$$(command -v $(CHROMIUM))"

format: $(READY)  ## format the code, fix what lint can fix
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

clean:  ## remove .venv and caches
	@rm -rf $(CLIENT)/node_modules $(CLIENT)/dist $(CONSOLE)/node_modules $(dir $(PAGE)) .venv .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
