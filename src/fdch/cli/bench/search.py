"""`fdch bench search`: exact search beside FAISS."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from fdch.cli.shared.lists import listed, numbers
from fdch.cli.shared.options import example, file_option, json_option
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter

if TYPE_CHECKING:
    from fdch.codes import Codes
    from fdch.evaluation.tables import Table

PARTS = ("scan", "compacted")


@click.command(
    "search",
    epilog=example(
        "fdch bench search --sizes 20000 --batches 1,10 --threads 1 --repeats 1"
    ),
)
@click.option("--sizes", default="1000000", show_default=True, metavar="N,N")
@click.option("--bits", default="64", show_default=True, metavar="N,N")
@click.option("--batches", default="1,100,2000", show_default=True, metavar="N,N")
@click.option("--threads", default="1,2", show_default=True, metavar="N,N")
@click.option(
    "--kinds",
    default="random,clustered",
    show_default=True,
    metavar="A,B",
    help="Codes: random, clustered (1,000 centres, a tenth of the bits flipped).",
)
@click.option(
    "--parts",
    default="scan,compacted",
    show_default=True,
    metavar="A,B",
    help="The scan, and what compaction adds: groups and buckets.",
)
@click.option("-k", default=100, show_default=True, help="Answers to a query.")
@click.option("--repeats", default=3, show_default=True, help="Turns of each side.")
@click.option(
    "--peer-queries",
    default=200,
    show_default=True,
    metavar="N",
    help="Time FAISS on N queries of a batch at most and scale its time up.",
)
@file_option(
    "--codes", help="Codes from 'fdch encode'; they are repeated with noise instead."
)
@click.option("--seed", default=0, show_default=True)
@json_option
def command(
    as_json: bool, parts: str, kinds: str, codes: Path | None, **sizes: Any
) -> None:
    """Time exact search beside FAISS.

    Each case is measured with all sides taking turns in one process: our scan,
    FAISS IndexBinaryFlat in both settings (the faster one counts), and a loop
    that only counts codes under a threshold, the bound of what a scan can reach.
    After compaction: groups beside IndexBinaryIVF with as many probes as exact
    answers need, buckets beside IndexBinaryMultiHash. Answers are checked.
    """
    from fdch.bench.compacted import compacted_benchmark
    from fdch.bench.scan import Sizes, scan_benchmark

    wanted, given = _known("--parts", listed(parts), PARTS), None
    for name in ("sizes", "bits", "batches", "threads"):
        sizes[name] = numbers(f"--{name}", sizes[name])
    sizes["kinds"] = _known("--kinds", listed(kinds), ("random", "clustered"))
    if codes is not None:
        given = _read_codes(codes)
        sizes.update(kinds=("given",), bits=(given.bits,))
    result: dict[str, Any] = {"benchmark": "search"}
    with ProgressPrinter() as progress:
        if "scan" in wanted:
            result["scan"] = scan_benchmark(Sizes(**sizes), given, progress)
        if "compacted" in wanted:
            result["compacted"] = compacted_benchmark(Sizes(**sizes), given, progress)
    if as_json:
        say_json(result)
        return
    say("\n\n".join(str(table) for table in tables(result)))


def tables(result: dict[str, Any]) -> "list[Table]":
    """Lay the result out for a terminal."""
    found = []
    if "scan" in result:
        found.append(_scan_table(result["scan"]))
    if "compacted" in result:
        found += [
            _nearest_table(result["compacted"]),
            _within_table(result["compacted"]),
        ]
    return found


def _scan_table(result: dict[str, Any]) -> "Table":
    from fdch.evaluation.tables import Table

    rows = tuple(
        (
            _gallery(case),
            f"{case['batch']:,}",
            str(case["threads"]),
            f"{case['queries_per_second']:,.0f}",
            _spread(case["ratio"]),
            _spread(case["of_bound"]),
            _agreement(case),
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
    heads = ("scan", "batch", "threads", "queries/s", "x FAISS", "of bound", "answers")
    return Table(heads, rows, notes)


def _nearest_table(result: dict[str, Any]) -> "Table":
    from fdch.evaluation.tables import Table

    rows = tuple(
        (
            _gallery(case),
            f"{case['groups']:,}",
            f"{case['nearest']['queries_per_second']['median']:,.0f}",
            f"{case['nearest']['ivf_queries_per_second']['median']:,.0f}",
            str(case["nearest"]["ivf_probes"] or "not exact"),
            _spread(case["nearest"]["ratio"]),
            _spread(case["nearest"]["scan_ratio"]),
            _agreement(case["nearest"]),
        )
        for case in result["cases"]
    )
    heads = ("groups", "number", "queries/s", "IVF", "probes", "x IVF", "x scan",
             "answers")  # fmt: skip
    notes = ("batches of 1,000, one thread; x scan in batches of 100",)
    return Table(heads, rows, notes)


def _within_table(result: dict[str, Any]) -> "Table":
    from fdch.evaluation.tables import Table

    rows = tuple(
        (
            _gallery(case),
            str(one["radius"]),
            f"{one['microseconds']['median']:,.1f}",
            one["peer"],
            f"{one['peer_microseconds']['median']:,.1f}",
            f"{one['ratio']:.2f}",
            _agreement(one),
        )
        for case in result["cases"]
        for one in case["within"]
    )
    notes = tuple(
        f"{_gallery(case)}: {case['bytes_per_code']:.1f} bytes a code in memory"
        for case in result["cases"]
    )
    heads = ("radius", "R", "us", "beside", "us", "times faster", "answers")
    return Table(heads, rows, notes)


def _gallery(case: dict[str, Any]) -> str:
    return f"{case['size']:,} {case['kind']}, {case['bits']} bits"


def _spread(values: dict[str, Any]) -> str:
    return f"{values['median']:.2f} ({values['min']:.2f}-{values['max']:.2f})"


def _agreement(case: dict[str, Any]) -> str:
    return "the same" if case["answers_agree"] else "DIFFERENT"


def _known(option: str, found: list[str], known: tuple[str, ...]) -> tuple[str, ...]:
    from fdch.errors import SettingError, suggestion

    for name in found:
        if name not in known:
            raise SettingError(
                f"{option} takes {', '.join(known)}; got '{name}'"
                f"{suggestion(name, known)}"
            )
    return tuple(found)


def _read_codes(path: Path) -> "Codes":
    """Read codes that `fdch encode` wrote: of pairs where there are any."""
    import zipfile

    import numpy as np

    from fdch.codes import Codes
    from fdch.errors import DataError

    try:
        with np.load(path, allow_pickle=False) as arrays:
            side = "unified" if "unified" in arrays else "image"
            packed, bits = arrays[side], int(arrays["bits"])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as problem:
        raise DataError(
            f"'{path}' has no codes ({problem}). Write some with 'fdch encode'."
        ) from problem
    return Codes(cast(Any, packed), bits)
