"""A word layer that learns row by row ends where AdamW on all rows ends."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from fdch.networks.text import TextNetwork, WordLayer, sparse_rows
from fdch.training.context import Context
from fdch.training.devices import word_rows
from fdch.training.devices.word_rows import update_rows
from fdch.training.loop import Schedule, Sweep
from fdch.training.loop import train as run_stage

WORDS, OUTPUTS, STEPS = 40, 3, 30


@pytest.fixture(autouse=True)
def few_words_are_enough(monkeypatch):
    monkeypatch.setattr(word_rows, "MIN_WORDS", 1)


def make_layer():
    layer = WordLayer(WORDS, OUTPUTS).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
    return layer


def draw_batch(rng, words=3):
    """Rows of frequent and rare words; the last words never occur."""
    matrix = np.zeros((4, WORDS))
    for row in matrix:
        row[(rng.random(words) ** 3 * (WORDS - 5)).astype(int)] = rng.random()
    batch = sparse_rows(csr_array(matrix))
    return batch if batch.dense is None else batch._replace(dense=batch.dense.double())


def learn(layer, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        layer(batch).sin().sum().backward()
        optimizer.step()


def train(is_by_row, make_batch=draw_batch, kind=torch.optim.AdamW):
    """Learn for an epoch at each rate; return the layer and its optimizer."""
    rng = np.random.default_rng(1)
    layer = make_layer()
    optimizer = kind(layer.parameters(), lr=1.0, weight_decay=0.6)
    for rate in (0.1, 0.02):
        optimizer.param_groups[0]["lr"] = rate
        batches = [make_batch(rng) for _ in range(STEPS)]
        if is_by_row:
            with update_rows([layer], [optimizer]):
                learn(layer, optimizer, batches)
        else:
            learn(layer, optimizer, batches)
    return layer, optimizer


def require_same(make_batch=draw_batch):
    """Compare both ways, and what the optimizer remembers of the weights."""
    (layer, ours), (plain, theirs) = (train(way, make_batch) for way in (True, False))
    for found, expected in zip(layer.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
        for name, value in theirs.state[expected].items():
            torch.testing.assert_close(ours.state[found][name], value, msg=name)


def test_rows_end_where_the_plain_optimizer_ends():
    require_same()


def test_a_dense_batch_between_sparse_ones_is_learned_too():
    def make_either(rng):
        return draw_batch(rng, words=3 if rng.random() < 0.7 else 60)

    rng = np.random.default_rng(0)
    assert {make_either(rng).dense is None for _ in range(20)} == {True, False}
    require_same(make_either)


def test_a_step_touches_the_words_of_its_batch_alone():
    layer = make_layer()
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1, weight_decay=0.6)
    batch, before = draw_batch(np.random.default_rng(2)), layer.weight.detach().clone()
    with update_rows([layer], [optimizer]):
        learn(layer, optimizer, [batch])
        moved = (layer.weight != before).any(dim=1).nonzero().flatten()
        assert set(moved.tolist()) == set(batch.indices.tolist())
        assert layer.weight.grad is None
    assert (layer.weight != before).all()  # by decay
    assert layer.rows is None


def test_plain_descent_has_no_rows():
    found, expected = (train(by_row, kind=torch.optim.SGD) for by_row in (True, False))
    assert torch.equal(found[0].weight, expected[0].weight)


def test_few_words_are_left_to_the_plain_optimizer(monkeypatch):
    monkeypatch.setattr(word_rows, "MIN_WORDS", WORDS + 1)
    layer = make_layer()
    with update_rows([layer], [torch.optim.AdamW(layer.parameters())]):
        assert layer.rows is None


class Texts:
    """A stage that fits a text network to random targets."""

    name = "texts"
    items = 20
    stays_on_device = False

    def __init__(self):
        rng = np.random.default_rng(3)
        self.matrix = csr_array(
            rng.random((self.items, WORDS)) < 0.05, dtype=np.float32
        )
        self.targets = torch.from_numpy(rng.standard_normal((self.items, 2))).float()
        self.network = TextNetwork(WORDS, 2, hidden=8, word_dropout=0.3)

    def sweeps(self):
        return [Sweep([self.network], self.loss)]

    def loss(self, rows):
        outputs = self.network(sparse_rows(self.matrix[rows.numpy()]))
        total = (outputs - self.targets[rows]).square().mean()
        return total, {"error": total.detach()}

    def end_epoch(self):
        return {}

    def tensors(self):
        return self.network.state_dict(keep_vars=True)


def test_a_stage_learns_the_same_either_way(monkeypatch):
    stages = []
    for least in (1, WORDS + 1):
        monkeypatch.setattr(word_rows, "MIN_WORDS", least)
        stages.append(Texts())
        schedule = Schedule(4, 6, 1e-2, 1e-3, 0.6, "adamw")
        run_stage(stages[-1], schedule, 0, Context(device="cpu"))
    by_row, plain = (stage.tensors() for stage in stages)
    for name, tensor in plain.items():
        torch.testing.assert_close(by_row[name], tensor, rtol=1e-3, atol=1e-5, msg=name)
