"""A method or a run in; codes of queries and database, and their scores, out."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fdch.data.duplicates import (
    QueryDuplicates,
    count_query_duplicates,
    find_learned,
    shared_pairs,
)
from fdch.data.pairs import Broken, PairedSet, require_pairs, share_labels
from fdch.data.readers.columns import AS_NAMED, Layout
from fdch.data.splits import Split
from fdch.errors import DamagedRun, DataError, LabelError, MissingFile, RunError
from fdch.evaluation import GALLERIES, Protocol, Scores, score_galleries
from fdch.evaluation.calibration.reliability import Reliability, check_probabilities
from fdch.evaluation.measures import DIRECTIONS
from fdch.index.store import choose_kinds
from fdch.machine import peak_memory
from fdch.methods._base import HashMethod, require_method
from fdch.runs.encoding import EncodedPairs, encode_pairs, encode_sides
from fdch.runs.preparation import complete_reading, read_pairs
from fdch.runs.run import Run
from fdch.runs.run_files import DESCRIPTION
from fdch.training.context import PLAIN, Context


@dataclass(frozen=True)
class Evaluation:
    """Scores with the pairs and codes they were made from."""

    scores: Scores
    query: PairedSet  # pairs searched with
    database: PairedSet  # pairs searched
    query_codes: EncodedPairs
    database_codes: EncodedPairs
    # what encoding took: seconds, pairs and memory
    cost: Mapping[str, Any] = field(default_factory=dict)
    # what occurs more than once among the "pictures" and "texts"
    duplicates: Mapping[str, QueryDuplicates] = field(default_factory=dict)
    # whether probabilities hold, by gallery and direction
    reliability: Mapping[str, Mapping[str, Reliability]] = field(default_factory=dict)


def evaluate(
    method: HashMethod, query: PairedSet, database: PairedSet, cutoff: int | None = None
) -> Scores:
    """Encode queries and database, and score both directions.

    Args:
        method: A fitted method.
        query: Pairs to search with, each modality in turn.
        database: Pairs to search; none of them may be one of the queries.
        cutoff: Rank after which rankings are cut; None for the whole database.
    """
    require_method(method)
    require_pairs(query, database)
    if found := shared_pairs(query, database):
        raise DataError(
            f"{len(found):,} of the {len(query):,} queries are also in the database, "
            f"such as '{found[0]}': each would find itself. Take them out of one of "
            "the two; PairedSet.split draws queries that are not in the database."
        )
    protocol = own_protocol(method, query, database, cutoff)
    return score_method(method, query, database, protocol).scores


def evaluate_run(
    run: Run,
    source: str | None = None,
    *,
    galleries: Sequence[str] = GALLERIES,
    cutoff: int | None = None,
    broken: Broken | None = None,
    layout: Layout = AS_NAMED,
    context: Context = PLAIN,
) -> Evaluation:
    """Score a run on the queries of its split, or on other data.

    Without a source, the data is that of training. Other data is split with the
    run's seed; pairs seen in training are not used as queries. By default, broken
    rows and pictures are treated as in training on the run's own data, and refused
    on other data.
    """
    known = training_facts(run)
    if source:
        layout, broken = complete_reading(run.facts, source, layout, broken)
        pairs = read_pairs(source, broken, context, layout=layout)
    else:
        _require_queries(run)  # before anything is read
        pairs = read_own_pairs(run, broken, context, layout)
    if pairs.fingerprint == known["fingerprint"]:
        split = _require_queries(run)
    else:
        pairs, split = _split_other_data(run, pairs)
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
        trained_on=known["fingerprint"],
        groups=split.groups or "",
    )
    query, database = pairs[rows.query], pairs[rows.database]
    found = score_method(run.method, query, database, protocol, galleries, context)
    learned, seen = None, None
    if protocol.data == protocol.trained_on:
        learned = np.concatenate([rows.train, rows.validation])
    else:
        seen = run.seen_images()
    duplicates = count_query_duplicates(pairs, rows.query, rows.database, learned, seen)
    reliability = _check_probabilities(run, found, context)
    shown = {name: part for name, part in reliability.items() if name in galleries}
    return replace(found, duplicates=duplicates, reliability=shown)


def _check_probabilities(
    run: Run, scored: Evaluation, context: Context
) -> dict[str, dict[str, Reliability]]:
    """Compare stated probabilities with the truth, by gallery and direction.

    Queries that lack a side or labels are left out. Returns only what has
    probabilities.
    """
    query, codes = scored.query, scored.database_codes
    is_whole = query.images.present & query.texts.present & query.labels.any(axis=1)
    if run.calibration is None or not is_whole.any():
        return {}
    queries = encode_sides(run.method, query[is_whole], context)
    labelled = codes.with_labels(scored.database.labels)
    sides = {"image": labelled.image, "text": labelled.text}
    found: dict[str, dict[str, Reliability]] = {}
    for direction in DIRECTIONS:
        side, _, other = direction.partition("_to_")
        kinds = [other] * len(sides[other].codes)
        galleries = [("modality", sides[other], kinds)]
        if labelled.unified is not None:
            mixed = choose_kinds(codes.has_image, codes.has_text, True)
            galleries.append(("unified", labelled.unified, mixed.tolist()))
        for gallery, items, named in galleries:
            part = check_probabilities(run.calibration, queries, side, items, named)
            if part is not None:
                found.setdefault(gallery, {})[direction] = part
    return found


def _require_queries(run: Run) -> Split:
    """Read the split of a run; refuse one without test queries."""
    split = run.split()
    if not split.query:
        raise RunError(
            f"'{run.folder}' was trained with --use-all or --query-pairs 0, so that "
            "there are no test queries. Score it with other DATA that it has not "
            "seen: fdch evaluate RUN DATA. Its validation scores are in run.json."
        )
    return split


def read_own_pairs(
    run: Run,
    broken: Broken | None = None,
    context: Context = PLAIN,
    layout: Layout = AS_NAMED,
) -> PairedSet:
    """Read the data a run was trained on, from its location or by its name."""
    known = training_facts(run)
    own = Layout.from_json(known)
    columns, moved = layout.columns or own.columns, layout.pictures or own.pictures
    layout = Layout(columns, moved, own.limit)
    broken = broken or known.get("broken", "refuse")
    # runs of before the location was kept have the name alone
    sources = [known.get("location", known["source"]), known["source"]]
    for source in dict.fromkeys(map(str, sources)):
        with suppress(MissingFile):
            pairs = read_pairs(source, broken, context, layout=layout)
            break
    else:
        raise MissingFile(
            f"the data that '{run.folder}' was trained on is no longer at "
            f"'{sources[0]}'. Name it: fdch evaluate RUN DATA."
        )
    if pairs.fingerprint != known["fingerprint"]:
        raise RunError(
            f"the data '{known['source']}' has changed since '{run.folder}' was "
            f"trained (fingerprint {pairs.fingerprint}, not {known['fingerprint']}). "
            "Restore it, or name other data: fdch evaluate RUN DATA."
        )
    return pairs


def _split_other_data(run: Run, pairs: PairedSet) -> tuple[PairedSet, Split]:
    """Split other data; pairs seen in training are not used as queries."""
    own = run.split()
    ids = {*own.train, *own.validation}
    barred = {*pairs.ids[find_learned(pairs, ids, run.seen_images())]}
    if barred:
        note = (
            f"the run has learned from {len(barred):,} of the {len(pairs):,} pairs; "
            "they are searched, but not used as queries."
        )
        pairs = replace(pairs, notes=(*pairs.notes, note))
    return pairs, Split.draw(pairs, run.method.seed, barred=barred, groups=own.groups)


def score_method(
    method: HashMethod,
    query: PairedSet,
    database: PairedSet,
    protocol: Protocol,
    galleries: Sequence[str] = GALLERIES,
    context: Context = PLAIN,
) -> Evaluation:
    """Encode both sets and score them under a stated protocol.

    Pairs without a label are left out of both: no answer to them is known.
    """
    query, database = share_labels(query, database)
    query = keep_labelled(query, "queries")
    database = keep_labelled(database, "pairs of the database")
    protocol = replace(protocol, queries=len(query), database=len(database))
    _require_both_sides(query)
    began = time.monotonic()
    query_codes = encode_pairs(method, query, context)
    database_codes = encode_pairs(method, database, context)
    cost = {
        "encoding_seconds": round(time.monotonic() - began, 3),
        "encoded_pairs": len(query) + len(database),
        "peak_memory_bytes": peak_memory(),
    }
    scores = score_galleries(
        method.name,
        query_codes.with_labels(query.labels),
        database_codes.with_labels(database.labels),
        protocol,
        galleries=galleries,
        progress=context.progress,
    )
    return Evaluation(scores, query, database, query_codes, database_codes, cost)


def keep_labelled(pairs: PairedSet, what: str) -> PairedSet:
    """Leave out pairs without a label, with a note of how many."""
    is_labelled = pairs.labels.any(axis=1)
    if not len(pairs):
        raise DataError(f"there are no {what}; scoring needs at least one.")
    if not is_labelled.any():
        raise LabelError(
            f"none of the {len(pairs):,} {what} of '{pairs.name}' has a label, so "
            "nothing can be scored: an answer is right when it shares a label with "
            "the query. Give data with labels."
        )
    if is_labelled.all():
        return pairs
    left_out = int((~is_labelled).sum())
    note = (
        f"{left_out:,} of the {len(pairs):,} {what} have no label; they are left out "
        "of the scores."
    )
    return replace(pairs[is_labelled], notes=(*pairs.notes, note))


def _require_both_sides(query: PairedSet) -> None:
    """Refuse queries among which no picture, or no text, can be searched with."""
    for what, side in (("picture", query.images), ("text", query.texts)):
        if not side.present.any():
            raise DataError(
                f"none of the {len(query):,} queries of '{query.name}' has a {what}; "
                "scores need queries of both kinds. Draw them among whole pairs, as "
                "PairedSet.split does."
            )


def training_facts(run: Run) -> dict[str, Any]:
    """Return the facts of a run about its data, after checking that they are there."""
    known = run.facts.get("data")
    known = known if isinstance(known, dict) else {}
    texts = (known.get(name) for name in ("source", "fingerprint"))
    counts = (run.facts.get(part) for part in ("train", "validation"))
    if not all(isinstance(text, str) for text in texts) or not all(
        isinstance(count, int) for count in counts
    ):
        raise DamagedRun(
            f"'{run.folder / DESCRIPTION}' does not name the data it was trained on. "
            "Train the run again."
        )
    return known


def own_protocol(
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
