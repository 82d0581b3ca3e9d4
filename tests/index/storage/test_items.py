import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import DamagedIndex, DataError
from fdch.index.storage.catalogue.items import from_row, read_row, to_row
from fdch.index.store import Item

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
cells = (
    st.none()
    | st.booleans()
    | st.integers()
    | texts
    | st.floats(allow_nan=False, allow_infinity=False)
)
items = st.builds(
    Item,
    id=texts.filter(bool),
    text=st.none() | texts,
    image=st.none() | texts,
    labels=st.lists(texts, max_size=4).map(tuple),
    columns=st.dictionaries(texts.filter(lambda name: name != "label"), cells),
    kind=st.sampled_from(["pair", "image", "text", "code"]),
)


@given(items)
def test_items_come_back_as_they_were(item):
    row = to_row(item)
    assert from_row(row.id, row.content) == item
    assert read_row(row.id, row.content).cells == row.cells


def test_cells_are_numbers_where_they_can_be():
    item = Item(
        "a", labels=("dog", "7", "dog"), columns={"x": 1.5, "y": "007", "z": None}
    )
    assert to_row(item).cells == (
        ("label", "dog", ""),
        ("label", 7, ""),
        ("x", 1.5, "1.5"),
        ("y", 7, "007"),
    )
    assert to_row(Item("a", columns={"sold": True})).cells == (("sold", "true", ""),)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (Item(""), "1 to 1024 characters"),
        (Item("x" * 1025), "1 to 1024 characters"),
        (
            Item(7),  # type: ignore[arg-type]
            "must be a text; got int",
        ),
        (Item("a\0b"), "NUL"),
        (Item("\ud800"), "not valid Unicode"),
        (Item("a", text="\ud800"), "the text of item 'a' is not valid"),
        (Item("a", labels=(3,)), "a label of item 'a'"),  # type: ignore[arg-type]
        (Item("a", kind="sound"), "kind 'sound'"),  # type: ignore[arg-type]
        (Item("a", columns={"label": 1}), "stands for the labels"),
        (Item("a", columns={"price": float("nan")}), "column 'price'.*finite"),
        (Item("a", columns={"price": [1]}), "a text; got list"),  # type: ignore[dict-item]
        (Item("a", columns={str(i): 1 for i in range(1001)}), "1,001 columns"),
    ],
)
def test_what_cannot_be_stored_is_named(item, words):
    with pytest.raises(DataError, match=words):
        to_row(item)


@pytest.mark.parametrize("content", ["", "[]", "7", "[" * 5000, '[1,2,3,4,"x"]'])
def test_damaged_content_is_reported(content):
    with pytest.raises(DamagedIndex, match="item 'a' is damaged"):
        from_row("a", content)
