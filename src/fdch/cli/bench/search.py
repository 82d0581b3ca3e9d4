"""`fdch bench search`: exact search beside FAISS."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.bench._figures import show_agreement, show_spread
from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.errors import SettingError, suggestion

KINDS = ("random", "clustered")
PARTS = ("scan", "compacted")


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
    report(result, as_json, "\n\n".join(_tables(result)))


def _tables(result: dict[str, Any]) -> list[str]:
    found = []
    if "scan" in result:
        found.append(_scan_table(result["scan"]))
    if "compacted" in result:
        cases = result["compacted"]["cases"]
        found += [_nearest_table(cases), _within_table(cases)]
    return found


def _scan_table(result: dict[str, Any]) -> str:
    rows = (
        (
            _gallery(case),
            f"{case['batch']:,}",
            str(case["threads"]),
            f"{case['queries_per_second']:,.0f}",
            show_spread(case["ratio"]),
            show_spread(case["of_bound"]),
            show_agreement(case["answers_agree"]),
        )
        for case in result["cases"]
    )
    ratio, bound = result["ratio"], result["of_bound"]
    notes = (
        f"times faster than FAISS {result['faiss']}: median {ratio['median']:.2f}, "
        f"least {ratio['min']:.2f}",
        f"of the counting loop's speed: median {bound['median']:.2f}, "
        f"least {bound['min']:.2f}",
    )
    header = ("scan", "batch", "threads", "queries/s", "x FAISS", "of bound", "answers")
    return lay_out(header, rows, notes)


def _nearest_table(cases: list[dict[str, Any]]) -> str:
    rows = (
        (
            _gallery(case),
            f"{case['groups']:,}",
            f"{found['queries_per_second']['median']:,.0f}",
            f"{found['ivf_queries_per_second']['median']:,.0f}",
            str(found["ivf_probes"] or "not exact"),
            show_spread(found["ratio"]),
            show_spread(found["scan_ratio"]),
            show_agreement(found["answers_agree"]),
        )
        for case, found in ((case, case["nearest"]) for case in cases)
    )
    header = ("groups", "number", "queries/s", "IVF", "probes", "x IVF", "x scan")
    notes = ("batches of 1,000, one thread; x scan in batches of 100",)
    return lay_out((*header, "answers"), rows, notes)


def _within_table(cases: list[dict[str, Any]]) -> str:
    rows = (
        (
            _gallery(case),
            str(one["radius"]),
            f"{one['microseconds']['median']:,.1f}",
            one["peer"],
            f"{one['peer_microseconds']['median']:,.1f}",
            f"{one['ratio']:.2f}",
            show_agreement(one["answers_agree"]),
        )
        for case in cases
        for one in case["within"]
    )
    notes = (
        f"{_gallery(case)}: {case['bytes_per_code']:.1f} bytes a code in memory"
        for case in cases
    )
    header = ("radius", "R", "us", "beside", "us", "times faster", "answers")
    return lay_out(header, rows, notes)


def _gallery(case: dict[str, Any]) -> str:
    return f"{case['size']:,} {case['kind']}, {case['bits']} bits"


def _split_known(text: str, option: str, known: tuple[str, ...]) -> list[str]:
    found = options.split_names(text)
    for name in found:
        if name not in known:
            raise SettingError(
                f"{option} takes {', '.join(known)}; got '{name}'"
                f"{suggestion(name, known)}"
            )
    return found
