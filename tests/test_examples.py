"""The examples in docstrings give what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import fdch

ROOT = Path(fdch.__file__).parent
FILES = [file for file in sorted(ROOT.rglob("*.py")) if ">>> " in file.read_text()]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_examples_run(file):
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    assert doctest.testmod(importlib.import_module(name)).failed == 0
