"""What matching words adds to codes, and what it costs.

Quality: queries are one or two words of stored texts that the model knows; searched
are pairs that the run has not seen in any way, in the order of a search without
settings: by vectors where the model has some. Cost: one query over drawn items.
"""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fdch.bench.clustered_codes import Source, filled_folder
from fdch.bench.reranking import TIMED, time_queries, unseen_rows
from fdch.bench.timing import ratio, spread
from fdch.data.word_weights import FREQUENT
from fdch.errors import DataError
from fdch.index.search.lookup import warm
from fdch.index.storage.catalogue.word_table import split_words, stem_word
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.progress import Progress, silent
from fdch.retrieval.index import Index
from fdch.retrieval.ordering import plan_fusion, vector_bytes
from fdch.retrieval.params import Match, SearchParams
from fdch.retrieval.queries import Queries, encode_text_queries
from fdch.retrieval.ranking import Ranking, choose_order
from fdch.retrieval.results import Results
from fdch.retrieval.searcher import Searcher
from fdch.runs.method_scores import read_own_pairs
from fdch.runs.run import Run, open_run
from fdch.training.context import PLAIN, Context

TOP = 10
WAYS: tuple[Match, ...] = ("codes", "both", "words")
NOWHERE = "0" * 40  # a word that occurs in no text
DRAWN_WORDS, WORDS_A_TEXT = 50_000, 9


@dataclass(frozen=True)
class _Query:
    row: int  # of the pair whose text it is taken from
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return "one word" if len(self.words) == 1 else "two words"


def words_benchmark(
    run: Path | None,
    queries: int,
    gallery: int,
    tuning: bool,
    seed: int,
    device: str = "auto",
    progress: Progress = silent,
    **cost: int,
) -> dict[str, Any]:
    """Measure the quality of a run's search, if one is given, and the cost."""
    result: dict[str, Any] = {}
    if run is not None:
        context = Context(progress, device)
        opened = open_run(run, context)
        result = word_quality(opened, queries, gallery, seed, tuning, context)
    return {**result, "cost": word_cost(**cost, seed=seed)}


def word_quality(
    run: Run,
    queries: int,
    items: int,
    seed: int = 0,
    tuning: bool = False,
    context: Context = PLAIN,
) -> dict[str, Any]:
    """Search unseen pairs of a run with words of their texts, in every way.

    A checksum divides words into two halves: one for choosing the weight of words
    (`tuning`), the other to report.

    Returns:
        By kind of query and way, the share of the first ten whose texts hold all words
        (of ten, or of as many as there are) and the share with a label of the pair the
        words are from, each with its standard error; the same of differences to codes
        query by query; and the mean stated probability.
    """
    pairs = read_own_pairs(run, context=context)
    random = np.random.default_rng(seed)
    rows = np.sort(random.permutation(unseen_rows(run, pairs))[:items])
    gallery = pairs[rows]
    with (
        tempfile.TemporaryDirectory() as place,
        Index.create(Path(place) / "index", run, context=context) as index,
    ):
        index.add(gallery, progress=context.progress)
        known = index.items([str(name) for name in gallery.ids])
        texts = [split_words(None if item is None else item.text) for item in known]
        quality = _Quality(
            Searcher(index),
            {str(name): row for row, name in enumerate(gallery.ids)},
            [{stem_word(word) for word in words} for words in texts],
            gallery.labels.astype(np.float32),
        )
        drawn = quality.draw(texts, queries, tuning, random)
        turns = quality.measure(drawn)
    return {
        "run": str(run.folder),
        "method": run.name,
        "bits": run.method.bits,
        "order": "vectors" if vector_bytes(run.method) else "codes",
        "model": run.fingerprint,
        "data": pairs.fingerprint,
        "words": "tuning" if tuning else "report",
        "queries": len(drawn),
        "gallery": len(gallery),
        "turns": turns,
    }


@dataclass(frozen=True, eq=False)
class _Quality:
    searcher: Searcher
    rows: dict[str, int]  # by id
    held: Sequence[set[str]]  # words of each text
    labels: NDArray[np.float32]

    def draw(
        self,
        texts: Sequence[tuple[str, ...]],
        number: int,
        tuning: bool,
        random: np.random.Generator,
    ) -> list[_Query]:
        """Draw queries of one word and of two, by turns."""
        vocabulary = self.searcher.encoder.inputs.vocabulary
        counts = Counter(word for words in self.held for word in words)
        most, found = len(texts) // FREQUENT, list[_Query]()
        for row in random.permutation(len(texts)).tolist():
            words = [
                word
                for word in texts[row]
                if TOP <= counts[stem_word(word)] <= most
                and crc32(word.encode()) % 2 == tuning
                and vocabulary is not None
                and vocabulary.reads(word)
            ]
            wanted = 1 + len(found) % 2
            if len(words) >= wanted:
                some = random.permutation(len(words))[:wanted]
                found.append(_Query(row, tuple(words[place] for place in some)))
            if len(found) == number:
                break
        if len(found) < 2:
            raise DataError(
                f"the texts have no words that occur in {TOP} of them or more and that "
                "the model knows. Give more --gallery, or a run trained on texts."
            )
        return found

    def measure(self, queries: Sequence[_Query]) -> dict[str, Any]:
        """Search with all queries in every way, also with words that none holds."""
        figures: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
        for query in queries:
            ways = figures.setdefault(query.name, {})
            for way in WAYS:
                ways.setdefault(way, []).append(self._score(query, way))
            hidden = (NOWHERE,) * len(query.words)
            ways.setdefault("hidden", []).append(self._score(query, "both", hidden))
            if len(hidden) > 1:
                half = (query.words[0], NOWHERE)
                ways.setdefault("half_hidden", []).append(
                    self._score(query, "both", half)
                )
        return {
            name: {way: _summarise(found, ways["codes"]) for way, found in ways.items()}
            for name, ways in figures.items()
        }

    def _score(
        self, query: _Query, way: Match, words: tuple[str, ...] | None = None
    ) -> tuple[float, float, float]:
        found = self._search(query, way, words)
        stems = {stem_word(word) for word in query.words}
        holding = [stems <= held for held in self.held]
        rows = [self.rows[name] for name in found.ids]
        hits = sum(holding[row] for row in rows) / min(TOP, sum(holding))
        relevant = (self.labels[rows] @ self.labels[query.row] > 0).mean()
        said = np.mean([each.probability or np.nan for each in found])
        return hits, float(relevant), float(said)

    def _search(
        self, query: _Query, way: Match, words: tuple[str, ...] | None
    ) -> Results:
        """Search as a searcher does; with `words`, match these in place of its own."""
        params, text = SearchParams(TOP, match=way), " ".join(query.words)
        store, encoder = self.searcher.index.store, self.searcher.encoder
        fusion = plan_fusion(store, [text], params)
        if words is not None and fusion is not None:
            fusion = replace(fusion, words=[replace(fusion.words[0], words=words)])
        encoded = encode_text_queries(encoder, [text])
        order, known = choose_order(store, encoded, params), self.searcher.calibration
        return Ranking(store, known, encoded, params, order, fusion).results()[0]


def _summarise(
    found: Sequence[tuple[float, float, float]],
    codes: Sequence[tuple[float, float, float]],
) -> dict[str, Any]:
    values, others = np.array(found), np.array(codes)
    names = ("holds_words", "shares_label")
    apart = values - others
    return {
        "queries": len(values),
        **{name: _mean(values[:, at]) for at, name in enumerate(names)},
        **{f"{name}_over_codes": _mean(apart[:, at]) for at, name in enumerate(names)},
        "said": None if np.isnan(values[:, 2]).any() else float(values[:, 2].mean()),
    }


def _mean(values: NDArray[Any]) -> dict[str, float]:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {"mean": float(values.mean()), "standard_error": float(error)}


def draw_texts(random: np.random.Generator, count: int, words: int) -> list[str]:
    """Draw texts of so many words: the n-th with a frequency of 1 / n, as in language.

    >>> draw_texts(np.random.default_rng(0), 1, 3)
    ['w797 w11 w0']
    """
    frequency = 1 / np.arange(1, DRAWN_WORDS + 1)
    chance = frequency / frequency.sum()
    drawn = random.choice(DRAWN_WORDS, (count, words), p=chance)
    return [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]


def word_cost(
    items: int, bits: int, k: int, repeats: int, seed: int = 0
) -> dict[str, Any]:
    """Time a search by codes alone, and by codes and words; a query has two words."""
    warm(bits)
    source, random = Source("clustered", bits, seed), np.random.default_rng([seed, 4])
    number = TIMED * (repeats + 1)
    codes = source.draw(number, 2)

    queries = draw_texts(random, number, 2)

    def make_items(numbers: range) -> list[Item]:
        texts = draw_texts(random, len(numbers), WORDS_A_TEXT)
        return [Item(str(n), text) for n, text in zip(numbers, texts, strict=True)]

    def search(folder: CodeFolder, match: Match, row: int) -> None:
        params = SearchParams(k, match=match)
        query = Queries([{}], ["text"], codes[row : row + 1])
        fusion = plan_fusion(folder, [queries[row]], params)
        Ranking(folder, None, query, params, None, fusion).results()

    fill = partial(source.fill, make=make_items, total=items)
    with filled_folder(bits, fill) as path, CodeFolder.open(path) as folder:
        ways: tuple[Match, ...] = ("codes", "both")
        times = time_queries(
            {way: partial(search, folder, way) for way in ways}, repeats
        )
    turns = {way: np.median(found, axis=1).tolist() for way, found in times.items()}
    return {
        "items": items,
        "bits": bits,
        "k": k,
        "seconds": {way: spread(medians) for way, medians in turns.items()},
        "slowest_in_20": {
            way: float(np.quantile(found, 0.95)) for way, found in times.items()
        },
        "both_over_codes": ratio(turns["both"], turns["codes"]),
    }
