"""Wrong and odd conditions: none fails silently; each has its error or its note."""

import pytest
from tests.index.odd_conditions import NOTE, ODD, SHOP
from tests.index.store_samples import random_codes

from fdch.errors import FdchError
from fdch.index.conditions import parse_condition
from fdch.index.storage.folder import CodeFolder


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd") / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(SHOP, random_codes(len(SHOP)))
        yield folder


@pytest.mark.parametrize(("written", "kind", "expected"), ODD, ids=[o[0] for o in ODD])
def test_no_condition_fails_silently(shop, written, kind, expected):
    try:
        condition = parse_condition(written)
        said, is_note = " ".join(shop.notes([condition])), True
    except FdchError as problem:
        said, is_note = str(problem), False
    assert expected in said
    assert is_note == (kind == NOTE)


def test_there_are_sixty_of_them():
    assert len(ODD) >= 60


@pytest.mark.parametrize(
    "written",
    ["price=20", "label=kitchen", "name^=Nik", "date>=2024-02", "sold=yes", "size=3"],
)
def test_a_condition_that_finds_something_says_nothing(shop, written):
    assert shop.notes([parse_condition(written)]) == ()


def test_conditions_that_exclude_one_another_say_so(shop):
    where = [parse_condition("label=kitchen"), parse_condition("name=Leica")]
    assert shop.notes(where) == ("no item fulfils all 2 conditions together.",)


def test_a_dirty_price_leaves_the_range_filter(shop):
    below = [parse_condition("price<=12.5")]
    assert set(shop.search(random_codes(1), radius=32, where=below)[0].ids) == {
        "item 0",
        "item 1",
        *(f"item {i}" for i in range(8, 13)),
    }
    dirty = shop.search(
        random_codes(1), radius=32, where=[parse_condition('price="12,50"')]
    )
    assert dirty[0].ids == ("item 5",)


@pytest.mark.parametrize("text", ["a" + " " * 9000 + "b", "x" * 9000, "=<" * 4500])
def test_long_nonsense_is_refused_too(text):
    with pytest.raises(FdchError, match="is not a condition"):
        parse_condition(text)
