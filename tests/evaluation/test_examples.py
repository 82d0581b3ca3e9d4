"""The examples in docstrings give what they say."""

import doctest
import importlib
import pkgutil

import pytest

from fdch import evaluation

MODULES = [module.name for module in pkgutil.iter_modules(evaluation.__path__)]


@pytest.mark.parametrize("name", [name for name in MODULES if name != "numba_engine"])
def test_examples_run(name):
    module = importlib.import_module(f"fdch.evaluation.{name}")
    assert doctest.testmod(module).failed == 0
