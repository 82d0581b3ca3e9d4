# `make demo` and `make test` do all set-up on a machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: venv demo test check clean

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

clean:
	rm -rf $(VENV) demo
