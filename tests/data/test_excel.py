"""Excel workbooks, sound and hostile."""

import datetime
import re
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fdch.data.pairs import PairedSet
from fdch.data.readers.tables import excel
from fdch.data.texts import Sentences
from fdch.errors import BrokenRow, DataError

openpyxl = pytest.importorskip("openpyxl")
SHEET = "xl/worksheets/sheet1.xml"
ROWS = [
    ("Id", "Image", "Title", "Labels", "Price", "Since", "Sold"),
    (
        1,
        r"photos\a.png",
        "a red mug",
        "kitchen;red",
        12.5,
        datetime.date(2024, 5, 1),
        True,
    ),
    (2, None, 1984, "kitchen", 7, datetime.datetime(2024, 5, 1, 12, 30), False),
]


@pytest.fixture
def book(tmp_path):
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "photos" / "a.png")
    return written(tmp_path / "pairs.xlsx", ROWS)


def written(path, rows, *more):
    work = openpyxl.Workbook()
    work.active.title = "Products"
    for row in rows:
        work.active.append(row)
    for name in more:
        work.create_sheet(name).append(["something else"])
    work.save(path)
    return path


def changed(path, part, change):
    """Write the workbook again with a part changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts.get(part, b""))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def texts_of(pairs):
    assert isinstance(pairs.texts, Sentences)
    return pairs.texts.values.tolist()


def test_a_sheet_gives_pairs(book):
    pairs = PairedSet.read(book)
    assert pairs.ids.tolist() == ["1", "2"]
    assert texts_of(pairs) == ["a red mug", "1984"]
    assert pairs.images.present.tolist() == [True, False]
    assert pairs.label_names == ("kitchen", "red")
    columns = {name: values.tolist() for name, values in pairs.columns.items()}
    assert columns == {
        "Price": [12.5, 7],
        "Since": ["2024-05-01", "2024-05-01T12:30:00"],
        "Sold": [True, False],
    }
    assert len(pairs.notes) == 1 and "'Title' is read as 'text'" in pairs.notes[0]


def test_the_first_visible_sheet_is_read_with_a_note(tmp_path):
    path = written(tmp_path / "p.xlsx", [("text",), ("a",)], "Second")
    assert "first of 2 sheets is read, 'Products'" in PairedSet.read(path).notes[0]
    work = openpyxl.load_workbook(path)
    work["Products"].sheet_state = "hidden"
    work["Second"]["A1"], work["Second"]["A2"] = "text", "b"
    work.active = 1
    work.save(path)
    assert texts_of(PairedSet.read(path)) == ["b"]


def test_a_title_above_the_columns_is_found(tmp_path):
    rows = [("Shop export 2024",), (), ("from", "May"), *ROWS]
    path = written(tmp_path / "p.xlsx", rows)
    message = r"it has 'Shop export 2024'\. .* Or delete the rows above row 4, which"
    with pytest.raises(DataError, match=message):
        PairedSet.read(path)
    with pytest.raises(DataError, match=r"no column 'Title' .* the rows above row 4"):
        PairedSet.read(path, columns={"text": "Title"})


@pytest.mark.parametrize(
    ("title", "end"), [([], r"front\.$"), ([("A",)], "front, .* rows above row 2, w")]
)
def test_a_sheet_behind_the_cover_is_found(tmp_path, title, end):
    path = written(tmp_path / "p.xlsx", [("Shop",), ("by", "us")], "Data")
    work = openpyxl.load_workbook(path)
    work["Data"].delete_rows(1)
    for row in [*title, *ROWS]:
        work["Data"].append(row)
    work.save(path)
    with pytest.raises(DataError, match=f"Or move sheet 'Data' to the {end}"):
        PairedSet.read(path)


def test_no_row_is_advised_where_none_names_columns(book):
    with pytest.raises(
        DataError, match=r"no column 'Name' .*'Price', 'Since', 'Sold'\.$"
    ):
        PairedSet.read(book, columns={"text": "Name"})
    with pytest.raises(DataError, match=r"--columns text=NAME\.$"):
        PairedSet.read(written(book, [("Shop",), ("a", "b")], "More"))


def test_sheets_too_large_to_look_into_are_not_advised(tmp_path, monkeypatch):
    path = written(tmp_path / "p.xlsx", [("Shop",), *ROWS])
    monkeypatch.setattr(excel, "MAX_BYTES", 16_000)
    space = b" " * 10_000 + b"<sheetData>"
    changed(path, SHEET, lambda xml: xml.replace(b"<sheetData>", space))
    with pytest.raises(DataError, match=r"--columns text=NAME\.$"):
        PairedSet.read(path)


def test_empty_rows_do_not_count_and_places_are_those_of_excel(tmp_path):
    rows = [(), ("text", "labels", None), (), ("a", "x"), (None, "y"), ("b", "x", "z")]
    pairs = PairedSet.read(written(tmp_path / "p.xlsx", rows), broken="skip")
    assert texts_of(pairs) == ["a"]
    reasons = [each.reason for each in pairs.skipped]
    assert (
        "row 5: neither" in reasons[0] and "row 6: 3 cells for 2 columns" in reasons[1]
    )


def test_formulas_count_by_their_saved_values_and_errors_are_counted(tmp_path):
    path = written(tmp_path / "p.xlsx", [("text", "n"), ("a", "=1+1"), ("b", "#N/A")])
    pairs = PairedSet.read(path)
    assert "1 cells hold errors" in pairs.notes[0]
    saved = re.compile(rb"(<f>1\+1</f>)<v ?/>")
    changed(path, SHEET, lambda xml: saved.sub(rb"\1<v>2</v>", xml))
    assert PairedSet.read(path).columns["n"].tolist() == [2, None]


def test_any_text_comes_through(tmp_path):
    hard = ["tab\there", "<&>", "_x000A_", "日本語", "  spaces  ", "line\nbreak"]
    path = written(
        tmp_path / "p.xlsx", [("text", "own"), *(("a", each) for each in hard)]
    )
    found = PairedSet.read(path).columns["own"].tolist()
    assert found == [each.replace("_x000A_", "\n") for each in hard]


def test_texts_that_cells_share_are_read(book):
    """Excel writes texts so; openpyxl writes them into their cells."""
    relation = b'<Relationship Id="rX" Type="any/sharedStrings" Target="/xl/s.xml"/>'
    strings = """<sst><si><t>plain</t></si><si><r><t>two </t></r><r><t>parts</t></r>
        <rPh><t>spoken</t></rPh></si></sst>"""
    changed(
        book,
        "xl/_rels/workbook.xml.rels",
        lambda xml: xml.replace(b"</Relationships>", relation + b"</Relationships>"),
    )
    changed(book, "xl/s.xml", lambda _: strings.encode())
    shared = b'<c r="C2" t="s"><v>1</v></c>'
    inline = b'<c r="C2" t="inlineStr"><is><t>a red mug</t></is></c>'
    changed(book, SHEET, lambda xml: xml.replace(inline, shared))
    assert texts_of(PairedSet.read(book)) == ["two parts", "1984"]


def test_what_unpacks_to_too_much_is_refused(book, monkeypatch):
    monkeypatch.setattr(excel, "MAX_BYTES", 2**20)
    changed(
        book,
        SHEET,
        lambda xml: xml.replace(b"<sheetData>", b" " * 2**21 + b"<sheetData>"),
    )
    assert book.stat().st_size < 2**15
    with pytest.raises(DataError, match="unpacks to more than 1,048,576 bytes"):
        PairedSet.read(book)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda xml: xml[:-40], "is not a valid Excel workbook"),
        (lambda xml: b"", "no element found"),
        (lambda xml: b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + xml, "states a document type"),
        (lambda xml: b"<a>" * 100, "more than 50 tags deep"),
        (lambda xml: xml.replace(b'r="A2"', b'r="XFD2"'), "more than 1,000 columns"),
        (lambda xml: xml.replace(b'r="A2"', b'r="\xc3\xa9"'), "it has a cell"),
        (
            lambda xml: xml.replace(b'<row r="2"', b'<row r="99999999"'),
            "row 99,999,999",
        ),
        (lambda xml: xml.replace(b'<row r="2"', b'<row r="two"'), "invalid literal"),
        (
            lambda xml: xml.replace(b't="n"><v>1<', b't="s"><v>999<'),
            "list index out of range",
        ),
        (
            lambda xml: xml.replace(b"<v>12.5</v>", b"<v>" + b"1" * 2**20 + b"2</v>"),
            "a text has more than",
        ),
    ],
)
def test_a_hostile_sheet_gives_one_message(book, change, message):
    changed(book, SHEET, change)
    with pytest.raises(DataError, match=message):
        PairedSet.read(book)


def test_huge_dimensions_cost_nothing(book):
    first = b'<dimension ref="A1:G3" />'
    huge = b'<dimension ref="A1:XFD1048576" />'
    last = b'<row r="1048576"><c r="A1048576" t="n"><v>3</v></c></row></sheetData>'
    changed(
        book, SHEET, lambda xml: xml.replace(first, huge).replace(b"</sheetData>", last)
    )
    with pytest.raises(BrokenRow, match="row 1048576"):
        PairedSet.read(book)
    assert len(PairedSet.read(book, broken="skip")) == 2


@pytest.mark.parametrize("content", [b"", b"text\n", b"\xd0\xcf\x11\xe0" * 200])
def test_what_is_no_workbook_is_refused(tmp_path, content):
    path = tmp_path / "p.xlsx"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a valid Excel workbook"):
        PairedSet.read(path)


def test_a_workbook_without_its_parts_is_refused(tmp_path):
    path = tmp_path / "p.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.xml", "<a/>")
    with pytest.raises(
        DataError, match=r"no item named 'xl/_rels/workbook\.xml\.rels'"
    ):
        PairedSet.read(path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Bytes of a workbook, written once: they hold the time, and so does their size."""
    path = tmp_path_factory.mktemp("book") / "p.xlsx"
    return path, written(path, [("text", "labels"), ("a", "x")]).read_bytes()


@given(st.data())
def test_flipped_bytes_give_pairs_or_one_error(small, data):
    path, whole = small
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(DataError):
        PairedSet.read(path, broken="skip")


def test_a_part_before_the_start_of_the_file_is_refused(book):
    # zipfile moves all places by what the end of the directory says of its own
    content = bytearray(book.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    place = int.from_bytes(content[end + 16 : end + 20], "little")
    content[end + 16 : end + 20] = (place + 10_000).to_bytes(4, "little")
    book.write_bytes(content)
    with pytest.raises(DataError, match="lies outside the file"):
        PairedSet.read(book)


def test_other_workbooks_are_to_be_saved_as_xlsx(tmp_path):
    (tmp_path / "p.xls").touch()
    with pytest.raises(DataError, match=r"save this table as \.xlsx"):
        PairedSet.read(tmp_path / "p.xls")
