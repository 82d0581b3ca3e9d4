"""Small files that stand for gigabytes: refused in bounded memory."""

import io
import re
import zipfile

import numpy as np
import pytest

from fdch.data.pairs import PairedSet
from fdch.data.readers.tables import arrow_cells
from fdch.errors import DataError
from fdch.machine import forget_peak_memory, peak_memory
from fdch.runs.code_files import read_encoded

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

MOST = 2**29  # bytes of memory that a refusal may take
SMALL = 40_000  # bytes of a file; most have 3,000
LONG = "a" * 2**20


def read_bounded(path, read=PairedSet.read):
    """Read a small file that must be refused; give the message."""
    assert path.stat().st_size < SMALL
    forget_peak_memory()
    before = peak_memory() or 0
    with pytest.raises(DataError) as caught:
        read(path)
    assert (peak_memory() or 0) - before < MOST
    return str(caught.value)


def repeat_in_dictionary():
    """One text, and 2,048 rows that point at it."""
    indices = pa.array(np.zeros(2048, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([LONG]))


def repeat_in_list():
    """One text, and 60 rows that have it 60 times each."""
    offsets = pa.array(np.arange(0, 3601, 60, dtype=np.int32))
    values = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(3600, np.int32)), pa.array([LONG])
    )
    return pa.ListArray.from_arrays(offsets, values)


PARQUET = {
    "dictionary": (repeat_in_dictionary, {}, "take more than"),
    "list of dictionary": (repeat_in_list, {}, "it has 62,915,.* bytes; the limit is"),
    "page": (lambda: pa.array(["a" * (80 * 2**20)]), {}, "unpacks to 8.* bytes"),
    "nulls in a list": (
        lambda: pa.ListArray.from_arrays(
            pa.array([0, 2**22], pa.int32()), pa.nulls(2**22, pa.string())
        ),
        {},
        "unpacks to 13.* bytes",
    ),
    "wide values": (
        lambda: pa.array([b"\0" * (70 * 2**20)], pa.binary(70 * 2**20)),
        {},
        "unpacks to 14.* bytes",
    ),
    "differences": (
        lambda: pa.array([LONG[: 2**17]] * 2048),
        {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
        "take more than",
    ),
}


@pytest.mark.parametrize("kind", PARQUET)
def test_a_small_parquet_file_stays_small(tmp_path, kind):
    make, options, message = PARQUET[kind]
    path = tmp_path / "pairs.parquet"
    parquet.write_table(
        pa.table({"text": make()}),
        path,
        compression="zstd",
        write_statistics=False,
        store_schema=False,
        **options,
    )
    assert re.search(message, read_bounded(path))


def test_many_rows_of_nothing_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_cells, "_MIN_BYTES", 2**20)
    path = tmp_path / "pairs.parquet"
    parquet.write_table(pa.table({"text": ["a"] * 100_000}), path)
    assert "take more than" in read_bounded(path)


@pytest.mark.parametrize("form", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize("packing", ["zstd", "lz4", None])
def test_an_arrow_file_is_bounded(tmp_path, form, packing):
    column = pa.array([LONG]) if packing else repeat_in_dictionary()
    table = pa.table({"text": column})
    path = tmp_path / "pairs.arrow"
    options = pa.ipc.IpcWriteOptions(compression=packing)
    with form(path, table.schema, options=options) as file:
        file.write_table(table)
    message = "buffers are compressed" if packing else "take more than"
    with pytest.raises(DataError, match=message):
        PairedSet.read(path)


def test_types_that_share_bytes_between_rows_are_not_read(tmp_path):
    table = pa.table({"text": pa.array(["a"], pa.string_view())})
    path = tmp_path / "pairs.arrow"
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    with pytest.raises(DataError, match="type 'string_view' are not read"):
        PairedSet.read(path)


def write_zip(path, members, packing=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def array_bytes(values):
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


@pytest.mark.parametrize("read", [PairedSet.read, read_encoded])
@pytest.mark.parametrize("name", ["image", "image.npy", "image.npy.npy", "./image.npy"])
def test_zeros_under_any_name_are_refused(tmp_path, monkeypatch, read, name):
    for module in ("data.readers.features", "runs.code_files"):
        monkeypatch.setattr(f"fdch.{module}.available_memory", lambda: 10**7)
    names = ("text", "ids", "has_image", "has_text", "bits", "fingerprint")
    small = array_bytes(np.zeros((1, 1), np.uint8))
    members = {name: array_bytes(np.zeros((4000, 5000), np.uint8))}
    members |= {f"{other}.npy": small for other in names}
    read_bounded(write_zip(tmp_path / "a.npz", members), read)


def test_a_header_of_an_array_is_read_no_further_than_headers_go(tmp_path):
    length = 200 * 2**20
    header = b"\x93NUMPY\x02\x00" + length.to_bytes(4, "little") + b" " * (length // 8)
    members = {"image.npy": header, "text.npy": b""}
    path = write_zip(tmp_path / "a.npz", members)
    assert "not a valid .npz file" in read_bounded(path)


@pytest.mark.parametrize("name", ["a.npz", "a.xlsx"])
def test_members_packed_beyond_any_bound_are_refused(tmp_path, name):
    part = {"a.npz": "image.npy", "a.xlsx": "xl/_rels/workbook.xml.rels"}[name]
    members = {part: b" " * (50 * 2**20), "text.npy": b""}
    path = write_zip(tmp_path / name, members, zipfile.ZIP_BZIP2)
    assert "packed in an unknown way" in read_bounded(path)
