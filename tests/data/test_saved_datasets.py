"""Datasets as the `datasets` library saves them, written here with pyarrow."""

import io
import json

import pytest
from PIL import Image

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureFiles
from fdch.data.texts import Sentences
from fdch.errors import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
FEATURES = {
    "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
    "caption": {"dtype": "string", "_type": "Value"},
}


def picture(colour):
    content = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(content, "PNG")
    return content.getvalue()


def dataset_table(*labels):
    rows = [
        {
            "img": {"bytes": picture("red"), "path": None} if n != 1 else None,
            "caption": f"text {n}",
            "label": label,
        }
        for n, label in enumerate(labels)
    ]
    metadata = {"huggingface": json.dumps({"info": {"features": FEATURES}})}
    return pa.Table.from_pylist(rows).replace_schema_metadata(metadata)


def write_arrow(path, table, maker=None):
    with (maker or pa.ipc.new_stream)(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


def save_dataset(folder, **changes):
    folder.mkdir()
    for number, labels in enumerate([(0, 1), (1, -1)]):
        name = f"data-{number:05}-of-00002.arrow"
        write_arrow(folder / name, dataset_table(*labels))
    names = sorted(path.name for path in folder.iterdir())
    state = {"_data_files": [{"filename": name} for name in names]} | changes
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def check(pairs):
    assert isinstance(pairs.texts, Sentences)
    assert pairs.texts.values.tolist() == ["text 0", "text 1"] * 2
    assert pairs.images.present.tolist() == [True, False] * 2
    assert [pairs.labels_of(row) for row in range(4)] == [("cat",), ("dog",)] * 1 + [
        ("dog",),
        (),
    ]
    assert pairs.images.decode(2, 2)[0, 0].tolist() == [255, 0, 0]


def test_a_saved_dataset_is_read_with_names_and_pictures(tmp_path):
    pairs = PairedSet.read(save_dataset(tmp_path / "saved"))
    check(pairs)
    assert any("'label' is read as 'labels'" in note for note in pairs.notes)


@pytest.mark.parametrize("maker", [pa.ipc.new_stream, pa.ipc.new_file])
def test_arrow_and_parquet_files_are_read_alike(tmp_path, maker):
    table = dataset_table(0, 1, 1, -1)
    write_arrow(tmp_path / "p.arrow", table, maker)
    pq.write_table(table, tmp_path / "p.parquet")
    found = [PairedSet.read(tmp_path / f"p.{end}") for end in ("arrow", "parquet")]
    assert found[0].labels.tolist() == found[1].labels.tolist()
    assert found[0].label_names == found[1].label_names == ("cat", "dog")
    columns = {"image": "img", "labels": "caption", "text": "label"}
    mapped = PairedSet.read(tmp_path / "p.arrow", columns=columns, broken="skip")
    assert mapped.texts.text(0) == "cat"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"_data_files": []}, "names no files"),
        ({"_data_files": [{"filename": "../x.arrow"}]}, "names no files"),
        ({"_data_files": [{"filename": "x.mat"}]}, "names no files"),
        ({"_data_files": 5}, "is not a valid list"),
        ({"_indices_data_files": [{"filename": "i.arrow"}]}, "flatten_indices"),
        (
            {"_data_files": [{"filename": "lost.arrow"}]},
            r"there is no file .*lost\.arrow",
        ),
    ],
)
def test_a_damaged_dataset_is_refused(tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        PairedSet.read(save_dataset(tmp_path / "saved", **changes))


def test_one_of_several_splits_is_to_be_named(tmp_path):
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}')
    save_dataset(tmp_path / "train")
    with pytest.raises(DataError, match="name one of the folders"):
        PairedSet.read(tmp_path)
    check(PairedSet.read(tmp_path / "train"))


def test_a_cut_arrow_file_is_refused(tmp_path):
    path = write_arrow(tmp_path / "p.arrow", dataset_table(0, 1))
    content = path.read_bytes()
    for share in (0.0, 0.2, 0.5, 0.8):
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(DataError, match="is not a valid Arrow file"):
            PairedSet.read(path)


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_fields_of_the_same_name_or_of_none_are_refused(tmp_path, ending):
    parts = [pa.array([b"a"]), pa.array([b"b"])]
    twice = pa.StructArray.from_arrays(parts, ["bytes", "bytes"])
    path = tmp_path / f"pairs.{ending}"

    def write(table):
        if ending == "parquet":
            pq.write_table(table, path)
            return
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)

    write(pa.table({"image": twice}))
    with pytest.raises(DataError, match="same name"):
        PairedSet.read(path)
    write(pa.table([pa.array(["a"]), pa.array(["b"])], ["text", "text"]))
    with pytest.raises(DataError, match="same name"):
        PairedSet.read(path)
    named = pa.StructArray.from_arrays(parts, ["bytes", "paths"])
    write(pa.table({"image": named}))
    path.write_bytes(path.read_bytes().replace(b"paths", b"p\xff\xfe\xffs"))
    with pytest.raises(DataError):
        PairedSet.read(path)


def test_a_number_that_python_cannot_hold_is_refused(tmp_path):
    content = [None, pa.py_buffer((1).to_bytes(16, "little"))]
    number = pa.Array.from_buffers(pa.decimal128(9, 10**6), 1, content)
    table = pa.table({"text": ["a"], "number": number})
    path = tmp_path / "pairs.arrow"
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    with pytest.raises(DataError, match="is not a valid Arrow file"):
        PairedSet.read(path)


def write_named(path, *pictures):
    """Write pictures as `Dataset.to_parquet` does: those from files by their paths."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    captions = [f"text {row}" for row in range(len(pictures))]
    columns = {"image": pa.array(pictures, kind), "caption": captions}
    features = FEATURES | {"image": {"_type": "Image"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table(columns).replace_schema_metadata(metadata)
    if path.suffix == ".arrow":
        return write_arrow(path, table)
    pq.write_table(table, path)
    return path


def named(path):
    return {"bytes": None, "path": None if path is None else str(path)}


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_pictures_that_are_named_by_their_paths_are_read(tmp_path, monkeypatch, ending):
    for folder, colour in [("set", "red"), ("here", "lime"), ("far", "blue")]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.png").write_bytes(picture(colour))
    (tmp_path / "here" / "b.png").write_bytes(picture("white"))
    monkeypatch.chdir(tmp_path / "here")
    far = tmp_path / "far" / "a.png"
    names = [named("a.png"), named("b.png"), named(far), named(None), None]
    path = write_named(tmp_path / "set" / f"pairs.{ending}", *names)
    pairs = PairedSet.read(path)
    assert isinstance(pairs.images, PictureFiles)
    assert pairs.images.present.tolist() == [True, True, True, False, False]
    monkeypatch.chdir(tmp_path)  # paths are kept in full
    shown = [pairs.images.decode(row, 2)[0, 0].tolist() for row in range(3)]
    assert shown == [[255, 0, 0], [255, 255, 255], [0, 0, 255]]


def test_named_pictures_that_have_moved_are_found(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.png").write_bytes(picture("red"))
    path = write_named(tmp_path / "pairs.parquet", named("/old/place/a.png"))
    pairs = PairedSet.read(path, pictures=tmp_path / "new")
    assert pairs.images.present.tolist() == [True]


def test_named_pictures_that_are_nowhere_are_refused_or_counted(tmp_path):
    (tmp_path / "a.png").write_bytes(picture("red"))
    names = ["a.png", "lost.png", "no\0name", "x" * 5000, "."]
    path = write_named(tmp_path / "pairs.parquet", *map(named, names))
    with pytest.raises(DataError, match=r"row 2: there is no picture at '.*lost\.png'"):
        PairedSet.read(path)
    pairs = PairedSet.read(path, broken="skip")
    assert pairs.images.present.tolist() == [True]
    assert len(pairs.skipped) == 4


def test_a_file_with_pictures_and_paths_is_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(picture("red"))
    inside = {"bytes": picture("red"), "path": "a.png"}
    path = write_named(tmp_path / "pairs.parquet", inside, named("a.png"))
    with pytest.raises(DataError, match="write one that has both again"):
        PairedSet.read(path)
    assert PairedSet.read(write_named(path, inside, inside)).images.present.all()


def test_paths_of_named_pictures_are_measured_before_they_are_read(tmp_path):
    paths = pa.array(["a" * 100_000]).dictionary_encode().take([0] * 3000)
    nothing = pa.nulls(len(paths), pa.binary())
    pictures = pa.StructArray.from_arrays([nothing, paths], ["bytes", "path"])
    path = write_arrow(tmp_path / "pairs.arrow", pa.table({"image": pictures}))
    with pytest.raises(DataError, match="once they are unpacked"):
        PairedSet.read(path, broken="skip")
