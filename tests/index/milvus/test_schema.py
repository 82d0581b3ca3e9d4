"""Items as rows and back, without a server."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import binarize
from fdch.errors import DamagedIndex, DataError, IndexFolderError
from fdch.index.milvus import Address
from fdch.index.milvus.collection import BATCH_BYTES, BATCH_ROWS, cut_batches
from fdch.index.milvus.schema import (
    Description,
    make_row,
    make_rows,
    read_item,
    row_bytes,
)
from fdch.index.store import Item

ADDRESS = Address("db", 19530, "photos")
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
cells = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), texts
) | st.floats(allow_nan=False, allow_infinity=False)
items = st.builds(
    Item,
    id=texts.filter(bool),
    text=st.none() | texts,
    image=st.none() | texts,
    labels=st.lists(texts).map(tuple),
    columns=st.dictionaries(texts.filter(lambda name: name != "label"), cells),
    kind=st.sampled_from(["pair", "image", "text", "code"]),
)


@given(items)
def test_an_item_is_read_back_from_its_row(item):
    row = make_row(item, 7, b"\0")
    through_json = {**row, "cells": json.loads(json.dumps(row["cells"]))}
    assert read_item(through_json) == item


def test_a_mere_code_costs_no_documents():
    row = make_row(Item("x"), 7, b"\0")
    assert (row["about"], row["cells"], row["labels"], row["text"]) == ({}, {}, [], "")


def test_rows_are_numbered_in_order():
    rows = make_rows([Item("b"), Item("a")], binarize([[1] * 8, [-1] * 8]), 40)
    assert [(row["id"], row["number"], row["code"]) for row in rows] == [
        ("b", 40, b"\xff"),
        ("a", 41, b"\x00"),
    ]


@pytest.mark.parametrize(
    "change", [{"about": None}, {"about": {"kind": "film"}}, {"cells": {"cx": 1}}]
)
def test_rows_of_another_program_are_damage(change):
    with pytest.raises(DamagedIndex, match="item 'x' is not as fdch wrote it"):
        read_item({**make_row(Item("x"), 7, b"\0"), **change})


@pytest.mark.parametrize(
    "item",
    [
        Item("😀" * 1024),
        Item("x", text="y" * 65_535),
        Item("x", labels=("y" * 1024,)),
        Item("x", labels=("y",) * 1024),
        Item("x", columns={"c": "y" * (65_000 - len('{"c63": {"t": ""}}'))}),
        Item("x", image="y" * (65_000 - len('{"image": ""}'))),
    ],
    ids=["id", "text", "label", "labels", "columns", "image"],
)
def test_items_as_large_as_their_fields_become_rows(item):
    assert read_item(make_row(item, 7, b"\0")) == item
    larger = {
        "text": item.text and item.text + "y",
        "labels": item.labels and (item.labels[0] + "y", *item.labels),
        "columns": {name: f"{cell}y" for name, cell in item.columns.items()},
        "image": item.image and item.image + "y",
    }
    if len(item.id) == 1:
        with pytest.raises(DataError, match="holds at most"):
            make_row(replace(item, **larger), 7, b"\0")


@pytest.mark.parametrize(
    ("item", "advice"),
    [
        (Item("x", text="y" * 65_536), "at most 65,535. Shorten it, or use an index"),
        (Item("x", labels=("y",) * 1_025), "of an item. Leave some out, or use an"),
    ],
)
def test_what_to_do_with_items_too_large_is_reported(item, advice):
    with pytest.raises(DataError, match=advice):
        make_row(item, 7, b"\0")


def test_what_to_do_with_items_that_do_not_fit_is_reported():
    codes = binarize([[1] * 8, [-1] * 8])
    with pytest.raises(DataError, match=r"given 2 codes\. Give one code to each item"):
        make_rows([Item("a")], codes, 1)
    with pytest.raises(DataError, match=r"2 times\. Give each item an id"):
        make_rows([Item("a"), Item("a")], codes, 1)


def test_batches_stay_below_the_servers_limits():
    small = [make_row(Item(str(i)), i, b"\0") for i in range(BATCH_ROWS + 1)]
    assert [len(batch) for batch in cut_batches(small)] == [BATCH_ROWS, 1]
    large = [make_row(Item(str(i), text="x" * 60_000), i, b"\0") for i in range(200)]
    batches = list(cut_batches(large))
    assert [row["id"] for batch in batches for row in batch] == [
        str(i) for i in range(200)
    ]
    assert all(sum(map(row_bytes, batch)) <= BATCH_BYTES for batch in batches)
    assert list(cut_batches([])) == []


def test_a_description_is_read_back():
    described = Description(16, "model", {"method": "fdch"}, "12ab")
    assert Description.read(ADDRESS, described.write()) == described


@pytest.mark.parametrize(
    ("description", "error", "message"),
    [
        ("", IndexFolderError, "not made by fdch"),
        ("[]", IndexFolderError, "not made by fdch"),
        ("[" * 5000, IndexFolderError, "not made by fdch"),
        ('{"fdch": 1}', IndexFolderError, "format 1; this fdch reads format 2"),
        ('{"fdch": 2, "bits": "16"}', DamagedIndex, "damaged"),
        ('{"fdch": 2, "bits": 16, "model": "", "facts": {}}', DamagedIndex, "damaged"),
    ],
)
def test_strange_descriptions_are_refused(description, error, message):
    with pytest.raises(error, match=message):
        Description.read(ADDRESS, description)
