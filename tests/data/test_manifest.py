"""Manifests: CSV, JSON lines and Parquet, sound and otherwise."""

import csv
import datetime
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fdch.data import conversion
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureFiles, PictureLimits
from fdch.data.readers import manifest
from fdch.data.readers.columns import AS_NAMED
from fdch.data.readers.tables.text_tables import open_csv
from fdch.data.texts import Sentences
from fdch.errors import BrokenRow, DataError, LabelError, MissingExtra

FORMATS = ["csv", "jsonl", "parquet"]


@pytest.fixture
def folder(tmp_path):
    """A folder for a manifest, with pictures a.png, b.png and c.png."""
    (tmp_path / "pictures").mkdir()
    for name in "abc":
        Image.new("RGB", (4, 4)).save(tmp_path / "pictures" / f"{name}.png")
    return tmp_path


def rows():
    return [
        {
            "id": name,
            "image": f"pictures/{name}.png",
            "text": f'words, "of" {name}',
            "labels": labels,
            "price": 7,
        }
        for name, labels in (("a", ["sea", "dog"]), ("b", ["dog"]), ("c", []))
    ]


def written(folder, format, content):
    """Write rows as this format would hold them, and give the path."""
    path = folder / f"pairs.{format}"
    if format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
    elif format == "parquet":
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist(content), path)
    else:
        with open(path, "w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(content[0]))
            table.writeheader()
            for row in content:
                labels = row.get("labels") or []
                joined = labels if isinstance(labels, str) else ";".join(labels)
                table.writerow(row | ({"labels": joined} if "labels" in row else {}))
    return path


def text_file(folder, content, name="pairs.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts_of(pairs):
    assert isinstance(pairs.texts, Sentences)
    return pairs.texts.values.tolist()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_gives_the_same_pairs(folder, format):
    pairs = PairedSet.read(written(folder, format, rows()))
    assert pairs.ids.tolist() == ["a", "b", "c"]
    assert isinstance(pairs.images, PictureFiles) and pairs.images.present.all()
    assert pairs.images.decode(1, 2).shape == (2, 2, 3)
    assert texts_of(pairs)[0] == 'words, "of" a'
    assert pairs.label_names == ("dog", "sea")
    assert pairs.labels.tolist() == [[1, 1], [1, 0], [0, 0]]
    assert [str(price) for price in pairs.columns["price"]] == ["7", "7", "7"]
    assert pairs.name == "pairs" and not pairs.skipped and not pairs.notes


def test_the_formats_have_one_fingerprint(folder):
    prints = {
        PairedSet.read(written(folder, format, rows())).fingerprint
        for format in FORMATS
    }
    assert len(prints) == 1


@pytest.mark.parametrize("format", FORMATS)
def test_rows_without_an_id_column_are_named_by_their_numbers(folder, format):
    nameless = [{key: row[key] for key in row if key != "id"} for row in rows()]
    pairs = PairedSet.read(written(folder, format, nameless))
    assert pairs.ids.tolist() == ["1", "2", "3"]
    assert "no column 'id'" in pairs.notes[0]


@pytest.mark.parametrize("format", FORMATS)
def test_a_missing_cell_is_a_one_sided_item(folder, format):
    content = rows()
    content[0]["image"] = None
    content[1]["text"] = None
    pairs = PairedSet.read(written(folder, format, content))
    assert pairs.images.present.tolist() == [False, True, True]
    assert pairs.texts.present.tolist() == [True, False, True]


@pytest.mark.parametrize("format", FORMATS)
def test_columns_of_one_side_are_enough_for_a_gallery(folder, format):
    only_text = [{"id": row["id"], "text": row["text"]} for row in rows()]
    pairs = PairedSet.read(written(folder, format, only_text))
    assert not pairs.images.present.any() and pairs.labels.shape == (3, 0)
    with pytest.raises(DataError, match="'image'"):
        pairs.require_training()


@pytest.mark.parametrize("format", FORMATS)
def test_neither_image_nor_text_column_is_refused_with_the_nearest_name(folder, format):
    content = [{"id": "1", "imgae": "a.png", "colour": "a"}]
    message = r"neither.*'id', 'imgae', 'colour'; did you mean 'imgae'.*--columns text="
    with pytest.raises(DataError, match=message):
        PairedSet.read(written(folder, format, content))


@pytest.mark.parametrize("format", FORMATS)
def test_a_missing_picture_is_refused_by_file_row_and_id(folder, format):
    content = rows()
    content[1]["image"] = "pictures/lost.png"
    place = "row 2" if format == "parquet" else f"line {3 if format == 'csv' else 2}"
    message = (
        rf"pairs\.{format}', {place} \('b'\): there is no picture at .*lost\.png'; "
        r"if pictures have moved, add --pictures DIR\. "
        r"Correct the row, or skip broken rows \(--broken skip, or broken=\"skip\" in"
    )
    path = written(folder, format, content)
    with pytest.raises(BrokenRow, match=message):
        PairedSet.read(path)
    kept = PairedSet.read(path, broken="skip")
    assert kept.ids.tolist() == ["a", "c"]
    assert [row.name for row in kept.skipped] == ["b"]
    assert kept.skipped[0].reason.endswith("add --pictures DIR.")


def test_a_path_may_leave_the_folder_and_may_be_absolute(folder):
    inner = folder / "inner"
    inner.mkdir()
    content = rows()[:2]
    content[0]["image"] = "../pictures/a.png"
    content[1]["image"] = str(folder / "pictures" / "b.png")
    assert PairedSet.read(written(inner, "jsonl", content)).images.present.all()


def test_pictures_are_looked_up_but_not_decoded(folder):
    (folder / "pictures" / "a.png").write_bytes(b"not a picture")
    assert len(PairedSet.read(written(folder, "csv", rows()))) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"image": "pictures"}, "not a picture file"),
        ({"image": "pictures/empty.png"}, "0 bytes"),
        ({"image": "pictures/large.png"}, "2,000 bytes; expected 1 to 1,000"),
        ({"image": "a\0b.png"}, "no picture"),
        ({"image": "x" * 5000}, "no picture"),
        ({"image": 7}, "the image is 7; expected a path"),
        ({"image": None, "text": "  "}, "neither an image nor a text"),
        ({"text": 7.5}, "the text is 7.5"),
        ({"text": {"a": 1}}, "the text is {'a': 1}"),
        ({"text": "x" * 2**20 + "y"}, "'text' has 1,048,577 bytes"),
        ({"text": "\ud800"}, "half a character"),
        ({"labels": {"dog": 1}}, "expected a list"),
        ({"labels": [["dog"]]}, r"a label is \['dog'\]"),
        ({"labels": [None]}, "a label is None"),
        ({"id": None}, "the id is None"),
        ({"id": True}, "the id is True"),
        ({"id": " "}, "the id is empty"),
        ({"id": [1] * 1000}, r"the id is \[1, 1.*\.\.\.;"),
        ({"other": "x" * 2**20 + "y"}, "'other' has 1,048,577 bytes"),
    ],
)
def test_a_broken_cell_breaks_its_row_alone(folder, change, reason):
    (folder / "pictures" / "empty.png").write_bytes(b"")
    (folder / "pictures" / "large.png").write_bytes(b"x" * 2000)
    path = written(folder, "jsonl", [rows()[0], rows()[1] | change, rows()[2]])
    limits = PictureLimits(bytes=1000)
    with pytest.raises(BrokenRow, match=f"line 2.*{reason}"):
        PairedSet.read(path, limits=limits)
    kept = PairedSet.read(path, broken="skip", limits=limits)
    assert kept.ids.tolist() == ["a", "c"]
    assert kept.skipped[0].name in {"b", "line 2"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{not json", "not JSON"),
        ("[1, 2]", "expected; got list"),
        ("null", "expected; got null"),
        ("[" * 100_000, "not JSON"),
        ("9" * 5000, "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_malformed_json_line_is_named_by_its_number(folder, line, reason, place):
    lines = [json.dumps(row).encode() for row in rows()[:2]]
    lines.insert(place, line if isinstance(line, bytes) else line.encode())
    path = text_file(folder, b"\n".join(lines), "pairs.jsonl")
    with pytest.raises(BrokenRow, match=f"line {place + 1}: .*{reason}"):
        PairedSet.read(path)
    kept = PairedSet.read(path, broken="skip")
    assert kept.ids.tolist() == ["a", "b"]
    assert kept.skipped[0].name == f"line {place + 1}"


def test_json_lines_may_differ_in_their_keys(folder):
    content = [{"id": 1, "text": "a", "x": 1}, {"id": 2, "text": "b", "y": [1, "z"]}]
    pairs = PairedSet.read(written(folder, "jsonl", content))
    assert pairs.ids.tolist() == ["1", "2"]
    assert pairs.columns["x"].tolist() == [1, None]
    assert pairs.columns["y"].tolist() == [None, '[1, "z"]']


def test_blank_lines_and_a_byte_order_mark_do_not_count(folder):
    table = "\ufeffid,text\r\n\r\n1,a\r\n\r\n2,b\r\n"
    assert PairedSet.read(text_file(folder, table)).ids.tolist() == ["1", "2"]
    lines = '\ufeff{"id": "1", "text": "a"}\n\n{"id": "2", "text": "b"}\n\n'
    path = text_file(folder, lines, "pairs.jsonl")
    assert PairedSet.read(path).ids.tolist() == ["1", "2"]


def test_labels_are_trimmed_and_counted_once(folder):
    table = "text,labels\na, dog ;sea;dog;\nb,cafe\u0301\nc,café\n"
    pairs = PairedSet.read(text_file(folder, table))
    assert pairs.label_names == ("café", "dog", "sea")
    assert pairs.labels.tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


def test_tags_and_numbers_may_be_lists(folder):
    content = [{"id": 7, "text": ["dog", "sea"], "labels": [1, 2]}]
    pairs = PairedSet.read(written(folder, "jsonl", content))
    assert texts_of(pairs) == ["dog sea"]
    assert pairs.label_names == ("1", "2")


def test_values_of_other_columns_stay_or_become_text(folder):
    day = datetime.date(2024, 5, 1)
    content = [{"text": "a", "day": day, "share": float("nan"), "sold": True, "n": 3}]
    columns = PairedSet.read(written(folder, "parquet", content)).columns
    plain = {name: values[0] for name, values in columns.items()}
    assert plain == {"day": "2024-05-01", "share": None, "sold": True, "n": 3}


@pytest.mark.parametrize("format", FORMATS)
def test_repeated_ids_are_refused_with_their_rows(folder, format):
    content = [{"id": str(n % 7), "text": "a"} for n in range(14)]
    first = {"csv": "line 2 and line 9", "jsonl": "line 1 and line 8"}
    place = first.get(format, "row 1 and row 8")
    path = written(folder, format, content)
    for broken in ("refuse", "skip"):
        with pytest.raises(DataError, match=f"'0' in {place}, .* and 2 more"):
            PairedSet.read(path, broken=broken)


def test_a_line_with_too_many_cells_is_broken(folder):
    path = text_file(folder, "id,text\n1,a,b\n2,c\n3\n")
    with pytest.raises(BrokenRow, match=r"line 2: 3 cells for 2 columns.*quotes"):
        PairedSet.read(path)
    kept = PairedSet.read(path, broken="skip")
    assert kept.ids.tolist() == ["2"] and len(kept.skipped) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"id,text\n", "it has a header but no rows"),
        (b"\xff\xfe", "is empty"),
        (b"\xff\xfei\0d", "truncated data. Save it as CSV in UTF-8"),
        (b"PK\x03\x04\0\0\0\0\0\0", "is not text; save it as CSV"),
        (b"id,text,text\n1,a,b\n", "column name twice"),
        (
            "id,text\n1,café\n2,crème\n".encode() + b"3,caf\xe9\n",
            "invalid continuation byte. Save it as CSV in UTF-8",
        ),
        (
            "id,text\n1,\u043a\u0440\u0430\u0441\u043d\n".encode("cp1251"),
            "neither UTF-8 nor UTF-16",
        ),
        (
            b'id,text\n1,"never closed\n2,b\n',
            "unexpected end of data. Look for a double quote",
        ),
        (
            b"id,text\n1," + b"x" * (2**20 + 1) + b"\n",
            "after line 1: field larger than field limit",
        ),
    ],
)
def test_a_csv_that_cannot_be_used_says_why(folder, content, message):
    with pytest.raises(DataError, match=message):
        PairedSet.read(text_file(folder, content))


def test_a_cell_of_a_mebibyte_is_read_while_another_file_ends(folder):
    csv.field_size_limit(131_072)  # as a process begins
    path = text_file(folder, "id,text\n0,x\n1," + "x" * 2**20 + "\n")
    others, rows = (iter(open_csv(path, AS_NAMED).rows) for _ in range(2))
    next(rows), next(others)
    del others
    assert len(next(rows).cells["text"]) == 2**20


def test_an_endless_json_line_is_refused(folder, monkeypatch):
    monkeypatch.setattr("fdch.data.readers.tables.text_tables._LINE_BYTES", 1000)
    path = text_file(folder, '{"text": "' + "x" * 2000, "pairs.jsonl")
    with pytest.raises(DataError, match="line 1: more than 1,000 bytes"):
        PairedSet.read(path)


@pytest.mark.parametrize("content", ['{"text": \n', "[1, 2]\n{\n", "\n7\n"])
@pytest.mark.parametrize("broken", ["refuse", "skip"])
def test_json_without_a_single_row_names_the_first_line(folder, content, broken):
    path = text_file(folder, content, "pairs.jsonl")
    message = r"no line to use; line [12]: .*JSON.*such as \{\"id\": "
    with pytest.raises(DataError, match=message):
        PairedSet.read(path, broken=broken)


def test_a_damaged_parquet_file_is_refused(folder):
    path = written(folder, "parquet", rows())
    whole = path.read_bytes()
    for damage in (b"", b"PAR1", whole[:-20], b"PAR1" + b"\xff" * 300 + whole[-4:]):
        path.write_bytes(damage)
        with pytest.raises(DataError, match="Parquet"):
            PairedSet.read(path)
    data = bytearray(whole)
    data[10:60] = b"\xff" * 50
    path.write_bytes(data)
    with pytest.raises(DataError, match="a field of type 15"):
        PairedSet.read(path)


@pytest.mark.parametrize("column", ["text", "day"])
def test_cells_of_parquet_that_mean_nothing_are_refused(folder, column):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    offsets = bytes([0, 0, 0, 0, 2, 0, 0, 0])
    buffers = [None, *map(arrow.py_buffer, (offsets, b"\xff\xfe"))]
    bad = {
        "text": arrow.Array.from_buffers(arrow.string(), 1, buffers),
        "day": arrow.array([2**31 - 1], arrow.date32()),
    }
    cells = {"id": ["1"], "text": ["a mug"], column: bad[column]}
    parquet.write_table(arrow.table(cells), folder / "pairs.parquet")
    with pytest.raises(DataError, match="is not a valid Parquet file"):
        PairedSet.read(folder / "pairs.parquet")


def test_parquet_without_its_package_says_what_to_install(folder, monkeypatch):
    path = written(folder, "parquet", rows())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"fdch\[parquet\]"):
        PairedSet.read(path)


def test_too_many_rows_or_labels_are_refused(folder, monkeypatch):
    path = written(folder, "csv", rows())
    for limit, most in (("MAX_LABELS", 1), ("_LABEL_BYTES", 5)):
        with monkeypatch.context() as patch:
            patch.setattr(conversion, limit, most)
            with pytest.raises(LabelError, match="2 different labels for 3 rows"):
                PairedSet.read(path)
    monkeypatch.setattr(manifest, "MAX_ROWS", 2)
    with pytest.raises(DataError, match="more than 2 rows"):
        PairedSet.read(path)


def test_when_every_row_is_broken_there_is_nothing_to_use(folder):
    path = text_file(folder, "id,image\n1,lost.png\n2,gone.png\n")
    message = r"2 were skipped, .*line 2 .*lost\.png'; .* add --pictures DIR\.$"
    with pytest.raises(DataError, match=message):
        PairedSet.read(path, broken="skip")


def test_addresses_of_pictures_are_not_taken_for_paths(folder):
    path = text_file(folder, "id,image\n1,https://shop.example/new/a.png\n")
    message = r"'https://shop\.example/new/a\.png' is an address, .*--pictures DIR"
    with pytest.raises(DataError, match=message):
        PairedSet.read(path)
    found = PairedSet.read(path, pictures=folder / "pictures")
    assert found.images.present.all()


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
            st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=3),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_text_and_labels_come_through_json(tmp_path_factory, items):
    content = [{"text": f"x{text}x", "labels": labels} for text, labels in items]
    path = written(tmp_path_factory.mktemp("manifest"), "jsonl", content)
    pairs = PairedSet.read(path)
    assert texts_of(pairs) == [f"x{text}x" for text, _ in items]
    assert pairs.labels.any(axis=1).tolist() == [
        any(label.strip() for label in labels) for _, labels in items
    ]


@given(st.sampled_from(FORMATS), st.binary(max_size=200))
def test_any_bytes_give_pairs_or_a_data_error(tmp_path_factory, format, content):
    folder = tmp_path_factory.mktemp("manifest")
    path = text_file(folder, b"text\n" + content, f"pairs.{format}")
    try:
        PairedSet.read(path)
    except DataError as error:
        assert "pairs." in str(error)
