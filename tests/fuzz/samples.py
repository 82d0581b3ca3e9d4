"""Small whole files of every kind that is read, made here."""

import io
import json
import re
import tarfile
import uuid
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from fdch.evaluation.scores import Scores

ROWS = [
    {"id": "1", "text": "a red dog", "labels": ["dog", "red"], "price": 3},
    {"id": "2", "text": "ein Hund, grün", "labels": ["dog"], "price": 1.5},
    {"id": "3", "text": "猫", "labels": [], "price": None},
]
HEADER = "id,text,labels,price"


def tables() -> list[bytes]:
    """CSV in its dialects."""
    plain = f'{HEADER}\n1,a red dog,dog;red,3\n2,"a ""b"", c",dog,\n'
    return [
        plain.encode(),
        plain.replace(",", "\t").encode("utf-16"),
        f"sep=;\n{plain.replace(',', ';')}".encode(),
        plain.replace("red", "für").encode("cp1252"),
        b"\xef\xbb\xbf" + plain.encode(),
    ]


def json_lines() -> list[bytes]:
    """JSON lines."""
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    return [lines.encode(), b'{"text": [["a"]], "x": {"y": [1, 1e999, -0]}}\n']


def workbooks() -> list[bytes]:
    """Excel workbooks."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["id", "text", "labels", "price", "day"])
    book.active.append(
        [1, "a red dog", "dog;red", 3.5, np.datetime64("2020-01-01").item()]
    )
    book.active.append(["2", "a cat", None, "=1+1", True])
    out = io.BytesIO()
    book.save(out)
    content, name = _store(out.getvalue()), "docProps/core.xml"
    # it has the time; without it, an attack can be repeated
    undated = re.sub(
        rb"[-\d]+T[:\d]+Z", b"2020-01-01T00:00:00Z", members(content, name)
    )
    return [replace_member(content, name, undated)]


def _store(content: bytes) -> bytes:
    """Write a zip file again without packing, so that changes reach the content."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name), old.read(name))
    return out.getvalue()


def replace_member(content: bytes, name: str, changed: bytes) -> bytes:
    """Write a zip file again with one member replaced, so that its checksum holds."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for other in old.namelist():
            own = changed if other == name else old.read(other)
            new.writestr(zipfile.ZipInfo(other), own)
    return out.getvalue()


def members(content: bytes, name: str) -> bytes:
    """Give one member of a zip file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name)


def features() -> list[bytes]:
    """Arrays of features in .npz."""
    found = []
    for save in (np.savez, np.savez_compressed):
        out = io.BytesIO()
        save(
            out,
            image=np.eye(3, 2, dtype=np.float32),
            text=np.eye(3, 4, dtype=np.uint8),
            labels=np.eye(3, 2, dtype=np.int64),
            ids=np.array(["a", "b", "c"]),
        )
        found.append(out.getvalue())
    return found


def encoded() -> list[bytes]:
    """Codes as `fdch encode` writes them."""
    out = io.BytesIO()
    side = np.eye(3, 2, dtype=np.uint8)
    np.savez(
        out,
        ids=np.array(["a", "b", "c"]),
        has_image=np.array([True, False, True]),
        has_text=np.array([True, True, False]),
        bits=np.array(16),
        fingerprint=np.array("abc"),
        unified=side,
        image=side,
        text=side,
    )
    return [out.getvalue()]


def matlab() -> list[bytes]:
    """MATLAB files of version 5, with what data sets and networks hold."""
    from scipy import io as scipy_io
    from scipy import sparse

    layers = np.empty(2, dtype=object)
    layers[:] = [{"name": "a", "weights": np.eye(2)}, {"name": "b"}]
    data = {
        "IAll": np.arange(5 * 4, dtype=np.float64).reshape(5, 4),
        "YAll": sparse.csc_array(np.eye(5, 3)),
        "LAll": np.eye(5, 2, dtype=np.uint8),
        "layers": layers,
    }
    found = []
    for packed in (False, True):
        out = io.BytesIO()
        scipy_io.savemat(out, data, do_compression=packed)
        # the header's text has the time; without it, an attack can be repeated
        found.append(b"MATLAB 5.0 MAT-file".ljust(116) + out.getvalue()[116:])
    return found


def hdf5() -> list[bytes]:
    """MATLAB files of version 7.3."""
    import h5py

    found = []
    for options in ({}, {"chunks": (2, 2), "compression": "gzip"}):
        out = io.BytesIO()
        with h5py.File(out, "w") as file:
            file.create_dataset("IAll", data=np.arange(20.0).reshape(4, 5), **options)
            file.create_dataset("YAll", data=np.eye(3, 5), **options)
            file.create_dataset("LAll", data=np.eye(2, 5, dtype=np.uint8), **options)
        found.append(out.getvalue())
    return found


def arrow_table() -> "object":
    """A table with columns of many types."""
    import pyarrow as pa

    return pa.table(
        {
            "id": ["1", "2", "3"],
            "text": ["a dog", None, "a cat"],
            "image": [{"bytes": pictures("PNG")[0], "path": "a.png"}] * 3,
            "labels": [["dog", "red"], [], None],
            "day": pa.array([0, 1, None], pa.date32()),
            "time": pa.array([0, 1, None], pa.timestamp("ns", "UTC")),
            "number": pa.array([1, None, 3], pa.decimal128(9, 2)),
            "pairs": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int8())),
            "fixed": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2)),
        }
    )


def parquets() -> list[bytes]:
    """Parquet files of several encodings."""
    from pyarrow import parquet

    found = []
    for options in (
        {},
        {"use_dictionary": False, "compression": "none", "data_page_version": "2.0"},
        {"row_group_size": 2, "compression": "zstd"},
    ):
        out = io.BytesIO()
        parquet.write_table(arrow_table(), out, **options)
        found.append(out.getvalue())
    return found


def arrows() -> list[bytes]:
    """Arrow files and streams, packed and not."""
    import pyarrow as pa

    table = arrow_table()
    found = []
    for form in (pa.ipc.new_file, pa.ipc.new_stream):
        for packing in (None, "zstd"):
            out = io.BytesIO()
            options = pa.ipc.IpcWriteOptions(compression=packing)
            with form(out, table.schema, options=options) as file:  # type: ignore[attr-defined]
                file.write_table(table)
            found.append(out.getvalue())
    return found


def shards() -> list[bytes]:
    """Tar files with samples, of two layouts."""
    found = []
    for layout in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=layout) as tar:
            for name, content in {
                "a/1.png": pictures("PNG")[0],
                "a/1.txt": b"a dog",
                "a/1.json": b'{"labels": ["dog"], "price": 3}',
                f"a/{'long' * 40}猫.cls": b"cat",
            }.items():
                header = tarfile.TarInfo(name)
                header.size = len(content)
                tar.addfile(header, io.BytesIO(content))
        found.append(out.getvalue())
    return found


def pictures(form: str) -> list[bytes]:
    """A small photo-like picture, in modes that the format knows."""
    if form == "HEIF":
        import pillow_heif

        pillow_heif.register_heif_opener(thumbnails=False)
    rng = np.random.default_rng(0)
    photo = Image.fromarray(rng.integers(0, 256, (8, 9, 3), dtype=np.uint8))
    modes = {"JPEG": ("RGB", "L", "CMYK"), "GIF": ("P",), "BMP": ("RGB", "P", "1")}
    found = []
    for mode in modes.get(form, ("RGB", "RGBA", "L")):
        out = io.BytesIO()
        photo.convert(mode).save(out, form)
        found.append(out.getvalue())
    if form in ("GIF", "WEBP"):
        out = io.BytesIO()
        photo.save(out, form, save_all=True, append_images=[photo.rotate(180)])
        found.append(out.getvalue())
    return found


def splits() -> list[bytes]:
    """A saved split."""
    from fdch.data.splits import Split

    with TemporaryDirectory() as folder:
        path = Path(folder, "split.json")
        Split(0, "abc", query=("1",), train=("2",), validation=("3",)).save(path)
        return [path.read_bytes()]


def make_index(folder: Path) -> None:
    """Make an index of three items."""
    from fdch.codes import Codes
    from fdch.index.storage.folder import CodeFolder
    from fdch.index.store import Item

    items = [
        Item(str(i), text="a dog", labels=("dog",), columns={"price": i}, kind="text")
        for i in range(3)
    ]
    # the same one each time, so that an attack can be repeated
    with (
        mock.patch("uuid.uuid4", return_value=uuid.UUID(int=0)),
        CodeFolder.create(folder, 16, "model") as made,
    ):
        made.add(items, Codes(np.eye(3, 2, dtype=np.uint8), 16))


def make_scores() -> "Scores":
    """Score random codes."""
    from fdch.codes import binarize
    from fdch.evaluation import Coded, CodedPairs, Protocol, score_galleries

    def coded(seed: int, items: int) -> CodedPairs:
        rng = np.random.default_rng(seed)
        labels = (rng.random((items, 4)) < 0.4).astype(np.uint8)
        image, text = (binarize(rng.standard_normal((items, 6))) for _ in range(2))
        rows = np.arange(items)
        return CodedPairs(Coded(image, labels), Coded(text, labels), both=(rows, rows))

    protocol = Protocol("d", "s", 25, 60, 10)
    return score_galleries("mine", coded(0, 25), coded(1, 60), protocol)
