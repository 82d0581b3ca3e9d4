"""An index keeps its model, and is whole or not there."""

import json
import shutil
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fdch.codes import Codes, hamming_distances
from fdch.data.pictures.images import ImageFeatures
from fdch.data.rows import objects
from fdch.errors import (
    DamagedIndex,
    DataError,
    FdchError,
    IndexFolderError,
    ModelMismatch,
    RunError,
    SettingError,
)
from fdch.index.store import Item
from fdch.methods.scm_seq import SCMSeq
from fdch.progress import Update
from fdch.retrieval.index import Index
from fdch.retrieval.searcher import Searcher
from fdch.runs.encoding import calibrate
from fdch.runs.run_files import DESCRIPTION


@pytest.fixture(scope="module")
def pairs(factor_pairs):
    return factor_pairs(200)


@pytest.fixture(scope="module")
def method(pairs):
    """A method without unified codes."""
    return SCMSeq(bits=16).fit(pairs)


@pytest.fixture
def index(method, pairs, tmp_path):
    with Index.create(tmp_path / "index", method) as made:
        made.add(pairs)
        yield made


def test_without_unified_codes_pairs_have_those_of_their_pictures(index, method, pairs):
    ids = pairs.ids.tolist()
    assert index.store.fetch(ids).codes == method.encode_images(pairs.images)
    assert {item.kind for item in index.store.items(ids) if item} == {"image"}


def test_ready_vectors_are_queries_where_there_are_no_words(index, pairs):
    searcher = Searcher(index)
    vectors = pairs.texts.matrix.toarray()
    rows = [row for row in range(len(pairs)) if vectors[row].any()][:20]
    found = searcher.by_texts([vectors[row] for row in rows], k=10)
    labels = pairs.labels.astype(int)
    ids = pairs.ids.tolist()
    right = [
        labels[row] @ labels[ids.index(name)] > 0
        for row, results in zip(rows, found, strict=True)
        for name in results.ids
    ]
    assert np.mean(right) > (labels @ labels.T > 0).mean() + 0.1
    assert len(searcher.by_image(pairs.images.values[0], k=4)) == 4
    searcher.warm()
    with pytest.raises(DataError, match="not both at once"):
        searcher.by_texts(["beach", vectors[0]])
    with pytest.raises(DataError, match="ready text vectors"):
        searcher.by_text("beach")


def test_what_is_no_query_and_no_pairs_is_reported(index):
    with pytest.raises(DataError, match=r"give a PairedSet; got str\. PairedSet\.read"):
        index.add("pairs.csv")
    searcher = Searcher(index)
    wrong: list[Any] = [None, ["a"], object()]
    for nothing in wrong:
        with pytest.raises(DataError, match="search with a text, or a vector of num"):
            searcher.by_text(nothing)
        with pytest.raises(DataError, match="search with a picture's path"):
            searcher.by_image(nothing)


def test_numbers_are_ids_as_they_are_of_pairs(index, method, pairs):
    some = replace(pairs[:3], ids=objects(["0", "1", "2"]))
    index.add(some)
    assert 1 in index and np.int64(2) in index and 3 not in index
    number: Any = 1
    assert Searcher(index).by_id(number, k=1).query["id"] == "1"
    assert index.remove(np.arange(1, 4)) == ["3"]
    assert index.items([0, 1])[1] is None
    codes = method.encode_images(some.images)
    index.add_codes(range(7, 10), codes, model=index.fingerprint)
    assert "9" in index
    with pytest.raises(DataError, match="ids are a list; got int"):
        index.remove(5)


def test_what_is_no_model_and_no_index_is_named(method, tmp_path):
    wrong: list[Any] = ["runs/a", SCMSeq]
    for model in wrong:
        with pytest.raises(DataError, match=r"fitted method or a run; got .*open_run"):
            Index.create(tmp_path / "new", model)
    assert not (tmp_path / "new").exists()
    with pytest.raises(DataError, match=r"index or its name; got SCMSeq\. Index.crea"):
        Searcher(method)


def test_items_are_added_some_at_a_time(method, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr("fdch.retrieval.index.ROWS_AT_A_TIME", 64)
    updates: list[Update] = []
    with Index.create(tmp_path / "index", method) as index:
        added = index.add(pairs, progress=updates.append)
        assert (added.new, len(index)) == (200, 200)
        assert [update.done for update in updates] == [64, 128, 192, 200]
        ids = [f"code {row}" for row in range(200)]
        codes = method.encode_images(pairs.images)
        assert index.add_codes(ids, codes, model=index.fingerprint).new == 200
        assert index.store.fetch(ids).codes == codes


def test_known_items_keep_all_but_their_codes(index, method, pairs):
    name = str(pairs.ids[0])
    item = replace(index.items([name])[0], text="a dog", labels=("dog",))
    index.update([item])
    codes = method.encode_images(pairs.images[[7]])
    ids = [name, "new"]
    added = index.add_codes(ids, codes[[0, 0]], model=index.fingerprint)
    assert (added.new, added.replaced) == (1, 1)
    assert index.items(ids) == [replace(item, kind="code"), Item("new")]
    assert index.store.fetch(ids).codes == codes[[0, 0]]


def test_numbered_codes_replace_no_others(index, method, pairs):
    codes = method.encode_images(pairs.images[[1, 7]])
    assert codes[0] != codes[1]
    add = partial(index.add_codes, model=index.fingerprint, numbered=True)
    assert add(["1", "2"], codes).new == 2
    assert add(["1", "2"], codes).replaced == 2
    with pytest.raises(DataError, match="row 2 would replace another item"):
        add(["1", "2", "3"], codes[[0, 0, 0]])
    assert index.items(["3"]) == [None]


def test_each_code_needs_an_id_and_a_kind(index, method, pairs):
    add = partial(index.add_codes, model=index.fingerprint)
    codes = method.encode_images(pairs.images[:2])
    with pytest.raises(DataError, match="1 ids were given for 2 codes"):
        add(["a"], codes)
    with pytest.raises(DataError, match="3 kinds were given for 2 codes"):
        add(["a", "b"], codes, kinds=["image"] * 3)
    with pytest.raises(DataError, match="0 kinds were given for 2 codes"):
        add(["a", "b"], codes, kinds=[])
    add(["a", "b"], codes, kinds=np.array(["image", "text"]))
    assert index.items(["a", "b"]) == [Item("a", kind="image"), Item("b", kind="text")]


def test_codes_without_ids_get_running_numbers(index, method, pairs):
    codes = method.encode_images(pairs.images)
    with pytest.raises(ModelMismatch, match="made by model another"):
        index.add_numbered(codes, model="another")
    assert index.add_numbered(codes, model=index.fingerprint) == range(200, 400)
    assert index.add_numbered(codes[:3], model=index.fingerprint) == range(400, 403)
    assert index.store.fetch(["200", "399", "402"]).codes == codes[[0, 199, 2]]
    assert index.items(["200"]) == [Item("200")]
    index.add_codes(["404"], codes[:1], model=index.fingerprint)
    with pytest.raises(DataError, match="has the id '404'"):
        index.add_numbered(codes[:3], model=index.fingerprint)
    assert len(index) == 404


def test_numbered_features_replace_no_other_items(index, pairs):
    ids = np.array([str(row) for row in range(len(pairs))], dtype=object)
    numbered = replace(pairs, ids=ids, numbered=True)
    index.add(numbered)
    assert index.add(numbered).replaced == len(pairs)
    other = replace(numbered, ids=numbered.ids[::-1])
    with pytest.raises(DataError, match="would replace another item"):
        index.add(other)


def test_a_calibration_may_be_given(method, pairs, tmp_path):
    calibration = calibrate(method, pairs)
    with Index.create(tmp_path / "index", method, calibration=calibration) as index:
        index.add(pairs)
        assert Searcher(index).by_id("pair 0")[0].probability is not None
        with pytest.raises(DataError, match="no item has a column 'prize'"):
            Searcher(index).by_id("pair 0", min_probability=1, where="prize=3")
        kept = index.run.calibration
        assert kept is not None
        assert set(kept.models) == {"image", "text"}


def test_an_index_without_its_model_is_not_left_behind(method, tmp_path, monkeypatch):
    def fail(*folders):
        raise IndexFolderError("the disk is full")

    monkeypatch.setattr("fdch.index.storage.creating.flush_files", fail)
    with pytest.raises(IndexFolderError, match="disk is full"):
        Index.create(tmp_path / "index", method)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_left_alone(method, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FdchError):
        Index.create(tmp_path, method)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_another_model_in_its_place_is_found_out(method, pairs, tmp_path):
    with Index.create(tmp_path / "one", method) as index:
        index.add(pairs)
    other = SCMSeq(bits=16, seed=3).fit(pairs[:150])
    Index.create(tmp_path / "two", other).close()
    shutil.rmtree(tmp_path / "one" / "model")
    with Index.open(tmp_path / "one") as index, pytest.raises(DamagedIndex):
        _ = index.method
    shutil.copytree(tmp_path / "two" / "model", tmp_path / "one" / "model")
    with (
        Index.open(tmp_path / "one") as index,
        pytest.raises(DamagedIndex, match=r"model .* is damaged.*Restore"),
    ):
        Searcher(index).by_id("pair 0")


def test_a_changed_model_is_refused(method, pairs, tmp_path):
    with Index.create(tmp_path / "index", method) as index:
        index.add(pairs)
    path = tmp_path / "index" / "model" / DESCRIPTION
    facts = json.loads(path.read_text())
    facts["method"] = "../other"
    path.write_text(json.dumps(facts))
    with Index.open(tmp_path / "index") as index, pytest.raises(FdchError):
        _ = index.method


def test_reading_does_not_write(method, pairs, tmp_path):
    Index.create(tmp_path / "index", method).close()
    with Index.open(tmp_path / "index") as index, pytest.raises(IndexFolderError):
        index.add(pairs)
    with pytest.raises((IndexFolderError, RunError)):
        Index.open(tmp_path / "nothing")


def test_features_of_another_width_are_refused(index):
    with pytest.raises(DataError, match="columns"):
        Searcher(index).by_image(np.zeros(3))
    assert ImageFeatures(np.zeros((1, 3))).values.shape == (1, 3)


def test_an_index_is_looked_after_from_python(index, pairs):
    index.remove(["pair 3"])
    assert "pair 4" in index
    assert "pair 3" not in index
    assert 4 not in index
    known, gone = index.items(["pair 4", "pair 3"])
    assert (known.id, gone) == ("pair 4", None)
    assert index.verify().is_clean
    index.compact()
    info = index.info()
    assert (info["items"], info["bits"], info["removed"]) == (199, 16, 0)
    assert json.dumps(info)
    codes = index.store.fetch(["pair 0"]).codes
    index.add_codes(["twin"], codes, model=index.fingerprint)
    [group] = [each for each in index.duplicates(0) if "twin" in each]
    assert "pair 0" in group
    assert repr(index) == f"<Index '{index.store.path}', 16 bits>"


def test_a_damaged_index_is_repaired_from_python(method, pairs, tmp_path):
    with Index.create(tmp_path / "index", method) as index:
        index.add(pairs)
    rows = tmp_path / "index" / "codes" / "00000000.rows"
    content = bytearray(rows.read_bytes())
    content[-1] ^= 1
    rows.write_bytes(content)
    with Index.open(tmp_path / "index") as index:
        assert not index.verify().is_clean
    done = Index.repair(tmp_path / "index")
    # features are not kept, so that the codes of this chunk cannot be made again
    assert (done.items, len(done.lost), done.left) == (0, 200, ())
    with Index.open(tmp_path / "index") as index:
        assert index.verify().is_clean


def test_a_server_looks_after_itself(index):
    with pytest.raises(IndexFolderError, match="for index folders"):
        Index.repair("milvus://localhost/photos")
    store = SimpleNamespace(name="milvus://localhost/photos", bits=16, model="m")
    served = Index(store)
    codes = index.store.fetch(["pair 0"]).codes
    with pytest.raises(IndexFolderError, match="for index folders"):
        served.add_numbered(codes, model="m")
    for upkeep in (served.compact, served.verify, served.duplicates):
        with pytest.raises(IndexFolderError, match="for index folders"):
            upkeep()
    assert repr(served) == "<Index 'milvus://localhost/photos', 16 bits>"


def test_a_searcher_closes_the_index_that_it_opened(index):
    with Searcher(index.store.path) as searcher:
        assert len(searcher.by_id("pair 0", k=3)) == 3
        assert repr(searcher) == f"<Searcher of {searcher.index!r}>"
    with pytest.raises(IndexFolderError, match="is closed"):
        searcher.by_id("pair 0")
    with Searcher(index):
        pass
    assert len(index) == 200


class Meddling:
    """A store in which something changes as soon as a search has found items."""

    def __init__(self, store, change):
        self._store, self._change = store, change

    def __getattr__(self, name):
        call = getattr(self._store, name)
        if name not in ("search", "codes"):
            return call

        def called(*args, **kwargs):
            answer = call(*args, **kwargs)
            self._change()
            return answer

        return called


@pytest.mark.parametrize("options", [{"k": 3}, {"radius": 0}])
def test_a_search_sees_one_commit_whatever_is_written_meanwhile(index, options):
    store = index.store
    code = store.fetch(["pair 0"]).codes

    def put(version):
        store.add([Item("flip", columns={"version": version}, kind="text")], code)

    put(0)
    index.store = Meddling(store, lambda: put(1))
    found = Searcher(index).by_id("pair 0", where="version=0", **options)
    assert [result.columns["version"] for result in found] == [0]
    assert store.items(["flip"])[0].columns["version"] == 1
    index.store = Meddling(store, lambda: store.remove(["flip"]))
    vector = np.ones(24)
    assert len(Searcher(index).by_image(vector, k=500)) == 201
    assert len(Searcher(index).by_image(vector, k=500)) == 200


def test_codes_find_ids_and_distances(index, method, pairs):
    codes = method.encode_images(pairs.images)
    ids, distances = index.search(codes[:5], k=7)
    every = hamming_distances(codes[:5], codes)
    order = np.argsort(every, axis=1, kind="stable")[:, :7]
    assert ids.tolist() == pairs.ids[order].tolist()
    assert distances.tolist() == np.take_along_axis(every, order, axis=1).tolist()
    assert index.search(codes[:2]).ids.shape == (2, 10)
    assert index.search(codes[:2], k=1000).ids.shape == (2, len(pairs))
    assert index.search(codes[:0]).distances.shape == (0, 0)


def test_codes_find_only_what_fulfils_conditions(index, method, pairs):
    codes = method.encode_images(pairs.images)
    label = pairs.label_names[0]
    ids, distances = index.search(codes[:3], k=1000, where=f"label={label}")
    allowed = pairs.ids[pairs.labels[:, 0] == 1]
    assert [set(row) for row in ids.tolist()] == [set(allowed)] * 3
    assert (np.diff(distances, axis=1) >= 0).all()


def test_only_codes_of_the_right_length_search(index, method, pairs):
    with pytest.raises(DataError, match=r"got ndarray. Encode .* Codes.from_signs"):
        index.search(np.ones((2, 16)))
    with pytest.raises(ModelMismatch, match=r"of 16 bits .* these have 8"):
        index.search(Codes.from_signs(np.ones((2, 8))))
    with pytest.raises(SettingError, match="k must be 1 or more"):
        index.search(method.encode_images(pairs.images[:2]), k=0)
