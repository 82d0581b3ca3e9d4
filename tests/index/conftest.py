"""Searches in these tests use the compiled kernels from the start, if installed."""

import pytest

from fdch.index.search.scan import load_engine


@pytest.fixture(autouse=True, scope="session")
def load_kernels():
    load_engine()
