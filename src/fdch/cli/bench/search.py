"""`fdch bench search`: exact search beside FAISS."""

from pathlib import Path
from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, NUMBERS, PATH, NameList, option

PARTS = ("scan", "compacted")
KINDS = ("random", "clustered")


@options.command(
    "search", "fdch bench search --sizes 20000 --batches 1,10 --threads 1 --repeats 1"
)
@option("--sizes", "Codes to search.", NUMBERS, default="1000000")
@option("--bits", "Lengths of the codes.", NUMBERS, default="64")
@option("--batches", "Queries at once.", NUMBERS, default="1,100,2000")
@option("--threads", "Threads of both sides.", NUMBERS, default="1,2")
@option(
    "--kinds",
    "Codes: random, clustered (1,000 centres, a tenth of the bits flipped).",
    NameList(KINDS),
    default=",".join(KINDS),
)
@option(
    "--parts",
    "The scan, and what compaction adds: groups and buckets.",
    NameList(PARTS),
    default=",".join(PARTS),
)
@option("-k", "Answers to a query.", COUNT, default=100)
@options.repeats(3)
@option(
    "--peer-queries N",
    "Time FAISS on N queries of a batch at most and scale its time up.",
    COUNT,
    default=200,
)
@option(
    "--codes", "Codes from 'fdch encode'; they are repeated with noise instead.", PATH
)
@options.seed()
@options.json
def command(as_json: bool, parts: list[str], codes: Path | None, **given: Any) -> None:
    """Time exact search beside FAISS.

    Each case is measured with all sides taking turns in one process: our scan, and
    FAISS IndexBinaryFlat in both settings, of which the faster one counts. After
    compaction: groups beside IndexBinaryIVF with as many probes as exact answers
    need, buckets beside IndexBinaryMultiHash. Answers are checked.
    """
    from fdch.bench.search import SearchSizes, search_benchmark
    from fdch.runs.code_files import read_encoded

    if codes is not None:
        own = read_encoded(codes).codes
        given |= {"given": own, "kinds": ["given"], "bits": [own.bits]}
    sizes = SearchSizes(**given)
    run_benchmark(search_benchmark, as_json, parts=parts, sizes=sizes)
