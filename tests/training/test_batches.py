"""Training pairs as tensors, and networks run batch by batch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, hstack
from torch import nn

from fdch.networks.fusion import FusionNetwork, PairNetwork
from fdch.networks.head import ImageHead
from fdch.networks.text import TextNetwork
from fdch.training import batches
from fdch.training.batches import ResidentWords, TrainingPairs

ITEMS, WIDTH, WORDS, BITS = 11, 5, 30, 4


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    return {
        "images": rng.standard_normal((ITEMS, WIDTH)).astype(np.float32),
        "texts": csr_array((rng.random((ITEMS, WORDS)) < 0.08).astype(np.float32)),
        "labels": (rng.random((ITEMS, 3)) < 0.5).astype(np.uint8),
    }


def training(inputs, **changes):
    return TrainingPairs(**(inputs | changes), device=torch.device("cpu"))


def pair_network():
    return PairNetwork(
        ImageHead(WIDTH, 6, dropout=0.5),
        TextNetwork(WORDS, 6, hidden=8, word_dropout=0.5),
        FusionNetwork(6, BITS, hidden=8),
    )


def test_rows_are_those_requested(inputs):
    pairs = training(inputs)
    rows = torch.tensor([4, 0, 4])
    assert np.array_equal(pairs.images(rows), inputs["images"][[4, 0, 4]])
    words = pairs.texts(rows)
    assert words.offsets[-1] == inputs["texts"][[4, 0, 4]].nnz
    assert pairs.items == ITEMS
    assert np.array_equal(pairs.labels.numpy(), inputs["labels"])
    assert pairs.labels.dtype == torch.float32


def test_outputs_of_no_rows_have_all_columns(inputs):
    images, texts = inputs["images"][:0], inputs["texts"][:0]
    network = pair_network()
    assert batches.pair_outputs(network, images, texts).shape == (0, BITS)
    assert batches.image_outputs(network.image, images).shape == (0, 6)
    assert batches.text_outputs(network.text, texts).shape == (0, 6)


def test_static_features_go_with_their_rows(inputs):
    static = np.arange(ITEMS * 3, dtype=np.float32).reshape(ITEMS, 3)
    pairs = training(inputs, static=static)
    words = pairs.texts(torch.tensor([4, 0, 4]))
    assert words.static is not None
    assert np.array_equal(words.static, static[[4, 0, 4]])
    assert training(inputs).texts(torch.tensor([1])).static is None


def test_static_columns_of_a_wide_matrix_reach_the_network(inputs):
    static = np.random.default_rng(3).standard_normal((ITEMS, 3)).astype(np.float32)
    wide = csr_array(hstack([inputs["texts"], csr_array(static)]))
    network = PairNetwork(
        ImageHead(WIDTH, 6),
        TextNetwork(WORDS, 6, static=3, hidden=8),
        FusionNetwork(6, BITS, hidden=8),
    )
    pairs = training(inputs, static=static)
    expected = pairs.outputs(
        lambda rows: network(pairs.images(rows), pairs.texts(rows)), [network]
    )
    found = batches.pair_outputs(network, inputs["images"], wide)
    assert np.allclose(found, expected, atol=1e-6)
    texts = pairs.outputs(lambda rows: network.text(pairs.texts(rows)), [network])
    assert np.allclose(batches.text_outputs(network.text, wide), texts, atol=1e-6)


def test_pixels_are_taken_from_a_read_only_store(inputs, tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (ITEMS, 2, 2, 3), dtype=np.uint8)
    np.save(tmp_path / "pixels.npy", pixels)
    store = np.load(tmp_path / "pixels.npy", mmap_mode="r")
    pairs = training(inputs, images=store)
    assert np.array_equal(pairs.images(torch.tensor([2, 9])), pixels[[2, 9]])

    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, pixels):
            return pixels.float().mean(dim=(1, 2)) * self.scale

    outputs = batches.image_outputs(Mean(), store)
    assert np.allclose(outputs, pixels.mean(axis=(1, 2)), atol=1e-4)


def test_read_only_features_are_taken(inputs):
    inputs["images"].flags.writeable = False
    pairs = training(inputs)
    assert np.array_equal(pairs.images(torch.tensor([1])), inputs["images"][[1]])
    head = ImageHead(WIDTH, BITS)
    assert batches.image_outputs(head, inputs["images"]).shape == (ITEMS, BITS)


def test_outputs_are_in_row_order_without_dropout_or_gradients(inputs, monkeypatch):
    monkeypatch.setattr(batches, "FEATURES_AT_ONCE", 4)
    pairs, network = training(inputs), pair_network()
    network.train()
    outputs = pairs.outputs(
        lambda rows: network(pairs.images(rows), pairs.texts(rows)), [network]
    )
    expected = batches.pair_outputs(network, inputs["images"], inputs["texts"])
    assert not outputs.requires_grad
    assert not network.training
    assert np.allclose(outputs, expected, atol=1e-6)


@given(size=st.integers(1, 12), items=st.integers(0, ITEMS))
def test_outputs_do_not_depend_on_the_batch(size, items):
    rng = np.random.default_rng(2)
    images = rng.standard_normal((items, WIDTH)).astype(np.float32)
    texts = csr_array((rng.random((items, WORDS)) < 0.1).astype(np.float32))
    network = pair_network()
    results = []
    for batch in (size, ITEMS):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batches, "FEATURES_AT_ONCE", batch)
            results.append(
                (
                    batches.image_outputs(network.image, images),
                    batches.text_outputs(network.text, texts),
                    batches.pair_outputs(network, images, texts),
                )
            )
    for one, other in zip(*results, strict=True):
        assert one.dtype == np.float32
        assert len(one) == items
        assert np.allclose(one, other, atol=1e-5)


def test_resident_words_are_the_rows_of_the_matrix(inputs):
    texts = inputs["texts"].copy()
    texts.data[:] = np.arange(1, texts.nnz + 1)
    rows = torch.tensor([3, 0, 10, 3])
    batch = ResidentWords(texts, torch.device("cpu")).take(rows)
    np.testing.assert_array_equal(batch.dense, texts.toarray()[rows])


def test_resident_texts_without_words_are_zero():
    words = ResidentWords(csr_array((2, WORDS), dtype=np.float32), torch.device("cpu"))
    dense = words.take(torch.tensor([1, 0])).dense
    np.testing.assert_array_equal(dense, np.zeros((2, WORDS)))
