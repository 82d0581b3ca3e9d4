"""The text network against a plain dense one."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from torch.nn import functional

from fdch.networks.text import TextNetwork, WordLayer, sparse_rows

WORDS = 60


def word_matrix(rows, density, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.random((rows, WORDS)) * (rng.random((rows, WORDS)) < density)
    return csr_array(values.astype(np.float32))


def network(**settings):
    generator = torch.Generator().manual_seed(0)
    return TextNetwork(WORDS, 8, hidden=32, generator=generator, **settings)


def dense_outputs(net, rows):
    hidden = functional.linear(
        torch.from_numpy(rows.toarray()), net.words.weight.T, net.words.bias
    )
    return functional.linear(hidden.relu(), net.output.weight, net.output.bias)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.sampled_from([0.0, 0.03, 0.5, 1.0]), st.integers(0, 99))
def test_equals_a_dense_network_at_any_density(rows, density, seed):
    matrix = word_matrix(rows, density, seed)
    net = network()
    outputs = net(sparse_rows(matrix))
    assert outputs.shape == (rows, 8)
    torch.testing.assert_close(outputs, dense_outputs(net, matrix))


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_gradients_equal_those_of_a_dense_network(density):
    matrix = word_matrix(16, density)
    ours, dense = network(), network()
    ours(sparse_rows(matrix)).square().sum().backward()
    dense_outputs(dense, matrix).square().sum().backward()
    for one, other in zip(ours.parameters(), dense.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_few_words_stay_sparse_and_features_become_dense():
    assert sparse_rows(word_matrix(8, 0.05)).dense is None
    assert sparse_rows(word_matrix(8, 0.5)).dense is not None


def test_a_row_without_words_gives_the_bias():
    layer = WordLayer(WORDS, 4)
    torch.nn.init.ones_(layer.weight)
    layer.bias.data = torch.arange(4.0)
    rows = csr_array((np.ones(1), ([1], [7])), shape=(3, WORDS))
    outputs = layer(sparse_rows(rows))
    assert outputs.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 3]]


def test_no_rows_give_no_outputs():
    assert network()(sparse_rows(word_matrix(0, 0.1))).shape == (0, 8)


def test_repeated_words_add_up():
    layer = WordLayer(WORDS, 1)
    torch.nn.init.ones_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    rows = csr_array((np.array([1.0, 2.0]), ([0, 0], [3, 3])), shape=(1, WORDS))
    assert layer(sparse_rows(rows)).item() == 3


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_word_dropout_acts_only_while_training(density):
    batch = sparse_rows(word_matrix(16, density))
    net = network(word_dropout=0.5)
    without = network()(batch)
    assert not torch.allclose(net.train()(batch), without)
    assert torch.equal(net.eval()(batch), without)


def test_dropped_words_are_as_if_never_written():
    net = network(word_dropout=0.5)
    matrix = word_matrix(16, 0.05)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        outputs = net(sparse_rows(matrix))
        torch.manual_seed(1)
        kept = net.dropout(torch.from_numpy(matrix.data)).numpy()
    assert 0 < (kept == 0).sum() < len(kept)
    matrix.data = kept
    torch.testing.assert_close(outputs, dense_outputs(net, matrix))


def test_a_batch_moves_with_its_numbers():
    batch = sparse_rows(word_matrix(4, 0.05))
    moved = batch.to("cpu")
    assert torch.equal(moved.indices, batch.indices)
    assert moved.dense is None
    dense = sparse_rows(word_matrix(4, 0.9)).to("meta").dense
    assert dense is not None and dense.is_meta


def test_defaults_are_the_papers_widths():
    net = TextNetwork(10, 16)
    assert net.words.weight.shape == (10, 8192)
    assert net.output.weight.shape == (16, 8192)
