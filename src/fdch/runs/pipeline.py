"""One training: prepare, fit, save and score, for every command that trains.

`fdch train` prepares, fits and saves; a cell of `fdch reproduce` is scored as well.
`fdch tune` and `fdch bench defaults` prepare in the same way and score held-out pairs.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fdch import __version__, methods
from fdch.data.duplicates import Grouping
from fdch.data.pairs import Broken, PairedSet
from fdch.data.readers.columns import AS_NAMED, Layout
from fdch.data.split_drawing import SplitSizes, find_usable
from fdch.data.splits import Parts, Split
from fdch.errors import RunError, SettingError
from fdch.evaluation import Protocol, Scores
from fdch.files import fingerprint
from fdch.machine import forget_peak_memory
from fdch.methods._base import HashMethod
from fdch.methods._settings.assignments import configure, identifying
from fdch.methods.fdch import FDCH
from fdch.progress import collect_warnings
from fdch.runs.encoding import calibrate
from fdch.runs.method_scores import own_protocol, score_method, training_facts
from fdch.runs.model_card import write_card
from fdch.runs.preparation import (
    TrainingData,
    choose_training_pairs,
    require_free_folder,
    require_ready,
    restore_pictures,
)
from fdch.runs.run import Run, open_run, save_run
from fdch.runs.run_files import CHECKPOINTS, is_finished
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import PLAIN, Context
from fdch.training.devices.processes import is_first, take_turns

VALIDATED = ("map", "precision_at_10", "ndcg_at_10")


@dataclass(frozen=True)
class TrainingTask:
    """What to train, and where to save it."""

    source: str  # data as named on the command line
    out: Path  # the run's folder
    method: str  # its name
    bits: int = 64
    seed: int = 0  # of the split and of learning

    settings: Mapping[str, str] = field(default_factory=dict)
    split: Path | None = None  # a saved split to use; None draws one
    sizes: SplitSizes | None = None  # of the split to draw; None: the usual ones
    groups: Grouping | None = None  # what the split keeps in one part
    broken: Broken = "refuse"  # whether broken rows and pictures are refused or skipped
    stage_one: Path | None = None  # a run whose first stage is reused
    layout: Layout = AS_NAMED  # how the data's tables are laid out
    use_all: bool = False  # learn from every pair that is not for validation

    def configure(self) -> HashMethod:
        """Make the method, unfitted."""
        kind = methods.load(self.method)
        return configure(kind, self.settings, bits=self.bits, seed=self.seed)

    def prepare(self, context: Context = PLAIN) -> tuple[TrainingData, Split]:
        """Read the data and draw, or read, its split."""
        needs_labels = methods.load(self.method).about.needs_labels
        data = TrainingData(
            self.source,
            self.broken,
            needs_labels=needs_labels,
            layout=self.layout,
            context=context,
        )
        if self.split is not None:
            return data, Split.read(self.split, data.pairs)
        sizes = self.sizes
        if self.use_all:
            sizes = SplitSizes.without_queries(int(find_usable(data.pairs).sum()))
        return data, Split.draw(data.pairs, self.seed, sizes, groups=self.groups)


def identify_training(method: HashMethod, data: str, split: str) -> dict[str, Any]:
    """Name all that scores depend on, with fingerprints of the data and the split.

    Cells of a reproduction and trials of a search are run again where it differs.
    """
    return {
        "method": method.name,
        "settings": identifying(method),
        "data": data,
        "split": split,
        "version": __version__,
    }


def train_run(
    task: TrainingTask,
    *,
    resume: bool = False,
    context: Context = PLAIN,
    announce: Callable[[PairedSet, Split], None] = lambda pairs, split: None,
) -> Run:
    """Train a method and save it, checking first whatever can be checked.

    With `resume`, unfinished training in the task's folder is continued, and a
    finished run of the same settings, data and split is opened and returned.
    `announce` is called with the data and its split before training begins.
    Where processes share the training, the first of them saves it and the others
    open what it saved.
    """
    method = task.configure()
    if is_finished(task.out) and resume:
        return _open_finished(method, task, context)
    require_free_folder(task.out, resume)
    require_ready(method, context)
    if task.stage_one is not None:
        share_stage_one(method, task.stage_one, context)
    with take_turns():  # what is found about pictures is cached
        data, split = task.prepare(context)
    announce(data.pairs, split)
    parts = split.parts(data.pairs)
    checkpoints = Checkpoints(
        task.out / CHECKPOINTS,
        fingerprint([method.name, identifying(method), split.data, split.fingerprint]),
    )
    context = replace(context, checkpoints=checkpoints)
    began = time.monotonic()
    method.fit(choose_training_pairs(method, parts), parts.validation, context=context)
    seconds = round(time.monotonic() - began, 1)
    with take_turns():
        if not is_first():
            return open_run(task.out, context)
        return save_training(task.out, method, data, split, parts, seconds, context)


def fit_and_score(
    method: HashMethod,
    parts: Parts,
    protocol: Protocol,
    context: Context,
    source: FDCH | None = None,
) -> tuple[Scores, dict[str, Any]]:
    """Fit a method in place and score it, continuing from a checkpoint.

    The first stage of a fitted source is reused, where it fits. Returns the scores;
    and seconds, memory and whatever else the work is judged by.
    """
    resumed = context.checkpoints is not None and context.checkpoints.folder.exists()
    forget_peak_memory()
    with collect_warnings() as warned:
        began = time.monotonic()
        is_shared = _fit(method, parts, context, source)
        fitted = time.monotonic()
        found = score_method(
            method, parts.query, parts.database, protocol, context=context
        )
    figures = {
        "training_seconds": round(fitted - began, 3),
        **found.cost,
        "resumed": resumed,
        "stage_one_from": (
            f"{source.name}-{source.bits}-{source.seed}"
            if source and is_shared
            else None
        ),
        "warnings": warned,
    }
    return found.scores, figures


def save_training(
    folder: Path,
    method: HashMethod,
    data: TrainingData,
    split: Split,
    parts: Parts,
    seconds: float,
    context: Context,
) -> Run:
    """Save a fitted method as a run, and delete its checkpoints."""
    scores = validate(method, parts.validation, context)
    maps = {
        gallery: {direction: part["map"] for direction, part in directions.items()}
        for gallery, directions in scores.items()
    }
    facts = data.describe(split, parts, method.trained_on) | {
        "seconds": seconds,
        "chosen": dict(method.chosen),
        "validation_map": maps,
        "validation_scores": scores,
    }
    calibration = calibrate(method, parts.validation, parts.train, context)
    whole = restore_pictures(method, data.pairs, context)
    seen = data.seen_images(split, method)
    run = save_run(folder, whole, split, facts, calibration, seen)
    _end_training(run, context.checkpoints)
    return run


def validate(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> dict[str, dict[str, dict[str, float]]]:
    """Score validation pairs, which settings are chosen by.

    One half of the pairs is searched with the other, then the other way round; the
    two are averaged. Returns `VALIDATED` by gallery and direction; nothing where the
    pairs are too few to hold an answer.
    """
    halves = pairs[0::2], pairs[1::2]
    occurring = [half.labels.any(axis=0) for half in halves]
    if not (occurring[0] & occurring[1]).any():
        return {}
    turns = [
        score_method(
            method, *sides, own_protocol(method, *sides), context=context
        ).scores.scores
        for sides in (halves, halves[::-1])
    ]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for gallery, directions in turns[1].items():
        for direction, part in directions.items():
            one, other = turns[0][gallery][direction].means(), part.means()
            found.setdefault(gallery, {})[direction] = {
                measure: (one[measure] + other[measure]) / 2 for measure in VALIDATED
            }
    return found


def _end_training(run: Run, checkpoints: Checkpoints | None) -> None:
    """Write the card of a saved run; delete its checkpoints and what kills left."""
    write_card(run)
    for left in run.folder.glob("*.partial"):
        left.unlink(missing_ok=True)
    if checkpoints is not None:
        checkpoints.clear()


def share_stage_one(method: HashMethod, folder: Path, context: Context) -> None:
    """Set a method to reuse the first stage of a source run."""
    source = open_run(folder, context).method
    if not isinstance(method, FDCH) or not isinstance(source, FDCH):
        raise SettingError(
            "only fdch, fdch_i and fdch_ii have a first stage to share; got "
            f"{method.name} and, in '{folder}', {source.name}."
        )
    method.share_stage_one(source)


def _fit(
    method: HashMethod, parts: Parts, context: Context, source: FDCH | None
) -> bool:
    """Fit a method; return whether it reused the first stage of the source."""
    pairs = choose_training_pairs(method, parts)
    if isinstance(method, FDCH) and source is not None:
        method.share_stage_one(source)
        with suppress(SettingError):  # other settings of stage 1: it learns its own
            method.fit(pairs, parts.validation, context=context)
            return True
    method.fit(pairs, parts.validation, context=context)
    return False


def _open_finished(method: HashMethod, task: TrainingTask, context: Context) -> Run:
    """Open a finished run, unless it was trained in another way."""
    run = open_run(task.out, context)
    require_ready(method, context)
    known = training_facts(run)
    data, split = task.prepare(context)

    def list_facts(method: HashMethod, data: object, split: object) -> dict[str, Any]:
        own = identifying(method)
        return {"method": method.name, **own, "data": data, "split": split}

    there = list_facts(run.method, known["fingerprint"], run.facts.get("split"))
    wanted = list_facts(method, data.pairs.fingerprint, split.fingerprint)
    listed = [
        f"{name} is {there.get(name)}, not {value}"
        for name, value in wanted.items()
        if there.get(name) != value
    ]
    if listed:
        raise RunError(
            f"the run in '{run.folder}' is finished, but was trained otherwise: "
            f"{'; '.join(listed)}. Choose another folder, or the same settings and "
            "data."
        )
    checkpoints = Checkpoints(task.out / CHECKPOINTS, "")
    if checkpoints.folder.exists():  # killed when all was saved
        _end_training(run, checkpoints)
    return run
