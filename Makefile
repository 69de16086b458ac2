SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.DEFAULT_GOAL := help

.PHONY: help install up down logs ps token demo check test bench
help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

node_modules/.package-lock.json: package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

install: node_modules/.package-lock.json

# In containers where a Docker engine answers, else as plain processes; FLEET_MODE=docker|process forces one.
up: ## start the fleet, in containers or as plain processes; prints addresses and a curl to try
	@deploy/fleet.sh up
down: ## stop the fleet
	@deploy/fleet.sh down
logs: ## follow the logs
	@deploy/fleet.sh logs
demo: ## a first flight on whatever runs: a routed task, a blocked one, and where to look
	@deploy/fleet.sh demo
ps: ## what runs
	@deploy/fleet.sh ps
token: ## the operator's token: make -s token
	@deploy/fleet.sh token

check: install ## format, lint and types
	npm run --silent check

test: install ## everything: checks, unit tests, whole fleets; containers where a Docker engine answers
	@deploy/system-packages.sh --tests
	npm run --silent check
	npm run --silent test

bench: install ## first figures: start, memory, dispatches, ledger
	@node test/bench/main.ts
