# `make` lists the commands. Each sets up what it needs first and says so.

PYTHON ?= python3
VENV := .venv
HARNESS := $(VENV)/bin/zoo
PROVE := $(VENV)/bin/python -m zoo.cli.prove
PYTEST := $(VENV)/bin/python -m pytest -c harness/pyproject.toml --rootdir .
# each of these measures, and only one run at a time is allowed
RUNS := $(addprefix harness/tests/,test_whole_run.py test_target_run.py test_whole_jdbc_run.py)
UNIT := $(PYTEST) -p no:schemathesis harness/tests $(addprefix --ignore ,$(RUNS) harness/tests/test_containers.py harness/tests/test_vm_boot.py) -n 2
CONTRACT := $(PYTEST) contract -n 2

ifneq ($(words $(CURDIR)),1)
export CARGO_TARGET_DIR := $(shell sh harness/cargo-target.sh)
endif

SERVER ?=
VARIANT ?=
SCENARIO ?=
CASE ?=
HEAP ?=
VARY ?=
TIERS ?=
ROUNDS ?=
DURATION ?=
WARMUP ?=
RESUME ?=
# a server that already runs, and its process
TARGET ?=
PID ?=
REMOTE ?=
KEEP ?=
MINUTES ?=
PRECISION ?=
BUDGET ?=
A ?= results/reference/bench-all
B ?= results/latest
ANYWAY ?=
FAIL_IF_SLOWER ?=
STRICT ?=
PROFILE ?=
DATABASE ?=
EXECUTOR ?=
QUERY ?=
POOL ?=
LATENCY ?=
RUN ?= results/latest
SVG ?=
ARTICLE ?=
CLAIM ?=

SERVERS := $(patsubst %/server.toml,%,$(wildcard */server.toml))
# of a server's manifest: its port; its first variant
port = $(shell sed -n 's/^port = //p' $(1)/server.toml)
first = $(shell sed -n '/^\[\[variants\]\]/,$$s/^name = "\(.*\)"/\1/p' $(1)/server.toml | head -n 1)
service = $(SERVER)-$(or $(VARIANT),$(call first,$(SERVER)))

comma := ,
# a word for the shell, whatever is in it
quoted = '$(subst ','\'',$(1))'
options = $(foreach word,$(subst $(comma), ,$(2)),--$(1) $(call quoted,$(word)))
resumed = $(if $(strip $(1)),$(error RESUME=1 goes on with the newest run as it was planned; leave out the other settings))--resume
# with ROUNDS= as many in all
lengthened = $(call resumed,$(filter-out --rounds $(ROUNDS),$(1))) $(filter --rounds $(ROUNDS),$(1))
TIMES = $(if $(DURATION),--duration $(DURATION)) $(if $(WARMUP),--warmup $(WARMUP))
# several JDKs: the first is the run's own, the others are further conditions
ifneq ($(JDK),)
JDKS := $(subst $(comma), ,$(JDK))
override JDK := $(firstword $(JDKS))
export JDK
endif
conditions = $(foreach word,$(VARY) $(addprefix heap=,$(subst $(comma), ,$(HEAP))) \
	$(addprefix jdk=,$(wordlist 2,9,$(JDKS))),--vary $(word))
BENCH = $(call options,server,$(SERVER)) $(call options,variant,$(VARIANT)) $(call options,scenario,$(SCENARIO)) \
	$(call options,case,$(CASE)) $(conditions) \
	$(if $(TIERS),--tiers $(TIERS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(TIMES) \
	$(call options,target,$(TARGET)) $(call options,pid,$(PID)) $(if $(REMOTE),--remote) $(if $(STRICT),--strict-tiers)

JDBC = $(if $(PROFILE),--profile $(PROFILE)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(call options,database,$(DATABASE)) \
	$(call options,executor,$(EXECUTOR)) $(call options,query,$(QUERY)) $(call options,pool,$(POOL)) \
	$(call options,latency,$(LATENCY))

.DEFAULT_GOAL := help
CLAIMS = $(call options,article,$(ARTICLE)) $(call options,claim,$(CLAIM))

.PHONY: help setup wrk browser qemu tools toxiproxy build plan bench bench-all bench-quick bench-25k answer bench-liberty bench-jdbc plan-jdbc report compare \
	export claims claims-plan list doctor docs up down images base-image prove-aa prove-slowdown prove-designs test test-unit test-contract \
	test-tools test-runs test-containers test-browser test-ab test-vm lint lint-python lint-rust clean

help: ## list the commands
	@echo "usage: make COMMAND [SERVER=java-tomcat] [VARIANT=platform,virtual] [SCENARIO=hello,sleep] [CASE=name] [TIERS=100,1k,25k] [ROUNDS=n] [DURATION=s]"
	@echo "       conditions besides the default one: [HEAP=50m,300m] [JDK=25,21] [VARY='flags=-XX:+UseSerialGC MAX_THREADS=400']"
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  \1\t\2/' | expand -t 18

setup: $(VENV)/.ready wrk ## Python environment and wrk

$(VENV)/.ready: harness/requirements.lock harness/pyproject.toml
	@echo "setting up $(VENV) from harness/requirements.lock"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; PYTHON=/path/to/python3 names one"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "the venv module is missing; on Debian or Ubuntu: apt-get install python3-venv"; exit 2; }
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r harness/requirements.lock
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e harness
	@touch $@

wrk: # from the system's packages, where that needs no password
	@command -v wrk >/dev/null || sh harness/install-wrk.sh

tools: ## vegeta and ab: what the scenarios open, rate, ramp and ab need besides wrk
	@sh harness/install-vegeta.sh
	@command -v ab >/dev/null || sh harness/install-ab.sh

browser: # Chromium for the tests of the HTML report, which are skipped without it
	@sh harness/install-browser.sh

qemu: $(VENV)/.ready # QEMU and a guest's kernel, for RUNTIME=vm
	@harness/install-qemu.sh
	@$(VENV)/bin/python -m zoo.runtime.vm.kernel .tools/vm/kernel

build: $(VENV)/.ready ## build the servers (SERVER= for one)
	@$(HARNESS) build $(call options,server,$(SERVER))

bench-all: setup ## every entry × hello and sleep × 100, 1k, 25k connections; rounds until ±5 % or 90 minutes (PRECISION= BUDGET=)
	@$(HARNESS) bench $(if $(RESUME),$(call lengthened,$(BENCH)),--precision $(or $(PRECISION),5%) --budget $(or $(BUDGET),90) $(BENCH))

bench-quick: setup ## the same in one short round: a smoke run, no statistics
	@$(HARNESS) bench --quick $(BENCH)

hold = $(HARNESS) bench --results results/25k/$(1) $(if $(RESUME),$$(test -e results/25k/$(1)/latest && echo --resume)) \
	--runtime fit --scenario sleep $(2) || failed=$$?
bench-25k: setup ## a true 25,000 held requests in every entry, in a virtual host where this one forbids that many
	@[ "$$(ulimit -Hn)" = unlimited ] || [ "$$(ulimit -Hn)" -gt 25500 ] || $(MAKE) --no-print-directory qemu
	@failed=0; $(call hold,all,--tiers 25k); \
	[ $$failed -gt 1 ] || MAX_THREADS=25500 $(call hold,max-threads,--tiers 25k --variant platform); \
	[ $$failed -gt 1 ] || $(call hold,heap-300m,--tiers 25k --server java-vertx --variant virtual --vary heap=300m); \
	exit $$failed

answer: setup tools ## should SERVER=java-spring switch to virtual threads? ten minutes, one paragraph (ZOO=folder: your own; ROUNDS=6: go on)
	$(if $(SERVER),,$(error SERVER= must name a server))
	@$(HARNESS) answer $(call quoted,$(SERVER)) $(if $(ROUNDS),--rounds $(ROUNDS))

bench-liberty: setup tools ## Liberty's self-tuning pool against virtual threads: the runs of java-liberty/matrix.toml
	@$(HARNESS) matrix java-liberty

bench: setup $(if $(filter open rate ramp ab,$(subst $(comma), ,$(SCENARIO))),tools) ## what SERVER, VARIANT, SCENARIO, TIERS, ROUNDS, DURATION say; TARGET=URL PID=n or ZOO=folder: your own; RESUME=1
	@$(HARNESS) bench $(if $(RESUME),$(call lengthened,$(BENCH)),$(BENCH))

bench-jdbc: $(VENV)/.ready toxiproxy ## database access by executor; PROFILE=article takes as long as the published measurement
	@$(HARNESS) jdbc bench $(if $(RESUME),$(call resumed,$(JDBC)),$(JDBC))

plan-jdbc: $(VENV)/.ready ## the cells of `make bench-jdbc` with these settings, and their time
	@$(HARNESS) jdbc plan $(JDBC)

toxiproxy: # a slow wire to the database, built by Go into .tools
	@sh harness/install-toxiproxy.sh

plan: $(VENV)/.ready ## the cells of `make bench` with these settings, and their time; PRECISION=3% says what that costs
	@$(HARNESS) plan $(filter-out --remote --strict-tiers,$(BENCH)) $(if $(PRECISION),--precision $(PRECISION) --pilot $(call quoted,$(RUN)))

report: $(VENV)/.ready ## show a run again, write its report.html (RUN=results/…; SVG=folder for its charts as pictures)
	@$(HARNESS) report $(call quoted,$(RUN)) $(if $(SVG),--svg $(call quoted,$(SVG)))

prove-aa: setup ## 12 rounds of A/A: false differences over all metrics (12 minutes; ROUNDS= DURATION= WARMUP=)
	@$(PROVE) aa $(if $(ROUNDS),--rounds $(ROUNDS)) $(TIMES) $(if $(KEEP),--keep)

prove-slowdown: setup ## a server slowed down by 5 % is found slower in 8 rounds, an unchanged one is not (17 minutes)
	@$(PROVE) slowdown $(if $(ROUNDS),--rounds $(ROUNDS)) $(TIMES) $(if $(KEEP),--keep)

prove-designs: setup ## rounds, turns and parallel load compared for equal time (MINUTES=25)
	@$(HARNESS) build --server rust-axum --server java-tomcat
	@$(PROVE) designs $(if $(MINUTES),--minutes $(MINUTES)) $(TIMES) $(if $(KEEP),--keep)

compare: $(VENV)/.ready ## two runs cell by cell (A=results/… B=results/latest; ANYWAY=1, FAIL_IF_SLOWER=5%)
	@$(HARNESS) compare $(call quoted,$(A)) $(call quoted,$(B)) $(if $(ANYWAY),--anyway) $(if $(FAIL_IF_SLOWER),--fail-if-slower $(FAIL_IF_SLOWER))

export: $(VENV)/.ready ## the records of a run as comma-separated values (RUN=results/…)
	@$(HARNESS) export $(call quoted,$(RUN)) --csv

claims: setup tools toxiproxy ## which published claims hold on this machine (ARTICLE=R; CLAIM=R7,R8): measures what no run has yet
	@$(HARNESS) claims run $(CLAIMS)

claims-plan: $(VENV)/.ready ## what `make claims` would measure, and its time
	@$(HARNESS) claims plan $(CLAIMS)

list: $(VENV)/.ready ## the entries
	@$(HARNESS) list

doctor: $(VENV)/.ready ## what this machine allows at which tier, and what mends it
	@$(HARNESS) doctor

docs: $(VENV)/.ready ## generate what the documents quote of the reference runs: tables, charts, reports; and the records' schema
	@$(HARNESS) docs

up: ## start one entry in a container and print its address (SERVER=, VARIANT=: else its first)
	$(if $(wildcard $(SERVER)/server.toml),,$(error SERVER= must be one of: $(SERVERS)))
	@docker compose up --detach --wait $(service) || { docker compose logs --no-log-prefix --tail 20 $(service); \
		docker compose rm --force --stop $(service); exit 1; }
	@echo "http://$$(docker compose port $(service) $(call port,$(SERVER)))/ ($(SERVER):$(patsubst $(SERVER)-%,%,$(service)))"

down: ## stop and remove what `make up` and `docker compose up` started
	@docker compose --profile generator --profile jdbc down

images: ## build all container images and print their sizes
	@docker compose --profile generator build $(foreach s,$(SERVERS),$(s)-$(call first,$(s))) generator
	@docker compose --profile generator config --images | sort -u | while read -r image; do \
		docker image inspect --format '{{.Size}}' "$$image" | awk -v image="$$image" '{ printf "  %4.0f MB  %s\n", $$1 / 1e6, image }'; done

base-image: ## make the images' base with debootstrap, where there is no registry (root, Debian or Ubuntu)
	@containers/base-image.sh

# Two targets side by side: most of what they do waits, or uses one core.
BESIDE = $(MAKE) --no-print-directory --jobs 2 --output-sync=line

test: setup ## everything: lint, unit tests, whole runs, the contract suite against every entry
	@$(BESIDE) IN_ORDER=1 test-runs test-contract

# Whole runs wait most of the time, so they are beside what needs a core; Clippy takes the libraries of the build.
ifdef IN_ORDER
test-contract: | test-unit
test-unit: | lint-python
test-runs: | lint-rust
lint-rust: | build
endif

test-tools: toxiproxy # tests whose tool cannot be had are skipped, and their last line says so
	@$(MAKE) --no-print-directory tools || true

test-unit: setup test-tools ## the harness's own tests that need no built server
	@$(UNIT)

test-runs: setup test-tools build # whole runs of real servers and databases
	@$(PYTEST) $(RUNS)

test-contract: setup build ## the contract suite (SERVER= for one)
	@$(CONTRACT) $(call options,server,$(SERVER))

test-containers: setup images ## a smoke part of the contract suite against every entry in its container, and runs in containers
	@$(PYTEST) contract --runtime container -n 2
	@$(PYTEST) harness/tests/test_containers.py harness/tests/test_compose.py

test-browser: setup browser # the pages in Chromium; `make test` skips these tests where there is none
	@$(PYTEST) harness/tests/test_browser.py harness/tests/test_claims_browser.py -n 2

test-ab: setup tools # tests of ApacheBench; `make test` skips them where there is none
	@$(PYTEST) harness/tests/test_ab.py harness/tests/test_agent.py

test-vm: setup qemu ## boot a guest, hold 1,000 connections in it, break it (Debian; takes some minutes)
	@$(HARNESS) build --server rust-axum
	@$(PYTEST) harness/tests/test_vm_boot.py

lint: lint-python lint-rust ## formatting, lint and types, without changing a file

# from one folder with one cache: the suite's types are those of the harness
lint-python: $(VENV)/.ready
	@$(VENV)/bin/ruff format --quiet --check --config harness/pyproject.toml harness contract
	@$(VENV)/bin/ruff check --quiet --config harness/pyproject.toml harness contract
	@MYPYPATH=harness:harness/tests $(VENV)/bin/mypy --config-file harness/pyproject.toml harness/zoo harness/tests
	@MYPYPATH=harness:contract $(VENV)/bin/mypy --config-file harness/pyproject.toml contract
	@cd harness && ../$(VENV)/bin/lint-imports --no-cache --no-logo pyproject.toml

# the profile of the build, whose libraries in C are then there
lint-rust:
	@cd rust-axum && cargo fmt --check && cargo clippy --release --quiet --locked --all-targets -- -D warnings

clean: ## remove what builds made; runs in results/ stay
	@rm -rf $(VENV) */target */target-* .mypy_cache .ruff_cache .pytest_cache
