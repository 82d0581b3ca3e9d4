"""`fdch bench rerank`: what re-ranking adds, and whether probabilities hold."""

from pathlib import Path
from typing import Any

from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report
from fdch.cli.shared.progress_lines import show_progress


@options.command("rerank", "fdch bench rerank runs/first")
@options.run
@options.count("--queries", default=500, help="Pairs used as queries.")
@options.seed("Of their choice.")
@options.device
@options.json
def command(run: Path, queries: int, seed: int, device: str, as_json: bool) -> None:
    """Measure what re-ranking adds, and whether probabilities hold.

    Queries and gallery are pairs of the run's data that were used neither for
    training nor for validation nor as test queries.
    """
    from fdch.bench.search_quality import search_quality
    from fdch.runs.run import open_run

    with show_progress(device) as context:
        result = search_quality(open_run(run, context), queries, seed, context)
    report(result, as_json, table(result))


def table(result: dict[str, Any]) -> str:
    """Lay the result out for a terminal."""
    rows = []
    for turn, ways in result["turns"].items():
        rows.append((turn.replace("_to_", " → "), "", *ways["plain"].values()))
        rows.append(("", "re-ranked", *ways["reranked"].values()))
    chances = " and ".join(map("{:.4f}".format, result["chance"].values()))
    notes = (
        f"{result['method']}, {result['bits']} bits, model {result['model'][:12]}; "
        f"{result['queries']:,} queries, {result['gallery']:,} items, none of them "
        f"seen in training; chance {chances}",
        "said: mean probability of the first 10, to be compared with their precision",
    )
    header = ("", "", "precision@10", "mAP@100", "said", "calibration error")
    return lay_out(header, rows, notes)
