"""What filters can ask for is counted on a server as in a folder."""

import secrets

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import binarize
from fdch.errors import IndexFolderError
from fdch.index.milvus import MilvusStore, collection, columns
from fdch.index.milvus.columns import count_items
from fdch.index.storage.catalogue.items import as_number, spelled
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Contents, Item

BITS = 16
WORDS = ["1", "1.0", "01", "10", "9", "-1", "a", "b", "", "true", "1e1", "é"]
words = st.sampled_from(WORDS)
cells = st.none() | st.booleans() | words | st.integers(-2, 11) | st.floats(-2, 11)
some_items = st.lists(
    st.tuples(
        st.lists(words, max_size=3),
        st.dictionaries(st.sampled_from(["x", "y", 'z"']), cells, max_size=3),
        st.sampled_from(["pair", "image", "text", "code"]),
    ),
    max_size=12,
)


def codes(count):
    return binarize(np.random.default_rng(0).standard_normal((count, BITS)))


def items(described):
    return [
        Item(f"{number}", labels=tuple(labels), columns=columns, kind=kind)
        for number, (labels, columns, kind) in enumerate(described)
    ]


def comparable(found):
    """Equal numbers may be spelled by any of the items that have them."""
    assert isinstance(found, Contents)
    facets = {
        column: [(as_number(spelled(value)), count) for value, count in values]
        if all(as_number(spelled(value)) is not None for value, _ in values)
        else [(as_number(spelled(v)) or spelled(v), count) for v, count in values]
        for column, values in found.facets.items()
    }
    counted = dict(found.kinds), dict(found.distinct)
    return facets, dict(found.extremes), counted, found.uncounted


def in_a_folder(path, given, most):
    with CodeFolder.create(path, BITS, "model") as folder:
        folder.add(given, codes(len(given)))
        return comparable(folder.contents(most))


@given(some_items, st.integers(1, 4))
def test_counts_are_those_of_a_folder(tmp_path_factory, described, most):
    given = items(described)
    path = tmp_path_factory.mktemp("counts") / "index"
    assert comparable(count_items(given, most)) == in_a_folder(path, given, most)


@pytest.fixture(scope="module")
def filled(milvus_server):
    """A collection of 300 items that differ; and these items."""
    rng = np.random.default_rng(1)
    described = [
        (
            list(rng.choice(WORDS, rng.integers(0, 4))),
            {"x": WORDS[row % 12], "y": row % 7, 'z"': None if row % 2 else row / 4},
            ("pair", "image", "text", "code")[row % 4],
        )
        for row in range(300)
    ]
    given = items(described)
    url = f"milvus://{milvus_server}/test_{secrets.token_hex(6)}"
    store = MilvusStore.create(url, BITS, "a" * 32)
    store.add(given, codes(len(given)))
    yield store, given
    store.close()
    MilvusStore.drop(url)


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 200])
def test_a_server_counts_as_a_folder_does(filled, tmp_path, most):
    store, given = filled
    found = comparable(store.contents(most))
    assert found == in_a_folder(tmp_path / "index", given, most)


@pytest.mark.slow
def test_pages_are_put_together(filled, tmp_path, monkeypatch):
    store, given = filled
    monkeypatch.setattr(collection, "MAX_HITS", 64)
    monkeypatch.setattr(columns, "ROWS_AT_A_TIME", 50)
    found = comparable(store.contents(200))
    assert found == in_a_folder(tmp_path / "index", given, 200)


@pytest.mark.slow
def test_too_many_items_are_not_counted(filled, monkeypatch):
    store, given = filled
    monkeypatch.setattr(columns, "MAX_COUNTED", len(given) - 1)
    found = store.contents()
    assert "up to 299 items; this one has 300" in (found.uncounted or "")
    assert not found.facets
    monkeypatch.setattr(columns, "MAX_COUNTED", len(given))
    assert store.contents().uncounted is None


@pytest.mark.slow
def test_what_the_server_refuses_is_not_counted(filled, monkeypatch, caplog):
    def refuse(*_):
        raise IndexFolderError("secret.host:19530 refused a request")

    monkeypatch.setattr(collection.Collection, "between", refuse)
    found = filled[0].contents()
    assert found.uncounted == "the server refused to give all items."
    assert "secret.host" in caplog.text
