"""Chips of columns and values with any name, in a real Chromium."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import expect
from tests.service.running import TOKENS, WRITE, running

from fdch.index.conditions import parse_condition
from fdch.index.store import Condition

CALL = """
async ([name, ...given]) => (await import("/static/conditions.js"))[name](...given)
"""
CELLS = {
    "born in year": " 1900 ",
    "a>b": 'say "yes, no"',
    "number in stock": "3",
    "plain": "c:\\dir",
}


@pytest.fixture
def odd(own_index):
    """A service whose index has two items with odd columns and labels."""
    with running(own_index, tokens=TOKENS) as it, it.client(WRITE) as client:
        for name in ("one", "two"):
            client.put(name, text="boat", labels=[" odd = in "], columns=CELLS)
        found = [
            client.by_text("boat", where=[Condition(column, "=", (value,))]).ids
            for column, value in CELLS.items()
        ]
        assert found == [["one", "two"]] * len(CELLS)
    with running(own_index) as it:
        yield it


def test_chips_of_any_column_and_value_filter(come, odd):
    page = come("/?q=boat", url=odd.url)
    page.page.locator("[data-fold=label]").click()
    for column, value in {**CELLS, "label": " odd = in "}.items():
        chip = page.page.locator(f"#filters .chip[data-column={column!r}]")
        chip = chip.and_(page.page.get_by_role("button", name=value.strip()))
        chip.click()
        expect(page.cards).to_have_count(2)
        expect(chip).to_have_attribute("aria-pressed", "true")
        [written] = page.query()["where"]
        assert parse_condition(written) == Condition(column, "=", (value,))
        chip.click()
        expect(chip).to_have_attribute("aria-pressed", "false")
        assert "where" not in page.query()


@pytest.mark.parametrize("column", ["scene", "born in year", 'a "b"'])
def test_several_values_and_bounds_are_read_by_the_service(come, column):
    page = come().page
    values = ["a, b", " c", 'd"']
    written = page.evaluate(CALL, ["write", column, "in", values])
    assert parse_condition(written) == Condition(column, "in", tuple(values))
    assert page.evaluate(CALL, ["parse", written])["values"] == values
    [bound] = page.evaluate(CALL, ["bound", [], column, ">=", "3"])
    assert parse_condition(bound) == Condition(column, ">=", ("3",))
    assert page.evaluate(CALL, ["bound", [bound], column, ">=", ""]) == []


def test_plain_conditions_stay_as_they_were_shared(come):
    page = come().page
    assert page.evaluate(CALL, ["write", "label", "=", ["a dog"]]) == "label=a dog"
    assert page.evaluate(CALL, ["write", "price", ">=", ["3"]]) == "price>=3"
    assert page.evaluate(CALL, ["write", "a", "in", ["b", "c"]]) == 'a in ["b","c"]'


def test_one_of_several_labels_of_a_link_can_be_taken_out(come, client):
    page = come("/?q=boat&where=label%20in%20tree%2Ccar%2C%20boat")
    page.ids()
    side = page.page.get_by_role("complementary", name="Filters")
    pressed = side.locator("[data-column=label][aria-pressed=true]")
    expect(pressed).to_have_count(3)
    for left in (["tree", "boat"], ["boat"], []):
        name = {2: "car, ", 1: "tree, ", 0: "boat, "}[len(left)]
        side.get_by_role("button", name=name).first.click()
        expect(pressed).to_have_count(len(left))
        where = page.query().get("where", [])
        values = [list(parse_condition(each).values) for each in where]
        assert values == ([left] if left else [])
        assert page.ids() == client.by_text("boat", k=24, where=where).ids
