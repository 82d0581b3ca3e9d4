# `make demo` and `make test` do all set-up on a machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: venv demo test check docs dist sbom clean

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/fdch demo

test: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check $(if $(SLOW),--slow)

check: test

docs: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/mkdocs build --strict

dist: $(READY)
	$(BIN)/python -m build --no-isolation

sbom: $(READY)
	mkdir -p dist
	$(BIN)/python scripts/list_packages.py --sbom dist/sbom.json --licences dist/licences.md

clean:
	rm -rf $(VENV) demo dist site
