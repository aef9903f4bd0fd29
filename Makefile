# Everything a person or CI calls. "make help" lists it.

SHELL := /bin/sh
GO ?= go
# Where the demo's files go, and how long its drain may try.
DIR ?= lab-out
DRAIN_TIMEOUT ?= 40s
# A first demo compiles what the lab and the practice cluster share only once,
# since both are built with these flags (gcflags in internal/practice/build.go).
QUICK_BUILD := CGO_ENABLED=0 $(GO) build '-gcflags=all=-dwarf=false -l'
# The race detector needs a C compiler; without one the tests run without it.
RACE := $(if $(shell command -v cc gcc clang 2>/dev/null),-race,)
FUZZTIME ?= 2s
# The test of the report's page drives a browser; CI installs one.
BROWSER := $(shell command -v chromium chromium-browser google-chrome 2>/dev/null)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the example binaries into bin/
	$(GO) build -o bin/ ./examples/... ./internal/practice/cmd/practice

demo: ## Watch the whole lab on a practice cluster; its files go to DIR (lab-out)
	@$(QUICK_BUILD) -o bin/lab ./examples/lab
	@bin/lab run --practice --force --dir $(DIR) --drain-timeout $(DRAIN_TIMEOUT)
	@echo; bin/lab check --dir $(DIR)

test: ## All tests that CI runs: unit (race detector), short fuzz runs, practice cluster
	@echo "== unit tests $(RACE)"
	$(GO) test $(RACE) -timeout 20m ./...
	@echo "== page tests $(or $(BROWSER),(left out: no chromium in PATH; scripts/install-chromium.sh installs one))"
	$(if $(BROWSER),$(GO) test -tags browser -run Browser ./snapshot/report,@true)
	@echo "== fuzz targets, $(FUZZTIME) each"
	@scripts/fuzz $(FUZZTIME)
	@echo "== practice tests (the first ones build a control plane: about 5 minutes, once)"
	@scripts/practice-tests

test-all: ## As test, and every drain scenario and seed on practice clusters (half an hour more)
	@DRAINPROBE_ALL=1 DRAINPROBE_SEEDS=100 $(MAKE) test

lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt-clean: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags practice,browser,bench ./...
	$(GO) run $(STATICCHECK) -tags practice,browser,bench ./...

bench: ## Benchmarks of docs/benchmarks.md
	@scripts/bench

practice-up: ## Start a practice cluster that stays, and print how to reach it
	@$(QUICK_BUILD) -o bin/practice ./internal/practice/cmd/practice
	@bin/practice up

practice-upgrade: ## Take the running practice cluster from 1.34 to 1.35
	@$(QUICK_BUILD) -o bin/practice ./internal/practice/cmd/practice
	@bin/practice upgrade

practice-down: ## End the running practice cluster and remove its folder
	@$(QUICK_BUILD) -o bin/practice ./internal/practice/cmd/practice
	@bin/practice down

.PHONY: help build demo test test-all lint bench practice-up practice-upgrade practice-down
