"""`fdch bench defaults`: what a method's defaults were chosen by."""

from pathlib import Path
from typing import Any

import click

from fdch.cli.shared.lists import listed
from fdch.cli.shared.options import (
    DataName,
    PathName,
    device_option,
    example,
    json_option,
)
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.split_options import size_options, split_sizes
from fdch.cli.shared.values import count_option


@click.command(
    "defaults",
    epilog=example(
        "fdch bench defaults scenes:60 --only neither --out tried --bits 8 --seeds 1"
    ),
)
@click.argument("data", type=DataName(), nargs=-1, required=True)
@click.option("--method", default="fdch", show_default=True, help="See 'fdch methods'.")
@count_option("--bits", default=64, help="Length of the codes.")
@count_option("--seeds", default=3, help="How many splits to draw.")
@click.option("--trials", type=PathName(), metavar="FILE", help="Trials as TOML.")
@click.option("--only", metavar="A,B", help="Only these trials, beside the defaults.")
@click.option(
    "--out",
    required=True,
    type=PathName(),
    metavar="DIR",
    help="Folder of the results.",
)
@size_options
@device_option
@json_option
def command(
    data: tuple[str, ...],
    method: str,
    bits: int,
    seeds: int,
    trials: Path | None,
    only: str | None,
    out: Path,
    query_pairs: int | None,
    train_pairs: int | None,
    validation_pairs: int | None,
    device: str,
    as_json: bool,
) -> None:
    """Compare settings of a method on held-out pairs.

    Every trial is fitted on four fifths of each split's training part and scored on
    the rest; test queries are not used. Measurements in DIR are not repeated.
    """
    sizes = split_sizes(query_pairs, train_pairs, validation_pairs)
    from fdch.bench.defaults import DEFAULTS, Ablation, gain_table, load_trials
    from fdch.errors import SettingError, suggestion
    from fdch.training.context import Context

    known = load_trials(method, trials)
    if only is not None:
        names = listed(only, "--only")
        wrong = [name for name in names if name not in known]
        if wrong:
            hint = suggestion(wrong[0], known) or f"; there are: {', '.join(known)}."
            raise SettingError(f"there is no trial '{wrong[0]}'{hint}")
        known = {name: known[name] for name in dict.fromkeys((DEFAULTS, *names))}
    ablation = Ablation(out, known, method, bits, range(seeds), sizes)
    with ProgressPrinter() as progress:
        context = Context(progress, device)
        found = [ablation.measure(source, context) for source in data]
    if as_json:
        say_json(_describe(method, bits, found))
    else:
        say(gain_table(found))


def _describe(method: str, bits: int, found: list[Any]) -> dict[str, Any]:
    return {
        "method": method,
        "bits": bits,
        "data": {each.data: dict(each.scores) for each in found},
    }
