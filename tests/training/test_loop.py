"""Epochs over batches: rates, optimizers, and going on after a stop."""

import itertools
import math
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from fdch.errors import DamagedRun, FdchError
from fdch.networks._base import FeatureNetwork
from fdch.progress import Update
from fdch.training import checkpoints
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import Context
from fdch.training.loop import Schedule, Sweep, lay_out_like_weights, train
from fdch.training.randomness import derive_seed, private_randomness

CPU = torch.device("cpu")


def schedule(**changes):
    settings: dict[str, Any] = {
        "epochs": 4,
        "batch_size": 4,
        "learning_rate": 0.1,
        "final_learning_rate": 0.01,
        "weight_decay": 0.01,
        "optimizer": "adamw",
    }
    return Schedule(**(settings | changes))


class Regression:
    """A stage that fits a line through dropped-out inputs, in two sweeps."""

    name = "regression"
    items = 10
    stays_on_device = False

    def __init__(self):
        generator = torch.Generator().manual_seed(3)
        self.inputs = torch.randn(self.items, 3, generator=generator)
        self.targets = self.inputs @ torch.tensor([[1.0], [-2.0], [0.5]])
        self.networks = [self._network(generator) for _ in range(2)]
        self.ended = torch.zeros(())
        self.seen = []

    def _network(self, generator):
        line = nn.Linear(3, 1)
        with torch.no_grad():
            line.weight.copy_(torch.randn(1, 3, generator=generator))
            line.bias.zero_()
        return nn.Sequential(nn.Dropout(0.3), line)

    def sweeps(self):
        return [Sweep([network], self._loss(network)) for network in self.networks]

    def _loss(self, network):
        def loss(rows):
            self.seen.append(rows.tolist())
            error = (network(self.inputs[rows]) - self.targets[rows]).square().mean()
            return error, {"error": error.detach()}

        return loss

    def end_epoch(self):
        self.ended += 1
        return {"epochs ended": float(self.ended)}

    def tensors(self):
        weights = {
            f"{i}.{key}": value
            for i, network in enumerate(self.networks)
            for key, value in network.state_dict(keep_vars=True).items()
        }
        return weights | {"ended": self.ended}


class Stop(Exception):
    """The user's interruption."""


def stop_after(epochs):
    def progress(update):
        if update.done > epochs:
            raise Stop

    return progress


def snapshot(stage):
    return {key: value.detach().clone() for key, value in stage.tensors().items()}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for key, value in one.items():
        assert torch.equal(value, other[key]), key


def test_the_papers_schedule_runs_from_its_first_rate_to_its_last():
    paper = schedule(epochs=500, learning_rate=10**-1.5, final_learning_rate=10**-3)
    assert paper.rate(0) == 10**-1.5
    assert math.isclose(paper.rate(499), 10**-3)
    logs = [math.log10(paper.rate(epoch)) for epoch in range(500)]
    for epoch, log in enumerate(logs):
        assert math.isclose(log, -1.5 - 1.5 * epoch / 499, abs_tol=1e-12)


def test_a_single_epoch_has_the_first_rate():
    assert schedule(epochs=1).rate(0) == 0.1


def test_a_pretrained_network_gets_its_share_of_the_rate():
    class Backbone(FeatureNetwork):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, pixels):
            return self.layer(pixels)

    backbone = Backbone()
    network = nn.Sequential(backbone, nn.Linear(2, 1))
    groups = schedule(backbone_rate=0.25).build_optimizer(network).param_groups
    assert [group["share"] for group in groups] == [1.0, 0.25]
    assert [len(group["params"]) for group in groups] == [2, 2]
    assert groups[1]["params"][0] is backbone.layer.weight
    decays = schedule(weight_decay=0.6, backbone_decay=0.01).build_optimizer(network)
    assert [group["weight_decay"] for group in decays.param_groups] == [0.6, 0.01]


def test_a_cosine_warms_up_for_an_epoch_and_falls_towards_zero():
    plan = schedule(epochs=4, learning_rate=0.8, shape="cosine")
    expected = [
        0.4,
        0.8 * (1 + math.sqrt(0.5)) / 2,
        0.4,
        0.8 * (1 - math.sqrt(0.5)) / 2,
    ]
    assert [plan.rate(epoch) for epoch in range(4)] == pytest.approx(expected)
    assert schedule(epochs=1, learning_rate=0.8, shape="cosine").rate(0) == 0.8


def test_sgd_is_plain():
    optimizer = schedule(optimizer="sgd").build_optimizer(nn.Linear(2, 1))
    assert isinstance(optimizer, torch.optim.SGD)
    assert optimizer.defaults["momentum"] == 0


def test_one_sgd_step_is_gradient_and_decay_times_the_rate():
    stage = Regression()
    before = snapshot(stage)
    stage.networks = [nn.Sequential(nn.Identity(), n[1]) for n in stage.networks]
    line = stage.networks[0][1]
    errors = line(stage.inputs) - stage.targets
    gradient = 2 * (errors.T @ stage.inputs) / stage.items
    plain = schedule(epochs=1, batch_size=10, optimizer="sgd", weight_decay=0.5)
    train(stage, plain, 0, Context())
    expected = before["0.1.weight"] - 0.1 * (gradient + 0.5 * before["0.1.weight"])
    assert torch.allclose(line.weight, expected, atol=1e-6)


def test_every_sweep_of_every_epoch_takes_each_row_once():
    stage = Regression()
    train(stage, schedule(epochs=2), 0, Context())
    assert [len(rows) for rows in stage.seen] == [4, 4, 2] * 4
    for start in range(0, 12, 3):
        rows = [row for some in stage.seen[start : start + 3] for row in some]
        assert sorted(rows) == list(range(10))
    assert stage.seen[:3] != stage.seen[6:9]


def test_training_lowers_the_error_and_reports_every_epoch():
    updates: list[Update] = []
    train(Regression(), schedule(epochs=6), 0, Context(updates.append))
    assert [(u.task, u.done, u.total, u.unit) for u in updates] == [
        ("regression", epoch, 6, "epoch") for epoch in range(1, 7)
    ]
    assert updates[-1].values["error"] < updates[0].values["error"]
    assert updates[-1].values["epochs ended"] == 6


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_resumed_training_ends_as_uninterrupted_training(tmp_path, optimizer, epochs):
    plan = schedule(optimizer=optimizer)
    whole = Regression()
    train(whole, plan, 5, Context())
    kept = Checkpoints(tmp_path / "kept", "task", seconds=0)
    with pytest.raises(Stop):
        train(Regression(), plan, 5, Context(stop_after(epochs), checkpoints=kept))
    resumed = Regression()
    updates: list[Update] = []
    train(resumed, plan, 5, Context(updates.append, checkpoints=kept))
    assert [update.done for update in updates] == list(range(epochs + 1, 5))
    assert_same(snapshot(resumed), snapshot(whole))


def test_finished_training_is_not_repeated(tmp_path):
    kept = Checkpoints(tmp_path / "kept", "task")
    first = Regression()
    train(first, schedule(), 0, Context(checkpoints=kept))
    again = Regression()
    updates: list[Update] = []
    train(again, schedule(), 0, Context(updates.append, checkpoints=kept))
    assert not updates and not again.seen
    assert_same(snapshot(again), snapshot(first))


@pytest.mark.parametrize("damage", ["missing", "other shape", "no epoch"])
def test_a_checkpoint_that_does_not_fit_is_damage(tmp_path, damage):
    kept = Checkpoints(tmp_path / "kept", "task")
    tensors = snapshot(Regression())
    if damage == "missing":
        del tensors["1.1.bias"]
    if damage == "other shape":
        tensors["1.1.bias"] = torch.zeros(7)
    facts = {} if damage == "no epoch" else {"epoch": 1}
    kept.save("regression", tensors, facts)
    with pytest.raises(DamagedRun, match=r"regression does not fit.*Delete it"):
        train(Regression(), schedule(), 0, Context(checkpoints=kept))


def set_clock(monkeypatch, clock):
    """Change the time of checkpoints alone: other threads look at the clock, too."""
    monkeypatch.setattr(checkpoints, "time", SimpleNamespace(monotonic=clock))


def test_an_unfinished_epoch_is_not_kept_before_its_time(tmp_path, monkeypatch):
    set_clock(monkeypatch, lambda: 0.0)
    kept = Checkpoints(tmp_path / "kept", "task", seconds=3600)
    with pytest.raises(Stop):
        train(Regression(), schedule(), 0, Context(stop_after(2), checkpoints=kept))
    assert kept.load("regression") is None


def test_training_stopped_after_seconds_goes_on_from_where_it_was(
    tmp_path, monkeypatch
):
    whole = Regression()
    train(whole, schedule(), 0, Context())
    ticks = itertools.count(step=2.0)  # seconds that pass with every look
    set_clock(monkeypatch, lambda: next(ticks))
    kept = Checkpoints(tmp_path / "kept", "task")
    with pytest.raises(Stop):
        train(Regression(), schedule(), 0, Context(stop_after(3), checkpoints=kept))
    resumed = Regression()
    updates: list[Update] = []
    train(resumed, schedule(), 0, Context(updates.append, checkpoints=kept))
    assert [update.done for update in updates] == [4]
    assert_same(snapshot(resumed), snapshot(whole))


@pytest.mark.parametrize("jump", [-3600, 365 * 24 * 3600])
def test_a_clock_that_is_set_changes_neither_checkpoints_nor_the_result(
    tmp_path, monkeypatch, jump
):
    whole = Regression()
    train(whole, schedule(), 0, Context())
    began = time.time()

    def set_ahead(update):
        now = began + jump * update.done
        monkeypatch.setattr("time.time", lambda: now)
        monkeypatch.setattr("time.time_ns", lambda: int(now * 10**9))
        if update.done == 3:
            assert kept.load("regression") is None  # no second has passed
            kept.seconds = 0  # from now on, every epoch is saved
        if update.done > 3:
            raise Stop

    set_clock(monkeypatch, lambda: 0.0)
    kept = Checkpoints(tmp_path / "kept", "task", seconds=60)
    with pytest.raises(Stop):
        train(Regression(), schedule(), 0, Context(set_ahead, checkpoints=kept))
    resumed = Regression()
    train(resumed, schedule(), 0, Context(checkpoints=kept))
    assert_same(snapshot(resumed), snapshot(whole))


def test_a_judge_sees_every_epoch_and_changes_nothing():
    plain = Regression()
    train(plain, schedule(), 0, Context())
    judged, seen = Regression(), []
    train(judged, schedule(), 0, Context(judge=lambda *epoch: seen.append(epoch)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert_same(snapshot(judged), snapshot(plain))


def test_a_judge_ends_training():
    def judge(done, total):
        if done == 2:
            raise Stop

    stage = Regression()
    with pytest.raises(Stop):
        train(stage, schedule(), 0, Context(judge=judge))
    assert stage.ended == 2


def test_seeds_change_the_order_and_the_result():
    results = []
    for seed in (1, 1, 2):
        stage = Regression()
        train(stage, schedule(), seed, Context())
        results.append((stage.seen, snapshot(stage)))
    assert results[0][0] == results[1][0] != results[2][0]
    assert_same(results[0][1], results[1][1])
    assert not torch.equal(results[0][1]["0.1.weight"], results[2][1]["0.1.weight"])


def test_networks_are_left_in_evaluation_mode():
    stage = Regression()
    train(stage, schedule(epochs=1), 0, Context())
    assert not any(network.training for network in stage.networks)


def test_divergence_is_reported_with_what_to_change():
    wild = schedule(optimizer="sgd", learning_rate=1e30, final_learning_rate=1e30)
    with pytest.raises(
        FdchError, match=r"regression diverged in epoch 1.*learning_rate"
    ):
        train(Regression(), wild, 0, Context())


def test_training_leaves_torchs_generator_as_it_was():
    stage = Regression()
    before = torch.get_rng_state()
    train(stage, schedule(), 0, Context())
    assert torch.equal(torch.get_rng_state(), before)


def test_private_randomness_repeats_and_leaves_no_trace():
    before = torch.get_rng_state()
    draws = []
    for purpose in ("a", "a", "b"):
        with private_randomness(CPU, 0, purpose, 1):
            draws.append(torch.rand(3))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert torch.equal(torch.get_rng_state(), before)


def test_private_randomness_of_threads_is_that_of_each_alone():
    def draw(seed):
        with private_randomness(CPU, seed, "a"):
            first = torch.rand(1)
            time.sleep(0.02)  # others would draw meanwhile
            return first, torch.rand(1)

    seeds = [1, 2, 1, 2]
    alone = [draw(seed) for seed in seeds]
    with ThreadPoolExecutor(len(seeds)) as pool:
        assert list(pool.map(draw, seeds)) == alone


def test_private_randomness_draws_what_torchs_own_seed_gives():
    with private_randomness(CPU, 3, "stage 1", 7):
        drawn = torch.rand(5), torch.randperm(50)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(3, "stage 1", 7))
        assert torch.equal(drawn[0], torch.rand(5))
        assert torch.equal(drawn[1], torch.randperm(50))


def test_work_on_the_cpu_wakes_no_accelerator(monkeypatch):
    woken: list[str] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for name in ("get_rng_state", "set_rng_state", "manual_seed", "manual_seed_all"):
        monkeypatch.setattr(torch.cuda, name, lambda *_, name=name: woken.append(name))
    with private_randomness(CPU, 0, "a"):
        torch.rand(3)
    assert not woken


@pytest.mark.device
def test_work_on_a_device_draws_what_torchs_own_seed_gives():
    device = torch.device("cuda")
    before = torch.cuda.get_rng_state(device)
    with private_randomness(device, 3, "stage 1", 7):
        drawn = torch.rand(5, device=device), torch.rand(5)
    assert torch.equal(torch.cuda.get_rng_state(device), before)
    with torch.random.fork_rng([device]):
        torch.manual_seed(derive_seed(3, "stage 1", 7))
        assert torch.equal(drawn[0], torch.rand(5, device=device))
        assert torch.equal(drawn[1], torch.rand(5))


def test_seeds_of_purposes_are_fixed_numbers():
    assert derive_seed(0, "weights") == derive_seed(0, "weights")
    assert derive_seed(0, "weights") != derive_seed(1, "weights")
    assert derive_seed(1, "2") == derive_seed(1, 2)
    assert 0 <= derive_seed(0, "stage 1", 7) < 2**56


def test_resumed_moments_lie_in_memory_as_their_weights_do():
    weight = nn.Parameter(torch.randn(4, 3, 2, 2).to(memory_format=torch.channels_last))
    optimizer = torch.optim.AdamW([weight], fused=True)
    weight.grad = torch.randn_like(weight)
    optimizer.step()
    saved = optimizer.state_dict()
    moments = saved["state"][0]
    moments |= {name: moments[name].contiguous() for name in ("exp_avg", "exp_avg_sq")}
    optimizer.load_state_dict(saved)
    expected = optimizer.state[weight]["exp_avg"].clone()
    lay_out_like_weights(optimizer)
    assert optimizer.state[weight]["exp_avg"].stride() == weight.stride()
    assert torch.equal(optimizer.state[weight]["exp_avg"], expected)
    assert optimizer.state[weight]["step"] == 1
