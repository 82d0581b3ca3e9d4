"""The text network against a plain dense one."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from torch.nn import functional

from fdch.networks.fusion import FusionNetwork, PairNetwork
from fdch.networks.head import ImageHead, fit_standardization
from fdch.networks.text import (
    STATIC_SCALE,
    TextNetwork,
    WordLayer,
    sparse_rows,
    static_width,
)

WORDS, STATIC = 60, 7


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


def wide_matrix(rows, density=0.05, seed=0):
    """Words, and static features that are neither centred nor of one scale."""
    rng = np.random.default_rng(seed)
    static = rng.standard_normal((rows, STATIC)) * np.arange(1, STATIC + 1) + 3
    words = word_matrix(rows, density, seed).toarray()
    return csr_array(np.hstack([words, static]).astype(np.float32))


def static_outputs(net, rows, mean, deviation):
    """Outputs of words and static features, number by number."""
    words, static = rows[:, :WORDS], rows[:, WORDS:]
    parts = {key: value.double().numpy() for key, value in net.state_dict().items()}
    outputs = np.zeros((len(rows), 8))
    for i in range(len(rows)):
        hidden = parts["words.bias"].copy()
        for word in range(WORDS):
            hidden += words[i, word] * parts["words.weight"][word]
        for column in range(STATIC):
            value = (static[i, column] - mean[column]) / deviation[column]
            hidden += STATIC_SCALE * value * parts["static.weight"][column]
        shown = np.maximum(hidden, 0)
        outputs[i] = parts["output.weight"] @ shown + parts["output.bias"]
    return outputs


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_static_features_are_standardised_and_added_to_the_words(density):
    matrix, net = wide_matrix(9, density), network(static=STATIC)
    rows = matrix.toarray().astype(np.float64)
    unfitted = static_outputs(net, rows, np.zeros(STATIC), np.ones(STATIC))
    found = net(sparse_rows(matrix, STATIC)).detach().numpy()
    np.testing.assert_allclose(found, unfitted, atol=1e-4)
    training = wide_matrix(50, seed=1).toarray()[:, WORDS:].astype(np.float64)
    fit_standardization(net, training, of="text")
    mean, deviation = training.mean(axis=0), training.std(axis=0)
    expected = static_outputs(net, rows, mean, deviation)
    found = net(sparse_rows(matrix, STATIC)).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_each_side_of_a_pair_is_standardised_by_its_own_features():
    pair = PairNetwork(
        ImageHead(STATIC, 8), network(static=STATIC), FusionNetwork(8, 2, hidden=4)
    )
    fit_standardization(pair, np.full((3, STATIC), -5.0))
    fit_standardization(pair, np.full((3, STATIC), -9.0), of="text")
    state = pair.state_dict()
    assert state["image.standardization.mean"].tolist() == [-5.0] * STATIC
    assert state["text.static.standardization.mean"].tolist() == [-9.0] * STATIC


def test_word_dropout_leaves_static_features_alone():
    matrix = wide_matrix(16)
    empty = csr_array(np.hstack([np.zeros((16, WORDS)), matrix.toarray()[:, WORDS:]]))
    net = network(static=STATIC, word_dropout=0.9).train()
    batch = sparse_rows(empty, STATIC)
    assert torch.equal(net(batch), net.eval()(batch))


def test_static_dropout_acts_only_while_training_and_on_static_features():
    batch = sparse_rows(wide_matrix(16), STATIC)
    net, without = network(static=STATIC, static_dropout=0.5), network(static=STATIC)
    assert not torch.allclose(net.train()(batch), without(batch))
    assert torch.equal(net.eval()(batch), without.eval()(batch))
    assert batch.static is not None
    silent = batch.with_static(torch.zeros_like(batch.static))
    assert torch.equal(net.train()(silent), without(silent))


def test_a_network_says_how_many_of_its_columns_are_static():
    assert static_width(network()) == 0
    pair = PairNetwork(
        ImageHead(3, 8), network(static=STATIC), FusionNetwork(8, 2, hidden=4)
    )
    assert static_width(pair) == STATIC
    assert static_width(ImageHead(3, 4)) == 0


def test_a_batch_moves_with_its_static_features():
    batch = sparse_rows(wide_matrix(4), STATIC)
    assert batch.dense is None and batch.static is not None
    moved = batch.to("meta").static
    assert moved is not None and moved.is_meta


def test_static_features_change_no_weight_drawn_for_the_words():
    plain, wide = network(), network(static=STATIC)
    assert torch.equal(plain.words.weight, wide.words.weight)
    assert wide.static is not None
    assert 0 < wide.static.weight.abs().max() <= STATIC**-0.5
