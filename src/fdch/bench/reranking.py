"""The gain and the cost of ordering candidates in a run's search.

Quality: queries are pairs that the run has not seen in any way, neither for training,
nor for validation, nor as the queries that `fdch evaluate` scores. They are searched
in the other such pairs. Cost: one query over drawn codes and vectors.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.bench.clustered_codes import Source, filled_folder
from fdch.bench.timing import ratio, spread, time_turns
from fdch.data.pairs import PairedSet
from fdch.errors import DataError
from fdch.evaluation.metrics import ndcg_at, precision_at
from fdch.evaluation.ordering import Coded, QueryOrder, VectorPart, ordered_blocks
from fdch.evaluation.partner import place_partners
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.lookup import nearest, warm
from fdch.index.search.rows import row_words
from fdch.index.storage.folder import CodeFolder
from fdch.progress import Progress, silent
from fdch.retrieval.ordering import BIT_CANDIDATES, VECTOR_CANDIDATES
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.ranking import Ranking, choose_order
from fdch.runs.encoding import encode_pairs, real_outputs
from fdch.runs.method_scores import read_own_pairs, training_facts
from fdch.runs.run import Run, open_run
from fdch.training.context import PLAIN, Context

TOP, LONG = 10, 100
MIN_PAIRS = 20
TIMED = 20  # queries in a turn, each timed by itself
WIDTH = 128  # of what drawn vectors stand for
# the query's side, and what is searched
TURNS = (("image", "pair"), ("text", "pair"), ("image", "text"), ("text", "image"))


def rerank_benchmark(
    run: Path | None,
    queries: int,
    seed: int,
    device: str = "auto",
    progress: Progress = silent,
    **cost: int,
) -> dict[str, Any]:
    """Measure the quality of a run's search, if one is given, and the cost."""
    result: dict[str, Any] = {}
    if run is not None:
        context = Context(progress, device)
        result = search_quality(open_run(run, context), queries, seed, context)
    return {**result, "cost": ordering_cost(**cost, seed=seed)}


def search_quality(
    run: Run, queries: int, seed: int = 0, context: Context = PLAIN
) -> dict[str, Any]:
    """Search a run's unseen pairs with some of them, at most a quarter.

    Returns:
        Precision and NDCG of the first ten, average precision of the first hundred,
        means over queries with a relevant pair: in the order of codes, of weighted
        bits, and of vectors where the method gives some. From one modality to the
        other also how often a query's own other half is among the first ten, searched
        for among those of all queries.
    """
    pairs = read_own_pairs(run, context=context)
    unseen = np.random.default_rng(seed).permutation(unseen_rows(run, pairs))
    number = min(queries, len(unseen) // 4)
    query, rest = pairs[np.sort(unseen[:number])], pairs[np.sort(unseen[number:])]
    outputs = real_outputs(run.method, query, context)
    sides, held = (
        encode_pairs(run.method, part, context).with_labels(part.labels)
        for part in (query, rest)
    )
    own = {"image": sides.image, "text": sides.text}
    kinds = {"image": held.image, "text": held.text, "pair": held.unified}
    turns = {}
    for side, kind in TURNS:
        if (gallery := kinds[kind]) is None:
            continue
        score = partial(_score, own[side], gallery, own.get(kind))
        by_bits = QueryOrder(outputs[side])
        turns[f"{side}_to_{kind}"] = ways = {
            "plain": score(by_bits, candidates=0),
            "reranked": score(by_bits, candidates=BIT_CANDIDATES),
        }
        if (by_vectors := own[side].order) is not None:
            ways["by_vectors"] = score(by_vectors, candidates=VECTOR_CANDIDATES)
    return {
        "run": str(run.folder),
        "method": run.name,
        "bits": run.method.bits,
        "model": run.fingerprint,
        "data": pairs.fingerprint,
        "queries": len(query),
        "gallery": len(rest),
        "turns": turns,
    }


def unseen_rows(run: Run, pairs: PairedSet) -> NDArray[np.int64]:
    """Return the rows of whole, labelled pairs that the run has not seen."""
    rows = run.split().rows(pairs)
    seen = np.concatenate([rows.train, rows.validation])
    unseen = np.setdiff1d(rows.database, seen)
    is_whole = pairs.images.present & pairs.texts.present & pairs.labels.any(axis=1)
    unseen = unseen[is_whole[unseen]]
    if len(unseen) < MIN_PAIRS:
        source = training_facts(run)["source"]
        raise DataError(
            f"'{source}' has {len(unseen)} labelled pairs that the run has "
            f"not seen; {MIN_PAIRS} are needed. Train on fewer: --train-pairs."
        )
    return unseen


def _score(
    queries: Coded,
    gallery: Coded,
    partners: Coded | None,
    order: QueryOrder,
    candidates: int,
) -> dict[str, float]:
    """Score a search that orders a number of the nearest candidates."""
    searched = [gallery] if partners is None else [gallery, partners]
    if not order.parts:
        searched = [each._replace(vectors=None) for each in searched]
    queries = queries._replace(order=order)
    blocks = list(ordered_blocks(queries, searched[0], candidates, TOP, LONG))
    each_query: dict[str, list[Any]] = {
        f"precision_at_{TOP}": [precision_at(block, TOP) for block in blocks],
        f"ndcg_at_{TOP}": [ndcg_at(block, TOP) for block in blocks],
        f"map_at_{LONG}": [block.stable for block in blocks],
        f"partner_recall_at_{TOP}": [
            place_partners(queries, others, candidates).found_by(TOP)
            for others in searched[1:]
        ],
    }
    return {
        name: float(np.nanmean(np.concatenate(found)))
        for name, found in each_query.items()
        if found
    }


def ordering_cost(
    items: int, bits: int, vector_bytes: int, k: int, repeats: int, seed: int = 0
) -> dict[str, Any]:
    """Time the bare scan in memory, a search by codes and one by vectors."""
    warm(bits)
    source = Source("clustered", bits, seed)
    rng = np.random.default_rng([seed, 3])
    number = TIMED * (repeats + 1)
    codes, queries = source.draw(items, 1), source.draw(number, 2)
    gallery = Gallery(bits, (Part(row_words(codes), 0),))

    def draw(*shape: int) -> NDArray[np.float32]:
        return rng.standard_normal(shape, dtype=np.float32)

    books = draw(vector_bytes, 256, WIDTH)
    part = VectorPart(draw(number, WIDTH), books, threshold=1.0)
    orders = QueryOrder(draw(number, bits), (part,))

    def fill(folder: CodeFolder) -> None:
        vectors = rng.integers(-127, 128, (items, vector_bytes), np.int8)
        folder.add_numbered(codes, vectors)

    def scan(row: int) -> None:
        nearest(gallery, queries[row : row + 1], k)

    def search(folder: CodeFolder, by_vectors: bool, row: int) -> None:
        one = slice(row, row + 1)
        query = Queries([{}], ["text"], queries[one], order=orders[one])
        params = SearchParams(k, rerank=by_vectors)
        order = choose_order(folder, query, params)
        Ranking(folder, None, query, params, order).results()

    with filled_folder(bits, fill, vector_bytes) as path, CodeFolder.open(path) as each:
        sides: dict[str, Callable[[int], None]] = {
            "scan": scan,
            "by_codes": partial(search, each, False),
            "by_vectors": partial(search, each, True),
        }
        times = time_queries(sides, repeats)
    turns = {name: np.median(found, axis=1).tolist() for name, found in times.items()}
    return {
        "items": items,
        "bits": bits,
        "vector_bytes": vector_bytes,
        "k": k,
        "candidates": VECTOR_CANDIDATES,
        "seconds": {name: spread(medians) for name, medians in turns.items()},
        "by_vectors_over_by_codes": ratio(turns["by_vectors"], turns["by_codes"]),
        "by_vectors_over_scan": ratio(turns["by_vectors"], turns["scan"]),
    }


def time_queries(
    sides: Mapping[str, Callable[[int], object]], repeats: int
) -> dict[str, NDArray[np.float64]]:
    """Time sides in turns, one query each; the first 20 turns do not count.

    Returns seconds by side, (repeats, TIMED).
    """
    turns = time_turns(sides, TIMED * (repeats + 1))
    return {
        name: np.reshape(times, (repeats + 1, TIMED))[1:]
        for name, times in turns.items()
    }
