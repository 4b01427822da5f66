# Everything a newcomer or CI needs. Python 3.11 or later must be there; uv is used if present.

PORT ?= 8000
PYTHON ?= python3
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help run password test torture lint types contracts check bench lock clean system-tools

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- the product -----------------------------------------------------------------

# A site of one's own on the loopback interface: plain HTTP, a secret made once in var/.
run password: export EVALSITE_SECRET_KEY_FILE ?= var/secret
run password: export EVALSITE_HOSTS ?= 127.0.0.1,localhost
run password: export EVALSITE_HTTPS ?= off

run: .venv/.installed var/secret ## the site with demo studies on 127.0.0.1:8000 (PORT=... for another); Ctrl-C stops it
	@$(BIN)/python manage.py serve --port $(PORT) --demo

password: .venv/.installed var/secret ## a new password for the researcher, printed once
	@$(BIN)/python manage.py password

var/secret:
	@mkdir -p -m 700 var
	@umask 077; $(PYTHON) -c "import secrets; print(secrets.token_urlsafe(50))" > $@

# --- tests and checks ------------------------------------------------------------

test: .venv/.installed-dev system-tools ## the test suite, on SQLite and on PostgreSQL
	@sqlite=passed; postgresql=passed; \
	$(BIN)/pytest -n 3 --dist worksteal -rs || sqlite=FAILED; \
	$(BIN)/pytest -n 3 --dist worksteal -rs --database postgresql || postgresql=FAILED; \
	echo "SQLite: $$sqlite. PostgreSQL: $$postgresql."; \
	[ "$$sqlite$$postgresql" = passedpassed ]

torture: .venv/.installed-dev system-tools ## what is too long for the suite: large crowds, random steps, kill -9
	$(BIN)/pytest -m torture -q -rs
	$(BIN)/pytest -m torture -q -rs --database postgresql
	$(BIN)/python -m tests.torture --runs 10
	$(BIN)/python -m tests.torture.power --cuts 25

check: lint types contracts ## all that CI runs: lint, types, contracts, migrations, deploy check, tests
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	export EVALSITE_DATA_DIR=$$folder EVALSITE_HOSTS=evalsite.example && \
	export EVALSITE_SECRET_KEY=$$($(PYTHON) -c "import secrets; print(secrets.token_urlsafe(50))") && \
	$(BIN)/python manage.py makemigrations --check --dry-run && \
	$(BIN)/python manage.py check --deploy --fail-level WARNING --database default
	@$(MAKE) --no-print-directory test

lint: .venv/.installed-dev ## style of code and templates
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	git ls-files -z '*.html' | xargs -0 -r $(BIN)/djlint --lint --quiet
	@# Django reads most variables and attributes of classes by name: those are left out
	! $(BIN)/vulture | grep -vE 'unused (variable|attribute)'

types: .venv/.installed-dev ## types of the code
	$(BIN)/mypy

contracts: .venv/.installed-dev ## which part may import which
	$(BIN)/lint-imports --no-logo

bench: .venv/.installed-dev ## measure the budgets of the design (ARGS="--only saving" for some)
	$(BIN)/python -m tests.bench $(ARGS)

# Browser tests need Chromium, the suite's second half a PostgreSQL server. Where they are missing
# and Debian's packages may be installed, they are; else the tests say that they were skipped.
# R, which the tests of analysis.R need, is large: it is installed under CI only.
R_PACKAGES := r-base-core r-cran-lme4 r-cran-lmertest r-cran-ordinal r-cran-emmeans

system-tools:
	@missing=; found=; \
	for name in "$$EVALSITE_CHROMIUM" chromium chromium-browser google-chrome; do \
	  command -v "$$name" >/dev/null 2>&1 && found=yes; \
	done; [ -n "$$found" ] || missing="chromium fonts-dejavu-core"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null \
	  || [ -n "$$EVALSITE_TEST_POSTGRES" ] || missing="$$missing postgresql"; \
	[ "$$CI" != true ] || command -v Rscript >/dev/null || missing="$$missing $(R_PACKAGES)"; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; \
	else echo "Missing and not ours to install: $$missing"; exit 0; fi; \
	command -v apt-get >/dev/null || { echo "Missing, and there is no apt-get: $$missing"; exit 0; }; \
	echo "Installing $$missing"; \
	{ $$sudo apt-get update -qq && \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $$missing; \
	} >/dev/null || echo "Could not install $$missing"

# --- the environment ---------------------------------------------------------------

.venv/.installed: requirements.lock
	@$(call install,requirements.lock)
	@touch $@

.venv/.installed-dev: requirements-dev.lock
	@$(call install,requirements-dev.lock)
	@touch .venv/.installed $@

define install
$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" \
  || { echo "Evalsite needs Python 3.11 or later; name one with make PYTHON=python3.12"; exit 1; }; \
echo "Installing $(1) into .venv (once; a minute or so)"; \
if [ -n "$(UV)" ]; then \
  { [ -x $(BIN)/python ] || $(UV) venv --quiet --python $(PYTHON) .venv; } && \
  $(UV) pip install --quiet --python $(BIN)/python --require-hashes -r $(1); \
else \
  { [ -x $(BIN)/pip ] || $(PYTHON) -m venv .venv; } && \
  $(BIN)/pip install -qq --no-compile --disable-pip-version-check --require-hashes -r $(1); \
fi
endef

lock: ## choose newest allowed versions again and write the lock files
	@[ -x var/lock-tools/bin/uv ] || { $(PYTHON) -m venv var/lock-tools && \
	  var/lock-tools/bin/pip install --quiet --disable-pip-version-check uv; }
	@compile="var/lock-tools/bin/uv pip compile pyproject.toml --quiet --upgrade --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate"; \
	$$compile --custom-compile-command "make lock" -o requirements.lock && \
	$$compile --custom-compile-command "make lock" --extra dev -o requirements-dev.lock

clean: ## remove the environment and caches; the data in var/ stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './var/*' -prune -exec rm -rf {} +
