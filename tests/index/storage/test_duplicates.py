import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import Codes, hamming_distances
from fdch.errors import DataError
from fdch.index.storage import duplicates
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item


def groups_by_search(codes, radius):
    """Connected items, by walking from each to all that are near."""
    near = hamming_distances(codes, codes) <= radius
    groups, seen = [], set()
    for start in range(len(codes)):
        if start in seen:
            continue
        group, open_ends = {start}, [start]
        while open_ends:
            for other in np.flatnonzero(near[open_ends.pop()]).tolist():
                if other not in group:
                    group.add(other)
                    open_ends.append(other)
        seen |= group
        if len(group) > 1:
            groups.append(tuple(f"i{i}" for i in sorted(group)))
    return sorted(groups, key=len, reverse=True)


@given(
    st.lists(st.integers(0, 255), min_size=1, max_size=30),
    st.integers(0, 3),
    st.sampled_from([8, 72]),
    st.booleans(),
)
def test_groups_are_those_of_a_walk(tmp_path_factory, values, radius, bits, often):
    packed = np.zeros((len(values), bits // 8), np.uint8)
    packed[:, -1] = values
    codes = Codes(packed, bits)
    path = tmp_path_factory.mktemp("duplicates") / "index"
    with CodeFolder.create(path, bits, "model") as folder:
        folder.add([Item(f"i{i}") for i in range(len(values))], codes)
        with pytest.MonkeyPatch.context() as patch:
            if often:  # what was found is joined after every query
                patch.setattr(duplicates, "_QUERIES_AT_A_TIME", 1)
                patch.setattr(duplicates, "_PAIRS_AT_A_TIME", 0)
            assert folder.duplicates(radius) == groups_by_search(codes, radius)


def test_a_path_is_one_group_however_often_it_is_joined(tmp_path, monkeypatch):
    monkeypatch.setattr(duplicates, "_QUERIES_AT_A_TIME", 1)
    monkeypatch.setattr(duplicates, "_PAIRS_AT_A_TIME", 0)
    with CodeFolder.create(tmp_path / "index", 8, "model") as folder:
        codes = Codes(np.array([[1], [2], [8], [9], [10]], np.uint8), 8)
        folder.add([Item(name) for name in "abcde"], codes)
        assert folder.duplicates(1) == [("a", "b", "c", "d", "e")]


def test_removed_items_join_nothing(tmp_path):
    with CodeFolder.create(tmp_path / "index", 8, "model") as folder:
        folder.add_numbered(Codes(np.array([[0], [1], [3], [255]], np.uint8), 8))
        assert folder.duplicates(1) == [("0", "1", "2")]
        folder.remove(["1"])
        assert folder.duplicates(1) == []
        assert folder.duplicates(2) == [("0", "2")]
        folder.compact()
        assert folder.duplicates(2) == [("0", "2")]
        with pytest.raises(DataError, match="got -1"):
            folder.duplicates(-1)


def test_an_empty_index_has_no_duplicates(tmp_path):
    with CodeFolder.create(tmp_path / "index", 8, "model") as folder:
        assert folder.duplicates(1) == []


def test_equal_codes_with_different_vectors_are_no_duplicates(tmp_path):
    with CodeFolder.create(tmp_path / "i", 8, "model", vector_bytes=2) as folder:
        codes = Codes(np.array([[1], [1], [1], [1], [3], [3]], np.uint8), 8)
        vectors = np.array([[1, 2], [1, 3], [1, 2], [1, 3], [1, 2], [4, 4]], np.int8)
        folder.add([Item(name) for name in "abcdef"], codes, vectors)
        assert folder.duplicates(0) == [("a", "c"), ("b", "d")]
        assert folder.duplicates(1) == [("a", "b", "c", "d", "e", "f")]
