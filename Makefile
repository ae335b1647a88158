# Two commands are enough: `make run` and `make test`. Both are quick and quiet the second time.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
PROGRAM := $(TARGET_DIR)/release/echovessel

# Where the embedding models are. The program reads the first name; `make run` gives it the multilingual model where that is there.
export ECHOVESSEL_MODEL_DIR ?= $(CURDIR)/.cache/models/all-MiniLM-L6-v2
export ECHOVESSEL_MULTILINGUAL_MODEL_DIR ?= $(CURDIR)/.cache/models/multilingual-e5-small

PAGE := web/dist/index.html
PAGE_TOOLS := web/node_modules/.package-lock.json
BROWSER_TOOLS := e2e/node_modules/.package-lock.json
CLIENT_TOOLS := e2e/mcp/node_modules/.package-lock.json
# Declarations are written again by each run of the tests and are not part of the page.
PAGE_SOURCES := $(wildcard web/*.html web/*.json web/*.js web/*.ts) \
                $(shell find web/src web/public -type f ! -name '*.d.ts' 2>/dev/null)

.PHONY: help
help: ## Lists what there is.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: tools $(PAGE) ## Fetches the model, builds everything, starts the daemon and opens its page.
	@cargo build --release --locked --package echovessel
	@scripts/install-model $(PROGRAM) || echo "Going on without it: memory works on words alone until \`make model\` succeeds."
	@for folder in "$$ECHOVESSEL_MULTILINGUAL_MODEL_DIR" "$$ECHOVESSEL_MODEL_DIR"; do \
	  if [ -d "$$folder" ]; then export ECHOVESSEL_MODEL_DIR="$$folder"; break; fi; done; exec $(PROGRAM) run --open

.PHONY: test
test: tools $(PAGE) ## Installs what the tests need, then runs every check and every test.
	@scripts/run-tests

# What the tests need and the build does not: `scripts/run-tests` makes it beside the build.
.PHONY: test-tools
test-tools: setup-tests $(BROWSER_TOOLS) $(CLIENT_TOOLS)
	@scripts/stage "Embedding models" scripts/install-model

.PHONY: lint
lint: tools $(PAGE) ## Formatting, clippy, the rules of the house, types of the page.
	@scripts/lint

.PHONY: audit
audit: tools $(PAGE_TOOLS) ## Checks licences, sources and known vulnerabilities of everything that the program contains.
	@scripts/audit

.PHONY: dist
dist: tools $(PAGE) ## Builds the program for others into dist/: audited, with its bill of materials.
	@scripts/dist

.PHONY: pictures
pictures: tools setup-tests $(PAGE) $(BROWSER_TOOLS) ## Takes the pictures of the README and the book, in both languages.
	@cargo build --locked --package echovessel
	@CHROMIUM=$$(scripts/find-browser) npm --prefix e2e run --silent pictures

.PHONY: model
model: tools ## Fetches the embedding model.
	@scripts/install-model $(PROGRAM)

.PHONY: web
web: tools $(PAGE) ## Builds the page.

.PHONY: bench
bench: tools $(PAGE) ## Runs the benches and prints their figures, also on a PostgreSQL server where its programs are installed.
	@scripts/install-model
	@beside=; ! scripts/with-postgres true 2> /dev/null || beside=scripts/with-postgres; $$beside cargo bench --workspace --locked
	@cargo build --release --locked --package echovessel
	@python3 e2e/mcp/measure.py $(PROGRAM)

KILLS ?= 200
YEARS ?= 2..20
PROACTIVE_YEARS ?= 4..51
LIVES ?= 1000
# Of daemons that share a database.
FAULTS ?= 200
# Of each of four tests.
WORLDS ?= 2500
SEED ?= 1
.PHONY: soak
soak: tools $(PAGE) ## Kills the daemon KILLS times (200) while people talk to it, and counts what is lost; lives the persona-years YEARS, the PROACTIVE_YEARS and LIVES (1000) lives with corrections, and four times WORLDS (2500) worlds of a hub and its embodiments; has FAULTS (200) things fail around three daemons on one database.
	@cargo build --release --locked --package echovessel --package testkit --bins
	@python3 scripts/soak.py $(PROGRAM) $(TARGET_DIR)/release/scripted-model --kills $(KILLS) --seed $(SEED)
	@ECHOVESSEL_SOAK_ROUNDS=$(FAULTS) ECHOVESSEL_SOAK_SEED=$(SEED) scripts/with-postgres cargo test --locked --package echovessel --test it -- \
	  --ignored daemons::faults --nocapture
	@ECHOVESSEL_YEARS=$(YEARS) cargo test --locked --package runtime --test it -- other_years_keep --nocapture
	@ECHOVESSEL_YEARS=$(PROACTIVE_YEARS) cargo test --locked --package runtime --test it -- years_of_more_seeds --nocapture
	@ECHOVESSEL_LIVES=$(LIVES) cargo test --locked --package runtime --test it -- generated_lives --nocapture
	@ECHOVESSEL_WORLDS=$(WORLDS) cargo test --release --locked --package hub --test it -- come_to_rest
	@ECHOVESSEL_SOAK_ROUNDS=$(KILLS) cargo test --locked --package echovessel --test it -- nothing_acknowledged_is_lost --nocapture
	@ECHOVESSEL_TEST_KILLS=$(KILLS) cargo test --locked --package echovessel --test it -- killed_under_load

.PHONY: reference
reference: tools ## Compares our tokenizer and our table of simplified characters with the crates that they replaced.
	@scripts/install-model
	@CARGO_TARGET_DIR=$(abspath $(TARGET_DIR))/reference cargo test --manifest-path reference/Cargo.toml --locked --test it

.PHONY: tools
tools:
	@scripts/check-tools

.PHONY: setup-tests
setup-tests:
	@scripts/stage "What the tests need" scripts/setup-tests

$(PAGE): $(PAGE_SOURCES) $(PAGE_TOOLS)
	@scripts/stage "Building the page" npm --prefix web run --silent build -- --logLevel warn
	@touch $@

%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	@scripts/stage "Installing what $* needs" npm --prefix $* ci --no-audit --no-fund --loglevel=error
	@touch $@
