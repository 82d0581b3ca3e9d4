# `make demo` and `make test` do all set-up on a machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
INSTALL = $(BIN)/python -m pip install --quiet
LOCKED = $(INSTALL) --require-hashes --requirement
TORCH_INDEX := https://download.pytorch.org/whl/cpu

.PHONY: venv demo test check docs dist sbom clean

venv: $(READY)

# torch without CUDA, which is far smaller; with CUDA=1, or where the index of those
# builds cannot be reached, torch with CUDA
$(READY): pyproject.toml $(wildcard requirements/*.txt)
	@echo "Installing packages into $(VENV): a few minutes, 3 GB of disk (more with CUDA)"
	$(PYTHON) -m venv $(VENV)
	$(if $(CUDA),false,$(LOCKED) requirements/torch-cpu.txt --no-deps --retries 1 --timeout 15 --extra-index-url $(TORCH_INDEX)) \
		|| $(LOCKED) requirements/torch-cuda.txt
	$(LOCKED) requirements/dev.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
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
