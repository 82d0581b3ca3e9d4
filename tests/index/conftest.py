"""Searches in these tests are compiled from the first on, where numba is there."""

import pytest

from fdch.index.search.engines import scan_engine


@pytest.fixture(autouse=True, scope="session")
def loaded_loops():
    scan_engine()
