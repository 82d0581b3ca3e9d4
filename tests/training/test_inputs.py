"""How pictures and words become numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, PictureArray
from fdch.data.static_words import WIDTH, StaticVocabulary
from fdch.data.texts import Sentences, Vocabulary, WordVectors
from fdch.errors import DataError, SettingError
from fdch.networks import image as image_networks
from fdch.progress import Update
from fdch.training.context import PLAIN, Context
from fdch.training.inputs import Inputs


@pytest.fixture(scope="module")
def scenes():
    return PairedSet.read("scenes:60")


def test_ready_features_are_handed_on_as_they_are(factor_pairs):
    pairs = factor_pairs(20)
    inputs = Inputs.fit(pairs)
    assert (inputs.image_network, inputs.image_width) == ("features", 24)
    assert (inputs.vocabulary, inputs.text_width, inputs.items) == (None, 90, 20)
    assert inputs.images(pairs.images, PLAIN) is pairs.images.values
    assert (inputs.texts(pairs.texts) != pairs.texts.matrix).nnz == 0


def test_pictures_take_the_packaged_network(scenes):
    inputs = Inputs.fit(scenes)
    network = image_networks.describe("efficientnet_lite0")
    assert (inputs.image_network, inputs.image_width) == (network.name, network.width)


def test_pixels_are_given_where_the_network_is_trained(scenes):
    inputs = Inputs.fit(scenes, "small", finetune=True)
    pixels = inputs.images(scenes.images[:3], PLAIN)
    assert pixels.dtype == np.uint8
    assert pixels.shape == (3, 64, 64, 3)
    assert np.array_equal(pixels[1], scenes.images.decode(1, 64))


def test_pixels_are_kept_on_disk_only_on_request(scenes, tmp_path, monkeypatch):
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path))
    inputs = Inputs.fit(scenes, "small", finetune=True)
    passing = inputs.images(scenes.images[:3], PLAIN)
    assert not list(tmp_path.iterdir())
    kept = inputs.images(scenes.images[:3], PLAIN, keep=True)
    assert len(list(tmp_path.iterdir())) == 1
    assert np.array_equal(passing, kept)


def test_frozen_features_are_reported(scenes):
    updates: list[Update] = []
    inputs = Inputs.fit(scenes)
    features = inputs.images(scenes.images[:2], Context(updates.append))
    assert features.dtype == np.float32
    assert features.shape == (2, 1280)
    assert updates[-1].done == updates[-1].total == 2


def test_the_vocabulary_is_learned_from_the_training_texts(scenes):
    training = scenes[:30]
    inputs = Inputs.fit(training, "small", finetune=True, text_features="words")
    known = inputs.vocabulary
    assert known is not None
    words = {word for text in training.texts.values for word in text.lower().split()}
    assert set(known.words) <= {word.strip(".,;!?'") for word in words}
    assert inputs.text_width == len(known.words)


def test_the_data_sets_own_vocabulary_is_kept(scenes):
    own = Vocabulary(("beach", "car"))
    pairs = replace(scenes, texts=Sentences(scenes.texts.values, own))
    inputs = Inputs.fit(pairs, "small", finetune=True, text_features="words")
    assert inputs.vocabulary is own
    vectors = inputs.texts(Sentences(["a car at the beach", "nothing known"]))
    assert vectors.toarray().tolist() == [[1, 1], [0, 0]]


def test_static_features_follow_the_words(scenes):
    own = Vocabulary(("beach", "car"))
    pairs = replace(scenes, texts=Sentences(scenes.texts.values, own))
    inputs = Inputs.fit(pairs, text_features="words+static")
    assert inputs.vocabulary == StaticVocabulary(own.words)
    assert (inputs.text_width, inputs.static_width) == (2 + WIDTH, WIDTH)
    vectors = inputs.texts(Sentences(["a car", "an automobile", "..."])).toarray()
    assert vectors[:, :2].tolist() == [[0, 1], [0, 0], [0, 0]]
    car, automobile, nothing = vectors[:, 2:]
    assert car @ automobile > 0.3
    assert not nothing.any()


def test_static_features_of_ready_vectors_are_refused(factor_pairs):
    with pytest.raises(SettingError, match=r"'words\+static' needs texts as sent"):
        Inputs.fit(factor_pairs(20), text_features="words+static")


@pytest.mark.parametrize("settings", [{"finetune": True}, {"image_network": "small"}])
def test_a_network_for_ready_features_is_refused(factor_pairs, settings):
    with pytest.raises(SettingError, match="ready image features"):
        Inputs.fit(factor_pairs(20), **settings)


def test_weights_of_a_network_for_ready_features_are_refused(factor_pairs):
    with pytest.raises(SettingError, match=r"ready image features.*'vgg\.mat'"):
        Inputs.fit(factor_pairs(20), image_weights="vgg.mat")


def test_ready_features_are_not_made_of_pictures(scenes):
    with pytest.raises(SettingError, match="this data has pictures"):
        Inputs.fit(scenes, "features")


def test_an_unknown_network_is_named_with_the_nearest(scenes):
    with pytest.raises(SettingError, match=r"'smal'; did you mean 'small'"):
        Inputs.fit(scenes, "smal")


def test_a_network_without_weights_is_refused_before_any_picture_is_read(scenes):
    with pytest.raises(SettingError, match="random weights are worth nothing"):
        Inputs.fit(scenes, "small").images(scenes.images[:2], PLAIN)


def test_other_items_than_it_was_trained_on_are_refused(factor_pairs, scenes):
    ready = Inputs.fit(factor_pairs(20))
    pictures = Inputs.fit(scenes)
    with pytest.raises(DataError, match="these items have pictures"):
        ready.images(scenes.images, PLAIN)
    with pytest.raises(DataError, match="these items have ready features"):
        pictures.images(factor_pairs(5).images, PLAIN)
    with pytest.raises(DataError, match="these items have sentences"):
        ready.texts(scenes.texts)


def test_other_widths_are_refused_with_both_numbers(factor_pairs):
    inputs = Inputs.fit(factor_pairs(20))
    with pytest.raises(DataError, match=r"have 7 columns; .* trained on 24"):
        inputs.images(ImageFeatures(np.zeros((2, 7))), PLAIN)
    with pytest.raises(DataError, match=r"have 7 columns; .* trained on 90"):
        inputs.texts(WordVectors(csr_array((2, 7))))


def test_an_unknown_device_is_refused_with_advice(scenes):
    inputs = Inputs.fit(scenes)
    with pytest.raises(SettingError, match=r"device 'abacus'.*--device cpu"):
        inputs.images(scenes.images[:1], Context(device="abacus"))


def test_no_pictures_give_no_pixels(scenes):
    inputs = Inputs.fit(scenes, "small", finetune=True)
    none = PictureArray(np.zeros((0, 64, 64, 3), dtype=np.uint8))
    assert inputs.images(none, PLAIN).shape == (0, 64, 64, 3)
