"""Frozen features: computed once, kept by content, refused where absent."""

import dataclasses
import os
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from fdch.data.cache import ResultCache
from fdch.data.pictures.images import ImageFeatures, PictureArray, PictureFiles
from fdch.errors import BrokenPicture, DataError, SettingError
from fdch.networks import features, image
from fdch.networks._base import FeatureNetwork
from fdch.networks.features import FeatureExtractor, frozen_features
from fdch.networks.image import describe
from fdch.progress import Update


class Tiny(FeatureNetwork):
    """Mean colour times a weight; counts the pictures it sees."""

    name, size, width = "tiny", 4, 3

    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))
        self.seen: list[int] = []

    def forward(self, pixels):
        self.seen.append(len(pixels))
        return self.planes(pixels).mean(dim=(2, 3)) * self.factor


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    entry = dataclasses.replace(
        describe("efficientnet_lite0"), name="tiny", build=lambda *_: Tiny()
    )
    monkeypatch.setitem(image.NETWORKS, "tiny", entry)
    monkeypatch.setattr(features, "KEPT_AT_ONCE", 6)


def extractor(factor=1.0) -> tuple[FeatureExtractor, Any]:
    made = FeatureExtractor("tiny", device="cpu")
    network = Tiny(factor)
    made.network = image.FrozenNetwork(network)
    return made, network


def pictures(count=23, seed=0):
    rng = np.random.default_rng(seed)
    return PictureArray(rng.integers(0, 256, (count, 8, 8, 3), dtype=np.uint8))


def red_pictures(folder):
    """Fourteen files, each as red as its number."""
    paths = [folder / f"{number}.png" for number in range(14)]
    for number, path in enumerate(paths):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(path)
    return paths


def mean_colours(images):
    decoded = np.stack([images.decode(row, 4) for row in range(len(images))])
    return decoded.mean(axis=(1, 2))


def test_gives_the_network_of_every_picture_in_order():
    made, network = extractor()
    images = pictures()
    values = made.features(images)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, mean_colours(images), rtol=1e-5)
    assert sum(network.seen) == 23


def test_a_second_run_decodes_nothing(monkeypatch):
    images = pictures()
    first = extractor()[0].features(images)
    made, network = extractor()
    monkeypatch.setattr(PictureArray, "decode", None)
    assert np.array_equal(made.features(images), first)
    assert not network.seen


def test_only_new_pictures_are_computed():
    images = pictures()
    extractor()[0].features(images[:20])
    made, network = extractor()
    np.testing.assert_allclose(made.features(images), mean_colours(images), rtol=1e-5)
    assert sum(network.seen) == 3


def test_equal_pictures_are_computed_once():
    made, network = extractor()
    images = pictures(5)
    values = made.features(images[[0, 1, 1, 4, 0, 1]])
    np.testing.assert_allclose(
        values, mean_colours(images)[[0, 1, 1, 4, 0, 1]], rtol=1e-5
    )
    assert sum(network.seen) == 3


def test_other_weights_do_not_share_features():
    images = pictures()
    once = extractor()[0].features(images)
    twice = extractor(factor=2.0)[0].features(images)
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-6)


@pytest.mark.parametrize("batch", [1, 5, 100])
def test_features_do_not_depend_on_the_batch(monkeypatch, batch, tmp_path):
    images = pictures()
    expected = extractor()[0].features(images)
    monkeypatch.setattr(features, "PROCESSOR_BATCH", batch)
    made, network = extractor()
    made.cache = ResultCache(tmp_path)
    np.testing.assert_allclose(made.features(images), expected, rtol=1e-6)
    assert max(network.seen) <= batch


class Late:
    """A batch that an accelerator computes, and reads from memory, only at the end."""

    def __init__(self, compute):
        self.cpu = compute


class Cuda:
    """A processor that says it is an accelerator."""

    type = "cuda"


def accelerator(monkeypatch, batch=4):
    monkeypatch.setattr(features, "ACCELERATOR_BATCH", batch)
    made, network = extractor()

    def start(pixels, batch):
        return Late(lambda: made.network(torch.from_numpy(pixels)))

    monkeypatch.setattr(made, "_start", start)
    monkeypatch.setattr(made, "device", Cuda())
    monkeypatch.setattr(made.network, "to", lambda device: made.network)
    return made, network


@pytest.mark.parametrize("batch", [1, 4, 23, 300])
def test_an_accelerator_gets_the_same_pictures(monkeypatch, batch):
    images = pictures(200)
    made, network = accelerator(monkeypatch, batch)
    values = made.features(images)
    np.testing.assert_allclose(values, mean_colours(images), rtol=1e-5)
    assert max(network.seen) == min(batch, 200)


def test_an_accelerator_is_woken_for_many_new_pictures_alone(monkeypatch):
    images = pictures(12)

    def starts(images):
        """Return whether each batch that a new extractor started had pictures."""
        made, _ = accelerator(monkeypatch, batch=4)
        started = []

        def start(pixels, batch):
            started.append(bool(pixels.any()))
            return Late(lambda: made.network(torch.from_numpy(pixels)))

        monkeypatch.setattr(made, "_start", start)
        made.features(images)
        return started

    assert starts(images[:4]) == [True]
    assert sorted(starts(images[4:])) == [False, True, True]
    assert starts(images) == []


def test_an_accelerator_finishes_its_batch_before_a_broken_picture_is_named(
    monkeypatch, tmp_path
):
    paths = red_pictures(tmp_path)
    paths[9].write_bytes(b"no picture")
    made, _ = accelerator(monkeypatch)
    with pytest.raises(BrokenPicture, match=r"9\.png"):
        made.features(PictureFiles(paths))
    made, network = extractor()
    assert made.features(PictureFiles(paths[:8]))[:, 0].tolist() == list(range(8))
    assert not network.seen


def test_interrupted_work_is_not_lost(tmp_path):
    paths = red_pictures(tmp_path)
    paths[12].write_bytes(b"no picture")
    made, network = extractor()
    with pytest.raises(BrokenPicture, match=r"12\.png"):
        made.features(PictureFiles(paths))
    network.seen.clear()
    values = made.features(PictureFiles(paths[:12]))
    assert values[:, 0].tolist() == list(range(12))
    assert not network.seen


def test_damaged_cache_entries_are_computed_again():
    images = pictures()
    made, network = extractor()
    expected = made.features(images)
    keys = made._keys(images)
    made.cache.put_many({keys[3]: b"short"})
    network.seen.clear()
    assert np.array_equal(made.features(images), expected)
    assert network.seen == [1]


def test_progress_counts_distinct_pictures_to_the_end():
    images = pictures()
    extractor()[0].features(images[:10])
    updates: list[Update] = []
    extractor()[0].features(images[[*range(23), 0]], updates.append)
    counts = [update.done for update in updates]
    assert counts[0] == 10 and counts[-1] == 23
    assert counts == sorted(counts)
    assert {(update.total, update.unit) for update in updates} == {(23, "picture")}


def test_number_of_threads_is_left_as_it_was():
    before = torch.get_num_threads()
    extractor()[0].features(pictures())
    assert torch.get_num_threads() == before


def test_no_pictures_give_no_rows():
    assert extractor()[0].features(pictures(0)).shape == (0, 3)


def test_rows_without_a_picture_are_refused(tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGB", (8, 8)).save(path)
    with pytest.raises(DataError, match=r"1 of 2 rows have no picture, .* row 1"):
        extractor()[0].features(PictureFiles([path, None]))


def test_ready_features_pass_through_without_loading_a_network():
    values = np.arange(6.0).reshape(2, 3)
    given = frozen_features("no such network", None, ImageFeatures(values))
    assert given.dtype == np.float32
    assert np.array_equal(given, values)
    assert np.array_equal(extractor()[0].features(ImageFeatures(values)), values)


def test_frozen_features_are_those_of_the_extractor():
    images = pictures()
    assert np.array_equal(
        frozen_features("tiny", None, images), extractor()[0].features(images)
    )


def test_the_same_network_is_loaded_once_until_its_file_changes(tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    os.utime(path, ns=(0, 0))
    first = FeatureExtractor("tiny", path, device="cpu").network
    assert FeatureExtractor("tiny", path, device="cpu").network is first
    os.utime(path, ns=(0, 5))
    assert FeatureExtractor("tiny", path, device="cpu").network is not first


def test_network_without_weights_is_refused():
    with pytest.raises(SettingError, match="image_weights"):
        frozen_features("cnnf", None, pictures())


def test_pictures_not_to_be_remembered_leave_no_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path / "cache"))
    pictures = PictureArray(np.zeros((1, 8, 8, 3), np.uint8))
    forgotten = frozen_features("tiny", None, pictures, remember=False)
    assert not (tmp_path / "cache").exists()
    assert np.array_equal(forgotten, frozen_features("tiny", None, pictures))
    assert (tmp_path / "cache").exists()
