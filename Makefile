# `make serve` and `make test` do all the set-up that they need; `make help` lists the rest.

PYTHON ?= python3
PYTHONS ?= 3.11 3.12 3.13 3.13t
VENV := .venv
BIN := $(VENV)/bin
SITE := .cache/venv-site
SOURCES := $(shell find crates python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name '*.toml' -o -name '*.html') Cargo.lock pyproject.toml

.PHONY: help serve check test land soak budget peers site clean
help:
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

serve: $(VENV)/.installed ## build, install into .venv, serve the example site at http://127.0.0.1:8000/
	$(BIN)/adyton serve examples/site/app.py --static /static=examples/site/static

check: ## what one runs before a commit: quick checks with one Python, a minute or two once it is built
	PYTHONS="$(firstword $(PYTHONS))" $(PYTHON) tests/gate check

test: ## set up what the tests need, and run all of them: 25 minutes at most, from nothing on two cores
	PYTHONS="$(PYTHONS)" $(PYTHON) tests/gate test

land: ## run `make test` on HEAD in a clone of its own, and move main to it if it passes; tests/land says the rest
	tests/land

soak: ## before a release: hours of stress, sanitizers, fuzzing, release builds; writes tests/soak.md
	PYTHONS="$(PYTHONS)" $(PYTHON) tests/gate soak

budget: $(VENV)/.installed ## count the instructions that a request costs, and compare with benchmarks/budget/budget.toml
	$(BIN)/python benchmarks/budget/run.py

peers: $(VENV)/.installed ## install what `adyton compare` compares with (as root: the Debian packages)
	apt-get install -y --no-install-recommends $$(cat benchmarks/peers/debian-compare.txt)
	$(BIN)/python -m pip install -r benchmarks/peers/requirements-compare.txt

site: $(SITE)/.installed ## build the guide as a site in .cache/site: a link that leads nowhere is an error
	$(SITE)/bin/python -m sphinx -b html -q -E --fail-on-warning --keep-going -d .cache/site-pages -c docs . .cache/site

$(VENV)/.installed: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check .
	@touch $@

$(SITE)/.installed: docs/requirements.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	@touch $@

clean: ## remove what was built
	rm -rf $(VENV) .cache target
