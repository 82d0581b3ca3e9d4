"""Data and settings in; a trained run, codes and scores out."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fdch import methods
from fdch.data.pairs import Broken, PairedSet
from fdch.data.splits import Parts, Split, SplitSizes
from fdch.encoding import EncodedPairs, encode_pairs
from fdch.errors import DamagedRun, RunError, SettingError
from fdch.evaluation import GALLERIES, Protocol, Scores, evaluate_codes
from fdch.methods._base import HashMethod
from fdch.methods._settings import configure
from fdch.methods.fdch import FDCH
from fdch.preparation import require_free_folder, require_ready, require_sides
from fdch.runs import CHECKPOINTS, DESCRIPTION, Run, is_finished, open_run, save_run
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import PLAIN, Context

KNOWN_DATA = ("source", "fingerprint")


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
    broken: Broken = "refuse"
    stage_one: Path | None = None


@dataclass(frozen=True)
class Evaluation:
    """Scores with the pairs and codes they were made from."""

    scores: Scores
    query: PairedSet
    database: PairedSet
    query_codes: EncodedPairs
    database_codes: EncodedPairs


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
            run of the same settings is opened and given back.
        context: Device and progress; its checkpoints are the run's own.
        announce: Told of the data and its split before training begins.
    """
    method = configure(
        methods.load(task.method), task.settings, bits=task.bits, seed=task.seed
    )
    if is_finished(task.out) and resume:
        return _finished_run(method, task.out, context)
    require_free_folder(task.out, resume)
    require_ready(method, context)
    if task.stage_one is not None:
        _take_stage_one(method, task.stage_one, context)
    pairs, parts, split = read_parts(task, context)
    announce(pairs, split)
    checkpoints = Checkpoints(task.out / CHECKPOINTS, _fingerprint(method, split))
    began = time.monotonic()
    method.fit(
        parts.train,
        parts.validation,
        context=Context(context.progress, context.device, checkpoints),
    )
    facts = {
        "data": {
            "source": task.source,
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
        "seconds": round(time.monotonic() - began, 1),
        "validation_map": validate(method, parts.validation, context),
    }
    run = save_run(task.out, task.method, method, split, facts)
    checkpoints.clear()
    return run


def read_parts(
    task: TrainingTask, context: Context = PLAIN
) -> tuple[PairedSet, Parts, Split]:
    """Read the data and draw, or read, its split."""
    pairs = PairedSet.read(task.source, broken=task.broken)
    require_sides(pairs)
    pairs = pairs.without_broken_pictures(task.broken, context.progress)
    if task.split is not None:
        split = Split.read(task.split, pairs)
    else:
        split = Split.draw(pairs, task.seed, task.sizes)
    return pairs, split.parts(pairs), split


def read_pairs(source: str, broken: Broken, context: Context = PLAIN) -> PairedSet:
    """Read data and make sure that every picture can be decoded."""
    pairs = PairedSet.read(source, broken=broken)
    return pairs.without_broken_pictures(broken, context.progress)


def evaluate(
    method: HashMethod, query: PairedSet, database: PairedSet, cutoff: int | None = None
) -> Scores:
    """Encode queries and database, and score both directions.

    Args:
        method: A fitted method.
        query: Pairs to search with, each modality in turn.
        database: Pairs to search.
        cutoff: Rank after which rankings are cut; None for the whole database.
    """
    protocol = _own_protocol(method, query, database, cutoff)
    return score_method(method, query, database, protocol).scores


def evaluate_run(
    run: Run,
    source: str | None = None,
    *,
    galleries: Sequence[str] = GALLERIES,
    cutoff: int | None = None,
    broken: Broken | None = None,
    context: Context = PLAIN,
) -> Evaluation:
    """Score a run on the queries of its split, or on other data.

    Args:
        run: An opened run.
        source: Data; None takes the data the run was trained on. Other data is
            split anew, with the run's seed.
        galleries: "modality", "unified" or both.
        cutoff: Rank after which rankings are cut.
        broken: Whether broken rows and pictures are refused or skipped; None does
            as in training on the run's own data, and refuses on other data.
        context: Device and progress.
    """
    known = _training_facts(run)
    as_trained: Broken = "refuse" if source else known.get("broken", "refuse")
    pairs = read_pairs(source or known["source"], broken or as_trained, context)
    if pairs.fingerprint == known["fingerprint"]:
        split = run.split()
    elif source is None:
        raise RunError(
            f"the data '{known['source']}' has changed since '{run.folder}' was "
            f"trained (fingerprint {pairs.fingerprint}, not {known['fingerprint']}). "
            "Name the data to evaluate on: fdch evaluate RUN DATA."
        )
    else:
        split = Split.draw(pairs, run.method.seed)
    rows = split.rows(pairs)
    protocol = Protocol(
        data=pairs.fingerprint,
        split=split.fingerprint,
        queries=len(rows.query),
        database=len(rows.database),
        train=run.facts["train"],
        validation=run.facts["validation"],
        cutoff=cutoff,
        seed=run.method.seed,
    )
    return score_method(
        run.method,
        pairs[rows.query],
        pairs[rows.database],
        protocol,
        galleries,
        context,
    )


def validate(
    method: HashMethod, pairs: PairedSet, context: Context = PLAIN
) -> dict[str, dict[str, float]]:
    """Give the mAP on validation pairs, by gallery and direction.

    One half of the pairs asks for the other, then the other way round; the two
    are averaged. It is what settings are chosen by. Empty where the pairs are
    too few to hold an answer.
    """
    halves = pairs[0::2], pairs[1::2]
    shared = halves[0].labels.astype(np.int64) @ halves[1].labels.T.astype(np.int64)
    if not shared.any():
        return {}
    turns = [
        score_method(
            method,
            query,
            database,
            _own_protocol(method, query, database),
            context=context,
        ).scores.scores
        for query, database in (halves, halves[::-1])
    ]
    return {
        gallery: {
            direction: (turns[0][gallery][direction].map + part.map) / 2
            for direction, part in directions.items()
        }
        for gallery, directions in turns[1].items()
    }


def score_method(
    method: HashMethod,
    query: PairedSet,
    database: PairedSet,
    protocol: Protocol,
    galleries: Sequence[str] = GALLERIES,
    context: Context = PLAIN,
) -> Evaluation:
    """Encode both sets and score them under a stated protocol."""
    query_codes = encode_pairs(method, query, context)
    database_codes = encode_pairs(method, database, context)
    scores = evaluate_codes(
        method.name,
        query_codes.with_labels(query.labels),
        database_codes.with_labels(database.labels),
        protocol,
        galleries=galleries,
        progress=context.progress,
    )
    return Evaluation(scores, query, database, query_codes, database_codes)


def _finished_run(method: HashMethod, folder: Path, context: Context) -> Run:
    """Open a finished run, unless it is another than was asked for."""
    run = open_run(folder, context)
    asked = {"method": method.name, **asdict(method)}
    there = {"method": run.name, **asdict(run.method)}
    # the run has a copy of the weights under its own name
    names = [name for name in asked if name != "image_weights"]
    wrong = [name for name in names if there.get(name) != asked[name]]
    if wrong:
        told = [f"{name} is {there.get(name)}, not {asked[name]}" for name in wrong]
        raise RunError(
            f"the run in '{folder}' is finished, but was trained otherwise: "
            f"{'; '.join(told)}. Choose another folder, or the same settings."
        )
    return run


def _training_facts(run: Run) -> dict[str, Any]:
    """Give what a run says of its data, once it is sure to be there."""
    known = run.facts.get("data")
    counts = [run.facts.get(part) for part in ("train", "validation")]
    texts = [known.get(k) for k in KNOWN_DATA] if isinstance(known, dict) else [None]
    kinds = [isinstance(count, int) for count in counts]
    if not all(kinds) or not all(isinstance(text, str) for text in texts):
        raise DamagedRun(
            f"'{run.folder / DESCRIPTION}' does not tell the data it was trained on. "
            "Train the run again."
        )
    assert isinstance(known, dict)
    return known


def _take_stage_one(method: HashMethod, folder: Path, context: Context) -> None:
    donor = open_run(folder, context).method
    if not isinstance(method, FDCH) or not isinstance(donor, FDCH):
        raise SettingError(
            "only fdch, fdch_i and fdch_ii have a first stage to share; got "
            f"{method.name} and, in '{folder}', {donor.name}."
        )
    method.share_stage_one(donor)


def _own_protocol(
    method: HashMethod, query: PairedSet, database: PairedSet, cutoff: int | None = None
) -> Protocol:
    """Describe pairs that were put together by the caller."""
    both = query.fingerprint + database.fingerprint
    return Protocol(
        data=hashlib.blake2b(both.encode(), digest_size=16).hexdigest(),
        split="given",
        queries=len(query),
        database=len(database),
        train=method.trained_on,
        cutoff=cutoff,
        seed=method.seed,
    )


def _fingerprint(method: HashMethod, split: Split) -> str:
    """Tell one training task from another, so that checkpoints are not mixed."""
    task = [method.name, asdict(method), split.data, split.fingerprint]
    text = json.dumps(task, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
