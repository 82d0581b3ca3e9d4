"""Tables as people have them: dialects, encodings, names of columns, labels, paths."""

import pytest
from PIL import Image

from fdch.data.pairs import PairedSet
from fdch.data.readers.columns import Layout
from fdch.data.readers.sources import read
from fdch.data.texts import Sentences
from fdch.errors import BrokenRow, DataError, MissingFile

TEXT = "große Tasse, rot: 5 €"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "photos").mkdir()
    for name in "ab":
        Image.new("RGB", (4, 4)).save(tmp_path / "photos" / f"{name}.png")
    return tmp_path


def table(folder, content, encoding="utf-8", name="pairs.csv"):
    path = folder / name
    path.write_bytes(content.encode(encoding))
    return path


def texts_of(pairs):
    assert isinstance(pairs.texts, Sentences)
    return pairs.texts.values.tolist()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
)
def test_every_dialect_and_encoding_is_read(folder, encoding, separator, ending):
    rows = [
        ("ID", "Image", "Text", "LABELS", "Preis"),
        ("1", "photos/a.png", f'"{TEXT}"', '"Küche;rot"', '"5,00"'),
        ("2", r"photos\b.png", "Schüssel", "Küche", "7"),
    ]
    content = ending.join(map(separator.join, rows)) + ending
    pairs = PairedSet.read(table(folder, content, encoding))
    assert texts_of(pairs) == [TEXT, "Schüssel"]
    assert pairs.ids.tolist() == ["1", "2"]
    assert pairs.images.present.all()
    assert pairs.label_names == ("Küche", "rot")
    assert pairs.columns["Preis"].tolist() == ["5,00", "7"]
    assert len(pairs.notes) == (encoding == "cp1252")


def test_usual_columns_are_read_where_a_table_has_them(folder):
    usual = Layout(usual={"id": "SKU", "text": "Titel"})
    content = "sku,text,Titel\n7,old,red mug\n"
    pairs = read(table(folder, content), broken="refuse", layout=usual)
    assert (pairs.ids.tolist(), texts_of(pairs)) == (["7"], ["red mug"])
    assert not pairs.numbered
    assert any("'sku' is read as 'id', as in training" in n for n in pairs.notes)
    assert any("'text' is left out" in note for note in pairs.notes)
    others = read(table(folder, "ID,text\n8,blue\n"), broken="refuse", layout=usual)
    assert (others.ids.tolist(), texts_of(others)) == (["8"], ["blue"])
    assert not any("as in training" in note for note in others.notes)
    named = Layout({"text": "sku"}, usual=usual.usual)
    chosen = read(table(folder, content), broken="refuse", layout=named)
    assert chosen.numbered and texts_of(chosen) == ["7"]


def test_tabs_have_an_ending_of_their_own(folder):
    assert len(PairedSet.read(table(folder, "id\ttext\n1\ta\n", name="p.tsv"))) == 1


def test_columns_without_a_name_are_left_out_with_a_note(folder):
    pairs = PairedSet.read(table(folder, "id,text,labels,,\n1,a,x,,\n"))
    assert not pairs.columns
    assert "2 of the 5 columns have no name" in pairs.notes[0]


@pytest.mark.parametrize(
    ("header", "read_as"),
    [
        (
            "file,title,category",
            {"file": "image", "title": "text", "category": "labels"},
        ),
        (
            "Filename,Caption,Tags",
            {"Filename": "image", "Caption": "text", "Tags": "labels"},
        ),
        ("file name,tags,labels", {"file name": "image", "tags": "text"}),
        ("image,description,label", {"description": "text", "label": "labels"}),
        ("Bild,Titel,Kategorie", {"Bild": "image", "Titel": "text"}),
        ("Foto,Beschreibung,Schlagwörter", {"Schlagwörter": "labels"}),
        ("Photo,Titre,Catégorie", {"Titre": "text", "Catégorie": "labels"}),
        ("image,description,E\u0301tiquettes", {"E\u0301tiquettes": "labels"}),
        ("Imagen,Título,Categoría", {"Imagen": "image", "Título": "text"}),
        ("foto,descripción,etiquetas", {"descripción": "text", "etiquetas": "labels"}),
    ],
)
def test_near_names_are_guessed_with_a_note(folder, header, read_as):
    pairs = PairedSet.read(table(folder, f"{header}\nphotos/a.png,a mug,kitchen\n"))
    assert pairs.images.present.all() and texts_of(pairs) == ["a mug"]
    assert pairs.label_names == ("kitchen",) and not pairs.columns
    for own, known in read_as.items():
        assert any(f"'{own}' is read as '{known}'" in note for note in pairs.notes)


def test_a_file_that_is_no_picture_is_not_taken_for_one(folder):
    pairs = PairedSet.read(table(folder, "text,file\na,report.pdf\n"))
    assert pairs.columns["file"].tolist() == ["report.pdf"]


def test_columns_are_read_as_the_user_says(folder):
    path = table(folder, "text,title,Art\nold,a mug,kitchen\n")
    pairs = PairedSet.read(path, columns={"text": "title", "labels": "art"})
    assert texts_of(pairs) == ["a mug"] and pairs.label_names == ("kitchen",)
    assert "column 'text' is left out" in pairs.notes[0] and not pairs.columns
    swapped = PairedSet.read(path, columns={"text": "Art", "labels": "text"})
    assert texts_of(swapped) == ["kitchen"] and swapped.label_names == ("old",)


def test_columns_that_are_not_there_or_not_known_are_refused(folder):
    path = table(folder, "text,title\na,b\n")
    with pytest.raises(DataError, match="no column 'titel' to read as 'text'; did you"):
        PairedSet.read(path, columns={"text": "titel"})
    with pytest.raises(DataError, match="not as 'label'; did you mean 'labels'"):
        PairedSet.read(path, columns={"label": "title"})
    with pytest.raises(DataError, match="'title' cannot be read as two things"):
        PairedSet.read(path, columns={"labels": "title", "text": "title"})
    with pytest.raises(DataError, match="is not a manifest"):
        PairedSet.read("scenes:20", columns={"text": "title"})


def test_columns_of_json_lines_are_mapped_row_by_row(folder):
    content = '{"title": "a", "tags": ["x"]}\n{"tags": [], "title": "b", "text": "c"}\n'
    path = table(folder, content, name="p.jsonl")
    assert texts_of(PairedSet.read(path, columns={"text": "title"})) == ["a", "b"]


def labelled(folder, *cells):
    lines = "".join(f'{n},"{cell}"\n' for n, cell in enumerate(cells))
    pairs = PairedSet.read(table(folder, f"text,labels\n{lines}"))
    return pairs.label_names, [note for note in pairs.notes if "label" in note]


@pytest.mark.parametrize("mark", [", ", ",", "|", " | "])
def test_another_separator_of_labels_is_found_where_parts_recur(folder, mark):
    cells = (f"kitchen{mark}red", f"kitchen{mark}blue", "red", f"hall{mark}red")
    names, notes = labelled(folder, *cells)
    assert names == ("blue", "hall", "kitchen", "red")
    assert f"separated by '{mark.strip()}'" in notes[0]


def test_commas_inside_labels_are_kept_with_a_warning(folder):
    names, notes = labelled(folder, "Bags, Wallets & Belts", "Shoes", "kitchen, red")
    assert "Bags, Wallets & Belts" in names and "kitchen, red" in names
    assert "2 cells of labels hold ','" in notes[0]
    names, notes = labelled(folder, "Bags, red;", "Bags, blue", "red", "Hats, red")
    assert "Bags, red" in names and not notes


def test_pictures_that_moved_are_found_by_the_ends_of_their_paths(folder):
    rows = r"1,C:\shop\photos\a.png" + "\n2,/old/place/b.png\n3,photos/a.png\n"
    path = table(folder / "photos", f"id,image\n{rows}")
    with pytest.raises(BrokenRow, match="there is no picture at"):
        PairedSet.read(path)
    pairs = PairedSet.read(path, pictures=folder / "photos")
    assert pairs.images.present.all()
    assert len(PairedSet.read(path, pictures=folder, broken="skip")) == 2
    with pytest.raises(MissingFile, match=r"no folder .*nowhere"):
        PairedSet.read(path, pictures=folder / "nowhere")


def test_a_layout_is_remembered_as_plain_values(tmp_path):
    layout = Layout({"text": "title"}, tmp_path)
    assert Layout.from_json(layout.to_json()) == layout
    assert Layout.from_json({}) == Layout()


def test_titles_come_before_tags_in_other_languages(folder):
    pairs = PairedSet.read(table(folder, "id,schlagworte,titel\n1,rot,a mug\n"))
    assert texts_of(pairs) == ["a mug"] and pairs.label_names == ("rot",)


def test_a_likely_column_of_ids_is_named_but_not_read(folder):
    pairs = PairedSet.read(table(folder, "SKU;text\nN-1;a mug\n"))
    assert pairs.ids.tolist() == ["1"]
    assert pairs.notes[0].endswith("by a column, add --columns id=SKU.")
    other = table(folder, "text;price\na mug;2\n")
    assert PairedSet.read(other).notes[0].endswith("--columns id=NAME.")
