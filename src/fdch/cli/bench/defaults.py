"""`fdch bench defaults`: what a method's defaults were chosen by."""

from pathlib import Path

import click

from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, NAMES, PATH, option
from fdch.cli.shared.output import report
from fdch.cli.shared.progress_lines import show_progress


@options.command(
    "defaults",
    "fdch bench defaults scenes:60 --only neither --out tried --bits 8 --seeds 1",
)
@click.argument("data", type=options.DATA, nargs=-1, required=True)
@option("--method", "See 'fdch methods'.", default="fdch")
@options.bits
@option("--seeds", "How many splits to draw.", COUNT, default=3)
@option("--trials FILE", "Trials as TOML.", PATH)
@option("--only", "Only these trials, beside the defaults.", NAMES)
@option("--out DIR", "Folder of the results.", PATH, required=True)
@options.sizes
@options.device
@options.json
def command(
    data: tuple[str, ...],
    method: str,
    bits: int,
    seeds: int,
    trials: Path | None,
    only: list[str] | None,
    out: Path,
    sizes: "options.SplitSizes | None",
    device: str,
    as_json: bool,
) -> None:
    """Compare settings of a method on held-out pairs.

    Every trial is fitted on four fifths of each split's training part and scored on
    the rest; test queries are not used. Measurements in DIR are not repeated.
    """
    from fdch.bench.defaults import Ablation, choose_trials, gain_table, load_trials

    known = choose_trials(load_trials(method, trials), only)
    ablation = Ablation(out, known, method, bits, range(seeds), sizes)
    with show_progress(device) as context:
        found = {source: ablation.measure(source, context) for source in data}
    document = {"method": method, "bits": bits, "data": found}
    report(document, as_json, str(gain_table(found)))
