"""`fdch bench search`: exact search beside FAISS."""

from pathlib import Path
from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.shared import options

PARTS = ("scan", "compacted")
KINDS = ("random", "clustered")
_CASE = "size kind bits"
COLUMNS = {
    "scan, cases": f"{_CASE} batch threads queries_per_second ratio answers_agree",
    "compacted, cases": f"{_CASE} groups nearest_queries_per_second "
    "nearest_ivf_queries_per_second nearest_ivf_probes nearest_ratio "
    "nearest_scan_ratio nearest_answers_agree bytes_per_code",
    "compacted, cases, within": "radius microseconds_median peer "
    "peer_microseconds_median ratio answers_agree",
}


@options.command(
    "search", "fdch bench search --sizes 20000 --batches 1,10 --threads 1 --repeats 1"
)
@options.numbers("--sizes", default="1000000")
@options.numbers("--bits", default="64")
@options.numbers("--batches", default="1,100,2000")
@options.numbers("--threads", default="1,2")
@options.names(
    "--kinds",
    default=",".join(KINDS),
    known=KINDS,
    help="Codes: random, clustered (1,000 centres, a tenth of the bits flipped).",
)
@options.names(
    "--parts",
    default=",".join(PARTS),
    known=PARTS,
    help="The scan, and what compaction adds: groups and buckets.",
)
@options.count("-k", default=100, help="Answers to a query.")
@options.repeats(3)
@options.count(
    "--peer-queries",
    default=200,
    metavar="N",
    help="Time FAISS on N queries of a batch at most and scale its time up.",
)
@options.path(
    "--codes", help="Codes from 'fdch encode'; they are repeated with noise instead."
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
    run_benchmark(search_benchmark, as_json, COLUMNS, parts=parts, sizes=sizes)
