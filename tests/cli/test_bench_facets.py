"""The benchmark of counts: its table and its document."""

import json

import pytest

pytestmark = pytest.mark.integration


def test_counts_are_timed_under_each_filter(fdch):
    small = ("bench", "facets", "--items", 200, "--repeats", 1)
    assert "label=dog and price<500" in fdch(*small).stdout
    document = json.loads(fdch(*small, "--json").stdout)
    assert document["filters"]["none"]["counted"] == 200
    assert 0 < document["filters"]["price<500"]["counted"] < 200
