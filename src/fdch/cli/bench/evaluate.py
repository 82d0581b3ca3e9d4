"""`fdch bench evaluate`: the evaluation beside the loop that this field copies."""

from typing import Any

from fdch.cli.bench._tables import report_benchmark
from fdch.cli.shared import options
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
    report_benchmark(result, as_json)
