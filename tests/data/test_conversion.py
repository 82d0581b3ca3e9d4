"""Pairs from what a user has at hand: lists, paths, arrays, frames."""

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from fdch import PairedSet
from fdch.data.conversion import as_images, as_labels, as_texts
from fdch.data.pictures.images import (
    ImageFeatures,
    PictureArray,
    PictureContents,
    PictureFiles,
)
from fdch.data.texts import Sentences, WordVectors
from fdch.errors import DataError, LabelError


def test_arrays_may_lack_rows_and_values():
    assert len(as_images(np.zeros((0, 5)))) == len(as_texts(np.zeros((0, 5)))) == 0
    for empty in (np.zeros((2, 5)), sparse.csr_array((2, 5))):
        found = as_texts(empty)
        assert isinstance(found, WordVectors)
        assert found.matrix.shape == (2, 5)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a.jpg", "b.jpg"], PictureFiles),
        ([b"x", b"y"], PictureContents),
        (np.zeros((2, 8, 8, 3), np.uint8), PictureArray),
        ([np.zeros((8, 8, 3), np.uint8)] * 2, PictureArray),
        (np.zeros((2, 5)), ImageFeatures),
        ([[0.0, 1.0], [1, 2]], ImageFeatures),
        (sparse.csr_array(np.eye(2)), ImageFeatures),
    ],
)
def test_images_are_known_by_what_they_are(values, kind):
    found = as_images(values)
    assert isinstance(found, kind)
    assert len(found) == 2
    assert as_images(found) is found


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a dog", None], Sentences),
        (np.array(["a dog", "a cat"]), Sentences),
        (np.eye(2), WordVectors),
        (sparse.coo_array(np.eye(2)), WordVectors),
        ([[0, 1], [1, 0]], WordVectors),
    ],
)
def test_texts_are_known_by_what_they_are(values, kind):
    found = as_texts(values)
    assert isinstance(found, kind)
    assert len(found) == 2
    assert as_texts(found) is found


@pytest.mark.parametrize(
    ("convert", "values", "message"),
    [
        (as_texts, "a dog", "a list or an array.*got str.*list of one"),
        (as_images, 3, "got int"),
        (as_images, ["a.jpg", 3], "got a list of str and int"),
        (as_images, [[1, 2], [3]], "got a list of list"),
        (as_texts, np.zeros((2, 2, 2)), r"float64 of shape \(2, 2, 2\)"),
        (as_images, np.zeros((2, 8, 8, 3)), "float64 of shape"),
    ],
)
def test_what_is_no_side_is_refused(convert, values, message):
    with pytest.raises(DataError, match=message):
        convert(values)


def test_features_that_are_no_numbers_are_named():
    values = np.zeros((6, 2))
    values[4, 1] = np.nan
    with pytest.raises(DataError, match=r"image features of 1 rows.*first in row 4"):
        as_images(values)
    values[2, 0] = np.inf
    for vectors in (values, sparse.coo_array(values)):
        with pytest.raises(DataError, match=r"text vectors of 2 rows.*first in row 2"):
            as_texts(vectors)


def test_labels_are_numbers_or_names():
    numbers, names = as_labels([[0, 1], [1, 1]])
    assert (numbers.tolist(), names) == ([[0, 1], [1, 1]], ("label 0", "label 1"))
    assert numbers.dtype == np.uint8
    found, names = as_labels(["dog", ["cat", "dog"], None, 7])
    assert names == ("7", "cat", "dog")
    assert found.tolist() == [[0, 0, 1], [0, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert as_labels(["b"], names=["b", "a"])[0].tolist() == [[1, 0]]
    assert as_labels(sparse.csr_array(np.eye(2)))[0].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("values", "names", "message"),
    [
        ([[0, 2]], None, "0 or 1"),
        (["dog"], ["cat"], "'dog' is not among"),
        ([[0, 1]], ["a", "b", "c"], "3 names were given for 2 columns of labels"),
    ],
)
def test_labels_that_mean_nothing_are_refused(values, names, message):
    with pytest.raises(LabelError, match=message):
        as_labels(values, names)


def test_pairs_are_made_of_lists_and_arrays():
    pairs = PairedSet.from_arrays(
        images=np.arange(6.0).reshape(3, 2),
        texts=["a", "b", "c"],
        labels=[["x"], ["y"], ["x", "y"]],
        columns={"price": [1, 2, 3]},
        name="mine",
    )
    assert repr(pairs) == "PairedSet('mine', 3 pairs, 2 labels)"
    assert pairs.ids.tolist() == ["0", "1", "2"]
    assert pairs[1:].columns["price"].tolist() == [2, 3]
    named = PairedSet.from_arrays([b"1"], ["a"], ids=[5])
    assert (named.ids.tolist(), named.labels.shape) == (["5"], (1, 0))


def test_columns_of_a_frame_are_taken():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"file": ["a.jpg"], "title": ["a mug"], "type": ["mug"]})
    pairs = PairedSet.from_arrays(frame["file"], frame["title"], frame["type"])
    assert isinstance(pairs.images, PictureFiles)
    assert pairs.label_names == ("mug",)


def test_a_frame_is_taken_as_further_columns():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"price": [1.5, None], "type": ["mug", None]})
    pairs = PairedSet.from_arrays([b"1", b"2"], ["a", "b"], columns=frame)
    found = {name: cells.tolist() for name, cells in pairs.columns.items()}
    assert found == {"price": [1.5, None], "type": ["mug", None]}
    for cells in (frame["price"].to_numpy(np.float32), [1.5, float("nan")]):
        pairs = PairedSet.from_arrays([b"1", b"2"], ["a", "b"], columns={"x": cells})
        assert pairs.columns["x"].tolist() == [1.5, None]
    twice = pandas.concat([frame, frame], axis=1)
    with pytest.raises(DataError, match=r"'price' needs one .* Is its name used twice"):
        PairedSet.from_arrays([b"1", b"2"], ["a", "b"], columns=twice)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([1, 2], "columns are a data frame, or values by name .*; got list"),
        ({"a": 5}, "give column 'a' as a list or an array, .*; got int"),
        ({"a": "xy"}, "give column 'a' as a list or an array, .*; got str"),
        ({"a": np.ones((2, 2))}, r"column 'a' needs one value .* shape \(2, 2\)"),
        ({"a": [1]}, "1 rows of column 'a' were given for 2 images"),
    ],
)
def test_columns_that_are_none_are_refused(columns, message):
    with pytest.raises(DataError, match=message):
        PairedSet.from_arrays([b"1", b"2"], ["a", "b"], columns=columns)


def test_a_frame_of_labels_names_them():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"mug": [1, 0], "red": [True, True]})
    found, names = as_labels(frame)
    assert (found.tolist(), names) == ([[1, 1], [0, 1]], ("mug", "red"))
    assert as_labels(frame, ["a", "b"])[1] == ("a", "b")
    assert isinstance(as_images(frame.astype("Int64")), ImageFeatures)
    with pytest.raises(LabelError, match="0 or 1, a column to each class; got nan"):
        as_labels(frame.astype("Int64").mask(frame == 0))


@pytest.mark.parametrize("ids", [["a", None], np.array(["a", np.nan], object)])
def test_a_missing_id_is_refused(ids):
    with pytest.raises(DataError, match="row 1 has no id"):
        PairedSet.from_arrays([b"1", b"2"], ["a", "b"], ids=ids)


def test_sides_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="2 rows of texts were given for 1 images"):
        PairedSet.from_arrays([b"1"], ["a", "b"])
    with pytest.raises(DataError, match="1 rows of images were given for 2 ids"):
        PairedSet.from_arrays([b"1"], ["a"], ids=["1", "2"])


@pytest.mark.parametrize("there", ["a.jpg", b"1"])
def test_pairs_may_lack_a_picture(there):
    pairs = PairedSet.from_arrays([there, None], ["a", "b"])
    assert pairs.images.present.tolist() == [True, False]
    assert isinstance(pairs.images, PictureFiles) == isinstance(there, str)
    if isinstance(pairs.images, PictureContents):
        assert (
            len({pairs.fingerprint, pairs[:1].fingerprint, pairs[1:].fingerprint}) == 3
        )
        with pytest.raises(DataError, match="row 1 has no picture"):
            pairs.images.content(1)


def test_empty_cells_of_a_frame_are_missing():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(
        {
            "file": ["a.jpg", None, float("nan")],
            "title": [float("nan"), "a cup", pandas.NA],
            "type": [np.array(["mug", "red"]), float("nan"), None],
        }
    )
    pairs = PairedSet.from_arrays(frame["file"], frame["title"], frame["type"])
    assert pairs.images.present.tolist() == [True, False, False]
    assert pairs.texts.present.tolist() == [False, True, False]
    assert pairs.labels.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_tensors_are_taken():
    torch = pytest.importorskip("torch")
    pairs = PairedSet.from_arrays(torch.ones(2, 3), torch.eye(2), torch.eye(2).int())
    assert isinstance(pairs.images, ImageFeatures)
    assert pairs.images.values.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert pairs.labels.tolist() == [[1, 0], [0, 1]]
    learned = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert as_labels(learned)[0].tolist() == [[1, 1, 1], [1, 1, 1]]


class Frame:
    """What data frames of all makers have in common."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def to_numpy(self):
        return self.values

    def __iter__(self):
        return iter(range(self.values.shape[-1]))  # the names of columns


def test_frames_of_numbers_are_taken():
    pairs = PairedSet.from_arrays(
        images=Frame([[0.5, 1.0], [0.0, 2.0]]),
        texts=Frame([[1, 0, 2], [0, 1, 0]]),
        labels=Frame([[1, 0], [0, 1]]),
    )
    assert (len(pairs), pairs.labels.tolist()) == (2, [[1, 0], [0, 1]])
    assert isinstance(pairs.images, ImageFeatures)
    assert isinstance(pairs.texts, WordVectors)


def test_a_column_of_arrays_is_features():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"seen": [np.ones(3), np.zeros(3)], "read": [[1, 0], [0, 2]]})
    images, texts = as_images(frame.seen), as_texts(frame["read"])
    assert isinstance(images, ImageFeatures) and isinstance(texts, WordVectors)
    assert images.values.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert texts.matrix.toarray().tolist() == [[1, 0], [0, 2]]


def test_pictures_of_pillow_are_taken():
    picture = Image.new("L", (4, 3), 7)
    images = as_images([picture, picture])
    assert isinstance(images, PictureArray)
    assert images.pixels.shape == (2, 3, 4, 3) and images.pixels.max() == 7


def test_pictures_of_different_sizes_are_refused_with_the_reason():
    pictures = [Image.new("RGB", (4, 4)), Image.new("RGB", (5, 4))]
    with pytest.raises(DataError, match="got a list of ndarray of different shapes"):
        as_images(pictures)
