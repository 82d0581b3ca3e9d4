import numpy as np
import pytest

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureLimits
from fdch.data.readers import flickr25k
from fdch.errors import BrokenRow, DataError, MissingFile

COMMON = "sky 9\nbeach 8\n360° 5\ngeo:tool=gmif 4\n日本 3\n"
TAGS = {
    1: "beach\nmyholiday\nsky\nbeach\n",
    2: "geo:tool=gmif\r\n日本\r\n",
    3: "myholiday\n",  # no common tag
    4: "sky\n",  # no label
    7: "360°",
    12: "sky\n",
}
LABELS = {
    "sky": [1, 2, 3],
    "sea": [12, 1],
    "night": [7],
    "sea_r1": [4],
}


def read(folder, **options):
    return flickr25k.read(str(folder), **options)


@pytest.fixture
def official(tmp_path):
    """A download of six pictures, with raw tags and stricter annotations."""
    photos = tmp_path / "mirflickr"
    for folder in ("doc", "meta/tags", "meta/tags_raw"):
        (photos / folder).mkdir(parents=True)
    (photos / "doc" / "common_tags.txt").write_text(COMMON, encoding="utf-8")
    for number, tags in TAGS.items():
        (photos / f"im{number}.jpg").write_bytes(b"not opened while reading")
        tag_file = photos / "meta" / "tags" / f"tags{number}.txt"
        tag_file.write_bytes(tags.encode())
        raw = photos / "meta" / "tags_raw" / f"tags{number}.txt"
        raw.write_text("sky\n", encoding="utf-8")
    annotations = tmp_path / "mirflickr25k_annotations_v080"
    annotations.mkdir()
    for name, lines in LABELS.items():
        content = "".join(f"{line}\n" for line in lines)
        (annotations / f"{name}.txt").write_text(content)
    (annotations / "README.txt").write_text("Annotations of the collection.\n")
    return tmp_path


def test_pairs_need_a_common_tag_and_a_label(official):
    pairs = read(official)
    assert pairs.ids.tolist() == ["im1", "im2", "im7", "im12"]
    assert pairs.skipped == ()


def test_labels_come_by_name_without_the_stricter_variants(official):
    pairs = read(official)
    assert pairs.label_names == ("night", "sea", "sky")
    assert pairs.labels.tolist() == [[0, 1, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_text_is_the_common_tags_in_order_each_once(official):
    texts = read(official).texts
    assert texts.values.tolist() == ["beach sky", "geo:tool=gmif 日本", "360°", "sky"]


def test_every_tag_is_a_word_of_the_vocabulary(official):
    texts = read(official).texts
    assert texts.vocabulary.words == ("sky", "beach", "360°", "geo:tool=gmif", "日本")
    rows = texts.vocabulary.vectors(texts).toarray()
    assert rows.tolist() == [
        [1, 1, 0, 0, 0],
        [0, 0, 0, 1, 1],
        [0, 0, 1, 0, 0],
        [1, 0, 0, 0, 0],
    ]


def test_pictures_are_the_photos_under_the_limits_given(official):
    limits = PictureLimits(pixels=100)
    images = read(official, limits=limits).images
    assert [path.name for path in images.paths][:2] == ["im1.jpg", "im2.jpg"]
    assert images.limits == limits


def test_few_pairs_have_no_benchmark_and_say_so(official):
    pairs = read(official)
    assert pairs.benchmark is None
    notes = " ".join(pairs.notes)
    assert "4; the literature has 20,015" in notes
    assert "fewer than 10,000 pairs" in notes
    assert "labels: 3" in notes


def test_the_data_is_named_on_the_command_line(official):
    assert len(PairedSet.read(f"mirflickr25k:{official}")) == 4


def move_annotations(official, where):
    folder = official / "mirflickr25k_annotations_v080"
    if where == "inside mirflickr":
        folder.rename(official / "mirflickr" / folder.name)
    elif where in ("in the folder itself", "among the photos"):
        target = official / ("" if where == "in the folder itself" else "mirflickr")
        for path in folder.iterdir():
            path.rename(target / path.name)
        (target / "notes.txt").write_text("bought in May\n")


@pytest.mark.parametrize("given", ["", "mirflickr"])
@pytest.mark.parametrize(
    "where",
    [
        "beside mirflickr",
        "inside mirflickr",
        "in the folder itself",
        "among the photos",
    ],
)
def test_annotations_are_found(official, where, given):
    move_annotations(official, where)
    pairs = read(official / given)
    assert len(pairs) == 4
    assert pairs.label_names == ("night", "sea", "sky")


def test_photos_directly_in_the_folder_are_found(official):
    for path in (official / "mirflickr").iterdir():
        path.rename(official / path.name)
    (official / "mirflickr").rmdir()
    assert len(read(official)) == 4


def test_a_missing_photo_is_refused_or_skipped(official):
    (official / "mirflickr" / "im7.jpg").unlink()
    with pytest.raises(BrokenRow, match=r"1 rows.*im7: no photo 'im7.jpg'"):
        read(official)
    pairs = read(official, broken="skip")
    assert pairs.ids.tolist() == ["im1", "im2", "im12"]
    assert [row.name for row in pairs.skipped] == ["im7"]


def test_a_missing_tag_file_is_refused_or_skipped(official):
    (official / "mirflickr" / "meta" / "tags" / "tags12.txt").unlink()
    with pytest.raises(BrokenRow, match=r"im12: no file 'tags12.txt'"):
        read(official)
    assert len(read(official, broken="skip")) == 3


def test_tags_that_are_not_text_are_refused_or_skipped(official):
    (official / "mirflickr" / "meta" / "tags" / "tags12.txt").write_bytes(b"sky\xff")
    with pytest.raises(BrokenRow, match=r"im12: .*not UTF-8 text: byte 3 is 0xff"):
        read(official)
    assert len(read(official, broken="skip")) == 3


def test_many_broken_rows_are_counted_and_some_named(official):
    for number in range(100, 120):
        (official / "mirflickr" / f"im{number}.jpg").touch()
    labelled = official / "mirflickr25k_annotations_v080" / "sky.txt"
    labelled.write_text("".join(f"{number}\n" for number in range(100, 120)))
    with pytest.raises(BrokenRow, match=r"20 rows .*im104.* and 15 more"):
        read(official)


def test_annotated_pictures_that_are_not_in_the_copy_are_no_matter(official):
    labelled = official / "mirflickr25k_annotations_v080" / "sky.txt"
    labelled.write_text("1\n2\n24999\n")
    assert len(read(official)) == 4


@pytest.mark.parametrize("line", ["im12", "1 2", "99999999999999999999"])
def test_annotations_that_are_not_numbers_are_refused(official, line):
    labelled = official / "mirflickr25k_annotations_v080" / "sky.txt"
    labelled.write_text(f"1\n{line}\n")
    with pytest.raises(DataError, match=r"sky\.txt' is not a valid list of picture"):
        read(official)


def test_an_empty_list_of_common_tags_is_refused(official):
    (official / "mirflickr" / "doc" / "common_tags.txt").write_text("\n")
    with pytest.raises(DataError, match="has no tags"):
        read(official)


def test_no_pair_at_all_is_refused(official):
    (official / "mirflickr" / "doc" / "common_tags.txt").write_text("unheard 1\n")
    with pytest.raises(DataError, match="no picture in"):
        read(official)


def test_missing_folders_are_named(official, tmp_path):
    with pytest.raises(MissingFile, match="no folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(MissingFile, match=r"common_tags\.txt"):
        read(official / "mirflickr25k_annotations_v080")
    for path in (official / "mirflickr25k_annotations_v080").iterdir():
        path.unlink()
    with pytest.raises(MissingFile, match=r"unpack mirflickr25k_annotations_v080\.zip"):
        read(official)


@pytest.mark.slow
def test_the_collection_has_the_pairs_of_the_literature(mirflickr):
    pairs = read(mirflickr)
    assert len(pairs) == 20_015
    assert pairs.labels.shape == (20_015, 24)
    assert pairs.benchmark.query == 2_000
    assert (pairs.benchmark.train, pairs.benchmark.held_out) == (5_000, 500)
    assert pairs.notes == ()
    assert pairs.labels.any(axis=1).all()
    vectors = pairs.texts.vocabulary.vectors(pairs.texts)
    assert vectors.shape == (20_015, 1_386)
    assert np.diff(vectors.indptr).min() >= 1
    written = [len(text.split()) for text in pairs.texts.values]
    assert np.diff(vectors.indptr).tolist() == written
    sample = pairs.images.decode(0, 64)
    assert sample.shape == (64, 64, 3)
