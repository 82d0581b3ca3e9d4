"""Files of codes: read back whole, or refused with a reason."""

import numpy as np
import pytest

from fdch.errors import DataError, MissingFile
from fdch.runs.code_files import holds_codes, read_encoded


def write(path, **changes):
    arrays = {
        "ids": np.array(["a", "b", "c"]),
        "has_image": np.array([True, True, False]),
        "has_text": np.array([True, False, True]),
        "bits": np.int64(16),
        "fingerprint": np.str_("0123"),
        "image": np.array([[1, 1], [2, 2], [0, 0]], np.uint8),
        "text": np.array([[3, 3], [0, 0], [4, 4]], np.uint8),
        "unified": np.array([[5, 5], [2, 2], [4, 4]], np.uint8),
    }
    kept = {k: v for k, v in (arrays | changes).items() if v is not None}
    np.savez(path, **kept)
    return path


def test_pairs_have_unified_codes_and_halves_their_own(tmp_path):
    file = read_encoded(write(tmp_path / "codes.npz"))
    assert file.ids == ["a", "b", "c"]
    assert file.kinds == ["pair", "image", "text"]
    assert file.codes.packed[:, 0].tolist() == [5, 2, 4]
    assert (file.codes.bits, file.model) == (16, "0123")


def test_without_unified_codes_a_pair_has_that_of_its_picture(tmp_path):
    file = read_encoded(write(tmp_path / "codes.npz", unified=None))
    assert file.kinds == ["image", "image", "text"]
    assert file.codes.packed[:, 0].tolist() == [1, 2, 4]


def test_what_orders_items_is_read_with_their_codes(tmp_path):
    assert read_encoded(write(tmp_path / "codes.npz")).vectors is None
    given = np.array([[1], [200], [3]], np.uint8)
    file = read_encoded(write(tmp_path / "codes.npz", vectors=given))
    assert file.vectors is not None and file.vectors.tolist() == [[1], [-56], [3]]


def test_codes_are_distinguished_from_features(tmp_path):
    assert holds_codes(write(tmp_path / "codes.npz"))
    np.savez(tmp_path / "features.npz", image=np.ones((2, 3)), text=np.ones((2, 3)))
    assert not holds_codes(tmp_path / "features.npz")
    assert not holds_codes(tmp_path / "nothing.npz")
    (tmp_path / "odd.npz").write_text("no archive")
    assert not holds_codes(tmp_path / "odd.npz")
    assert not holds_codes(tmp_path)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ids": None}, "no array 'ids'"),
        ({"ids": np.array(["a", "b", "b"])}, "must be unique"),
        ({"ids": np.array(["a", "b"])}, "array 'has_image'"),
        ({"image": np.zeros((3, 2))}, "array 'image'"),
        ({"image": np.zeros((3, 3), np.uint8)}, "16 bits"),
        ({"vectors": np.zeros((3, 8), np.int8)}, "array 'vectors'"),
        ({"vectors": np.zeros((2, 8), np.uint8)}, "array 'vectors'"),
        ({"bits": np.array([16])}, "array 'bits'"),
        ({"has_text": np.zeros(3, bool)}, "neither picture nor text"),
        ({"fingerprint": np.array({}, dtype=object)}, "array 'fingerprint'"),
    ],
)
def test_unfit_files_are_refused(tmp_path, changes, complaint):
    with pytest.raises(DataError, match=complaint):
        read_encoded(write(tmp_path / "codes.npz", **changes))


def test_damaged_and_missing_files_are_refused(tmp_path):
    path = write(tmp_path / "codes.npz")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"not a valid.*Write it with 'fdch encode'"):
        read_encoded(path)
    with pytest.raises(MissingFile):
        read_encoded(tmp_path / "gone.npz")
