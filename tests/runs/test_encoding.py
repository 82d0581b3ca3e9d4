"""Pairs to codes, also where one side is missing."""

from dataclasses import replace

import numpy as np
import pytest
from tests.vector_model import give_vectors

from fdch.data.pairs import PairedSet, Skipped
from fdch.data.pictures.images import ImageFeatures, PictureFiles
from fdch.data.texts import Sentences
from fdch.errors import DataError
from fdch.methods.fdch import FDCH
from fdch.methods.scm_seq import SCMSeq
from fdch.progress import Update
from fdch.retrieval.adding import encode_gallery, gallery_kinds
from fdch.runs import encoding
from fdch.runs.encoding import (
    calibrate,
    encode_in_parts,
    encode_pairs,
    encode_sides,
    lacks_known_words,
)
from fdch.runs.engines import LocalEngine
from fdch.training.context import PLAIN, Context
from fdch.training.inputs import Inputs

SMALL = FDCH(
    text_features="words",
    bits=10,
    fusion_width=16,
    text_hidden=24,
    fusion_hidden=16,
    stage_one_epochs=1,
    stage_two_epochs=1,
    batch_size=30,
    image_network="small",
    finetune=True,
)


@pytest.fixture(scope="module")
def scenes():
    return PairedSet.read("scenes:60")


@pytest.fixture(scope="module")
def fitted(scenes):
    return replace(SMALL).fit(scenes)


@pytest.fixture
def files(scenes, tmp_path):
    """Four scenes as picture files: whole, without picture, without text, whole."""
    from PIL import Image

    paths = []
    for row in range(4):
        path = tmp_path / f"{row}.png"
        Image.fromarray(scenes.images.decode(row, 64)).save(path)
        paths.append(path)
    texts = scenes.texts.values[:4].copy()
    paths[1], texts[2] = None, None
    return replace(scenes[:4], images=PictureFiles(paths), texts=Sentences(texts))


def test_codes_in_parts_are_those_of_all_at_once(fitted, files, monkeypatch):
    monkeypatch.setattr(LocalEngine, "pictures_at_a_time", 3)
    updates: list[Update] = []
    kept, codes = encode_in_parts(LocalEngine(fitted), files, updates.append)
    whole = encode_pairs(fitted, files)
    assert kept.ids.tolist() == files.ids.tolist()
    for side in ("image", "text", "unified"):
        assert getattr(codes, side) == getattr(whole, side)
    assert codes.has_image.tolist() == [True, False, True, True]
    assert codes.has_text.tolist() == [True, True, False, True]
    assert [update.done for update in updates] == [3, 4]


def test_parts_of_which_nothing_is_left_are_an_error(fitted, files):
    class Skipping:
        pictures_at_a_time = 3

        def run(self, work, parts):
            for part in parts:
                lost = tuple(Skipped(name, "it is broken.") for name in part.ids)
                left = replace(part[[]], skipped=lost)
                yield left, work(fitted, left, PLAIN)

    with pytest.raises(DataError, match=r"none of the 4 rows.*: it is broken\."):
        encode_in_parts(Skipping(), files)


def test_whole_pairs_have_all_three_codes(fitted, scenes):
    some = scenes[:6]
    codes = encode_pairs(fitted, some)
    assert codes.image == fitted.encode_images(some.images)
    assert codes.text == fitted.encode_texts(some.texts)
    assert codes.unified == fitted.encode_pairs(some)
    assert codes.has_image.all() and codes.has_text.all()


def test_a_missing_side_has_no_code_and_the_other_side_speaks_for_the_pair(
    fitted, files
):
    codes = encode_pairs(fitted, files)
    assert codes.has_image.tolist() == [True, False, True, True]
    assert codes.has_text.tolist() == [True, True, False, True]
    assert (len(codes.image), len(codes.text)) == (3, 3)
    assert codes.unified is not None
    whole = fitted.encode_pairs(files[[0, 3]])
    assert codes.unified[[0, 3]] == whole
    assert codes.unified[1] == fitted.encode_texts(files.texts[1])
    assert codes.unified[2] == fitted.encode_images(files.images[2])


def test_scores_and_indexes_choose_the_same_code_of_each_row(fitted, files):
    kinds = gallery_kinds(fitted, files)
    assert kinds.tolist() == ["pair", "text", "image", "pair"]
    codes, vectors = encode_gallery(fitted, files, kinds)
    assert codes == encode_pairs(fitted, files).unified
    assert vectors is None


def test_each_picture_is_read_once(fitted, files, monkeypatch):
    read: list[int] = []
    images = Inputs.images

    def counted(self, rows, *rest, **options):
        read.append(len(rows))
        return images(self, rows, *rest, **options)

    monkeypatch.setattr(Inputs, "images", counted)
    encode_pairs(fitted, files)
    assert sum(read) == 3


def test_vectors_of_few_rows_at_a_time_are_those_of_all(scenes, files, monkeypatch):
    read: list[int] = []
    images = Inputs.images

    def count(self, pictures, *rest, **options):
        read.append(len(pictures))
        return images(self, pictures, *rest, **options)

    frozen = replace(SMALL, image_network="auto", finetune=False)
    method = frozen.fit(scenes)
    give_vectors(monkeypatch, FDCH)
    whole = encode_pairs(method, files)
    monkeypatch.setattr(encoding, "PICTURES_AT_A_TIME", 1)
    monkeypatch.setattr(Inputs, "images", count)
    found = encode_pairs(method, files)
    assert read == [3]
    for side in ("image", "text", "unified"):
        assert getattr(found, side) == getattr(whole, side)
        assert np.array_equal(found.vectors[side], whole.vectors[side])


def test_labels_go_with_the_rows_that_have_a_code(fitted, files):
    coded = encode_pairs(fitted, files).with_labels(files.labels)
    assert np.array_equal(coded.image.labels, files.labels[[0, 2, 3]])
    assert np.array_equal(coded.text.labels, files.labels[[0, 1, 3]])
    assert coded.unified is not None
    assert np.array_equal(coded.unified.labels, files.labels)


@pytest.mark.parametrize("rows", [[1], [2], []])
def test_sets_without_a_single_whole_pair_are_encoded(fitted, files, rows):
    codes = encode_pairs(fitted, files[rows])
    assert codes.unified is not None
    assert len(codes.unified) == len(rows)
    assert codes.unified.bits == 10


def test_a_method_without_unified_codes_gives_none(factor_pairs):
    pairs = factor_pairs(80)
    method = SCMSeq(bits=6).fit(pairs)
    codes = encode_pairs(method, pairs)
    assert codes.unified is None
    assert codes.with_labels(pairs.labels).unified is None
    assert len(codes.image) == len(codes.text) == 80


def test_texts_without_a_known_word_are_distinguished_from_missing_ones(fitted, scenes):
    texts = Sentences(["zzz qqq", None, scenes.texts.values[0]])
    some = replace(scenes[:3], texts=texts)
    assert lacks_known_words(fitted, some).tolist() == [True, False, False]


def test_static_features_read_unknown_words_too(scenes):
    method = SCMSeq(bits=4, text_features="words+static", image_network="features")
    features = ImageFeatures(np.random.default_rng(0).random((len(scenes), 9)))
    method.fit(replace(scenes, images=features))
    texts = Sentences(["zebra", None, scenes.texts.values[0], "?!"])
    some = replace(scenes[:4], texts=texts)
    assert lacks_known_words(method, some).tolist() == [False, False, False, True]


def test_a_method_is_calibrated_on_whole_and_on_shortened_texts(fitted, scenes):
    found = calibrate(fitted, scenes[:20], scenes[20:])
    assert found is not None
    assert (found.pairs, found.trained) == (20, 60)
    words = encode_sides(fitted, scenes[:20]).words
    mean = found.models["text"]["pair"]["plain"].mean[2]
    assert mean < np.log1p(words).mean() - 0.1  # half of the texts have fewer words
    assert found.models["image"]["pair"]["plain"].mean[2] == 0
    assert calibrate(fitted, scenes[:9], scenes[20:]) is None


def test_training_pairs_are_no_held_out_ones(fitted, scenes):
    with pytest.raises(DataError, match="2 of the held-out pairs are also among the t"):
        calibrate(fitted, scenes[:20], scenes[18:])


def test_pairs_without_labels_do_not_calibrate(fitted, scenes):
    none = scenes.labels.copy()
    none[12:] = 0
    found = calibrate(fitted, replace(scenes, labels=none))
    assert found is not None
    assert found.pairs == 12


def test_parts_of_pictures_are_reported_as_one_task(scenes, monkeypatch):
    monkeypatch.setattr(encoding, "ROWS_AT_A_TIME", 20)
    monkeypatch.setattr(encoding, "PICTURES_AT_A_TIME", 20)
    updates: list[Update] = []
    method = SCMSeq(bits=8).fit(scenes)
    encode_pairs(method, scenes, Context(progress=updates.append, remember=False))
    shown = [each for each in updates if each.unit == "picture"]
    assert {each.total for each in shown} == {60}
    done = [each.done for each in shown]
    assert done == sorted(set(done)) and done[-1] == shown[-1].total
