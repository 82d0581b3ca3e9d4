"""Data and settings in; a trained run out."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fdch import methods
from fdch.data.contents import image_digests
from fdch.data.duplicates import Grouping
from fdch.data.pairs import Broken, PairedSet
from fdch.data.readers.sources import located
from fdch.data.splits import Parts, Split, SplitSizes
from fdch.errors import RunError, SettingError
from fdch.methods._base import HashMethod
from fdch.methods._settings import configure, identifying
from fdch.methods.fdch import FDCH
from fdch.runs.encoding import calibrate
from fdch.runs.files import CHECKPOINTS, is_finished
from fdch.runs.preparation import require_free_folder, require_ready, require_sides
from fdch.runs.run import Run, open_run, save_run
from fdch.runs.scoring import training_facts, validate
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import PLAIN, Context


@dataclass(frozen=True)
class TrainingTask:
    """What `fdch train` is asked for.

    Args:
        source: Data as named on the command line.
        out: The run's folder.
        method: The method's name.
        bits: Length of the codes.
        seed: Of the split and of learning.
        settings: Further settings in text form.
        split: A saved split to use; None draws one.
        sizes: Sizes of the split to draw; None takes the usual ones.
        groups: What the split to draw keeps in one part; None for nothing.
        broken: Whether broken rows and pictures are refused or skipped.
        stage_one: A run whose first stage is taken over, for FDCH's variants.
    """

    source: str
    out: Path
    method: str = "fdch"
    bits: int = 64
    seed: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    split: Path | None = None
    sizes: SplitSizes | None = None
    groups: Grouping | None = None
    broken: Broken = "refuse"
    stage_one: Path | None = None


def train_run(
    task: TrainingTask,
    *,
    resume: bool = False,
    context: Context = PLAIN,
    announce: Callable[[PairedSet, Split], None] = lambda pairs, split: None,
) -> Run:
    """Train a method and save it, checking first whatever can be checked.

    Args:
        task: What to train.
        resume: Go on with unfinished training in the task's folder; a finished
            run of the same settings, data and split is opened and given back.
        context: Device and progress; its checkpoints are the run's own.
        announce: Told of the data and its split before training begins.
    """
    method = configure(
        methods.load(task.method), task.settings, bits=task.bits, seed=task.seed
    )
    if is_finished(task.out) and resume:
        return _finished_run(method, task, context)
    require_free_folder(task.out, resume)
    require_ready(method, context)
    if task.stage_one is not None:
        _take_stage_one(method, task.stage_one, context)
    pairs, parts, split = read_parts(task, context)
    announce(pairs, split)
    seen = seen_images(parts)
    checkpoints = Checkpoints(task.out / CHECKPOINTS, _fingerprint(method, split))
    began = time.monotonic()
    method.fit(
        parts.train,
        parts.validation,
        context=replace(context, checkpoints=checkpoints),
    )
    facts = {
        "data": {
            "source": task.source,
            "location": located(task.source),
            "name": pairs.name,
            "fingerprint": pairs.fingerprint,
            "pairs": len(pairs),
            "skipped": len(pairs.skipped),
            "broken": task.broken,
        },
        "labels": list(pairs.label_names),
        "split": split.fingerprint,
        "train": len(parts.train),
        "validation": len(parts.validation),
        "device": str(context.torch_device()),
        "seconds": round(time.monotonic() - began, 1),
        "chosen": dict(method.chosen),
        **_validation_facts(validate(method, parts.validation, context)),
    }
    calibration = calibrate(method, parts.validation, context)
    run = save_run(task.out, task.method, method, split, facts, calibration, seen)
    checkpoints.clear()
    return run


def read_parts(
    task: TrainingTask, context: Context = PLAIN
) -> tuple[PairedSet, Parts, Split]:
    """Read the data and draw, or read, its split."""
    pairs = PairedSet.read(task.source, broken=task.broken)
    require_sides(pairs, methods.load(task.method).about.needs_labels)
    pairs = pairs.without_broken_pictures(task.broken, context.progress)
    if task.split is not None:
        split = Split.read(task.split, pairs)
    else:
        split = Split.draw(pairs, task.seed, task.sizes, groups=task.groups)
    return pairs, split.parts(pairs), split


def seen_images(parts: Parts) -> list[bytes]:
    """Give the hashes of all images that are learned from, sorted."""
    learned = (parts.train.images, parts.validation.images)
    digests = {digest for part in learned for digest in image_digests(part)}
    return sorted(digests - {b""})


def _validation_facts(
    scores: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[str, Any]:
    """Say how a method does on validation pairs; mAP alone under its older name."""
    maps = {
        gallery: {direction: part["map"] for direction, part in directions.items()}
        for gallery, directions in scores.items()
    }
    return {"validation_map": maps, "validation_scores": scores}


def _finished_run(method: HashMethod, task: TrainingTask, context: Context) -> Run:
    """Open a finished run, unless it is another than was asked for."""
    run = open_run(task.out, context)
    require_ready(method, context)
    asked = {"method": method.name, **identifying(method)}
    _require_same(run, {"method": run.name, **identifying(run.method)}, asked)
    # the settings first: the data may take long to read
    known = training_facts(run)
    pairs, _, split = read_parts(task, context)
    asked = {"data": pairs.fingerprint, "split": split.fingerprint}
    there = {"data": known["fingerprint"], "split": run.facts.get("split")}
    _require_same(run, there, asked)
    return run


def _require_same(run: Run, there: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    wrong = [name for name in asked if there.get(name) != asked[name]]
    if wrong:
        told = [f"{name} is {there.get(name)}, not {asked[name]}" for name in wrong]
        raise RunError(
            f"the run in '{run.folder}' is finished, but was trained otherwise: "
            f"{'; '.join(told)}. Choose another folder, or the same settings and data."
        )


def _take_stage_one(method: HashMethod, folder: Path, context: Context) -> None:
    donor = open_run(folder, context).method
    if not isinstance(method, FDCH) or not isinstance(donor, FDCH):
        raise SettingError(
            "only fdch, fdch_i and fdch_ii have a first stage to share; got "
            f"{method.name} and, in '{folder}', {donor.name}."
        )
    method.share_stage_one(donor)


def _fingerprint(method: HashMethod, split: Split) -> str:
    """Tell one training task from another, so that checkpoints are not mixed."""
    task = [method.name, identifying(method), split.data, split.fingerprint]
    text = json.dumps(task, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
