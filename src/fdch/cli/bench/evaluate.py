"""`fdch bench evaluate`: the evaluation beside the loop that this field copies."""

from typing import Any

from fdch.cli.bench._figures import show_agreement, show_mebibytes, show_three
from fdch.cli.shared import options
from fdch.cli.shared.output import count, lay_out, report
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command(
    "evaluate", "fdch bench evaluate --queries 100 --database 5000 --repeats 1"
)
@options.count("--queries", default=2000)
@options.count("--database", default=184_577, help="Items searched.")
@options.count("--bits", default=64, help="Length of the codes.")
@options.count("--repeats", default=3, help="Turns of each side.")
@options.count(
    "--loop-queries",
    metavar="N",
    help="Time the loop on N queries only and scale its time up.",
)
@options.json
def command(as_json: bool, **sizes: Any) -> None:
    """Time the evaluation beside a loop of sorts.

    Random codes with 10 labels; the defaults have the size of NUS-WIDE. The
    loop sorts the whole database for each query, as most code in this field.
    """
    from fdch.bench.evaluation import evaluate_benchmark

    with ProgressPrinter() as progress:
        result = evaluate_benchmark(**sizes, progress=progress)
    report(result, as_json, _table(result))


def _table(result: dict[str, Any]) -> str:
    sides = {
        "fdch, seconds": "ours_seconds",
        "loop of sorts, seconds": "loop_seconds",
        "times faster": "ratio",
    }
    rows = ((name, *show_three(result[key])) for name, key in sides.items())
    agreement, memory = result["agreement"], result["peak_memory_bytes"]["after_ours"]
    agrees = agreement["stable_agrees"] and agreement["untied_agrees"]
    notes = [
        f"{result['queries']:,} queries, {result['database']:,} items, "
        f"{result['bits']} bits, {result['labels']} labels; "
        f"{count(result['repeats'], 'turn')} each; engine {result['engine']}",
        "answers where they must agree (no ties, or database order): "
        f"{show_agreement(agrees)}",
    ]
    if result["loop_scaled"]:
        some = f"{result['loop_queries']:,} queries"
        notes.append(f"the loop ran {some}; its time is scaled up")
    if memory is not None:
        notes.append(f"peak memory of our side: {show_mebibytes(memory)[0]} MB")
    return lay_out(("", "median", "least", "most"), rows, notes)
