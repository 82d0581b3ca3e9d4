"""Settings compared on held-out pairs: what a method's defaults were chosen by.

Every trial is fitted on four fifths of a split's training part and scored on the
last fifth, for several seeds; test queries play no part.
"""

import statistics
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from fdch import __version__, methods
from fdch.data.splits import Split, SplitSizes
from fdch.errors import MissingFile, SettingError
from fdch.evaluation.tables import Cell, Spread, Table
from fdch.files import fingerprint, load_json, make_folder, write_json
from fdch.methods._base import HashMethod
from fdch.methods._settings import configure, identifying, write_setting
from fdch.progress import Update
from fdch.runs.preparation import TrainingData
from fdch.training.context import PLAIN, Context
from fdch.tuning.held_out import Folds, measure_held_out, training_part

DEFAULTS = "defaults"  # the trial that all others are compared with
MAX_BYTES = 2**20  # of a trial's scores
MEASURES = ("map", "precision_at_10")
Settings = Mapping[str, str]


@dataclass(frozen=True)
class Ablation:
    """What is compared.

    Args:
        out: Folder of the measurements; those that are there are not made again.
        trials: Settings in text form by the trial's name, "defaults" among them.
        method: The method's name.
        bits: Length of the codes.
        seeds: Each draws a split and its held-out pairs.
        sizes: Sizes of the splits; None for the usual ones.
    """

    out: Path
    trials: Mapping[str, Settings]
    method: str = "fdch"
    bits: int = 64
    seeds: Sequence[int] = (0, 1, 2)
    sizes: SplitSizes | None = None

    def measure(self, source: str, context: Context = PLAIN) -> "Comparison":
        """Run every trial on one data set, or read what was run."""
        for name in self.trials:
            self._method(name, seed=0)  # refuses wrong settings before any work
        make_folder(self.out)
        data = TrainingData(source, needs_labels=False, context=context)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in self.trials}
        total = len(self.trials) * len(self.seeds)
        done = 0
        for seed in self.seeds:
            split = Split.draw(data.pairs, seed, self.sizes)
            for name in self.trials:
                found[name].append(self._cell(name, split, data, context))
                done += 1
                context.progress(Update(f"trials on {source}", done, total, "fit"))
        return Comparison(source, found)

    def _cell(
        self, name: str, split: Split, data: TrainingData, context: Context
    ) -> dict[str, Any]:
        method = self._method(name, split.seed)
        task = {
            "method": self.method,
            "settings": identifying(method),
            "data": data.pairs.fingerprint,
            "split": split.fingerprint,
            "version": __version__,
        }
        path = self.out / f"{fingerprint(task)}.json"
        if (scores := _read_scores(path)) is not None:
            return scores
        part = training_part(data.pairs_for(method), split)
        fold = Folds(part, split.seed)[0]
        began = time.monotonic()
        method.fit(fold.train, context=Context(device=context.device))
        scores = measure_held_out(method, fold.held_out, context)
        seconds = round(time.monotonic() - began, 1)
        write_json(
            path,
            {
                "trial": name,
                "data": data.pairs.name,
                "task": task,
                "seconds": seconds,
                "scores": scores,
            },
        )
        return scores

    def _method(self, trial: str, seed: int) -> HashMethod:
        kind, settings = methods.load(self.method), self.trials[trial]
        return configure(kind, settings, bits=self.bits, seed=seed)


@dataclass(frozen=True)
class Comparison:
    """The scores of all trials on one data set.

    Args:
        data: Where it was read from.
        scores: Of each trial, one to a seed: gallery to direction to measure.
    """

    data: str
    scores: Mapping[str, Sequence[Mapping[str, Any]]]

    def mean(self, trial: str, gallery: str, measure: str) -> Spread | None:
        """Give the mean over both directions, with its spread over seeds.

        Of other trials than the defaults: the gain over these, seed by seed.
        """
        own = [_mean(part, gallery, measure) for part in self.scores[trial]]
        if any(value is None for value in own):
            return None
        values = [value for value in own if value is not None]
        if trial != DEFAULTS:
            base = [_mean(part, gallery, measure) for part in self.scores[DEFAULTS]]
            values = [a - (b or 0.0) for a, b in zip(values, base, strict=True)]
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return Spread(statistics.fmean(values), deviation)


def load_trials(method: str, path: Path | None = None) -> dict[str, dict[str, str]]:
    """Read trials from a file, or those that come with a method.

    Raises:
        SettingError: There are none, or what is there is no trial.
        MissingFile: The file is not there.
    """
    methods.load(method)  # refuses an unknown one by its name
    if path is None:
        source = resources.files(__package__).joinpath("trials", f"{method}.toml")
        if not source.is_file():
            raise SettingError(
                f"no trials come with {method}. Give a file of them with --trials."
            )
        content = source.read_bytes()
    else:
        content = _read_file(path)
    try:
        found = dict(_trials(tomllib.loads(content.decode())))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SettingError(
            f"'{path}' is not TOML ({problem}). Write a line to each trial, such as "
            '"no prior" = { prior_weight = 0.0 }.'
        ) from problem
    return {DEFAULTS: {}, **found}


def _trials(content: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Give tables of plain values, at any depth: each is a trial."""
    for name, value in content.items():
        if not isinstance(value, dict):
            raise SettingError(
                f"'{name}' stands outside a trial. Write trials as tables, such as "
                '"no prior" = { prior_weight = 0.0 }.'
            )
        if any(isinstance(inner, dict) for inner in value.values()):
            yield from _trials(value)
        else:
            yield name, {key: write_setting(inner) for key, inner in value.items()}


def gain_table(comparisons: Sequence[Comparison]) -> Table:
    """Lay out the defaults' scores and every trial's gain over them."""
    columns = [
        (comparison, gallery, measure)
        for comparison in comparisons
        for gallery in ("modality", "unified")
        for measure in MEASURES
    ]
    titles = {"map": "mAP", "precision_at_10": "P@10"}
    header = tuple(
        f"{comparison.data} {gallery} {titles[measure]}"
        for comparison, gallery, measure in columns
    )
    names = list(comparisons[0].scores)
    rows: list[tuple[Cell, ...]] = [
        (name, *(each.mean(name, gallery, key) for each, gallery, key in columns))
        for name in names
    ]
    return Table(
        ("trial", *header),
        tuple(rows),
        (
            "mean of both directions; trials below the defaults are gains over them, "
            "mean ± standard deviation over seeds",
        ),
    )


def _mean(scores: Mapping[str, Any], gallery: str, measure: str) -> float | None:
    if gallery not in scores:
        return None
    return statistics.fmean(part[measure] for part in scores[gallery].values())


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise MissingFile(
            f"the trials '{path}' cannot be read ({problem.strerror}); check the path."
        ) from problem


def _read_scores(path: Path) -> dict[str, Any] | None:
    """Read what a trial scored; None where that is missing or damaged."""
    try:
        return dict(load_json(path, MAX_BYTES)["scores"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
