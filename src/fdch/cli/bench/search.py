"""`fdch bench search`: exact search beside FAISS."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.errors import SettingError, suggestion

KINDS = ("random", "clustered")
PARTS = ("scan", "compacted")
_CASE = "size kind bits"
COLUMNS = {
    "scan, cases": f"{_CASE} batch threads queries_per_second ratio of_bound "
    "answers_agree",
    "compacted, cases": f"{_CASE} groups nearest_queries_per_second "
    "nearest_ivf_queries_per_second nearest_ivf_probes nearest_ratio "
    "nearest_scan_ratio nearest_answers_agree bytes_per_code",
    "compacted, cases, within": "radius microseconds_median peer "
    "peer_microseconds_median ratio answers_agree",
}


@options.command(
    "search", "fdch bench search --sizes 20000 --batches 1,10 --threads 1 --repeats 1"
)
@click.option("--sizes", default="1000000", metavar="N,N")
@click.option("--bits", default="64", metavar="N,N")
@click.option("--batches", default="1,100,2000", metavar="N,N")
@click.option("--threads", default="1,2", metavar="N,N")
@click.option(
    "--kinds",
    default=",".join(KINDS),
    metavar="A,B",
    help="Codes: random, clustered (1,000 centres, a tenth of the bits flipped).",
)
@click.option(
    "--parts",
    default=",".join(PARTS),
    metavar="A,B",
    help="The scan, and what compaction adds: groups and buckets.",
)
@options.count("-k", default=100, help="Answers to a query.")
@options.count("--repeats", default=3, help="Turns of each side.")
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
def command(
    as_json: bool, parts: str, kinds: str, codes: Path | None, **given: Any
) -> None:
    """Time exact search beside FAISS.

    Each case is measured with all sides taking turns in one process: our scan,
    FAISS IndexBinaryFlat in both settings (the faster one counts), and a loop
    that only counts codes under a threshold, the bound of what a scan can reach.
    After compaction: groups beside IndexBinaryIVF with as many probes as exact
    answers need, buckets beside IndexBinaryMultiHash. Answers are checked.
    """
    from fdch.bench.search.compacted import compacted_benchmark
    from fdch.bench.search.scan import Sizes, scan_benchmark
    from fdch.runs.code_files import read_encoded

    measures = {"scan": scan_benchmark, "compacted": compacted_benchmark}
    wanted = _split_known(parts, "--parts", PARTS)
    for name in ("sizes", "bits", "batches", "threads"):
        given[name] = options.split_numbers(given[name], f"--{name}")
    given["kinds"] = _split_known(kinds, "--kinds", KINDS)
    own = None if codes is None else read_encoded(codes).codes
    if own is not None:
        given |= {"kinds": ("given",), "bits": (own.bits,)}
    result: dict[str, Any] = {"benchmark": "search"}
    with ProgressPrinter() as progress:
        for name in PARTS:
            if name in wanted:
                result[name] = measures[name](Sizes(**given), own, progress)
    report_benchmark(result, as_json, COLUMNS)


def _split_known(text: str, option: str, known: tuple[str, ...]) -> list[str]:
    found = options.split_names(text)
    for name in found:
        if name not in known:
            raise SettingError(
                f"{option} takes {', '.join(known)}; got '{name}'"
                f"{suggestion(name, known)}"
            )
    return found
