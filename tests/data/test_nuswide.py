import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureLimits
from fdch.data.readers import downloads, nuswide
from fdch.data.readers.nuswide import find_photo, index_photos, read_bits
from fdch.errors import BrokenRow, DataError, MissingFile

PICTURES = [
    "actor\\0001_2124494179.jpg",
    "actor\\0002_174174086.jpg",
    "zoo\\0001_2124494.jpg",
    "zoo\\0017_99.jpg",
    "zoo\\0018_100.jpg",
    "zoo\\0019_101.jpg",
]
WORDS = ["nature", "sky", "blue", "água"]
TAGS = ["1 1 0 0", "0 0 0 1", "0 0 0 0", "1 0 0 0", "0 1 1 0", "1 1 1 1"]
LABELS = {
    "sky": [1, 0, 0, 0, 0, 1],
    "animal": [0, 1, 1, 0, 0, 1],
    "buildings": [1, 1, 0, 0, 0, 0],
}


def read(folder, **options):
    return nuswide.read(str(folder), **options)


def write_labels(folder, labels):
    for concept, bits in labels.items():
        lines = "".join(f"{bit}\n" for bit in bits)
        (folder / "Groundtruth/AllLabels" / f"Labels_{concept}.txt").write_text(lines)


@pytest.fixture
def official(tmp_path):
    """A download of six pictures."""
    for name in ("ImageList", "Groundtruth/AllLabels", "NUS_WID_Tags", "Flickr"):
        (tmp_path / name).mkdir(parents=True)
    listed = "".join(f"{name} \r\n" for name in PICTURES)
    (tmp_path / "ImageList" / "Imagelist.txt").write_text(listed)
    write_labels(tmp_path, LABELS)
    tags = tmp_path / "NUS_WID_Tags"
    tabbed = "".join(line.replace(" ", "\t") + "\t\r\n" for line in TAGS)
    (tags / "AllTags1k.txt").write_text(tabbed)
    (tags / "TagList1k.txt").write_text("\n".join(WORDS), encoding="utf-8")
    for name in PICTURES:
        photo = tmp_path / "Flickr" / name.replace("\\", "/")
        photo.parent.mkdir(exist_ok=True)
        photo.write_bytes(b"not opened while reading")
    return tmp_path


def test_pairs_need_one_of_the_concepts(official):
    pairs = read(official)
    assert pairs.ids.tolist() == [
        "actor/0001_2124494179",
        "actor/0002_174174086",
        "zoo/0001_2124494",
        "zoo/0019_101",
    ]
    assert pairs.label_names == ("animal", "buildings", "sky")
    assert pairs.labels.tolist() == [[0, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 1]]


def test_text_is_the_tags_and_none_is_a_missing_text(official):
    pairs = read(official)
    assert pairs.texts.values.tolist() == [
        "nature sky",
        "água",
        None,
        "nature sky blue água",
    ]
    assert pairs.texts.vocabulary.words == tuple(WORDS)
    assert any("without a tag: 1;" in note for note in pairs.notes)


def test_few_pairs_have_no_benchmark_and_say_so(official):
    pairs = read(official)
    assert pairs.benchmark is None
    assert pairs.notes[0] == "pairs kept: 4; the literature has 186,577."
    assert "fewer than 10,000" in pairs.notes[-1]


def test_the_data_is_named_on_the_command_line(official):
    assert len(PairedSet.read(f"nuswide:{official}")) == 4


def test_pictures_are_the_photos_under_the_limits_given(official):
    images = read(official, limits=PictureLimits(pixels=7)).images
    assert [path.name for path in images.paths][:1] == ["0001_2124494179.jpg"]
    assert images.limits.pixels == 7


def test_the_ten_commonest_concepts_are_taken_ties_by_name(official):
    common = {f"c{i}": [1, 1, 0, 0, 0, 0] for i in range(8)}
    rare = {"ant": [0, 0, 1, 0, 0, 0], "bee": [0, 0, 0, 1, 0, 0]}
    for path in (official / "Groundtruth" / "AllLabels").iterdir():
        path.unlink()
    write_labels(official, {**common, **rare, "zebra": [0, 0, 0, 0, 1, 0]})
    pairs = read(official)
    assert pairs.label_names == ("ant", "bee", *common)
    assert len(pairs) == 4
    write_labels(official, {"zebra": [0, 0, 0, 0, 1, 1]})
    assert read(official).label_names == ("ant", *common, "zebra")


def rename_photos(official, layout):
    flickr = official / "Flickr"
    for path in list(flickr.rglob("*.jpg")):
        number = path.name.rpartition("_")[2]
        target = {
            "images by class": official / "images" / path.parent.name / path.name,
            "images in one folder": official / "images" / path.name,
            "by class and number": official / "Image" / path.parent.name / number,
            "by number": official / "Image" / number,
            "folder itself": official / path.parent.name / path.name,
            "nested": official / "Flickr" / "Flickr" / path.parent.name / path.name,
            "capitals": official / "PHOTOS" / path.name.upper(),
        }[layout]
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)


@pytest.mark.parametrize(
    "layout",
    [
        "images by class",
        "images in one folder",
        "by class and number",
        "by number",
        "folder itself",
        "nested",
        "capitals",
    ],
)
def test_photos_are_found_in_other_layouts(official, layout):
    rename_photos(official, layout)
    pairs = read(official)
    assert len(pairs) == 4
    found = [path.stem.rpartition("_")[2] for path in pairs.images.paths]
    assert found == ["2124494179", "174174086", "2124494", "101"]


def test_a_name_in_two_folders_is_not_guessed():
    photos = index_photos(["Flickr/a/1.jpg", "Flickr/b/1.JPG", "Flickr/b/2.jpg"])
    assert find_photo(photos, "a/1") == "Flickr/a/1.jpg"
    assert find_photo(photos, "b/1") == "Flickr/b/1.JPG"
    assert find_photo(photos, "c/1") is None
    assert find_photo(photos, "c/2") == "Flickr/b/2.jpg"


def test_a_list_cannot_lead_outside_the_folder(official):
    (official.parent / "secret.jpg").touch()
    lines = [*PICTURES[1:], "..\\..\\secret.jpg"]
    (official / "ImageList" / "Imagelist.txt").write_text("\n".join(lines))
    with pytest.raises(BrokenRow, match="secret"):
        read(official)
    (official.parent / "secret.jpg").unlink()


def test_missing_photos_are_refused_with_their_count_or_skipped(official):
    for name in ("actor/0001_2124494179.jpg", "zoo/0001_2124494.jpg"):
        (official / "Flickr" / name).unlink()
    with pytest.raises(BrokenRow, match=r"2 rows .*actor/0001_2124494179: no such"):
        read(official)
    pairs = read(official, broken="skip")
    assert pairs.ids.tolist() == ["actor/0002_174174086", "zoo/0019_101"]
    assert pairs.labels.tolist() == [[1, 1, 0], [1, 0, 1]]
    assert pairs.texts.values.tolist() == ["água", "nature sky blue água"]
    assert [row.name for row in pairs.skipped][1] == "zoo/0001_2124494"


def test_pictures_without_a_concept_need_no_photo(official):
    (official / "Flickr" / "zoo" / "0017_99.jpg").unlink()
    assert len(read(official)) == 4


def test_no_photo_at_all_is_refused_even_when_skipping(official):
    (official / "Flickr").rename(official.parent / "elsewhere")
    with pytest.raises(DataError, match="no photo of"):
        read(official, broken="skip")


def with_ids(order):
    ids = [name.rpartition("_")[2][:-4] for name in PICTURES]
    return "".join(f"{ids[i]}      {TAGS[i]}\n" for i in order)


def test_tags_may_start_with_the_photo_number(official):
    plain = read(official).texts.values.tolist()
    (official / "NUS_WID_Tags" / "AllTags1k.txt").write_text(with_ids(range(6)))
    assert read(official).texts.values.tolist() == plain


def test_tags_in_another_order_are_refused(official):
    tags = official / "NUS_WID_Tags" / "AllTags1k.txt"
    tags.write_text(with_ids([0, 1, 3, 2, 4, 5]))
    with pytest.raises(DataError, match=r"row 3 of .* is of photo 99"):
        read(official)


def test_too_few_tag_rows_name_file_rows_and_expected_rows(official):
    (official / "NUS_WID_Tags" / "AllTags1k.txt").write_text("1 0 0 1\n" * 5)
    with pytest.raises(DataError, match=r"AllTags1k\.txt' has 5 rows; expected 6"):
        read(official)


def test_too_many_label_rows_name_file_rows_and_expected_rows(official):
    write_labels(official, {"sky": [1] * 8})
    with pytest.raises(DataError, match=r"Labels_sky\.txt' has 8 rows; expected 6"):
        read(official)


def test_tags_of_another_width_are_refused(official):
    (official / "NUS_WID_Tags" / "AllTags1k.txt").write_text("1 0\n" * 6)
    with pytest.raises(DataError, match=r"AllTags1k\.txt'.* Expected 4 values"):
        read(official)


def test_words_with_spaces_are_refused(official):
    words = official / "NUS_WID_Tags" / "TagList1k.txt"
    words.write_text("new york\nsky\nblue\nsea\n")
    with pytest.raises(DataError, match="'new york'; expected one word"):
        read(official)


def test_files_are_found_in_capitals_or_not_and_in_the_folder_itself(official):
    (official / "Groundtruth").rename(official / "groundtruth")
    (official / "ImageList" / "Imagelist.txt").rename(official / "ImageList.txt")
    (official / "ImageList").rmdir()
    for path in (official / "NUS_WID_Tags").iterdir():
        path.rename(official / path.name)
    assert len(read(official)) == 4


@pytest.mark.parametrize(
    ("gone", "named"),
    [
        ("ImageList/Imagelist.txt", "ImageList/Imagelist.txt"),
        ("NUS_WID_Tags/AllTags1k.txt", "NUS_WID_Tags/AllTags1k.txt"),
        ("NUS_WID_Tags/TagList1k.txt", "NUS_WID_Tags/TagList1k.txt"),
    ],
)
def test_missing_files_are_named(official, gone, named):
    (official / gone).unlink()
    with pytest.raises(MissingFile, match=named):
        read(official)


def test_missing_folders_are_named(official, tmp_path):
    with pytest.raises(MissingFile, match="no folder"):
        read(tmp_path / "nowhere")
    for path in (official / "Groundtruth" / "AllLabels").iterdir():
        path.unlink()
    with pytest.raises(MissingFile, match="Labels_<concept>"):
        read(official)


def test_an_empty_list_of_pictures_is_refused(official):
    (official / "ImageList" / "Imagelist.txt").write_text("\n")
    with pytest.raises(DataError, match="lists no pictures"):
        read(official)


def test_enough_pairs_get_the_benchmark(official, monkeypatch):
    monkeypatch.setattr(downloads, "MIN_FOR_SIZES", 3)
    monkeypatch.setattr(nuswide, "PAIRS", 4)
    pairs = read(official)
    assert (pairs.benchmark.query, pairs.benchmark.train) == (2_000, 5_000)
    assert len(pairs.notes) == 1
    assert np.array_equal(pairs.texts.present, [True, True, False, True])


@given(
    table=arrays(
        np.uint8,
        st.tuples(st.integers(1, 9), st.integers(2, 5)),
        elements=st.integers(0, 1),
    ),
    between=st.sampled_from([" ", "\t", "\t "]),
    ending=st.sampled_from(["\n", "\r\n", "\t\r\n", "\n\n"]),
    is_named=st.booleans(),
    block=st.integers(1, 5),
)
def test_a_table_reads_as_it_was_written(
    tmp_path_factory, table, between, ending, is_named, block
):
    rows = [between.join(map(str, row)) for row in table]
    names = [str(10**9 + i) for i in range(len(table))] if is_named else []
    if is_named:
        rows = [f"{name}{between}{row}" for name, row in zip(names, rows, strict=True)]
    path = tmp_path_factory.mktemp("tables") / "table.txt"
    path.write_text(ending.join(rows), newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nuswide, "_LINES_AT_A_TIME", block)
        bits, found = read_bits(path, table.shape[1], len(table))
    assert np.array_equal(bits.toarray(), table)
    assert found == names


@pytest.mark.parametrize("content", ["1 0\n", "1 0\n0 1\n1 1\n0 0\n", "\n", ""])
def test_another_number_of_rows_is_refused_with_both(tmp_path, content):
    (tmp_path / "table.txt").write_text(content)
    with pytest.raises(DataError, match=r"table\.txt' has [014] rows; expected 3"):
        read_bits(tmp_path / "table.txt", 2, 3)


@pytest.mark.parametrize("row", ["1 0 1", "1", "1 2", "1 01", "1 1.0", "1 -", "1 é"])
def test_rows_of_another_width_and_other_values_are_refused(tmp_path, row):
    (tmp_path / "table.txt").write_text(f"1 0\n\n{row}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"table\.txt', after row 0: "):
        read_bits(tmp_path / "table.txt", 2, 2)


def test_names_in_some_rows_only_are_refused(tmp_path):
    (tmp_path / "table.txt").write_text("77 1 0\n1 0\n")
    with pytest.raises(DataError, match="3 columns but 2 were found"):
        read_bits(tmp_path / "table.txt", 2, 2)


def test_a_table_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(MissingFile, match=r"nowhere\.txt"):
        read_bits(tmp_path / "nowhere.txt", 2, 2)
    with pytest.raises(DataError, match="cannot be read"):
        read_bits(tmp_path, 2, 2)
