"""Feature files: whole ones read, others refused before they are loaded."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.readers import features
from fdch.data.texts import WordVectors
from fdch.errors import DataError, LabelError


def saved(folder, **changes):
    arrays = {
        "image": np.arange(6, dtype=np.float64).reshape(3, 2),
        "text": np.array([[0, 1], [0, 0], [2, 0]]),
        "labels": np.array([[1, 0], [0, 1], [1, 1]]),
    } | changes
    path = folder / "features.npz"
    np.savez(path, **{name: a for name, a in arrays.items() if a is not None})
    return path


def test_arrays_become_pairs(tmp_path):
    pairs = PairedSet.read(saved(tmp_path))
    assert isinstance(pairs.images, ImageFeatures)
    assert isinstance(pairs.texts, WordVectors)
    assert pairs.ids.tolist() == ["1", "2", "3"]
    assert pairs.images.values.dtype == np.float32
    assert pairs.images.values.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert pairs.texts.matrix.toarray().tolist() == [[0, 1], [0, 0], [2, 0]]
    assert pairs.labels.tolist() == [[1, 0], [0, 1], [1, 1]]
    assert pairs.label_names == ("label0", "label1")
    assert pairs.name == "features"
    pairs.require_training()


@pytest.mark.parametrize("ids", [["a", "b", "é"], [10, 20, 30]])
def test_ids_name_the_pairs(tmp_path, ids):
    pairs = PairedSet.read(saved(tmp_path, ids=np.array(ids)))
    assert pairs.ids.tolist() == [str(name) for name in ids]


def test_ids_may_be_bytes_of_utf_8(tmp_path):
    names = np.array([name.encode() for name in ("a", "b", "é")])
    assert PairedSet.read(saved(tmp_path, ids=names)).ids.tolist() == ["a", "b", "é"]
    with pytest.raises(DataError, match="utf-8"):
        PairedSet.read(saved(tmp_path, ids=np.array([b"\xff", b"a", b"b"])))


def test_repeated_ids_are_refused(tmp_path):
    with pytest.raises(DataError, match="'1' in rows 1 and 3"):
        PairedSet.read(saved(tmp_path, ids=np.array([1, 2, 1])))


def test_many_repeated_ids_are_reported_by_file_and_number(tmp_path):
    many = {name: np.ones((9, 2)) for name in ("image", "text", "labels")}
    path = saved(tmp_path, ids=np.zeros(9, int), **many)
    with pytest.raises(DataError, match=r"features\.npz'.*rows 1 and 6 and 3 more\."):
        PairedSet.read(path)


def test_a_file_without_rows_is_refused_as_an_empty_manifest_is(tmp_path):
    none = {name: np.zeros((0, 2)) for name in ("image", "text", "labels")}
    with pytest.raises(DataError, match="no rows to use"):
        PairedSet.read(saved(tmp_path, **none))


def test_a_gallery_may_lack_labels_and_training_may_not(tmp_path):
    pairs = PairedSet.read(saved(tmp_path, labels=None))
    assert pairs.labels.shape == (3, 0)
    with pytest.raises(LabelError, match="none of the 3 training pairs"):
        pairs.require_training()


def test_labels_of_truth_values_and_real_numbers_are_taken(tmp_path):
    for kind in (bool, np.float32, np.int64):
        labels = np.array([[1, 0], [0, 1], [1, 1]], dtype=kind)
        assert PairedSet.read(saved(tmp_path, labels=labels)).labels.sum() == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image": None, "imgae": np.zeros((3, 2))}, "no array 'image'.*mean 'imgae'"),
        ({"text": None}, r"it has 'image', 'labels'\. Write it with numpy\.savez"),
        ({"text": np.zeros((4, 2))}, "'text' has 4 rows; 'image' has 3. Row by row"),
        ({"labels": np.zeros((2, 2))}, "'labels' has 2 rows"),
        ({"ids": np.arange(2)}, "'ids' has 2 rows"),
        ({"image": np.zeros(3)}, r"'image' must be numbers.*shape \(3,\)"),
        ({"image": np.zeros((3, 2), complex)}, "complex128"),
        ({"text": np.array([["a"], ["b"], ["c"]])}, "'text' must be numbers"),
        ({"ids": np.zeros(3)}, "'ids' must be a row of names; got float64"),
        (
            {"image": np.array([[0], [np.nan], [0]])},
            "image.*1 rows.*in row 1. Repair",
        ),
        ({"text": np.array([[0], [0], [np.inf]])}, "text vectors.*in row 2"),
        ({"image": np.array([[0], [0], [1e300]])}, "image features.*row 2"),
        ({"labels": np.array([[0], [2], [0]])}, "0 or 1.*got 2 in row 1"),
        ({"labels": np.array([[0.5], [1], [0]])}, r"got 0\.5 in row 0"),
        ({"labels": np.array([[np.nan], [1], [0]])}, "got nan in row 0"),
        ({"image": np.zeros((3, 0))}, "'image' has no columns; .*savez"),
        ({"text": np.zeros((3, 0))}, "'text' has no columns"),
        ({"ids": np.array(["a", "", " "])}, "2 empty names, the first in row 1. Name"),
    ],
)
def test_arrays_that_cannot_be_used_are_named(tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        PairedSet.read(saved(tmp_path, **changes))


def test_objects_are_refused_without_being_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    trap = np.array([[Trap()], [1], [2]], dtype=object)
    with pytest.raises(DataError, match=r"must be numbers.*object"):
        PairedSet.read(saved(tmp_path, image=trap))


def forged(path, header, content):
    """Put an array with this header and content in place of 'image'."""
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, header)
    with zipfile.ZipFile(path) as archive:
        others = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, other in others.items():
            forgery = raw.getvalue() + content
            archive.writestr(name, forgery if name == "image.npy" else other)


def test_a_header_that_declares_more_than_there_is_is_refused(tmp_path):
    path = saved(tmp_path)
    header = {"descr": "<f4", "fortran_order": False, "shape": (3, 10**12)}
    forged(path, header, b"\0" * 100)
    with pytest.raises(
        DataError, match="'image' declares 12,000,000,000,000 bytes and holds 100"
    ):
        PairedSet.read(path)


def test_arrays_over_the_limit_are_refused_before_loading(tmp_path, monkeypatch):
    monkeypatch.setattr(features, "MAX_BYTES", 100)
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(DataError, match="100 bytes are read"):
        PairedSet.read(saved(tmp_path))


def packed_zeros(folder, image, text, labels):
    path = folder / "features.npz"
    image, text, labels = (np.zeros(s, np.uint8) for s in (image, text, labels))
    np.savez_compressed(path, image=image, text=text, labels=labels)
    return path


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(10_000_001, 1)] * 3, "10,000,001 rows .*at most 10,000,000 rows .*Split"),
        ([(1, 1), (1, 1), (1, 100_001)], "100,001 columns of labels; at most 100,000"),
    ],
)
def test_small_files_of_very_many_rows_or_labels_are_refused_before_loading(
    tmp_path, monkeypatch, shapes, message
):
    path = packed_zeros(tmp_path, *shapes)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(DataError, match=message):
        PairedSet.read(path)


def test_what_grows_over_the_free_memory_is_refused_before_loading(
    tmp_path, monkeypatch
):
    path = packed_zeros(tmp_path, (1000, 1000), (1000, 1000), (1000, 1))
    monkeypatch.setattr(features, "available_memory", lambda: 10**7)
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(DataError, match=r"about 12,201,000 bytes.*10,000,000 are free"):
        PairedSet.read(path)


@pytest.mark.parametrize("where", ["_load", "_ids"])
def test_memory_that_still_runs_out_is_reported(tmp_path, monkeypatch, where):
    def exhaust(*_):
        raise MemoryError

    monkeypatch.setattr(features, where, exhaust)
    with pytest.raises(DataError, match=r"features\.npz' does not fit into memory"):
        PairedSet.read(saved(tmp_path))


def test_an_entry_that_is_no_array_does_not_count(tmp_path):
    path = saved(tmp_path, image=None)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("image", b"")
    with pytest.raises(DataError, match="no array 'image'"):
        PairedSet.read(path)


def test_arrays_of_a_later_format_are_refused(tmp_path):
    path = saved(tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("image.npy", b"\x93NUMPY\x09\x00" + b" " * 100)
        archive.writestr("text.npy", b"")
    with pytest.raises(DataError, match="unknown array format"):
        PairedSet.read(path)


@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=4),
    st.integers(0, 2000),
)
def test_any_damage_gives_pairs_or_a_data_error(tmp_path_factory, changes, cut):
    path = saved(tmp_path_factory.mktemp("features"))
    content = bytearray(path.read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    path.write_bytes(content[: len(content) - max(0, cut - 1000)])
    try:
        PairedSet.read(path)
    except DataError as error:
        assert "features" in str(error)


def test_a_second_entry_of_the_same_name_is_not_read(tmp_path):
    path = saved(tmp_path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("image", b"no array")
    images = PairedSet.read(path).images
    assert isinstance(images, ImageFeatures) and images.values.shape == (3, 2)


@pytest.mark.parametrize("point", [0xD800, 0x110000, 2**32 - 1])
def test_ids_that_are_no_characters_are_refused(tmp_path, point):
    ids = np.frombuffer(np.array([97, point, 98], "<u4").tobytes(), "<U1")
    with pytest.raises(DataError, match="an invalid character"):
        PairedSet.read(saved(tmp_path, ids=ids))


@pytest.mark.parametrize("header", [b"{'descr': (", b"\0", b"(" * 3000, b"{[]: 1}"])
def test_a_header_of_an_array_that_is_no_python_is_refused(tmp_path, header):
    path = saved(tmp_path)
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("image.npy", start + header)
        archive.writestr("text.npy", b"")
    with pytest.raises(DataError, match=r"not a valid \.npz"):
        PairedSet.read(path)
