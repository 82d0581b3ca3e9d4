"""A method whose training takes made-up time, and whose score is known."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from fdch.errors import FdchError
from fdch.methods._base import HashMethod
from fdch.methods._settings.space import Choice, Range
from fdch.progress import Update
from fdch.training.context import PLAIN, Context
from fdch.tuning import search
from fdch.tuning.held_out import Folds
from fdch.tuning.proposals import TuningTask
from fdch.tuning.records import Records
from fdch.tuning.search import Budget, Search

EPOCHS = 4


@dataclass
class Toy(HashMethod):
    """Scores best at strength 0.9, width 8 and without trouble."""

    strength: float = 0.5
    width: int = 4
    trouble: bool = False
    seconds: float = 10.0

    search_space: ClassVar = {
        "strength": Range(0.0, 1.0),
        "width": Range(1, 64, log=True),
        "trouble": Choice((False, True)),
    }

    def image_outputs(self, images):
        raise NotImplementedError

    def text_outputs(self, texts):
        raise NotImplementedError

    def _learn(self, inputs, pairs, validation, context):
        raise NotImplementedError

    def _state(self):
        raise NotImplementedError

    def _load_state(self, inputs, state, context):
        raise NotImplementedError


@dataclass
class World:
    """The time, what was fitted in it, and how good settings are."""

    now: float = 1000.0
    fits: list[Any] = field(default_factory=list)
    stop_after: int | None = None
    best: float = 0.9
    growth: float = 1.0
    task: str = ""

    def clock(self):
        return self.now

    def fit(self, method, pairs, validation, *, context: Context = PLAIN):
        if len(self.fits) == self.stop_after:
            raise KeyboardInterrupt
        sizes = len(pairs), len(validation)
        self.fits.append((method.strength, method.width, sizes))
        if method.trouble:
            raise FdchError("this trial was made to fail")
        for epoch in range(1, EPOCHS + 1):
            self.now += method.seconds * self.growth ** len(self.fits) / EPOCHS
            context.progress(Update("toy", epoch, EPOCHS, "epoch"))
            if context.judge is not None:
                context.judge(epoch, EPOCHS)
        return method

    def score(self, method, pairs, context):
        """Scores of pairs: the settings' own, and noise that the pairs have."""
        noise = np.random.default_rng(len(pairs.ids[0]) + int(pairs.labels.sum()))
        far = abs(method.strength - self.best) + 0.01 * abs(method.width - 8)
        return 0.5 - 0.1 * far + 0.05 * noise.standard_normal(len(pairs))


@pytest.fixture
def world(monkeypatch):
    """A world of made-up trainings."""
    made = World()
    monkeypatch.setattr(Toy, "fit", lambda method, *a, **k: made.fit(method, *a, **k))
    monkeypatch.setattr(search, "score_held_out", made.score)
    return made


@pytest.fixture
def toy_task():
    return TuningTask(Toy(bits=8), {"trouble"}, "data", "split")


@pytest.fixture
def run_search(world, toy_task, factor_pairs, tmp_path):
    """Search, or go on with a search, for some minutes of the made-up time."""

    def run(minutes, task=toy_task, progress=lambda update: None, folder="study"):
        records = Records.open(tmp_path / folder, task.fingerprint, task.defaults)
        budget = Budget(60 * minutes, records.spent, world.clock)
        folds = Folds(factor_pairs(100), 0)
        Search(task, folds, records, budget, Context(progress)).run()
        return records

    return run
