# `make` lists the commands. Each sets up what it needs first and says so.

PYTHON ?= python3
VENV := .venv
HARNESS := $(VENV)/bin/zoo
PYTEST = $(WITHOUT) $(VENV)/bin/python -m pytest -c harness/pyproject.toml --rootdir .
UNIT = $(PYTEST) -p no:schemathesis harness/tests -m "not (run or containers or swarm or vm or reproducible)" -n 2
CONTRACT = $(PYTEST) contract -n 2

# What a user may set; TIERS is the former name of CONNECTIONS. The harness reads each as ZOO_NAME and prints it; tests
# and fixed runs are not given any.
SETTINGS := SERVER VARIANT SCENARIO CASE HEAP VARY CONNECTIONS ROUNDS DURATION WARMUP TURN RESUME TARGET PID REMOTE \
	STRICT PRECISION BUDGET MINUTES A B ANYWAY FAIL_IF_SLOWER PROFILE DATABASE EXECUTOR QUERY POOL LATENCY RUN NAME TO SVG \
	ARTICLE CLAIM YES WINDOWS TIERS
$(foreach name,$(SETTINGS),$(if $(strip $($(name))),$(eval export ZOO_$(name) := $$($(name)))))
export ZOO_SETTINGS := $(SETTINGS)
WITHOUT := env $(addprefix -u ZOO_,SETTINGS $(SETTINGS))

SERVERS := $(patsubst %/server.toml,%,$(wildcard */server.toml))
comma := ,
list = $(subst $(comma), ,$(1))

# The environment belongs to one path. In a clone that was copied or moved, or after Python is gone, it is made anew.
ifneq "$(shell test -x $(VENV)/bin/python && cat $(VENV)/.ready 2>/dev/null)" "$(CURDIR)"
.PHONY: $(VENV)/.ready
endif
# a package "zoo" or another Python of the user's
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help

.PHONY: compose help needs setup setup-dev wrk browser qemu registry tools profilers explain toxiproxy build plan bench bench-all bench-quick bench-25k answer bench-liberty bench-jdbc plan-jdbc report site compare \
	export claims claims-run claims-plan list doctor reference docs up down images base-image test test-unit test-contract \
	test-fuzz test-faults test-mutants test-reproducible audit outdated soak test-tools test-runs test-containers test-swarm test-browser test-ab test-text test-vm lint lint-python lint-rust lint-text clean

help: ## Understand: list these commands
	@echo "usage: make COMMAND [SERVER=java-tomcat] [VARIANT=platform,virtual] [SCENARIO=hello,sleep] [CASE=name] [CONNECTIONS=100,1k,25k] [ROUNDS=5] [DURATION=10 (seconds)]"
	@echo "       conditions to compare: [HEAP=50m,300m] [JDK=25,21] [VARY='flags=-XX:+UseSerialGC MAX_THREADS=400']; RESUME=1 continues the newest run; lists are separated by commas"
	@echo "       where and how: [RUNTIME=process|container|vm|swarm] [CORES=split|shared]"
	@for group in Try Measure Understand Claims Develop; do echo; echo "$$group"; \
		sed -nE "s/^([a-z0-9-]+):.*## $$group: (.*)/  \1\t\2/p" $(MAKEFILE_LIST) | expand -t 18; done

setup: needs $(VENV)/.ready wrk ## Develop: set up the Python environment and wrk; commands that measure do this first

# What the servers that are named are built with. One that runs already, or is elsewhere, is its owner's; images contain
# their own compilers, and they are used if an engine runs and RUNTIME= does not say otherwise.
IN_IMAGES = $(or $(filter container swarm,$(RUNTIME)),$(if $(filter-out auto,$(RUNTIME)),,$(shell timeout 5 docker info >/dev/null 2>&1 && echo container)))
LANGUAGES = $(if $(TARGET)$(ZOO)$(IN_IMAGES),,$(if $(SERVER),$(sort $(foreach name,$(call list,$(SERVER)),$(firstword $(subst -, ,$(name))))),java rust))
# Unit tests and lint need no server; what starts servers looks first.
setup-dev: LANGUAGES =
test test-runs test-contract: LANGUAGES = all test

needs: # the programs that this takes; INSTALL=1 installs them as root without asking
	@sh harness/needs.sh $(LANGUAGES)

$(VENV)/.ready: harness/requirements.lock harness/setup.sh
	@echo "setting up $(VENV) from harness/requirements.lock"
	@PYTHON='$(PYTHON)' sh harness/setup.sh $(VENV)

# for tests and lint, which users of the harness do not run
$(VENV)/.development: $(VENV)/.ready harness/requirements-dev.lock
	@echo "adding harness/requirements-dev.lock to $(VENV)"
	@sh harness/setup.sh $(VENV) development

setup-dev: setup $(VENV)/.development ## Develop: add what tests and lint need

wrk: # from the system's packages, where that needs no password
	@command -v wrk >/dev/null || harness/install.sh wrk

tools: ## Develop: install vegeta and ab, which the scenarios pool-size, open, rate, ramp and ab need
	@sh harness/install-vegeta.sh
	@command -v ab >/dev/null || harness/install.sh ab

profilers: # async-profiler and inferno, for `make explain`
	@sh harness/install-profilers.sh

browser: # Chromium for the tests of the HTML report, which are skipped without it
	@harness/install.sh browser

qemu: $(VENV)/.ready # QEMU and a guest's kernel, for RUNTIME=vm
	@harness/install.sh qemu
	@$(VENV)/bin/python -I -m zoo.runtime.vm.machine .tools/guest

build: $(VENV)/.ready ## Develop: build the servers (SERVER= for one)
	@$(HARNESS) build

bench-all: export ZOO_PRECISION := $(or $(PRECISION),5%)
bench-all: setup ## Measure: measure every server, hello and sleep, at 100, 1k and 25k connections to ±5% (up to 90 minutes; PRECISION=3%, BUDGET=30 minutes)
	@$(HARNESS) bench

bench-quick: setup ## Try: check that every server works in one short round, without statistics (8 minutes with builds; SERVER=rust-axum: 1)
	@env -u ZOO_RESUME $(HARNESS) bench --quick

hold = $(WITHOUT) $(HARNESS) bench --results results/25k/$(1) $(if $(RESUME),$$(test -e results/25k/$(1)/latest && echo --resume)) \
	--runtime fit --scenario sleep $(2) || failed=$$?
bench-25k: setup ## Measure: hold 25,000 requests in every server, in a virtual host if this host does not allow that many (hours)
	@[ "$$(ulimit -Hn)" = unlimited ] || [ "$$(ulimit -Hn)" -gt 25500 ] || $(MAKE) --no-print-directory qemu
	@failed=0; $(call hold,all,--connections 25k); \
	[ $$failed -gt 1 ] || MAX_THREADS=25500 $(call hold,max-threads,--connections 25k --variant platform); \
	[ $$failed -gt 1 ] || $(call hold,heap-300m,--connections 25k --server java-vertx --variant virtual --vary heap=300m); \
	exit $$failed

answer: setup tools ## Try: recommend a pool size or a thread model for one server: SERVER=java-spring (15 minutes; ROUNDS=6 continues it)
	$(if $(SERVER),,$(error SERVER= must name a server))
	@$(HARNESS) answer

bench-liberty: setup tools ## Measure: measure Liberty's self-tuning pool and virtual threads for docs/explanation/liberty.md (about three hours)
	@$(WITHOUT) $(HARNESS) reference run --no-replace 'java-liberty/*'

bench: setup $(if $(filter open rate ramp ab pool-size,$(call list,$(SCENARIO))),tools) ## Measure: measure the servers and scenarios you select (SERVER=, SCENARIO=, …), or your own server (TARGET=URL PID=n, or ZOO=folder)
	@$(HARNESS) bench

bench-jdbc: $(VENV)/.ready toxiproxy ## Measure: measure database access by executor (12 minutes; PROFILE=article: 6 hours)
	@$(HARNESS) jdbc bench

plan-jdbc: $(VENV)/.ready ## Measure: print the cells and the duration of `make bench-jdbc`
	@$(HARNESS) jdbc plan

toxiproxy: # a slow wire to the database, built by Go into .tools
	@sh harness/install-toxiproxy.sh

plan: $(VENV)/.ready ## Measure: print the cells and the duration of `make bench` with these settings; PRECISION=3%: the rounds it takes
	@$(HARNESS) plan

report: $(VENV)/.ready ## Understand: show a run again and write its report.html (RUN=results/…; SVG=folder for the charts as pictures)
	@$(HARNESS) report

site: $(VENV)/.ready ## Understand: write answers, reports and claims as static pages (RUN=results/…; TO=site)
	@$(HARNESS) site

explain: setup profilers ## Understand: show what the CPU time of two servers is spent on (SERVER=java-tomcat, VARIANT= with two entries, or TARGET= PID=), or their memory (SCENARIO=held)
	@$(HARNESS) explain

compare: export ZOO_A := $(or $(A),results/reference/bench-all)
compare: export ZOO_B := $(or $(B),results/latest)
compare: $(VENV)/.ready ## Understand: compare two runs cell by cell (A=results/… B=results/latest; FAIL_IF_SLOWER=5%, ANYWAY=1)
	@$(HARNESS) compare

export: $(VENV)/.ready ## Understand: print a run's records as CSV (RUN=results/…)
	@$(HARNESS) export --csv

claims: $(VENV)/.ready ## Claims: show which published claims hold on this machine (ARTICLE=R, CLAIM=R7,R8)
	@$(HARNESS) claims show

claims-run: setup tools toxiproxy ## Claims: measure the runs that the claims need, after asking (16 hours for all; ARTICLE=R, CLAIM=R7,R8; YES=1)
	@$(HARNESS) claims run

claims-plan: $(VENV)/.ready ## Claims: print what `make claims-run` would measure, and how long that takes
	@$(HARNESS) claims plan

list: $(VENV)/.ready ## Understand: list the servers and their variants
	@$(HARNESS) list

doctor: $(VENV)/.ready ## Understand: check the limits of this machine and suggest fixes
	@$(HARNESS) doctor

reference: setup tools ## Develop: refresh committed runs that were measured with an earlier build, the oldest first (BUDGET=150 minutes; NAME=aa,java-liberty/*)
	@$(HARNESS) reference run

docs: $(VENV)/.ready ## Develop: generate the tables, charts, reports and schemas that documents take from committed runs
	@$(HARNESS) docs

compose: # what images are built and started with
	@docker compose version >/dev/null 2>&1 || { \
		echo "the docker command has no compose plugin, or is missing; make doctor says what to install"; exit 2; }

up: compose $(VENV)/.ready ## Try: start one server in a container and print its address (SERVER=java-tomcat VARIANT=virtual)
	$(if $(wildcard $(SERVER)/server.toml),,$(error SERVER= must be one of: $(SERVERS)))
	@found=$$($(HARNESS) list --services) || exit; set -- $$found; \
	[ $$# -eq 3 ] || { echo "VARIANT= must name one variant"; exit 2; }; \
	docker compose up --detach --wait "$$1" || { docker compose logs --no-log-prefix --tail 20 "$$1"; \
		docker compose rm --force --stop "$$1"; exit 1; }; \
	echo "http://$$(docker compose port "$$1" "$$2")/ ($$3)"

down: compose ## Try: stop what `make up` and `docker compose up` started
	@docker compose --profile generator --profile jdbc down

images: compose $(VENV)/.ready ## Develop: build all container images and print their sizes
	@found=$$($(WITHOUT) $(HARNESS) list --services) || exit; \
		docker compose --profile generator --profile zoo build $$(echo "$$found" | cut -d ' ' -f 1) generator zoo
	@docker compose --profile generator --profile zoo config --images | sort -u | while read -r image; do \
		docker image inspect --format '{{.Size}}' "$$image" | awk -v image="$$image" '{ printf "  %4.0f MB  %s\n", $$1 / 1e6, image }'; done

base-image: ## Develop: build the base of the images with debootstrap, where no registry is available (root, Debian or Ubuntu)
	@containers/base-image.sh

# Two targets side by side: most of what they do waits, or uses one core.
BESIDE = $(MAKE) --no-print-directory --jobs 2 --output-sync=line

test: needs setup-dev ## Develop: run lint, unit tests, whole runs, and the contract suite against every server (8 minutes)
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

test-unit: setup-dev test-tools ## Develop: run the unit tests, which need no built server (2 minutes)
	@$(UNIT)

test-runs: needs setup-dev test-tools build # whole runs of real servers and databases
	@sh harness/install-profilers.sh jvm || true
	@$(PYTEST) -p no:schemathesis harness/tests -m run

test-contract: needs setup-dev build ## Develop: run the contract suite (3 minutes; SERVER= for one)
	@$(CONTRACT) $(addprefix --server ,$(call list,$(SERVER)))

test-containers: setup-dev images ## Develop: run the tests of images and services, and runs in containers (8 minutes)
	@$(PYTEST) contract --runtime container -n 2
	@$(PYTEST) harness/tests -m "containers or compose"

test-swarm: setup-dev images registry ## Develop: run the tests over a swarm of three engines, each with its own network (root; 4 minutes)
	@$(PYTEST) harness/tests -m swarm

registry: # of images, for test-swarm
	@sh harness/install-registry.sh

test-browser: setup-dev browser # the pages in Chromium; `make test` skips these tests where there is none
	@$(PYTEST) harness/tests -m browser -n 2

test-text: setup-dev # that the rules for text find what they should; `make test` skips these tests where there is no Vale
	@sh harness/install-vale.sh
	@$(PYTEST) harness/tests/test_text.py

test-ab: setup-dev tools # tests of ApacheBench; `make test` skips them where there is none
	@$(PYTEST) harness/tests -m ab

test-fuzz: $(VENV)/.development ## Develop: read damaged manifests, ledgers, records and wrk output, 20,000 of each (5 minutes; FUZZ=n)
	@FUZZ=$(or $(FUZZ),20000) $(PYTEST) -p no:schemathesis harness/tests/test_fuzz.py

test-faults: setup-dev ## Develop: kill the harness 1,000 times at random moments, fill the disk at any write (2 minutes; KILLS=n)
	@KILLS=$(or $(KILLS),1000) $(PYTEST) harness/tests/test_kills.py

test-mutants: setup-dev test-tools ## Develop: plant each fault of mutants.toml and run the tests that must find it (hours; ONLY=words of its rule)
	@$(WITHOUT) $(VENV)/bin/python harness/tests/mutate.py --only '$(ONLY)'

test-reproducible: setup-dev # two builds of each server make the same files
	@$(PYTEST) harness/tests -m reproducible

audit: ## Develop: write a bill of materials (CycloneDX) and list known vulnerabilities if OSV-Scanner is installed
	@harness/audit.sh

# Each tool prints the version in use and the newest one; what is up to date is left out.
outdated: setup ## Develop: list crates, Maven artifacts and Python packages of which a newer version exists (3 minutes)
	@cd rust-axum && cargo update --dry-run --verbose 2>&1 | grep -E -e ' -> |available' || echo "rust-axum: nothing"
	@for pom in */pom.xml; do echo "$$pom"; \
		mvn -B -Dstyle.color=never --no-transfer-progress -f "$$pom" versions:display-parent-updates versions:display-property-updates \
			versions:display-dependency-updates -DprocessDependencyManagement=false \
			'-Dmaven.version.ignore=(?i).*[.-](alpha|beta|rc|cr|m)[.-]?[0-9]*' | grep -E -e ' -> |ERROR' || echo "  nothing"; done
	@$(VENV)/bin/python -m pip list --outdated --disable-pip-version-check

soak: setup ## Develop: check for memory leaks: load all servers at once (MINUTES=10; SERVER= for one)
	@$(HARNESS) soak

test-vm: setup-dev qemu ## Develop: boot a guest, hold 1,000 connections in it, break it (Debian; 4 minutes)
	@$(HARNESS) build --server rust-axum
	@$(PYTEST) harness/tests -m vm

lint: lint-python lint-rust lint-text ## Develop: check formatting, lint, types and wording without changing a file

# Committed runs keep the words of their day. Python and Java sources are checked for their comments and help texts.
TEXTS = git ls-files -z '*.md' '*.py' '*.java' ':!results' ':!docs/claims.md'

lint-text: # the vocabulary and the length of sentences
	@sh harness/install-vale.sh
	@$(TEXTS) | xargs -0 .tools/bin/vale --output line

# with the harness's target folder
CARGO = CARGO_TARGET_DIR=$$(sh ../harness/cargo-target.sh) cargo

# from one folder with one cache: the suite's types are those of the harness
lint-python: $(VENV)/.development
	@$(VENV)/bin/ruff format --quiet --check --config harness/pyproject.toml harness contract
	@$(VENV)/bin/ruff check --quiet --config harness/pyproject.toml harness contract
	@MYPYPATH=harness:harness/tests $(VENV)/bin/mypy --config-file harness/pyproject.toml harness/zoo harness/tests
	@MYPYPATH=harness:contract $(VENV)/bin/mypy --config-file harness/pyproject.toml contract
	@cd harness && ../$(VENV)/bin/lint-imports --no-cache --no-logo pyproject.toml

# the profile of the build, whose libraries in C are then there
lint-rust:
	@cd rust-axum && cargo fmt --check && $(CARGO) clippy --release --quiet --locked --all-targets -- -D warnings

clean: ## Develop: remove what builds produced; runs in results/ remain
	@rm -rf $(VENV) */target */target-* .mypy_cache .ruff_cache .pytest_cache
