"""`fdch bench evaluate`: the evaluation beside the loop that this field copies."""

from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import example, json_option
from fdch.cli.shared.output import count, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import count_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table


@click.command(
    "evaluate",
    epilog=example("fdch bench evaluate --queries 100 --database 5000 --repeats 1"),
)
@count_option("--queries", default=2000)
@count_option("--database", default=184_577, help="Items searched.")
@count_option("--bits", default=64, help="Length of the codes.")
@count_option("--repeats", default=3, help="Turns of each side.")
@count_option(
    "--loop-queries",
    metavar="N",
    help="Time the loop on N queries only and scale its time up.",
)
@json_option
def command(as_json: bool, **sizes: Any) -> None:
    """Time the evaluation beside a loop of sorts.

    Random codes with 10 labels; the defaults have the size of NUS-WIDE. The
    loop sorts the whole database for each query, as most code in this field.
    """
    from fdch.bench.evaluation import evaluate_benchmark

    with ProgressPrinter() as progress:
        result = evaluate_benchmark(**sizes, progress=progress)
    if as_json:
        say_json(result)
    else:
        say(table(result))


def table(result: dict[str, Any]) -> "Table":
    """Lay the result out for a terminal."""
    from fdch.evaluation.tables import Table

    sides = {
        "fdch, seconds": "ours_seconds",
        "loop of sorts, seconds": "loop_seconds",
        "times faster": "ratio",
    }
    rows = tuple(
        (name, *(f"{result[key][part]:.3g}" for part in ("median", "min", "max")))
        for name, key in sides.items()
    )
    return Table(("", "median", "least", "most"), rows, _notes(result))


def _notes(result: dict[str, Any]) -> tuple[str, ...]:
    agreement, memory = result["agreement"], result["peak_memory_bytes"]
    agrees = agreement["stable_agrees"] and agreement["untied_agrees"]
    answers = "the same" if agrees else "DIFFERENT"
    notes = [
        f"{result['queries']:,} queries, {result['database']:,} items, "
        f"{result['bits']} bits, {result['labels']} labels; "
        f"{count(result['repeats'], 'turn')} each; engine {result['engine']}",
        f"answers where they must agree (no ties, or database order): {answers}",
    ]
    if result["loop_scaled"]:
        notes.append(
            f"the loop ran {result['loop_queries']:,} queries; its time is scaled up"
        )
    if memory["after_ours"] is not None:
        notes.append(f"peak memory of our side: {memory['after_ours'] / 2**20:,.0f} MB")
    return tuple(notes)
