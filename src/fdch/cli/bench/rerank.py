"""`fdch bench rerank`: what ordering candidates adds and costs."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report
from fdch.cli.shared.progress_lines import show_progress

WAYS = {"plain": "", "reranked": "re-ranked", "by_vectors": "by vectors"}


@options.command("rerank", "fdch bench rerank runs/first --items 20000 --repeats 1")
@click.argument("run", type=options.PathName(), required=False)
@options.count("--queries", default=500, help="Pairs used as queries.")
@options.count("--items", default=1_000_000, help="Items to measure the cost with.")
@options.count("--bits", default=64, help="Length of their codes.")
@options.count("--vector-bytes", default=32, help="Length of their vectors.")
@options.count("-k", default=10, help="Results of a query.")
@options.count("--repeats", default=10, help="Turns of each side, of 20 queries.")
@options.seed("Of the choice of pairs, and of drawn codes.")
@options.device
@options.json
def command(
    run: Path | None,
    queries: int,
    seed: int,
    device: str,
    as_json: bool,
    **cost: int,
) -> None:
    """Measure what ordering candidates adds, and what it costs.

    Quality, and whether probabilities hold, of a RUN: queries and gallery are
    pairs of its data that were used neither for training nor for validation nor
    as test queries. Cost: one query over drawn codes with drawn vectors, in the
    order of codes and of vectors, taking turns.
    """
    from fdch.bench.query_cost import ordering_cost
    from fdch.bench.search_quality import search_quality
    from fdch.runs.run import open_run

    result: dict[str, Any] = {}
    with show_progress(device) as context:
        if run is not None:
            result = search_quality(open_run(run, context), queries, seed, context)
    result["cost"] = ordering_cost(seed=seed, **cost)
    tables = [table(result)] if "turns" in result else []
    report(result, as_json, "\n\n".join([*tables, cost_table(result["cost"])]))


def table(result: dict[str, Any]) -> str:
    """Lay the quality out for a terminal."""
    rows = []
    for turn, ways in result["turns"].items():
        for way, figures in ways.items():
            name = turn.replace("_to_", " → ") if way == "plain" else ""
            rows.append((name, WAYS[way], *figures.values()))
    chances = " and ".join(map("{:.4f}".format, result["chance"].values()))
    notes = (
        f"{result['method']}, {result['bits']} bits, model {result['model'][:12]}; "
        f"{result['queries']:,} queries, {result['gallery']:,} items, none of them "
        f"seen in training; chance {chances}",
        "said: mean probability of the first 10, to be compared with their precision",
    )
    header = ("", "", "precision@10", "mAP@100", "said", "calibration error")
    return lay_out(header, rows, notes)


def cost_table(cost: dict[str, Any]) -> str:
    """Lay the cost out for a terminal."""
    times = [
        (name, *(f"{1000 * found[end]:.3f} ms" for end in ("median", "min", "max")))
        for name, found in (
            ("bare scan in memory", cost["seconds"]["scan"]),
            ("search, in the order of codes", cost["seconds"]["by_codes"]),
            ("search, in the order of vectors", cost["seconds"]["by_vectors"]),
        )
    ]
    ratios = [
        (name, *(f"{cost[key][end]:.2f}" for end in ("median", "min", "max")))
        for name, key in (
            ("vectors / codes", "by_vectors_over_by_codes"),
            ("vectors / bare scan", "by_vectors_over_scan"),
        )
    ]
    note = (
        f"one query over {cost['items']:,} items, {cost['bits']} bits, vectors of "
        f"{cost['vector_bytes']} bytes, k = {cost['k']}, ordering "
        f"{cost['candidates']:,} candidates"
    )
    return lay_out(("", "median", "least", "most"), [*times, *ratios], (note,))
