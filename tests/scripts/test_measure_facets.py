"""The script that times counts by value."""

import pytest
from scripts.measure_facets import measure


@pytest.mark.integration
def test_counts_are_timed_under_each_filter():
    found = measure(200, 1)
    assert found["none"]["counted"] == 200
    assert 0 < found["price<500"]["counted"] < 200
    assert "label=dog and price<500" in found
