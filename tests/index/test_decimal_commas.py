"""Columns of decimal commas or prices hold numbers; where in doubt, texts."""

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
    for other in ("text", "date", "boolean"):
        for given in ({"types": {"x": other}}, {"chosen": {"x": other}}):
            assert read(commas, **given) == commas
    chosen = read(commas, types={"x": "text"}, chosen={"x": "number"})
    assert chosen == [36.38, 40.42]


def test_numbers_too_large_for_a_computer_stay():
    assert read(["9" * 390 + ",5"]) == ["9" * 390 + ",5"]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["12,50 €", "5 €", "1.299,00 €"], [12.5, 5, 1299.0]),
        (["€ 12.50", "€5", None], [12.5, 5, None]),
        (["$12.50", "$1,299", "$-3"], [12.5, 1299, -3]),
        (["50,50 EUR", "1 234,50\N{NO-BREAK SPACE}EUR"], [50.5, 1234.5]),
        (["CHF 9.90", "CHF 1'234.50"], [9.9, 1234.5]),
        (["10 zł", "20 zł"], [10, 20]),
        (["1 €", "2 €", "3 €", "4 €", "on request"], [1, 2, 3, 4, "on request"]),
    ],
)
def test_prices_of_one_currency_are_numbers(cells, numbers):
    assert read(cells) == numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["12,50 €", "$12.50"],
        ["5.50 €", "5.50"],
        ["12,50 €", 12.5],
        ["€ 5 €", "€ 6 €"],
        ["12,50 €", "12.50 €"],
        ["$1,299", "$2,499"],  # or dollars with three decimals?
        ["$1.234", "$12.50"],
        ["5 kg", "6 kg"],
        ["12 ABC", "13 ABC"],
        ["5 €", "free", "on request"],
        ["9" * 500 + " €"] * 2,
        ["1.2.3 €"] * 2,
    ],
)
def test_prices_in_doubt_stay(cells):
    assert read(cells) == cells


def test_the_type_that_was_chosen_decides_on_prices():
    rare = ["5,50 €", "free", "on request"]
    assert read(rare, chosen={"x": "number"}) == [5.5, *rare[1:]]
    assert read(["5 €", "$5"], chosen={"x": "number"}) == ["5 €", "$5"]
    assert read(["5 €"], types={"x": "number"}) == [5]
    for given in ({"types": {"x": "text"}}, {"chosen": {"x": "text"}}):
        assert read(["5 €"], **given) == ["5 €"]
