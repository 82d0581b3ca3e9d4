"""MATLAB v5 files: all kinds that data sets have, and no byte that does harm."""

import random
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from scipy import io, sparse

from fdch.data.readers import matlab5
from fdch.data.readers.matlab5 import DAMAGE, read_variables

SAMPLE = {
    "doubles": np.arange(6.0).reshape(2, 3),
    "pixels": np.arange(48, dtype=np.uint8).reshape(2, 4, 3, 2),
    "singles": np.linspace(0, 1, 5, dtype=np.float32)[None],
    "longs": np.array([[-(2**40), 2**40]]),
    "yes": np.array([[True, False]]),
    "empty": np.zeros((0, 3)),
    "tags": sparse.csc_array(np.array([[0, 1.5, 0], [2, 0, 0]])),
    "name": "fc7 größer",
}


def read_all(path):
    return read_variables(path, lambda headers: [header.name for header in headers])


@pytest.fixture(params=[False, True], ids=["plain", "packed"])
def path(tmp_path, request):
    path = tmp_path / "sample.mat"
    io.savemat(path, SAMPLE, do_compression=request.param)
    return path


def test_numbers_texts_and_sparse_matrices_equal_those_saved(path):
    found = read_all(path)
    assert list(found) == list(SAMPLE)
    for name, expected in SAMPLE.items():
        if name == "name":
            assert found[name] == expected
        elif name == "tags":
            np.testing.assert_array_equal(found[name].toarray(), expected.toarray())
        else:
            np.testing.assert_array_equal(found[name], expected)
            assert found[name].shape == expected.shape


def test_headers_are_known_before_anything_is_read(path):
    seen = {}

    def approve(headers):
        seen.update({header.name: header[1:] for header in headers})
        return ["yes"]

    assert list(read_variables(path, approve)) == ["yes"]
    assert seen["pixels"] == ((2, 4, 3, 2), "uint8")
    assert seen["tags"] == ((2, 3), "sparse")
    assert seen["name"][1] == "char"


def test_cells_and_structs_become_lists_and_dicts(tmp_path):
    layer = {"name": "conv1", "weights": np.array([np.eye(2), 3.0], dtype=object)}
    layers = np.empty(2, dtype=object)
    layers[:] = [layer, {"name": "relu1"}]
    io.savemat(tmp_path / "net.mat", {"layers": layers})
    first, second = (cell[0] for cell in read_all(tmp_path / "net.mat")["layers"])
    assert (first["name"], second) == ("conv1", {"name": "relu1"})
    np.testing.assert_array_equal(first["weights"][0], np.eye(2))
    assert first["weights"][1].item() == 3


def element(kind, content):
    padding = b"\0" * (-len(content) % 8)
    return struct.pack(">II", kind, len(content)) + content + padding


def test_the_other_order_of_bytes_is_read(tmp_path):
    matrix = element(
        14,
        element(6, struct.pack(">II", 6, 0))
        + element(5, struct.pack(">ii", 1, 2))
        + element(1, b"x")
        + element(3, struct.pack(">hh", 258, -1)),
    )
    header = b" " * 124 + b"\1\0MI"
    (tmp_path / "big.mat").write_bytes(header + matrix)
    assert read_all(tmp_path / "big.mat")["x"].tolist() == [[258.0, -1.0]]


def test_a_variable_that_unpacks_to_more_than_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.mat"
    io.savemat(path, {"x": np.zeros((1000, 1000))}, do_compression=True)
    assert read_all(path)["x"].shape == (1000, 1000)
    monkeypatch.setattr(matlab5, "available_memory", lambda: 2**20)
    with pytest.raises(ValueError, match="declares 8,000,"):
        read_all(path)


def test_a_packed_variable_that_is_longer_than_it_declares_is_refused(tmp_path):
    path = tmp_path / "long.mat"
    io.savemat(path, {"x": np.zeros((3, 3))}, do_compression=True)
    content = path.read_bytes()
    unpacked = zlib.decompress(content[136:]) + bytes(2**20)
    packed = zlib.compress(unpacked)
    tag = struct.pack("<II", 15, len(packed))
    path.write_bytes(content[:128] + tag + packed)
    with pytest.raises(ValueError, match="bytes has"):
        read_all(path)


def test_cells_nested_too_deep_are_refused(tmp_path):
    cell: Any = np.zeros((1, 1))
    for _ in range(matlab5.MAX_DEPTH + 2):
        outer = np.empty(1, dtype=object)
        outer[0] = cell
        cell = outer
    io.savemat(tmp_path / "deep.mat", {"x": cell})
    with pytest.raises(ValueError, match="nested too deep"):
        read_all(tmp_path / "deep.mat")


def test_more_cells_than_are_read_are_refused(path, monkeypatch):
    monkeypatch.setattr(matlab5, "MAX_ELEMENTS", 0)
    with pytest.raises(ValueError, match="too many cells"):
        read_all(path)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((0, 1, 196_610, 0), "not in order"),
        ((0, 2, 1, 0), "not in order"),
        ((1, 0, 0, 0), "not in order"),
        ((0, 2**62, -(2**62), 1), "not in order"),
        ((0, 1, 2**63 - 1, -(2**63)), "not in order"),
        ((0, 1, 1, 3), "0 to 3 of its 2 values"),
        ((0, 1, 1, 2**63 - 1), "of its 2 values"),
        ((1, 1, 1, 2), "1 to 2 of its 2 values"),
    ],
)
def test_a_sparse_matrix_with_wrong_columns_is_refused(tmp_path, bounds, message):
    def write(columns):
        matrix = element(
            14,
            element(6, struct.pack(">II", 5, 2))
            + element(5, struct.pack(">ii", 2, 3))
            + element(1, b"x")
            + element(5, struct.pack(">ii", 0, 1))
            + element(12, struct.pack(">4q", *columns))
            + element(9, struct.pack(">dd", 7, 8)),
        )
        (tmp_path / "a.mat").write_bytes(b" " * 124 + b"\1\0MI" + matrix)
        return tmp_path / "a.mat"

    whole = read_all(write((0, 1, 1, 2)))["x"]
    assert whole.toarray().tolist() == [[7, 0, 0], [0, 0, 8]]
    with pytest.raises(ValueError, match=message):
        read_all(write(bounds))


@pytest.mark.parametrize("seed", [0, 3])
def test_damaged_files_are_read_or_refused(tmp_path, seed):
    rng = random.Random(seed)
    layers = np.empty(2, dtype=object)
    layers[:] = [{"name": "a", "weights": np.eye(2)}, {"name": "b"}]
    path = tmp_path / "sample.mat"
    io.savemat(path, SAMPLE | {"layers": layers}, do_compression=seed == 3)
    whole = path.read_bytes()
    refused = 0
    for _ in range(500):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 1, 3])):
            place = rng.randrange(124, len(content))
            content[place] = rng.choice([0, 1, 255, rng.randrange(256)])
        path.write_bytes(content[: rng.choice([len(content), rng.randrange(200, 900)])])
        try:
            read_all(path)
        except DAMAGE as problem:
            assert str(problem)
            refused += 1
    assert refused
