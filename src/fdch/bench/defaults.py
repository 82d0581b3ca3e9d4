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
from itertools import product
from pathlib import Path
from typing import Any

from fdch import methods
from fdch.data.split_drawing import SplitSizes
from fdch.data.splits import Split
from fdch.errors import MissingFile, SettingError, suggestion
from fdch.evaluation.tables import Spread, Table
from fdch.files import fingerprint, load_json, make_folder, write_json
from fdch.methods._base import HashMethod
from fdch.methods._settings.assignments import configure, write_setting
from fdch.progress import Update
from fdch.runs.pipeline import identify_training
from fdch.runs.preparation import TrainingData
from fdch.training.context import PLAIN, Context
from fdch.tuning.held_out import Folds, measure_held_out, training_part

DEFAULTS = "defaults"  # the trial that all others are compared with
MAX_BYTES = 2**20  # of a trial's scores
MEASURES = {
    "map": "mAP",
    "precision_at_10": "P@10",
    "ndcg_at_10": "NDCG@10",
    "partner_recall_at_10": "partner@10",
}
EXAMPLE = '"no prior" = { prior_weight = 0.0 }'
Trials = Mapping[str, Mapping[str, str]]
# of each trial, one to a seed: gallery to direction to measure
Scores = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Ablation:
    """What is compared; measurements that are in `out` are not made again."""

    out: Path
    trials: Trials  # settings in text form, "defaults" among them
    method: str = "fdch"
    bits: int = 64
    seeds: Sequence[int] = (0, 1, 2)  # each draws a split and its held-out pairs
    sizes: SplitSizes | None = None  # of the splits; None for the usual ones

    def measure(self, source: str, context: Context = PLAIN) -> Scores:
        """Run every trial on one data set, or read what was run."""
        for name in self.trials:
            self._method(name, seed=0)  # refuses wrong settings before any work
        make_folder(self.out)
        data = TrainingData(source, needs_labels=False, context=context)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in self.trials}
        splits = [Split.draw(data.pairs, seed, self.sizes) for seed in self.seeds]
        cells = list(product(splits, self.trials))
        for done, (split, name) in enumerate(cells, start=1):
            found[name].append(self._cell(name, split, data, context))
            context.progress(Update(f"trials on {source}", done, len(cells), "fit"))
        return found

    def _cell(
        self, name: str, split: Split, data: TrainingData, context: Context
    ) -> dict[str, Any]:
        method = self._method(name, split.seed)
        task = identify_training(method, data.pairs.fingerprint, split.fingerprint)
        path = self.out / f"{fingerprint(task)}.json"
        if (scores := _read_scores(path)) is not None:
            return scores
        part = training_part(data.pairs_for(method), split)
        fold = Folds(part, split.seed)[0]
        began = time.monotonic()
        method.fit(fold.train, context=Context(device=context.device))
        scores = measure_held_out(method, fold.held_out, context)
        seconds = round(time.monotonic() - began, 1)
        about = {"trial": name, "data": data.pairs.name, "task": task}
        write_json(path, {**about, "seconds": seconds, "scores": scores})
        return scores

    def _method(self, trial: str, seed: int) -> HashMethod:
        kind, settings = methods.load(self.method), self.trials[trial]
        return configure(kind, settings, bits=self.bits, seed=seed)


def load_trials(method: str, path: Path | None = None) -> dict[str, dict[str, str]]:
    """Read trials from a file, or those that come with a method."""
    methods.load(method)  # refuses an unknown one by its name
    source = path or resources.files(__package__).joinpath("trials", f"{method}.toml")
    if path is None and not source.is_file():
        raise SettingError(
            f"no trials come with {method}. Give a file of them with --trials."
        )
    try:
        found = dict(_trials(tomllib.loads(source.read_bytes().decode())))
    except OSError as problem:
        raise MissingFile(
            f"the trials '{path}' cannot be read ({problem.strerror}); check the path."
        ) from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SettingError(
            f"'{path}' is not TOML ({problem}). Write a line to each trial, such as "
            f"{EXAMPLE}."
        ) from problem
    return {DEFAULTS: {}, **found}


def _trials(content: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Return tables of plain values, at any depth: each is a trial."""
    for name, value in content.items():
        if not isinstance(value, dict):
            raise SettingError(
                f"'{name}' is outside a trial. Write trials as tables, such as "
                f"{EXAMPLE}."
            )
        if any(isinstance(inner, dict) for inner in value.values()):
            yield from _trials(value)
        else:
            yield name, {key: write_setting(inner) for key, inner in value.items()}


def choose_trials(known: Trials, names: Sequence[str] | None) -> Trials:
    """Keep the defaults and these, None for all; refuse names of no trial."""
    if names is None:
        return known
    for name in names:
        if name not in known:
            hint = suggestion(name, known) or f"; there are: {', '.join(known)}."
            raise SettingError(f"there is no trial '{name}'{hint}")
    return {name: known[name] for name in dict.fromkeys((DEFAULTS, *names))}


def gain_table(found: Mapping[str, Scores]) -> Table:
    """Lay out the defaults' scores and every trial's gain over them, data by data."""
    columns = [
        (data, gallery, measure)
        for data, gallery, measure in product(found, ("modality", "unified"), MEASURES)
        if gallery == "modality" or not measure.startswith("partner")
    ]
    header = (f"{data} {gallery} {MEASURES[key]}" for data, gallery, key in columns)
    names = next(iter(found.values()))
    rows = tuple(
        (name, *(_gain(found[data], name, *column) for data, *column in columns))
        for name in names
    )
    note = (
        "mean of both directions; trials below the defaults are gains over them, "
        "mean ± standard deviation over seeds"
    )
    return Table(("trial", *header), rows, (note,))


def _gain(scores: Scores, trial: str, gallery: str, measure: str) -> Spread | None:
    """Return the mean over both directions, with its spread over seeds.

    Of other trials than the defaults: the gain over these, seed by seed.
    """
    if any(gallery not in part for part in scores[trial]):
        return None

    def means(name: str) -> list[float]:
        cells = (part[gallery].values() for part in scores[name])
        return [statistics.fmean(cell[measure] for cell in each) for each in cells]

    values = means(trial)
    if trial != DEFAULTS:
        values = [a - b for a, b in zip(values, means(DEFAULTS), strict=True)]
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Spread(statistics.fmean(values), deviation)


def _read_scores(path: Path) -> dict[str, Any] | None:
    """Read what a trial scored; None where that is missing or damaged."""
    try:
        return dict(load_json(path, MAX_BYTES)["scores"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
