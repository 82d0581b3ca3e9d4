"""Shares of a batch give the outputs, and draw the numbers, of the whole batch."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from fdch.networks.head import ImageHead
from fdch.networks.share import Share, compute_share, current_share
from fdch.networks.text import TextNetwork, sparse_rows
from fdch.training.batches import TrainingPairs

ITEMS, WIDTH, WORDS, STATIC, BITS = 11, 6, 40, 5, 4
SHARES = (slice(0, 5), slice(5, 11))


def run(network, inputs, share=None):
    """Run a network with fresh random numbers; return outputs and the next number."""
    with torch.random.fork_rng(), compute_share(share):
        torch.manual_seed(0)
        return network(inputs), torch.rand(())


def assert_shares_make_up_the_batch(network, inputs_of):
    expected, next_number = run(network, inputs_of(None))
    parts = []
    for rows in SHARES:
        share = Share(ITEMS, rows)
        outputs, number = run(network, inputs_of(share), share)
        assert len(outputs) == rows.stop - rows.start
        assert number == next_number
        parts.append(outputs)
    torch.testing.assert_close(torch.cat(parts), expected)


def test_images_are_dropped_out_as_in_the_whole_batch():
    features = torch.randn(ITEMS, WIDTH, generator=torch.Generator().manual_seed(1))
    head = ImageHead(WIDTH, BITS, hidden=8, dropout=0.5).train()
    assert_shares_make_up_the_batch(
        head, lambda share: features if share is None else features[share.rows]
    )


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_words_are_dropped_as_in_the_whole_batch(density):
    rng = np.random.default_rng(0)
    words = csr_array((rng.random((ITEMS, WORDS)) < density).astype(np.float32))
    static = torch.from_numpy(rng.standard_normal((ITEMS, STATIC)).astype(np.float32))
    batch = sparse_rows(words).with_static(static)
    assert (batch.dense is None) == (density < 0.1)
    network = TextNetwork(
        WORDS, BITS, static=STATIC, hidden=8, word_dropout=0.4, static_dropout=0.3
    ).train()
    assert_shares_make_up_the_batch(network, lambda share: batch)


def test_training_pairs_give_the_images_of_the_share_and_all_texts():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((ITEMS, WIDTH)).astype(np.float32)
    labels = np.ones((ITEMS, 2), np.uint8)
    words = csr_array(np.eye(ITEMS, WORDS, dtype=np.float32))
    pairs = TrainingPairs(features, words, labels, torch.device("cpu"))
    rows = torch.tensor([7, 2, 4])
    with compute_share(Share(3, slice(1, 3))):
        assert np.array_equal(pairs.images(rows), features[[2, 4]])
        assert pairs.texts(rows).indices.tolist() == [7, 2, 4]
    assert current_share() is None
    assert np.array_equal(pairs.images(rows), features[[7, 2, 4]])
