# `make` lists the commands. Each sets up what it needs first and says so.

PYTHON ?= python3
VENV := .venv
HARNESS := $(VENV)/bin/zoo
PYTEST = $(WITHOUT) $(VENV)/bin/python -m pytest -c harness/pyproject.toml --rootdir .
UNIT = $(PYTEST) -p no:schemathesis harness/tests -m "not (run or containers or swarm or vm or reproducible)" -n 2
CONTRACT = $(PYTEST) contract -n 2

# What a user may set. The harness reads each as ZOO_NAME and prints it; tests and fixed runs are not given any.
SETTINGS := SERVER VARIANT SCENARIO CASE HEAP VARY TIERS ROUNDS DURATION WARMUP TURN RESUME TARGET PID REMOTE STRICT \
	PRECISION BUDGET MINUTES A B ANYWAY FAIL_IF_SLOWER PROFILE DATABASE EXECUTOR QUERY POOL LATENCY RUN NAME TO SVG \
	ARTICLE CLAIM
$(foreach name,$(SETTINGS),$(if $(strip $($(name))),$(eval export ZOO_$(name) := $$($(name)))))
export ZOO_SETTINGS := $(SETTINGS)
WITHOUT := env $(addprefix -u ZOO_,SETTINGS $(SETTINGS))

SERVERS := $(patsubst %/server.toml,%,$(wildcard */server.toml))
# of a server's manifest: its port; its first variant
port = $(shell sed -n 's/^port = //p' $(1)/server.toml)
first = $(shell sed -n '/^\[\[variants\]\]/,$$s/^name = "\(.*\)"/\1/p' $(1)/server.toml | head -n 1)
service = $(SERVER)-$(or $(VARIANT),$(call first,$(SERVER)))
comma := ,
list = $(subst $(comma), ,$(1))

# The environment belongs to one path. In a clone that was copied or moved, or after Python is gone, it is made anew.
ifneq "$(shell test -x $(VENV)/bin/python && cat $(VENV)/.ready 2>/dev/null)" "$(CURDIR)"
.PHONY: $(VENV)/.ready
endif
# a package "zoo" or another Python of the user's
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help

.PHONY: compose help setup wrk browser qemu registry tools toxiproxy build plan bench bench-all bench-quick bench-25k answer bench-liberty bench-jdbc plan-jdbc report site compare \
	export claims claims-plan list doctor reference docs up down images base-image test test-unit test-contract \
	test-fuzz test-faults test-reproducible audit soak test-tools test-runs test-containers test-swarm test-browser test-ab test-vm test-rust lint lint-python lint-rust clean

help: ## Understand: list these commands
	@echo "usage: make COMMAND [SERVER=java-tomcat] [VARIANT=platform,virtual] [SCENARIO=hello,sleep] [CASE=name] [TIERS=100,1k,25k] [ROUNDS=n] [DURATION=s]"
	@echo "       further conditions: [HEAP=50m,300m] [JDK=25,21] [VARY='flags=-XX:+UseSerialGC MAX_THREADS=400']; RESUME=1 goes on with the newest run"
	@echo "       where and how: [RUNTIME=process|container|vm|swarm] [CORES=split|shared]"
	@for group in Try Measure Understand Claims Develop; do echo; echo "$$group"; \
		sed -nE "s/^([a-z0-9-]+):.*## $$group: (.*)/  \1\t\2/p" $(MAKEFILE_LIST) | expand -t 18; done

setup: $(VENV)/.ready wrk ## Develop: the Python environment and wrk; every command does it first

$(VENV)/.ready: harness/requirements.lock harness/setup.sh
	@echo "setting up $(VENV) from harness/requirements.lock"
	@PYTHON='$(PYTHON)' sh harness/setup.sh $(VENV)

wrk: # from the system's packages, where that needs no password
	@command -v wrk >/dev/null || harness/install.sh wrk

tools: ## Develop: vegeta and ab, which the scenarios open, rate, ramp and ab need besides wrk
	@sh harness/install-vegeta.sh
	@command -v ab >/dev/null || harness/install.sh ab

browser: # Chromium for the tests of the HTML report, which are skipped without it
	@harness/install.sh browser

qemu: $(VENV)/.ready # QEMU and a guest's kernel, for RUNTIME=vm
	@harness/install.sh qemu
	@$(VENV)/bin/python -I -m zoo.runtime.vm.machine .tools/guest

build: $(VENV)/.ready ## Develop: build the servers (SERVER= for one)
	@$(HARNESS) build

bench-all: export ZOO_PRECISION := $(or $(PRECISION),5%)
bench-all: export ZOO_BUDGET := $(or $(BUDGET),90)
bench-all: setup ## Measure: every server, hello and sleep, at 100, 1k, 25k connections, until ±5 % (up to 90 min; PRECISION=3% BUDGET=30)
	@$(HARNESS) bench

bench-quick: setup ## Try: check that every server works in one short round, without statistics (8 min with builds; SERVER=rust-axum: 1 min)
	@env -u ZOO_RESUME $(HARNESS) bench --quick

hold = $(WITHOUT) $(HARNESS) bench --results results/25k/$(1) $(if $(RESUME),$$(test -e results/25k/$(1)/latest && echo --resume)) \
	--runtime fit --scenario sleep $(2) || failed=$$?
bench-25k: setup ## Measure: a true 25,000 held requests in every server, in a virtual host where this one forbids it (hours)
	@[ "$$(ulimit -Hn)" = unlimited ] || [ "$$(ulimit -Hn)" -gt 25500 ] || $(MAKE) --no-print-directory qemu
	@failed=0; $(call hold,all,--tiers 25k); \
	[ $$failed -gt 1 ] || MAX_THREADS=25500 $(call hold,max-threads,--tiers 25k --variant platform); \
	[ $$failed -gt 1 ] || $(call hold,heap-300m,--tiers 25k --server java-vertx --variant virtual --vary heap=300m); \
	exit $$failed

answer: setup tools ## Try: should SERVER=java-spring switch to virtual threads? one paragraph (10 min; ROUNDS=6: go on with it)
	$(if $(SERVER),,$(error SERVER= must name a server))
	@$(HARNESS) answer

bench-liberty: setup tools ## Measure: Liberty's pool, which tunes itself, and virtual threads: the runs of docs/liberty.md (over 1 h)
	@$(WITHOUT) $(HARNESS) reference run --no-replace 'java-liberty/*'

bench: setup $(if $(filter open rate ramp ab,$(call list,$(SCENARIO))),tools) ## Measure: what SERVER VARIANT SCENARIO CASE TIERS ROUNDS DURATION say; TARGET=URL PID=n or ZOO=folder: your own
	@$(HARNESS) bench

bench-jdbc: $(VENV)/.ready toxiproxy ## Measure: database access by executor (12 min; PROFILE=article: 6 hours)
	@$(HARNESS) jdbc bench

plan-jdbc: $(VENV)/.ready ## Measure: the same of `make bench-jdbc`
	@$(HARNESS) jdbc plan

toxiproxy: # a slow wire to the database, built by Go into .tools
	@sh harness/install-toxiproxy.sh

plan: $(VENV)/.ready ## Measure: the cells and the time of `make bench` with these settings; PRECISION=3%: what that costs
	@$(HARNESS) plan

report: $(VENV)/.ready ## Understand: show a run again, write its report.html (RUN=results/…; SVG=folder: its charts as pictures)
	@$(HARNESS) report

site: $(VENV)/.ready ## Understand: reports, claims and an index as static pages for any web host (RUN=results/…; TO=site)
	@$(HARNESS) site

compare: export ZOO_A := $(or $(A),results/reference/bench-all)
compare: export ZOO_B := $(or $(B),results/latest)
compare: $(VENV)/.ready ## Understand: two runs cell by cell (A=results/… B=results/latest; FAIL_IF_SLOWER=5%, ANYWAY=1)
	@$(HARNESS) compare

export: $(VENV)/.ready ## Understand: a run's records as comma-separated values (RUN=results/…)
	@$(HARNESS) export --csv

claims: setup tools toxiproxy ## Claims: which published claims hold on this machine; measures the runs that they name and that are not there yet (16 hours for all; ARTICLE=R, CLAIM=R7,R8)
	@$(HARNESS) claims run

claims-plan: $(VENV)/.ready ## Claims: what `make claims` would measure, and its time
	@$(HARNESS) claims plan

list: $(VENV)/.ready ## Understand: the servers and their variants
	@$(HARNESS) list

doctor: $(VENV)/.ready ## Understand: check the limits of this machine and suggest fixes
	@$(HARNESS) doctor

reference: setup tools ## Develop: measure committed runs of earlier builds again, the oldest first (BUDGET=150; NAME=aa,java-liberty/*)
	@$(HARNESS) reference run

docs: $(VENV)/.ready ## Develop: generate what documents quote of committed runs: tables, charts, reports, the schema
	@$(HARNESS) docs

compose: # what images are built and started with
	@docker compose version >/dev/null 2>&1 || { \
		echo "the docker command has no compose plugin, or is missing; make doctor says what to install"; exit 2; }

up: compose ## Try: start one server in a container and print its address (SERVER=java-tomcat VARIANT=virtual)
	$(if $(wildcard $(SERVER)/server.toml),,$(error SERVER= must be one of: $(SERVERS)))
	@docker compose up --detach --wait $(service) || { docker compose logs --no-log-prefix --tail 20 $(service); \
		docker compose rm --force --stop $(service); exit 1; }
	@echo "http://$$(docker compose port $(service) $(call port,$(SERVER)))/ ($(SERVER):$(patsubst $(SERVER)-%,%,$(service)))"

down: compose ## Try: stop what `make up` and `docker compose up` started
	@docker compose --profile generator --profile jdbc down

images: compose ## Develop: build all container images and print their sizes
	@docker compose --profile generator build $(foreach s,$(SERVERS),$(s)-$(call first,$(s))) generator
	@docker compose --profile generator config --images | sort -u | while read -r image; do \
		docker image inspect --format '{{.Size}}' "$$image" | awk -v image="$$image" '{ printf "  %4.0f MB  %s\n", $$1 / 1e6, image }'; done

base-image: ## Develop: make the images' base with debootstrap, where there is no registry (root, Debian or Ubuntu)
	@containers/base-image.sh

# Two targets side by side: most of what they do waits, or uses one core.
BESIDE = $(MAKE) --no-print-directory --jobs 2 --output-sync=line

test: setup ## Develop: lint, unit tests, whole runs, the contract suite against every server (8 min)
	@$(BESIDE) IN_ORDER=1 test-runs test-contract

# Whole runs wait most of the time, so they are beside what needs a core; Clippy takes the libraries of the build.
ifdef IN_ORDER
test-contract: | test-unit
test-unit: | lint-python
test-runs: | lint-rust test-rust
test-rust: | build
lint-rust: | build
endif

test-tools: toxiproxy # tests whose tool cannot be had are skipped, and their last line says so
	@$(MAKE) --no-print-directory tools || true

test-unit: setup test-tools ## Develop: the harness's own tests, which need no built server (1 min)
	@$(UNIT)

test-runs: setup test-tools build # whole runs of real servers and databases
	@$(PYTEST) -p no:schemathesis harness/tests -m run

test-contract: setup build ## Develop: the contract suite (3 min; SERVER= for one)
	@$(CONTRACT) $(addprefix --server ,$(call list,$(SERVER)))

test-containers: setup images ## Develop: what a container can break, in every image; runs in containers (8 min)
	@$(PYTEST) contract --runtime container -n 2
	@$(PYTEST) harness/tests -m "containers or compose"

test-swarm: setup images registry ## Develop: runs over a swarm of three engines, each with a network of its own (root; 4 min)
	@$(PYTEST) harness/tests -m swarm

registry: # of images, for test-swarm
	@sh harness/install-registry.sh

test-browser: setup browser # the pages in Chromium; `make test` skips these tests where there is none
	@$(PYTEST) harness/tests -m browser -n 2

test-ab: setup tools # tests of ApacheBench; `make test` skips them where there is none
	@$(PYTEST) harness/tests -m ab

test-fuzz: $(VENV)/.ready ## Develop: damaged manifests, ledgers, records, reports of wrk and topologies, 20,000 of each (5 min; FUZZ=n)
	@FUZZ=$(or $(FUZZ),20000) $(PYTEST) -p no:schemathesis harness/tests/test_fuzz.py

test-faults: setup ## Develop: 1,000 kills at random moments, a full disk at any write (2 min; KILLS=n)
	@KILLS=$(or $(KILLS),1000) $(PYTEST) harness/tests/test_kills.py

test-reproducible: setup # two builds of each server make the same files
	@$(PYTEST) harness/tests -m reproducible

audit: ## Develop: what each part is made of (CycloneDX), and known vulnerabilities in it where OSV-Scanner is there
	@harness/audit.sh

soak: setup ## Develop: check for memory leaks: all servers under load at once for MINUTES=10 (SERVER= for one)
	@$(HARNESS) soak

test-vm: setup qemu ## Develop: boot a guest, hold 1,000 connections in it, break it (Debian; 4 min)
	@$(HARNESS) build --server rust-axum
	@$(PYTEST) harness/tests -m vm

lint: lint-python lint-rust ## Develop: formatting, lint and types, without changing a file

# with the harness's target folder
CARGO = CARGO_TARGET_DIR=$$(sh ../harness/cargo-target.sh) cargo

# from one folder with one cache: the suite's types are those of the harness
lint-python: $(VENV)/.ready
	@$(VENV)/bin/ruff format --quiet --check --config harness/pyproject.toml harness contract
	@$(VENV)/bin/ruff check --quiet --config harness/pyproject.toml harness contract
	@MYPYPATH=harness:harness/tests $(VENV)/bin/mypy --config-file harness/pyproject.toml harness/zoo harness/tests
	@MYPYPATH=harness:contract $(VENV)/bin/mypy --config-file harness/pyproject.toml contract
	@cd harness && ../$(VENV)/bin/lint-imports --no-cache --no-logo pyproject.toml

# the profile of the build, whose libraries in C are then there
lint-rust:
	@cd rust-axum && cargo fmt --check && $(CARGO) clippy --release --quiet --locked --all-targets -- -D warnings

test-rust: # with the profile of the build, whose libraries are there then
	@cd rust-axum && $(CARGO) test --release --quiet --locked

clean: ## Develop: remove what builds made; runs in results/ stay
	@rm -rf $(VENV) */target */target-* .mypy_cache .ruff_cache .pytest_cache
