"""Vectors beside the codes: kept, found, compacted and repaired with them."""

import shutil
from functools import partial

import numpy as np
import pytest
from tests.index.store_samples import random_codes, random_vectors, sample_items

from fdch.codes import Codes
from fdch.errors import DamagedIndex, ModelMismatch, SettingError
from fdch.index.storage.files.layout import part_files
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance import compaction
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Condition, Item

COUNT, WIDTH = 500, 24
CODES, VECTORS = random_codes(COUNT), random_vectors(COUNT, WIDTH)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "index"
    with CodeFolder.create(path, 32, "model", vector_bytes=WIDTH) as folder:
        for start in range(0, COUNT, 100):  # chunks of 170 vectors grow
            rows = slice(start, start + 100)
            folder.add(sample_items(100, start), CODES[rows], VECTORS[rows])
    return path


@pytest.fixture
def path(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "index")


def array(vectors):
    """Return vectors that are there."""
    assert vectors is not None
    return vectors


def require_vectors(folder, rows):
    """Each item has its own code and vector, whatever way they are read."""
    ids = [f"item {row}" for row in rows]
    items, codes, vectors = folder.fetch(ids)
    assert [item.id for item in items] == ids
    assert codes == CODES[rows]
    assert np.array_equal(vectors, VECTORS[rows])
    for answer in folder.search(random_codes(3, seed=9), 20):
        places = [int(name.split()[1]) for name in answer.ids]
        assert np.array_equal(array(answer.vectors), VECTORS[places])


def test_items_are_found_with_their_vectors(path):
    with CodeFolder.open(path, writable=True) as folder:
        assert folder.vector_bytes == WIDTH
        assert folder.describe()["vector_bytes"] == WIDTH
        require_vectors(folder, [3, 499, 0, 3])
        [near] = folder.search(
            CODES[:1], radius=12, where=[Condition("colour", "=", ("red",))]
        )
        places = [int(name.split()[1]) for name in near.ids]
        assert places
        assert np.array_equal(array(near.vectors), VECTORS[places])
        codes, vectors = random_codes(1, seed=5), random_vectors(1, WIDTH, seed=5)
        folder.add([Item("item 3")], codes, vectors)
        assert np.array_equal(array(folder.fetch(["item 3"]).vectors), vectors)
        numbers = folder.add_numbered(codes, vectors)
        assert np.array_equal(array(folder.fetch([str(numbers[0])]).vectors), vectors)


@pytest.mark.parametrize("at_a_time", [2**26, 1000])
def test_compaction_keeps_vectors_with_their_items(path, at_a_time, monkeypatch):
    monkeypatch.setattr(compaction, "VECTOR_BYTES_AT_A_TIME", at_a_time)
    with CodeFolder.open(path, writable=True) as folder:
        folder.remove([f"item {row}" for row in range(0, COUNT, 3)])
        before = [file.name for file in part_files(path)]
        folder.compact()
        assert not set(before) & {file.name for file in part_files(path)}
        require_vectors(folder, [1, 2, 4, 250, 499])
        folder.add(sample_items(1), CODES[:1], VECTORS[:1])
        require_vectors(folder, [0, 1, 499])
    assert verify_folder(path).is_clean


@pytest.mark.parametrize("width", [1, 3, 1024])
def test_any_width_goes_round(tmp_path, width):
    vectors = random_vectors(9, width)
    with CodeFolder.create(tmp_path / "i", 32, "model", vector_bytes=width) as folder:
        folder.add(sample_items(9), random_codes(9), vectors)
    with CodeFolder.open(tmp_path / "i") as folder:
        found = folder.fetch([f"item {row}" for row in range(9)]).vectors
    assert np.array_equal(array(found), vectors)


@pytest.mark.parametrize("width", [-1, 1025])
def test_other_widths_are_refused(tmp_path, width):
    with pytest.raises(SettingError, match="1 to 1024 bytes, 0 for none"):
        CodeFolder.create(tmp_path / "index", 32, "model", vector_bytes=width)
    assert not list(tmp_path.iterdir())


def test_vectors_that_do_not_fit_are_refused(path, tmp_path):
    item, code = sample_items(1, COUNT), random_codes(1)
    with CodeFolder.open(path, writable=True) as folder:
        with pytest.raises(ModelMismatch, match=r"\(1, 24\) of 1 items; got none"):
            folder.add(item, code)
        with pytest.raises(ModelMismatch, match=r"int8 of shape \(1, 24\).*\(1, 23\)"):
            folder.add(item, code, random_vectors(1, 23))
        with pytest.raises(ModelMismatch, match="got float32"):
            folder.add_numbered(code, np.zeros((1, 24), np.float32))
        assert len(folder) == COUNT
    with CodeFolder.create(tmp_path / "plain", 32, "model") as folder:
        with pytest.raises(
            ModelMismatch, match="keeps no vectors of 1 items; got int8"
        ):
            folder.add(item, code, random_vectors(1, 24))
        folder.add(item, code)
        assert folder.fetch(["item 500"]).vectors is None
        assert folder.search(code, 1)[0].vectors is None


def test_the_caller_chooses_among_candidates(path):
    seen = []

    def choose(query, distances, codes, vectors, shares):
        seen.append((query, len(distances)))
        assert codes.bits == 32
        assert vectors.shape == (len(distances), WIDTH)
        return np.argsort(vectors[:, 0], kind="stable")[:4]

    queries = random_codes(2, seed=9)
    with CodeFolder.open(path) as folder:
        plain = folder.search(queries, 30)
        chosen = folder.search(queries, 30, choose=choose)
        assert seen == [(0, 30), (1, 30)]
        for all_of, some in zip(plain, chosen, strict=True):
            order = np.argsort(array(all_of.vectors)[:, 0], kind="stable")[:4]
            assert some.ids == tuple(all_of.ids[i] for i in order)
            assert some.distances.tolist() == all_of.distances[order].tolist()
            assert np.array_equal(array(some.vectors), array(all_of.vectors)[order])
            assert some.scanned == all_of.scanned
        [near] = folder.search(queries[:1], radius=14, k=25, choose=choose)
        assert len(near.ids) == 4


def vectors_file(path):
    [file] = (path / "vectors").iterdir()
    return file


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 4
    file.write_bytes(content)


def encode(items, *, is_rounded=False, is_wrong=False):
    rows = [int(item.id.split()[1]) for item in items]
    vectors = VECTORS[rows].copy()
    vectors[0, 0] ^= is_rounded
    codes = random_codes(len(rows), seed=8) if is_wrong else CODES[rows]
    return Codes(codes.packed, 32), vectors


def test_damage_shows_in_search_and_repair_encodes_again(path):
    flip(vectors_file(path), 64 + 4200)
    with CodeFolder.open(path) as folder, pytest.raises(DamagedIndex, match="vectors/"):
        folder.search(CODES[:1], 1)
    done = repair_folder(path, encode)
    assert "rows 170 to 339 encoded" in done.restored[0]
    assert not done.lost
    assert verify_folder(path).is_clean
    with CodeFolder.open(path) as folder:
        require_vectors(folder, list(range(COUNT)))


def test_other_roundings_are_taken_where_the_codes_are_equal(path):
    flip(vectors_file(path), 64 + 4200)
    done = repair_folder(path, partial(encode, is_rounded=True))
    assert "their codes being equal" in done.restored[0]
    assert not done.lost
    assert verify_folder(path).is_clean
    with CodeFolder.open(path) as folder:
        assert len(folder) == COUNT
        found = array(folder.fetch(["item 170", "item 171"]).vectors)
        assert found[0, 0] == VECTORS[170, 0] ^ 1
        assert np.array_equal(found[1], VECTORS[171])


@pytest.mark.parametrize("encoder", [None, partial(encode, is_wrong=True)])
def test_items_without_a_proven_vector_are_named(path, encoder):
    flip(vectors_file(path), 64 + 4200)
    if encoder is not None:
        encoder = partial(encoder, is_rounded=True)
    done = repair_folder(path, encoder)
    assert done.lost == [f"item {row}" for row in range(170, 340)]
    assert verify_folder(path).is_clean
    with CodeFolder.open(path) as folder:
        require_vectors(folder, [0, 169, 340, 499])


def test_a_missing_file_of_vectors_is_encoded_again(path):
    vectors_file(path).unlink()
    (path / "vectors").rmdir()
    done = repair_folder(path, encode)
    assert not done.lost
    with CodeFolder.open(path, writable=True) as folder:
        require_vectors(folder, list(range(COUNT)))
        folder.compact()
    assert verify_folder(path).is_clean


def test_files_of_codes_and_vectors_that_were_swapped_go_back(path):
    [codes], vectors = (path / "codes").iterdir(), vectors_file(path)
    vectors.rename(path / "other")
    codes.rename(vectors)
    (path / "other").rename(codes)
    done = repair_folder(path)
    assert not done.lost
    assert verify_folder(path).is_clean


def test_a_folder_without_vectors_has_nothing_of_them(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(50), random_codes(50))
        folder.compact()
    assert not (path / "vectors").exists()
    assert b"vector" not in (path / "items.log").read_bytes()
