import sys

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import io, sparse

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, PictureArray, PictureLimits
from fdch.data.readers import dcmh_mat
from fdch.errors import BrokenPicture, DataError, LabelError, MissingExtra, MissingFile

ROWS, HEIGHT, WIDTH = 7, 5, 4
generator = np.random.default_rng(0)
PIXELS = generator.integers(0, 256, (ROWS, HEIGHT, WIDTH, 3)).astype(np.uint8)
TAGS = (generator.random((ROWS, 9)) < 0.3).astype(np.float64)
LABELS = (generator.random((ROWS, 2)) < 0.5).astype(np.uint8)
# height x width x 3 x pairs
IN_MATLAB = PIXELS.transpose(1, 2, 3, 0)


def read(path, **options):
    return dcmh_mat.read(str(path), **options)


def save_v5(path, **variables):
    io.savemat(path, variables, do_compression=True)
    return path


def save_v73(path, marked=True, **variables):
    """Write arrays given in MATLAB's axis order as MATLAB does: reversed."""
    path.unlink(missing_ok=True)  # an error may still hold an earlier one open
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in variables.items():
            stored = np.ascontiguousarray(values.T)
            data = file.create_dataset(
                name, data=stored, compression="gzip", chunks=stored.shape
            )
            if marked:
                data.attrs["MATLAB_class"] = np.bytes_(str(values.dtype))
        file.create_group("#refs#")
    with open(path, "r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file")
    return path


SAVERS = pytest.mark.parametrize("save", [save_v5, save_v73])


def the_usual():
    return {"images": IN_MATLAB, "YAll": TAGS, "LAll": LABELS}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "flickr.mat"


def pixels_of(pairs):
    return np.stack([pairs.images.content(row) for row in range(len(pairs))])


@SAVERS
def test_pictures_stand_upright_in_both_versions(save, path):
    pairs = read(save(path, **the_usual()))
    assert isinstance(pairs.images, PictureArray)
    assert np.array_equal(pixels_of(pairs), PIXELS)
    assert pairs.notes == ()


@SAVERS
def test_tags_labels_and_names_go_row_by_row(save, path):
    pairs = read(save(path, **the_usual()))
    assert np.array_equal(pairs.texts.matrix.toarray(), TAGS)
    assert np.array_equal(pairs.labels, LABELS)
    assert pairs.ids.tolist() == ["1", "2", "3", "4", "5", "6", "7"]
    assert pairs.label_names == ("label0", "label1")
    assert pairs.name == "flickr"


@SAVERS
def test_the_other_names_are_known(save, path):
    pairs = read(save(path, IAll=IN_MATLAB, tags=TAGS, labels=LABELS))
    assert np.array_equal(pixels_of(pairs), PIXELS)


@SAVERS
@pytest.mark.parametrize("axes", [(1, 2, 3, 0), (0, 1, 2, 3)])
def test_pairs_are_found_on_other_axes(save, path, axes):
    variables = {"images": PIXELS.transpose(axes), "YAll": TAGS.T, "LAll": LABELS.T}
    pairs = read(save(path, **variables))
    assert np.array_equal(pixels_of(pairs), PIXELS)
    assert np.array_equal(pairs.texts.matrix.toarray(), TAGS)
    assert np.array_equal(pairs.labels, LABELS)


@SAVERS
def test_values_from_0_to_255_may_be_of_any_number_type(save, path):
    for kind in (np.float64, np.float32, np.int16):
        variables = the_usual() | {"images": IN_MATLAB.astype(kind)}
        assert np.array_equal(pixels_of(read(save(path, **variables))), PIXELS)


@SAVERS
@pytest.mark.parametrize("name", ["images", "IAll", "XAll"])
@pytest.mark.parametrize("is_turned", [False, True])
def test_a_matrix_is_taken_for_ready_features(save, path, name, is_turned):
    features = generator.normal(size=(ROWS, 12))
    stored = features.T if is_turned else features
    pairs = read(save(path, **{name: stored, "YAll": TAGS, "LAll": LABELS}))
    assert isinstance(pairs.images, ImageFeatures)
    assert np.allclose(pairs.images.values, features, atol=1e-6)


def test_sparse_tags_of_a_v5_file_are_read(path):
    variables = the_usual() | {"YAll": sparse.csc_array(TAGS)}
    matrix = read(save_v5(path, **variables)).texts.matrix
    assert np.array_equal(matrix.toarray(), TAGS)


def test_pictures_of_a_v73_file_are_read_on_request(path, monkeypatch):
    taken, loaded = [], []
    take, load = dcmh_mat.MatPictures.__getitem__, dcmh_mat.Variable.load

    def watch_take(pictures, row):
        taken.append(row)
        return take(pictures, row)

    def watch_load(variable, rows):
        loaded.append(variable.name)
        return load(variable, rows)

    monkeypatch.setattr(dcmh_mat.MatPictures, "__getitem__", watch_take)
    monkeypatch.setattr(dcmh_mat.Variable, "load", watch_load)
    pairs = read(save_v73(path, **the_usual()))
    assert taken == [0] and set(loaded) == {"YAll", "LAll"}
    few = pairs[[5, 2]]
    assert np.array_equal(pixels_of(few), PIXELS[[5, 2]])
    assert taken == [0, 5, 2]


def test_pictures_of_python_are_not_turned(path):
    with h5py.File(path, "w") as file:
        file["images"], file["YAll"], file["LAll"] = PIXELS, TAGS, LABELS
    pairs = read(path)
    assert np.array_equal(pixels_of(pairs), PIXELS)
    assert pairs.notes == ()


def test_unmarked_files_are_read_like_those_of_matlab_and_say_so(path):
    pairs = read(save_v73(path, marked=False, **the_usual()))
    assert np.array_equal(pixels_of(pairs), PIXELS)
    assert "not written by MATLAB" in pairs.notes[0]


def test_the_data_is_named_on_the_command_line(path):
    save_v73(path, **the_usual())
    assert len(PairedSet.read(f"dcmh-mat:{path}")) == ROWS


@SAVERS
def test_lengths_that_do_not_fit_are_refused_with_names_and_shapes(save, path):
    save(path, **(the_usual() | {"YAll": TAGS[:-1]}))
    with pytest.raises(
        DataError, match=r"'images' 5 x 4 x 3 x 7, 'YAll' 6 x 9, 'LAll'"
    ):
        read(path)


@SAVERS
@pytest.mark.parametrize(
    "changes",
    [
        {"YAll": np.zeros((ROWS, ROWS))},
        {"images": np.ones((4, 6)), "YAll": np.ones((4, 6)), "LAll": np.ones((4, 6))},
        {"images": np.zeros((5, 6, 4, ROWS), np.uint8), "LAll": np.zeros((3, 2))},
    ],
)
def test_pairs_that_cannot_be_counted_are_refused(save, path, changes):
    save(path, **(the_usual() | changes))
    with pytest.raises(DataError, match="number of pairs cannot be decided"):
        read(path)


@SAVERS
def test_four_colours_are_refused(save, path):
    save(path, **(the_usual() | {"images": np.zeros((5, 6, 4, ROWS), np.uint8)}))
    with pytest.raises(DataError, match=r"6 x 4 x 7 is not a matrix.*height x width"):
        read(path)


@SAVERS
@pytest.mark.parametrize("value", [2, -1, 0.5, np.nan])
@pytest.mark.parametrize("is_turned", [False, True])
def test_labels_other_than_0_and_1_are_refused_with_the_pair(
    save, path, value, is_turned
):
    labels = LABELS.astype(np.float64)
    labels[4, 1] = value
    save(path, **(the_usual() | {"LAll": labels.T if is_turned else labels}))
    with pytest.raises(LabelError, match=r"flickr\.mat'.* in row 4"):
        read(path)


@SAVERS
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_tags_and_features_that_are_no_numbers_are_refused(save, path, value):
    tags = TAGS.copy()
    tags[3, 3] = value
    save(path, **(the_usual() | {"YAll": tags}))
    with pytest.raises(DataError, match=r"flickr\.mat': the text vectors.*row 3"):
        read(path)
    features = np.full((ROWS, 12), value)
    save(path, **(the_usual() | {"images": features}))
    with pytest.raises(DataError, match=r"flickr\.mat': the image features"):
        read(path)


@SAVERS
def test_pictures_with_a_mean_taken_away_are_refused(save, path):
    save(path, **(the_usual() | {"images": IN_MATLAB - 120.0}))
    with pytest.raises(BrokenPicture, match="expected 0 to 255"):
        read(path)


@SAVERS
def test_pictures_from_0_to_1_are_refused(save, path):
    save(path, **(the_usual() | {"images": IN_MATLAB / 255}))
    with pytest.raises(DataError, match=r"from 0\.0 to 1\.0"):
        read(path)


@SAVERS
def test_one_broken_picture_is_found_when_it_is_read(save, path):
    pictures = IN_MATLAB.astype(np.float32)
    pictures[2, 2, 1, 5] = np.nan
    pairs = read(save(path, **(the_usual() | {"images": pictures})))
    with pytest.raises(BrokenPicture, match="picture 5 of 'images'"):
        pairs.images.decode(5, 4)
    assert np.array_equal(pairs.images.content(4), PIXELS[4])


@SAVERS
def test_pictures_over_the_limit_are_refused(save, path):
    save(path, **the_usual())
    with pytest.raises(DataError, match="20 pixels; at most 19"):
        read(path, limits=PictureLimits(pixels=19))


@SAVERS
def test_too_many_values_are_refused_before_they_are_read(save, path, monkeypatch):
    save(path, **the_usual())
    monkeypatch.setattr(dcmh_mat, "MAX_CELLS", 62)
    with pytest.raises(DataError, match="values; at most 62"):
        read(path)


@SAVERS
def test_missing_variables_are_named_with_those_there(save, path):
    save(path, images=IN_MATLAB, LAll=LABELS)
    with pytest.raises(DataError, match="none of YAll, tags, TAll"):
        read(path)
    save(path, weights=TAGS)
    with pytest.raises(DataError, match="has 'weights'"):
        read(path)


def test_other_classes_of_a_v5_file_are_refused(path):
    save_v5(path, **(the_usual() | {"YAll": {"a": 1}}))
    with pytest.raises(DataError, match="of class 'struct'"):
        read(path)
    save_v5(path, **(the_usual() | {"YAll": TAGS * 1j}))
    with pytest.raises(DataError, match="complex"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"id,image\n", b"\0" * 600, b"\xff\xd8\xff"])
def test_a_file_that_is_no_mat_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a valid MATLAB file"):
        read(path)


def test_a_missing_file_is_named(path, tmp_path):
    with pytest.raises(MissingFile, match=r"flickr\.mat"):
        read(path)
    with pytest.raises(DataError, match="it is a folder; name a file in it"):
        read(tmp_path)


@given(cut=st.floats(0, 0.95), flips=st.lists(st.integers(128, 10**6), max_size=3))
def test_damaged_v5_files_are_errors_of_ours(tmp_path_factory, cut, flips):
    path = save_v5(tmp_path_factory.getbasetemp() / "damaged.mat", **the_usual())
    content = bytearray(path.read_bytes())
    for place in flips:
        content[128 + place % (len(content) - 128)] ^= 0x55
    path.write_bytes(content[: max(128, int(cut * len(content)))])
    with pytest.raises(DataError):
        read(path)


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
def test_truncated_v73_files_are_errors_of_ours(path, cut):
    content = save_v73(path, **the_usual()).read_bytes()
    path.write_bytes(content[: int(cut * len(content))])
    with pytest.raises(DataError, match="is not a valid MATLAB file"):
        read(path)


def test_a_damaged_picture_of_a_v73_file_is_an_error_of_ours(path):
    save_v73(path, **the_usual())
    with h5py.File(path) as file:
        place = file["images"].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[place : place + 20] = b"\0" * 20
    path.write_bytes(content)
    with pytest.raises(DataError, match="'images' is damaged"):
        read(path)


def test_a_v73_file_needs_an_extra(path, monkeypatch):
    save_v73(path, **the_usual())
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"fdch\[mat\]"):
        read(path)


class TestHostileHdf5:
    """Files that would lead a reader elsewhere, or exhaust it."""

    def save_with(self, path, tags):
        save_v73(path, images=IN_MATLAB, LAll=LABELS)
        with h5py.File(path, "r+") as file:
            tags(file)
        return path

    def test_links_are_not_followed(self, path, tmp_path):
        other = save_v73(tmp_path / "other.mat", YAll=TAGS)
        for link in (h5py.ExternalLink(other, "YAll"), h5py.SoftLink("/LAll")):
            self.save_with(path, lambda file, link=link: file.update(YAll=link))
            with pytest.raises(DataError, match="is a link"):
                read(path)

    def test_data_in_another_file_is_not_read(self, path, tmp_path):
        (tmp_path / "secret").write_bytes(bytes(ROWS * 9))

        def outside(file):
            places = [(str(tmp_path / "secret"), 0, ROWS * 9)]
            file.create_dataset("YAll", (9, ROWS), np.uint8, external=places)

        with pytest.raises(DataError, match="is stored in another file"):
            read(self.save_with(path, outside))

    def test_virtual_data_is_not_read(self, path, tmp_path):
        other = save_v73(tmp_path / "other.mat", YAll=TAGS)

        def virtual(file):
            layout = h5py.VirtualLayout((9, ROWS), np.float64)
            layout[:] = h5py.VirtualSource(other, "YAll", (9, ROWS))
            file.create_virtual_dataset("YAll", layout)

        with pytest.raises(DataError, match="is stored in another file"):
            read(self.save_with(path, virtual))

    def test_references_groups_and_texts_are_refused(self, path):
        def references(file):
            file.create_dataset("YAll", (9, ROWS), h5py.ref_dtype)

        def group(file):
            file.create_group("YAll")

        def texts(file):
            file["YAll"] = "tags"

        for tags in (references, group, texts):
            with pytest.raises(DataError, match="is not an array of numbers"):
                read(self.save_with(path, tags))

    def test_data_that_is_declared_and_not_there_is_refused(self, path):
        def empty(file):
            file.create_dataset("YAll", (10**9, ROWS), np.uint8, chunks=(1000, ROWS))

        with pytest.raises(DataError, match="declares 7,000,000,000 bytes"):
            read(self.save_with(path, empty))


def test_sparse_rows_beyond_the_matrix_are_damage(path):
    tags = sparse.csc_matrix(TAGS)
    io.savemat(path, the_usual() | {"YAll": tags})
    content, rows = bytearray(path.read_bytes()), tags.indices.astype("<i4").tobytes()
    place = content.index(rows)
    content[place : place + 4] = (2**30).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a valid MATLAB file"):
        read(path)
