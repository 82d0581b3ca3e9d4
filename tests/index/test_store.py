"""What every store promises: which code an item gets, what is refused."""

from dataclasses import FrozenInstanceError, fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DataError, ModelMismatch, SettingError
from fdch.index import store
from fdch.index.store import (
    ColumnFacts,
    Facets,
    check_items,
    check_length,
    check_vector_bytes,
    check_vectors,
    choose_kinds,
    is_whole,
    require_several,
)


@pytest.mark.parametrize(("is_unified", "pair"), [(True, "pair"), (False, "image")])
def test_an_item_gets_the_code_of_all_that_it_has(is_unified, pair):
    has_image = np.array([True, True, False, False])
    has_text = np.array([True, False, True, False])
    kinds = choose_kinds(has_image, has_text, is_unified)
    assert kinds.tolist() == [pair, "image", "text", "code"]


def test_vectors_have_up_to_1024_bytes():
    check_vector_bytes(0)
    check_vector_bytes(1024)
    for width in (-1, 1025):
        with pytest.raises(SettingError, match=f"1 to 1024 bytes.*got {width}"):
            check_vector_bytes(width)


def test_codes_of_another_length_are_refused():
    place: Any = SimpleNamespace(name="place", bits=int("320"), model="abc")
    check_length(place, random_codes(1, 320))
    for bits in (312, 328):
        with pytest.raises(
            ModelMismatch, match=rf"320 bits \(model abc\).*have {bits}"
        ):
            check_length(place, random_codes(1, bits))


def test_every_item_has_a_code_and_an_id_of_its_own():
    items = sample_items(3)
    check_items(items, random_codes(3))
    check_items([], random_codes(0))
    for count in (2, 4):
        with pytest.raises(DataError, match=f"3 items were given {count} codes"):
            check_items(items, random_codes(count))
    with pytest.raises(DataError, match="'item 1' occurs 2 times"):
        check_items([*items, items[1]], random_codes(4))


@pytest.mark.parametrize(
    ("width", "vectors", "complaint"),
    [
        (
            0,
            np.zeros((2, 3), np.int8),
            r"no vectors of 2 items; got int8 of shape \(2, 3\)",
        ),
        (3, None, r"int8 of shape \(2, 3\) of 2 items; got none\."),
        (3, np.zeros((2, 4), np.int8), r"\(2, 3\) of 2 items; got int8 of .*\(2, 4\)"),
        (3, np.zeros((1, 3), np.int8), r"got int8 of shape \(1, 3\)"),
        (3, np.zeros((2, 3), np.uint8), r"got uint8 of shape \(2, 3\)"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(width, vectors, complaint):
    with pytest.raises(ModelMismatch, match=complaint):
        check_vectors("place", width, 2, vectors)


def test_vectors_that_fit_are_taken():
    check_vectors("place", 0, 2, None)
    check_vectors("place", 3, 2, np.zeros((2, 3), np.int8))


def test_half_characters_are_found():
    assert is_whole("plain \N{GRINNING FACE}")
    assert not is_whole("half \ud83d")


def test_one_text_is_not_several():
    require_several("ids", ["abc"])
    with pytest.raises(DataError, match=r"several ids are a list, such as \['x{40}'\]"):
        require_several("ids", "x" * 41)
    with pytest.raises(DataError, match=r"\[b'abc'\]"):
        require_several("ids", b"abc")


KINDS = [kind for kind in vars(store).values() if is_dataclass(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_store_gives_cannot_be_changed(kind):
    assert isinstance(kind, type)
    with pytest.raises(FrozenInstanceError):
        setattr(object.__new__(kind), fields(kind)[0].name, None)


def test_facts_and_facets_become_plain_values():
    facts = ColumnFacts("number", {"number": 2}, ("1", "2"), (("a", "x"),))
    assert facts.to_json() == {
        "type": "number",
        "counts": {"number": 2},
        "examples": ["1", "2"],
        "misfits": [{"id": "a", "value": "x"}],
    }
    facets = Facets(3, {"colour": [("red", 2)]}, {"text": "too long"})
    assert facets.to_json() == {
        "items": 3,
        "columns": {"colour": [{"value": "red", "count": 2}]},
        "uncounted": {"text": "too long"},
    }
