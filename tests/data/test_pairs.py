"""PairedSet: rows, fingerprints, and what training requires."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import sparse

from fdch.data.pairs import PairedSet, Skipped
from fdch.data.pictures.images import ImageFeatures, PictureArray, PictureFiles
from fdch.data.rows import Digest, choose
from fdch.data.split_drawing import SplitSizes
from fdch.data.texts import Sentences, Vocabulary, WordVectors
from fdch.errors import BrokenPicture, DataError, LabelError, SettingError


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def small(count=6, **changes):
    """Pairs of ready features; labels a and b in turn."""
    given = {
        "ids": objects([f"p{number}" for number in range(count)]),
        "images": ImageFeatures(np.arange(count * 2).reshape(count, 2)),
        "texts": Sentences([f"text {number}" for number in range(count)]),
        "labels": np.eye(2, dtype=np.uint8)[np.arange(count) % 2],
        "label_names": ("a", "b"),
        "columns": {"price": objects(list(range(count)))},
    }
    return PairedSet(**(given | changes))


@pytest.fixture
def photos(tmp_path):
    """Six small picture files, the third and fifth broken."""
    paths = [tmp_path / f"{number}.png" for number in range(6)]
    for number, path in enumerate(paths):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(path)
    for number in (2, 4):
        paths[number].write_bytes(paths[number].read_bytes()[:50])
    return paths


@pytest.mark.parametrize(
    "rows", [slice(1, 4), [1, 2, 3], np.array([0, 1, 1, 1, 0, 0], dtype=bool)]
)
def test_a_choice_of_rows_takes_every_part_along(rows):
    some = small()[rows]
    assert some.ids.tolist() == ["p1", "p2", "p3"]
    assert some.images.values.tolist() == [[2, 3], [4, 5], [6, 7]]
    assert some.texts.values.tolist() == ["text 1", "text 2", "text 3"]
    assert some.labels.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert some.columns["price"].tolist() == [1, 2, 3]
    assert some.label_names == ("a", "b") and some.name == "pairs"


def test_a_single_row_is_a_set_of_one():
    assert small()[-1].ids.tolist() == ["p5"]


def test_pairs_are_looped_over_one_by_one():
    pairs = small()
    assert [str(each.ids[0]) for each in pairs] == pairs.ids.tolist()
    assert len(list(pairs.texts)) == len(list(pairs.images)) == len(pairs)


def test_only_the_whole_set_is_the_benchmark():
    sizes = SplitSizes(query=1, train=2)
    pairs = small(benchmark=sizes)
    assert pairs[::-1].benchmark == sizes
    assert pairs[:5].benchmark is None


def test_rows_outside_are_refused():
    for rows in ([6], [-7], np.ones(5, dtype=bool), [0.5], [[0]]):
        with pytest.raises(DataError):
            small()[rows]


@given(st.lists(st.integers(-9, 8), max_size=9))
def test_rows_are_chosen_as_numpy_does(rows):
    expected = np.arange(9)[np.array(rows, dtype=int)]
    assert np.array_equal(choose(rows, 9), expected)


def test_parts_of_unlike_length_are_refused():
    for change in (
        {"images": ImageFeatures(np.zeros((5, 2)))},
        {"texts": Sentences(["a"])},
        {"labels": np.zeros((7, 2), np.uint8)},
        {"columns": {"price": objects([1])}},
    ):
        with pytest.raises(DataError, match="given for 6"):
            small(**change)


def test_labels_are_zero_or_one_with_a_name_each():
    with pytest.raises(LabelError, match="got 2"):
        small(labels=np.full((6, 2), 2, np.uint8))
    with pytest.raises(LabelError, match="float64"):
        small(labels=np.zeros((6, 2)))
    with pytest.raises(LabelError, match=r"\(6, 1\)"):
        small(label_names=("a",))


def test_repeated_ids_are_named_with_their_rows():
    with pytest.raises(DataError, match="'x' in rows 1 and 3, 'y' in rows 2 and 4"):
        small(4, ids=objects(["x", "y", "x", "y"]))


def test_the_fingerprint_depends_on_every_part_but_the_columns():
    pairs = small()
    changed = [
        small(ids=objects(list("abcdef"))),
        small(images=ImageFeatures(np.zeros((6, 2)))),
        small(texts=Sentences(["other"] * 6)),
        small(labels=1 - pairs.labels),
        small(label_names=("a", "c")),
        pairs[::-1],
        pairs[:5],
    ]
    prints = [item.fingerprint for item in [pairs, *changed]]
    assert len(set(prints)) == len(prints)
    assert all(len(print) == 32 for print in prints)
    assert small(columns={}, name="other").fingerprint == pairs.fingerprint


def test_the_fingerprint_is_the_same_on_every_machine():
    assert small().fingerprint == "871ddc0898e09d067c28aaad8dfc9508"


def test_no_text_and_empty_text_have_different_fingerprints():
    texts = [Sentences([text]) for text in (None, "", "-", "+")]
    texts.append(Sentences([""], Vocabulary(())))
    prints = {small(1, texts=text).fingerprint for text in texts}
    assert len(prints) == len(texts)


def test_vectors_count_by_their_numbers_not_by_how_they_are_held():
    plain = sparse.csr_array(np.array([[0, 1, 2]], dtype=np.float64))
    held = sparse.csr_array(([1, 1, 1, 0], [2, 1, 2, 0], [0, 4]), shape=(1, 3))
    first, second = (small(1, texts=WordVectors(m)) for m in (plain, held))
    assert first.fingerprint == second.fingerprint


def test_pictures_count_by_name_and_size_not_by_folder(photos, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = [elsewhere / path.name for path in photos]
    for path, target in zip(photos, moved, strict=True):
        target.write_bytes(path.read_bytes())
    here = small(images=PictureFiles(photos)).fingerprint
    assert small(images=PictureFiles(moved)).fingerprint == here
    moved[0].write_bytes(b"longer" + photos[0].read_bytes())
    assert small(images=PictureFiles(moved)).fingerprint != here
    assert small(images=PictureFiles([None, *photos[1:]])).fingerprint != here


def test_pixels_count_in_the_fingerprint():
    pixels = np.zeros((6, 2, 2, 3), np.uint8)
    dark = small(images=PictureArray(pixels)).fingerprint
    assert small(images=PictureArray(pixels + 1)).fingerprint != dark


@given(st.lists(st.binary(max_size=4), max_size=4), st.data())
def test_digests_differ_where_parts_differ(parts, data):
    others = data.draw(st.lists(st.binary(max_size=4), max_size=4))
    same = Digest(*parts).hex() == Digest(*others).hex()
    assert same == (parts == others)


def test_whole_pictures_stay(photos):
    pairs = small(4, images=PictureFiles([photos[n] for n in (0, 1, 3, 5)]))
    assert pairs.without_broken_pictures() is pairs
    assert small().without_broken_pictures().ids.tolist() == small().ids.tolist()


def test_a_broken_picture_is_refused_with_its_pair(photos):
    pairs = small(images=PictureFiles(photos))
    with pytest.raises(
        BrokenPicture, match=r"2\.png'.*belongs to 'p2'.*broken=\"skip\""
    ):
        pairs.without_broken_pictures()
    with pytest.raises(SettingError, match="'drop'"):
        pairs.without_broken_pictures("drop")


def test_broken_pictures_are_left_out_and_listed(photos):
    before = (Skipped("row 9", "no id"),)
    sizes = SplitSizes(query=1, train=2)
    pairs = small(images=PictureFiles(photos), skipped=before, benchmark=sizes)
    kept = pairs.without_broken_pictures("skip")
    assert kept.ids.tolist() == ["p0", "p1", "p3", "p5"]
    assert [row.name for row in kept.skipped] == ["row 9", "p2", "p4"]
    assert "4.png" in kept.skipped[2].reason
    assert kept.benchmark == sizes


def test_pictures_found_whole_are_not_decoded_again(photos):
    pairs = small(images=PictureFiles([*photos[:2], None, photos[3], None, photos[5]]))
    for expected in (4, 0):
        decoded: list[object] = []
        pairs.without_broken_pictures(progress=decoded.append)
        assert len(decoded) == expected
    photos[0].write_bytes(b"damaged since")
    with pytest.raises(BrokenPicture, match=r"0\.png"):
        pairs.without_broken_pictures()


def test_sound_pairs_may_be_trained_on():
    small().require_training(least=6)
    vectors = WordVectors(sparse.csr_array(np.eye(6)))
    small(texts=vectors).require_training()


def test_labels_are_required_only_where_they_are_needed():
    unlabelled = small(labels=np.zeros((6, 0), dtype=np.uint8), label_names=())
    unlabelled.require_training(needs_labels=False)
    with pytest.raises(LabelError, match="none of the 6 training pairs has a label"):
        unlabelled.require_training()


def refused(pairs, message, least=1):
    with pytest.raises(DataError, match=message) as caught:
        pairs.require_training(least)
    return caught.type


def test_fewer_pairs_than_a_method_needs_are_refused():
    refused(small(1), "too few pairs to train on: 1, .* at least 2", least=2)
    refused(small(0), "no pairs to train on")


def test_labels_must_distinguish_something():
    none = small(
        labels=np.zeros((6, 2), np.uint8), columns={"label": objects("abcdef")}
    )
    assert refused(none, "has a label.*did you mean 'label'") is LabelError
    one = np.tile(np.array([1, 0], np.uint8), (6, 1))
    assert refused(small(labels=one), "only label is 'a'") is LabelError
    shared = small().labels.copy()
    shared[:, 1] = 1
    assert refused(small(labels=shared), "all 6 .* have the label 'b'") is LabelError


def test_rows_without_image_or_text_are_named():
    half = small(texts=Sentences(["a", None, "b", None, "c", "d"]))
    refused(half, "2 of 6 training pairs have no text: 'p1', 'p3'")
    many = small(9, images=PictureFiles([Path("a.jpg"), *[None] * 8]))
    refused(many, "'p1', 'p2', 'p3', 'p4', 'p5' and 3 more")
    none = replace(small(), texts=Sentences([None] * 6))
    refused(replace(none, columns={"texts": none.ids}), "did you mean 'texts'")


def test_a_notebook_shows_the_first_rows_escaped():
    pairs = PairedSet.from_arrays([[1.0], [2.0]], ["a <b>", "c"], [["x"], ["x", "y"]])
    shown = pairs._repr_html_()
    assert "2 pairs, 2 labels" in shown
    assert "<tr><td>0</td><td>a &lt;b&gt;</td><td>x</td></tr>" in shown
    assert "<tr><td>1</td><td>c</td><td>x, y</td></tr>" in shown


def test_a_notebook_shows_ten_rows_at_most(factor_pairs):
    assert factor_pairs(30)._repr_html_().count("<tr>") == 11


def test_a_data_frame_is_no_name_of_data():
    frame: Any = {"image": []}
    with pytest.raises(DataError, match=r"got dict\. PairedSet\.from_arrays takes"):
        PairedSet.read(frame)


def test_one_pair_is_shown_as_one():
    pairs = PairedSet.from_arrays([[1.0]], ["a"], ["x"])
    assert repr(pairs) == "PairedSet('pairs', 1 pair, 1 label)"
    assert repr(pairs.texts) == "Sentences(1 row)"


def test_ids_are_no_rows():
    pairs = PairedSet.from_arrays([[1.0], [2.0]], ["a", "b"], ids=["x", "y"])
    with pytest.raises(DataError, match=r"got .*'x'.*np\.isin\(pairs\.ids, ids\)"):
        pairs[["x"]]
    assert pairs[np.isin(pairs.ids, ["y"])].ids.tolist() == ["y"]
