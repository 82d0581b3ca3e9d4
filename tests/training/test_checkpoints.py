"""Unfinished training on disk."""

import json
import os
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

from fdch.errors import DamagedRun, RunError
from fdch.training import checkpoints
from fdch.training.checkpoints import Checkpoints


@pytest.fixture
def kept(tmp_path):
    return Checkpoints(tmp_path / "checkpoints", "this task", seconds=0)


def test_nothing_is_there_at_first(kept):
    assert kept.load("stage 1") is None
    assert not kept.folder.exists()


def test_tensors_and_facts_come_back_as_they_were(kept):
    weights = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    tensors = {"weights": weights, "turned": weights.T, "count": torch.tensor(7)}
    kept.save("stage 1", tensors, {"epoch": 3})
    found, facts = kept.load("stage 1")
    assert facts == {"epoch": 3}
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(found[name], tensor)


def test_the_last_save_counts_and_nothing_else_is_left(kept):
    for epoch in (1, 2):
        kept.save("stage 1", {"x": torch.tensor([float(epoch)])}, {"epoch": epoch})
    found, facts = kept.load("stage 1")
    assert (found["x"].item(), facts["epoch"]) == (2, 2)
    assert [file.name for file in kept.folder.iterdir()] == ["stage 1.safetensors"]


def test_a_checkpoint_of_another_task_is_refused(kept):
    kept.save("stage 1", {"x": torch.zeros(1)}, {"epoch": 1})
    other = Checkpoints(kept.folder, "another task")
    with pytest.raises(RunError, match=r"belongs to other data or settings.*folder"):
        other.load("stage 1")


@pytest.mark.parametrize("damage", ["cut", "changed header", "empty", "no tensors"])
def test_a_damaged_checkpoint_is_reported_with_its_path(kept, damage):
    kept.save("stage 1", {"x": torch.zeros(100)}, {"epoch": 1})
    path = kept.folder / "stage 1.safetensors"
    content = path.read_bytes()
    changed = {
        "cut": content[:-10],
        "changed header": b"\xff" * 8 + content[8:],
        "empty": b"",
        "no tensors": b"hello, this is not a checkpoint",
    }
    path.write_bytes(changed[damage])
    with pytest.raises(DamagedRun, match=r"stage 1\.safetensors.*Delete it"):
        kept.load("stage 1")


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"task": "this task"},
        {"task": "this task", "facts": "{"},
        {"task": "this task", "facts": "[1]"},
        {"task": "this task", "facts": "[" * 100_000},
    ],
)
def test_unfit_facts_are_damage(kept, metadata):
    kept.folder.mkdir()
    path = kept.folder / "stage 1.safetensors"
    given = None if metadata is None else {"format": "1", **metadata}
    save_file({"x": torch.zeros(1)}, path, metadata=given)
    with pytest.raises(DamagedRun, match="cannot be read"):
        kept.load("stage 1")


def test_a_checkpoint_of_another_format_is_refused(kept):
    kept.folder.mkdir()
    facts = {"format": "2", "task": "this task", "facts": json.dumps({"epoch": 1})}
    save_file({"x": torch.zeros(1)}, kept.folder / "s.safetensors", metadata=facts)
    with pytest.raises(RunError, match="format 2"):
        kept.load("s")


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless a test moves it."""
    now = SimpleNamespace(seconds=1000.0)
    clock = SimpleNamespace(monotonic=lambda: now.seconds)
    monkeypatch.setattr(checkpoints, "time", clock)
    return now


def waits(kept, clock, name):
    """Count the seconds until a save is due, and save."""
    began = clock.seconds
    while not kept.due(name):
        clock.seconds += 1
    kept.save(name, {"x": torch.zeros(1)}, {})
    return clock.seconds - began


def test_first_saves_come_soon_and_later_ones_seldom(tmp_path, clock):
    kept = Checkpoints(tmp_path / "c", "task")
    found = [waits(kept, clock, "stage 1") for _ in range(6)]
    assert found == [5, 10, 20, 40, 60, 60]
    assert waits(kept, clock, "stage 2") == 5


def test_no_wait_is_longer_than_the_requested_one(tmp_path, clock):
    assert waits(Checkpoints(tmp_path / "a", "task", seconds=0), clock, "s") == 0
    often = Checkpoints(tmp_path / "b", "task", seconds=7)
    assert [waits(often, clock, "s") for _ in range(3)] == [5, 7, 7]


def test_clearing_removes_the_folder(kept):
    kept.clear()
    kept.save("stage 1", {"x": torch.zeros(1)}, {})
    (kept.folder / "stage 2.partial").write_bytes(b"half")
    kept.clear()
    assert not kept.folder.exists()


def test_a_failed_write_leaves_the_earlier_checkpoint(kept, monkeypatch):
    kept.save("stage 1", {"x": torch.ones(1)}, {"epoch": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RunError, match=r"No space left.*free space"):
        kept.save("stage 1", {"x": torch.zeros(1)}, {"epoch": 2})
    monkeypatch.undo()
    found, facts = kept.load("stage 1")
    assert (found["x"].item(), facts["epoch"]) == (1, 1)
