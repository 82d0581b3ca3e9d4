"""Folders of pictures, tar shards and Parquet with pictures: the same pairs of all."""

import io
import json
import tarfile

import numpy as np
import pytest
from PIL import Image

from fdch.data.pairs import PairedSet
from fdch.data.pictures.decoding import PictureLimits
from fdch.data.pictures.images import PictureFiles, Pictures
from fdch.data.pictures.placed_pictures import PlacedPictures, load_pictures
from fdch.data.readers.tables import parquet_pages
from fdch.errors import (
    BrokenPicture,
    BrokenRow,
    DataError,
    MissingFile,
    MissingPicture,
)

COLORS = {"beach/1": "red", "beach/2": "green", "city/3": "blue"}
TEXTS = {"beach/1": "a red beach", "city/3": "a blue city"}


def encode(color, ending="PNG"):
    out = io.BytesIO()
    Image.new("RGB", (20, 10), color).save(out, ending)
    return out.getvalue()


def write_tar(path, files, **more):
    with tarfile.open(path, "w", **more) as tar:
        for name, content in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    return path


def sample_files():
    """The members of a shard: a picture each, the texts there are, labels as JSON."""
    for key, color in COLORS.items():
        yield f"{key}.png", encode(color)
        if key in TEXTS:
            yield f"{key}.txt", TEXTS[key].encode()
        labels = [key.split("/")[0]]
        yield f"{key}.json", json.dumps({"labels": labels, "price": 3}).encode()


def write_folder(folder):
    for name, content in sample_files():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def write_parquet(path, structures, row_group_size=2):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    contents = [encode(color) for color in COLORS.values()]
    table = {
        "id": list(COLORS),
        "image": [{"bytes": each, "path": "a.png"} for each in contents]
        if structures
        else contents,
        "text": [TEXTS.get(key) for key in COLORS],
        "labels": [[key.split("/")[0]] for key in COLORS],
    }
    parquet.write_table(pyarrow.table(table), path, row_group_size=row_group_size)
    return path


def read_pictures(path):
    """Read pairs; give also their pictures."""
    pairs = PairedSet.read(path)
    assert isinstance(pairs.images, Pictures)
    return pairs, pairs.images


def write_source(kind, folder):
    if kind == "folder":
        return write_folder(folder / "photos")
    if kind == "tar":
        return write_tar(folder / "a.tar", dict(sample_files()))
    return write_parquet(folder / "a.parquet", kind == "structures")


@pytest.mark.parametrize("kind", ["folder", "tar", "bytes", "structures"])
def test_every_source_gives_the_same_pairs(kind, tmp_path):
    pairs, pictures = read_pictures(write_source(kind, tmp_path))
    assert len(pairs.without_broken_pictures()) == 3
    ending = ".png" if kind == "folder" else ""
    assert pairs.ids.tolist() == [f"{key}{ending}" for key in COLORS]
    texts = [pairs.texts.text(row) for row in range(3)]
    assert texts == ["a red beach", None, "a blue city"]
    assert [pairs.labels_of(row) for row in range(3)] == [
        ("beach",),
        ("beach",),
        ("city",),
    ]
    centres = [pictures.decode(row, 8)[4, 4].tolist() for row in range(3)]
    assert centres == [[255, 0, 0], [0, 128, 0], [0, 0, 255]]
    assert len(pairs.fingerprint) == 32


def test_cells_of_json_become_columns(tmp_path):
    pairs = PairedSet.read(write_source("tar", tmp_path))
    assert pairs.columns["price"].tolist() == [3, 3, 3]


def test_several_files_are_read_as_one(tmp_path):
    files = list(sample_files())
    write_tar(tmp_path / "s-08.tar", dict(files[:3]))
    write_tar(tmp_path / "s-09.tar", dict(files[3:]))
    pairs = PairedSet.read(str(tmp_path / "s-{08..09}.tar"))
    assert pairs.ids.tolist() == list(COLORS)
    with pytest.raises(MissingFile, match=r"no file '.*s-10\.tar'"):
        PairedSet.read(str(tmp_path / "s-{08..10}.tar"))
    with pytest.raises(DataError, match="smaller number first"):
        PairedSet.read(str(tmp_path / "s-{09..08}.tar"))


def test_a_sample_in_two_shards_is_refused_with_its_places(tmp_path):
    for number in range(2):
        write_tar(tmp_path / f"s-{number}.tar", {"a.txt": b"a dog"})
    with pytest.raises(DataError, match=r"'a' in sample 1 of 's-0\.tar' and sample 1"):
        PairedSet.read(str(tmp_path / "s-{0..1}.tar"))


@pytest.mark.parametrize("layout", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_and_other_alphabets_are_read(layout, tmp_path):
    key = "d" * 150 + "/wäre"
    path = write_tar(tmp_path / "a.tar", {f"{key}.txt": b"a dog"}, format=layout)
    assert PairedSet.read(path).ids.tolist() == [key]


def test_links_hidden_files_and_unknown_endings_are_no_samples(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("b.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        for name in ("a.txt", "a.seg.npy", "._c.png", "README"):
            header = tarfile.TarInfo(name)
            header.size = 5
            tar.addfile(header, io.BytesIO(b"a dog"))
    pairs = PairedSet.read(path)
    assert pairs.ids.tolist() == ["a"]
    assert not pairs.images.present.any()
    assert "left out: 3 files of 'a.tar'" in pairs.notes[0]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.json": b"[1]"}, "'a.json' is no JSON object"),
        ({"a.json": b"{"}, "sample 1 .'a'.: Expecting"),
        ({"a.txt": b"\xff"}, "'a.txt' is not UTF-8 text"),
        ({"a.png": b"x", "a.jpg": b"x"}, "'a.jpg' is its second picture"),
        ({"a.txt": b"x" * (2**20 + 1)}, "has 1,048,577 bytes; the limit is"),
        ({"a.png": b""}, "picture 'a.png' in '.*a.tar' has 0 bytes"),
    ],
)
def test_a_broken_sample_is_named_or_skipped(files, message, tmp_path):
    path = write_tar(tmp_path / "a.tar", {**files, "b.txt": b"a dog"})
    with pytest.raises(BrokenRow, match=message):
        PairedSet.read(path)
    pairs = PairedSet.read(path, broken="skip")
    assert pairs.ids.tolist() == ["b"]
    assert [row.name for row in pairs.skipped] == ["a"]


def test_a_broken_picture_in_a_shard_is_named(tmp_path):
    path = write_tar(tmp_path / "a.tar", {"x/a.png": b"no picture", "b.txt": b"a"})
    with pytest.raises(BrokenPicture, match=r"picture 'x/a\.png' in .* belongs to"):
        PairedSet.read(path).without_broken_pictures()
    assert PairedSet.read(path).without_broken_pictures("skip").ids.tolist() == ["b"]


def test_a_shard_cut_anywhere_gives_whole_samples_or_one_error(tmp_path):
    whole = write_tar(tmp_path / "a.tar", dict(sample_files())).read_bytes()
    for size in range(0, len(whole) - 1024, 100):
        path = tmp_path / "cut.tar"
        path.write_bytes(whole[:size])
        try:
            pairs = PairedSet.read(path, broken="skip").without_broken_pictures()
        except DataError as error:
            assert "cut.tar" in str(error)
        else:
            assert pairs.ids.tolist() == list(COLORS)[: len(pairs)]


def test_flipped_bytes_of_headers_raise_nothing_but_our_errors(tmp_path):
    whole = write_tar(tmp_path / "a.tar", {"ä" * 80 + ".txt": b"a dog"}).read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 300):
        changed = bytearray(whole)
        changed[place] ^= int(rng.integers(1, 256))
        (tmp_path / "b.tar").write_bytes(changed)
        try:
            PairedSet.read(tmp_path / "b.tar", broken="skip")
        except DataError as error:
            assert "b.tar" in str(error)


@pytest.mark.parametrize("content", [b"\x1f\x8b" + b"0" * 1000, b"a" * 512])
def test_what_is_no_plain_tar_file_is_refused(content, tmp_path):
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(DataError, match="not a valid uncompressed tar file"):
        PairedSet.read(tmp_path / "a.tar")


def test_a_size_that_lies_is_refused_before_anything_is_read(tmp_path):
    header = tarfile.TarInfo("a.png")
    header.size = 2**60
    (tmp_path / "a.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(DataError, match=r"at byte 0 a file of .* is cut off"):
        PairedSet.read(tmp_path / "a.tar")


def test_a_picture_over_the_limit_is_refused(tmp_path):
    path = write_tar(tmp_path / "a.tar", {"a.png": encode("red")})
    with pytest.raises(BrokenRow, match="expected 1 to 10"):
        PairedSet.read(path, limits=PictureLimits(bytes=10))


def test_a_row_group_with_too_many_bytes_says_how_to_write_it(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_pages, "MAX_GROUP_BYTES", 100)
    path = write_parquet(tmp_path / "a.parquet", structures=True)
    with pytest.raises(DataError, match="row_group_size=500"):
        PairedSet.read(path)


def test_a_parquet_file_that_changed_since_is_a_broken_picture(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", structures=False)
    _, pictures = read_pictures(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(BrokenPicture, match=r"the picture in row 1 of '.*a\.parquet'"):
        pictures.decode(0, 8)


def test_rows_without_a_picture_stay_texts(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {"image": [encode("red"), None], "text": ["a", "b"]}
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    _, pictures = read_pictures(tmp_path / "a.parquet")
    assert pictures.present.tolist() == [True, False]
    with pytest.raises(DataError, match="row 1 has no picture"):
        pictures.content(1)


def test_files_with_pictures_and_files_with_paths_are_not_mixed(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "a.png").write_bytes(encode("red"))
    for number, image in enumerate((encode("red"), "a.png")):
        table = pyarrow.table({"id": [str(number)], "image": [image]})
        parquet.write_table(table, tmp_path / f"{number}.parquet")
    with pytest.raises(DataError, match="one by one"):
        PairedSet.read(str(tmp_path / "{0..1}.parquet"))


def test_a_text_of_a_folder_that_cannot_be_read_is_named(tmp_path):
    write_folder(tmp_path)
    (tmp_path / "beach" / "1.txt").write_bytes(b"\xff")
    with pytest.raises(BrokenRow, match=r"1\.txt' is not UTF-8 text"):
        PairedSet.read(tmp_path)
    skipping = PairedSet.read(tmp_path, broken="skip")
    assert [row.name for row in skipping.skipped] == ["beach/1.png"]


def test_a_folder_without_texts_is_noted(tmp_path):
    write_folder(tmp_path)
    before = PairedSet.read(tmp_path).notes
    for picture in tmp_path.rglob("*.png"):
        picture.with_suffix(".txt").unlink(missing_ok=True)
    note = PairedSet.read(tmp_path).notes[-1]
    assert not any("no picture has" in each for each in before)
    assert note.startswith("no picture has a text. For training, put a .txt")


def test_hidden_files_and_folders_are_left_out(tmp_path):
    write_folder(tmp_path)
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / "x.png").write_bytes(encode("red"))
    (tmp_path / ".x.png").write_bytes(encode("red"))
    (tmp_path / "notes.pdf").touch()
    (tmp_path / "link").symlink_to(tmp_path / "beach")
    pairs = PairedSet.read(tmp_path)
    assert len(pairs) == 3
    [note] = pairs.notes
    assert "left out: 2 hidden files and folders, 1 linked folder, " in note
    (tmp_path / "notes.pdf").unlink()
    [fewer] = PairedSet.read(tmp_path).notes
    assert note.replace("4 files", "3 files") == fewer != note


def test_loaded_pictures_need_no_files_and_keep_names_and_problems(tmp_path):
    paths = [tmp_path / "a.png", None, tmp_path / "lost.png"]
    paths[0].write_bytes(encode("red"))
    loaded = load_pictures(PictureFiles(paths))
    assert isinstance(loaded, PlacedPictures)
    paths[0].unlink()
    assert loaded.present.tolist() == [True, False, True]
    assert loaded.decode(0, 8)[4, 4].tolist() == [255, 0, 0]
    with pytest.raises(BrokenPicture) as caught:
        loaded.decode(2, 8)
    assert isinstance(caught.value, MissingPicture)
    folder = tmp_path.absolute()
    reason = f"there is no such file in '{folder}'; check the name."
    assert str(caught.value) == f"picture '{paths[2]}': {reason}"


def test_no_byte_of_a_parquet_files_description_ends_the_process(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "pairs.parquet"
    table = pyarrow.table({"id": ["1"], "text": ["a dog"]})
    parquet.write_table(table, path, store_schema=False, write_statistics=False)
    whole = path.read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    refused = 0
    for place in range(start, len(whole) - 8):
        for change in (1, 16):
            content = bytearray(whole)
            content[place] ^= change
            path.write_bytes(content)
            try:
                PairedSet.read(path)
            except DataError:
                refused += 1
    assert refused
