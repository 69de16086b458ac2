SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.DEFAULT_GOAL := help

.PHONY: help install up down logs ps token console demo route peers trader doctor check test test-all test-due test-slow-part test-exhaustive test-quick test-faults bench sim size eval picture docs package release
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

node_modules/.package-lock.json: package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

# ./fleet installs packages for development only where they are installed already.
install: node_modules/.package-lock.json
	@[ -e node_modules/.bin/tsc ] || npm ci --no-audit --no-fund

# In containers if a Docker engine answers, else as plain processes; FLEET_MODE=docker|process forces a mode.
up: ## start the fleet, in containers or as plain processes; prints addresses and a curl to try
	@./fleet up
down: ## stop the fleet
	@./fleet down
logs: ## follow the logs
	@./fleet logs
demo: ## send real tasks to the running fleet: a routed one, a blocked one, a decision, and where to look
	@./fleet demo
route: ## where a dispatch would go, and why: make route ARGS='--mcp filesystem --priority low'
	@./fleet route --explain $(ARGS)
peers: ## the peers of switch and their state: make peers ARGS='--profile neo'
	@./fleet peers $(ARGS)
trader: ## the strategies of the trader, or its decisions and audit: make trader ARGS='audit verify'
	@./fleet trader $(or $(ARGS),list)
doctor: ## check a profile's configuration and everything that it connects to: make doctor ARGS='--profile neo'
	@./fleet doctor $(ARGS)
console: ## print a link that opens the console in a browser once, and open it
	@./fleet console $(ARGS)
ps: ## list the fleet's processes or containers
	@./fleet ps
token: ## the operator's token: make -s token
	@./fleet token

check: install ## format, lint and types
	npm run --silent check

# UNTIL, in seconds since 1970, is the moment after which no test file is begun.
RUN_TESTS = npm run --silent test -- --again $(if $(UNTIL),--until $(UNTIL))

test: install ## checks, fast tests and one whole fleet; one test in containers where a Docker engine answers
	@deploy/system-packages.sh --tests
	npm run --silent check
	$(RUN_TESTS)

# Writes test/suite.json: which files passed on which commit, and what each cost.
test-all: install all-tests ## everything: checks, all tests, whole fleets, containers
	npm run --silent check
	$(ALL_TESTS) $(RUN_TESTS) --tier all --record

test-due: install all-tests ## what test/suite.json does not vouch for: files that have not passed, or that reach a later change
	$(ALL_TESTS) $(RUN_TESTS) --tier all --record --due

# The second part of continuous integration, after make test.
test-slow-part: install all-tests
	$(ALL_TESTS) $(RUN_TESTS) --tier slow --due --sixth

test-exhaustive: ## make test-all, with every case of the tests that take a sample of very many
	@EXHAUSTIVE=1 $(MAKE) test-all

ALL_TESTS = MCP_INSPECTOR_DIR=$${MCP_INSPECTOR_DIR-$(CURDIR)/.cache/mcp-inspector} \
	LLAMA_SERVER_BIN=$${LLAMA_SERVER_BIN-$(CURDIR)/.cache/llama-server/llama-server}

.PHONY: all-tests
all-tests: install
	@deploy/system-packages.sh --all-tests
	@deploy/claude-sdk.sh
	@deploy/mcp-inspector.sh
	@deploy/llama-server.sh

# The tests of a changed package that import a changed file; all of its tests where another kind of file changed.
test-quick: install ## checks, and the unit tests of what changed since the main branch; no fleets, no containers
	@deploy/system-packages.sh --tests
	npm run --silent check
	npm run --silent test -- --changed

# Each fault is planted in a copy of the repository; ARGS='--tier fast' looks with the tests of make test alone.
test-faults: install all-tests ## plant forty faults, one after the other, and see that a test finds each (test/faults/README.md)
	@$(ALL_TESTS) node test/faults/main.ts $(ARGS)

bench: install ## measure the fleet beside contenders: make bench ONLY=dispatch, ARGS=--help (docs/performance.md)
	@node test/bench/main.ts $(if $(ONLY),--only '$(ONLY)') $(ARGS)

sim: install ## run a fleet in virtual time, with random faults: make sim ARGS='--seed 7 --workers 100', ARGS=--help (docs/scale.md)
	@node test/sim/main.ts $(ARGS)

size: install ## lines of the sources of each package, and the difference from a commit: make size ARGS=main
	@node test/support/size.ts $(ARGS)

docs: install ## write the generated parts of the documents: tables of keys and metrics, JSON Schemas
	@node test/support/generated-docs.ts

package: install ## build the npm package from the last commit, into .cache/package (docs/releasing.md)
	@node deploy/package/pack.ts

release: install ## write all that is published of a version, into release/<version>: make release ARGS=--preview
	@node deploy/package/release.ts $(ARGS)

picture: install ## draw the pictures of a demo and of fleet send from the fleet that runs
	@output=$$(./fleet demo) && printf '%s\n' "$$output" >docs/picture/demo.txt && node docs/picture/record.ts && node docs/picture/draw.ts

# MODEL, BASE_URL and API_KEY_ENV name a model, or CONFIG a profile's config.yaml; the default is offline/runbook.
export MODEL BASE_URL API_KEY_ENV CONFIG
eval: install ## run briefs with checkable outcomes on a model: make eval MODEL=openai-compatible/qwen BASE_URL=http://127.0.0.1:8000/v1
	@node test/eval/main.ts $(ARGS)
