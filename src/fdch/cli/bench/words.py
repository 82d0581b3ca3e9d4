"""`fdch bench words`: what matching words adds to codes, and costs."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report
from fdch.cli.shared.progress_lines import show_progress

WAYS = {
    "codes": "codes",
    "both": "codes and words",
    "words": "words",
    "hidden": "both, its words in no text",
    "half_hidden": "both, one of them in no text",
}


@options.command("words", "fdch bench words runs/first --items 2000 --repeats 1")
@click.argument("run", type=options.PathName(), required=False)
@options.count("--queries", default=200, help="Queries of one word or two.")
@options.count("--gallery", default=5000, help="Pairs of the run's data to search.")
@click.option("--tuning", is_flag=True, help="Use the words meant for choosing.")
@options.count("--items", default=1_000_000, help="Items to measure the cost with.")
@options.count("--bits", default=64, help="Length of their codes.")
@options.count("-k", default=10, help="Results of a query.")
@options.count("--repeats", default=10, help="Turns of each side, of 20 queries.")
@options.seed("Of the choice of pairs and words, and of what is drawn.")
@options.device
@options.json
def command(
    run: Path | None,
    queries: int,
    gallery: int,
    tuning: bool,
    seed: int,
    device: str,
    as_json: bool,
    **cost: int,
) -> None:
    """Measure what matching words adds to codes, and what it costs.

    Quality of a RUN: queries are words of its texts that the model knows, searched
    are pairs that it has not seen. Cost: one query over drawn items, by codes and
    by codes and words, taking turns.
    """
    from fdch.bench.query_cost import word_cost
    from fdch.bench.word_quality import word_quality
    from fdch.runs.run import open_run

    result: dict[str, Any] = {}
    with show_progress(device) as context:
        if run is not None:
            opened = open_run(run, context)
            result = word_quality(opened, queries, gallery, seed, tuning, context)
    result["cost"] = word_cost(seed=seed, **cost)
    tables = [table(result)] if "turns" in result else []
    report(result, as_json, "\n\n".join([*tables, cost_table(result["cost"])]))


def table(result: dict[str, Any]) -> str:
    """Lay the quality out for a terminal."""
    rows = []
    for name, ways in result["turns"].items():
        for way, figures in ways.items():
            measured = [
                figures[f"{measure}{end}"]
                for measure in ("holds_words", "shares_label")
                for end in ("", "_over_codes")
            ]
            shown = [f"{m['mean']:.3f} ± {m['standard_error']:.3f}" for m in measured]
            first = name if way == "codes" else ""
            rows.append((first, WAYS[way], *shown, figures["said"]))
    notes = (
        f"{result['method']}, {result['bits']} bits, model {result['model'][:12]}; "
        f"{result['queries']:,} queries, {result['gallery']:,} items, none of them "
        "seen in training; ± standard error",
        "of the first 10: texts with all words; a label in common with the pair that "
        "the words are from; said: mean probability, to be compared with the latter",
    )
    header = ("", "", "holds words", "over codes", "shares label", "over codes", "said")
    return lay_out(header, rows, notes)


def cost_table(cost: dict[str, Any]) -> str:
    """Lay the cost out for a terminal."""
    rows = [
        (
            WAYS[way],
            *(f"{1000 * times[end]:.3f} ms" for end in ("median", "min", "max")),
            f"{1000 * cost['slowest_in_20'][way]:.3f} ms",
        )
        for way, times in cost["seconds"].items()
    ]
    times = cost["both_over_codes"]
    rows.append(
        ("quotient", *(f"{times[end]:.2f}" for end in ("median", "min", "max")), "")
    )
    note = (
        f"one query of two words over {cost['items']:,} items, {cost['bits']} bits, "
        f"k = {cost['k']}; medians of turns"
    )
    return lay_out(("", "median", "least", "most", "slowest in 20"), rows, (note,))
