"""Rows worked on in threads."""

import pytest

from fdch.data.rows import in_threads


@pytest.mark.parametrize("together", [1, 3, 100])
@pytest.mark.parametrize("count", [0, 1, 7, 50])
def test_results_come_in_order_however_many_are_computed_together(count, together):
    found = in_threads(lambda row: row * row, count, workers=2, together=together)
    assert list(found) == [row * row for row in range(count)]


def test_an_error_ends_the_rows_after_those_computed_before_it():
    found = in_threads(lambda row: 1 // (7 - row), 50, workers=2, together=3)
    seen = []
    with pytest.raises(ZeroDivisionError):
        for value in found:
            seen.append(value)
    assert len(seen) == 6
