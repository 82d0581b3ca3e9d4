"""Columns of decimal commas hold numbers; where that is in doubt, texts."""

import numpy as np
import pytest

from fdch.index.decimal_commas import read_decimal_commas


def read(cells, **given):
    return read_decimal_commas({"x": np.array(cells, object)}, **given)["x"].tolist()


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["12,50", "39,90"], [12.5, 39.9]),
        (["12,5", "40", None], [12.5, "40", None]),
        (["-1.234,50", "+1.234.567,9", "1234,5"], [-1234.5, 1234567.9, 1234.5]),
        (["12,50", "on request", ""], [12.5, "on request", ""]),
        (["0,99", 5], [0.99, 5]),
    ],
)
def test_decimal_commas_are_numbers(cells, numbers):
    assert read(cells) == numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["12,50", "39.90"],
        ["12,50", 39.9],
        ["12,50", "1.234"],  # or 1,234?
        ["12,50", "1,234"],
        ["12,50", "1,2,3"],
        ["12,50", "12.34,5"],
        ["1,234", "2,345"],
        ["a", "b", None],
        [str(number) for number in range(294)] + ["12,50"],  # a dirty cell
        ["12,50", "1" * 500 + ",5x"] + ["7"] * 8,
    ],
)
def test_columns_that_may_mean_other_numbers_stay(cells):
    assert read(cells) == cells


def test_the_type_that_was_chosen_decides():
    mixed, commas = ["12,50", "39.90", "1,234"], ["36,38", "40,42"]
    assert read(mixed, chosen={"x": "number"}) == [12.5, "39.90", "1,234"]
    assert read(mixed, types={"x": "number"}) == mixed
    assert read(commas, types={"x": "number"}) == [36.38, 40.42]
    for given in ({"types": {"x": "text"}}, {"chosen": {"x": "text"}}):
        assert read(commas, **given) == commas
    chosen = read(commas, types={"x": "text"}, chosen={"x": "number"})
    assert chosen == [36.38, 40.42]


def test_numbers_too_large_for_a_computer_stay():
    assert read(["9" * 390 + ",5"]) == ["9" * 390 + ",5"]
