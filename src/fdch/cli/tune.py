"""`fdch tune`: pairs in, settings that suit them out."""

import shlex
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.groups import Interrupted
from fdch.cli.shared.options import example, file_option, json_option
from fdch.cli.shared.output import note, require_place, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.training_options import build_task, training_options
from fdch.cli.shared.values import Minutes

if TYPE_CHECKING:
    from fdch.runs.pipeline import TrainingTask
    from fdch.tuning.settings_file import SettingsFile
    from fdch.tuning.tune import Tuning


@click.command(
    "tune",
    epilog=example(
        "fdch tune scenes:300 --method dch --bits 16 --minutes 1 --out settings.toml"
    ),
)
@training_options
@file_option("--out", required=True, metavar="FILE", help="Settings to write: .toml.")
@click.option(
    "--minutes",
    type=Minutes(),
    default=20.0,
    show_default=True,
    help="Time for the search; reading data and image features come on top.",
)
@click.option("--resume", is_flag=True, help="Continue an earlier search.")
@json_option
def command(
    out: Path, minutes: float, resume: bool, device: str, as_json: bool, **options: Any
) -> None:
    """Find the settings of a method that suit some data.

    Trains with many settings on folds of the training part, and scores them on the
    pairs held out; test queries are never used. The best are written to FILE, for
    'fdch train DATA --settings FILE', unless the defaults are as good; a page
    beside it shows all trials. Settings given by --set are fixed.
    """
    from fdch.cli.shared.data_notes import tell_parts
    from fdch.training.context import Context
    from fdch.tuning.tune import (
        page_path,
        require_free_place,
        study_folder,
        tune_settings,
    )
    from fdch.tuning.tuning_page import write_tuning_page

    task = build_task(out=out, **options)
    target = require_place(out, ".toml", inputs=[task.source])
    page = require_place(page_path(out), inputs=[task.source])
    require_free_place(out, resume)
    try:
        with ProgressPrinter() as progress:
            found, pairs = tune_settings(
                task, minutes, context=Context(progress, device), announce=tell_parts
            )
        file = found.to_file({"name": pairs.name, "source": task.source})
        file.save(target)
        write_tuning_page(page, found, file)
    except KeyboardInterrupt:
        raise Interrupted(_remains(study_folder(out))) from None
    for text in found.warnings:
        note(f"warning: {text}")
    if as_json:
        say_json(describe(found, file, out, page))
    else:
        say_found(found, file, page)
        say(f"next      {_next_command(task)}")


def describe(
    found: "Tuning", file: "SettingsFile", out: Path, page: Path
) -> dict[str, Any]:
    """Give the document of `--json`."""
    return {
        "file": str(out),
        "page": str(page),
        "method": file.method,
        "bits": file.bits,
        "seed": file.seed,
        "settings": dict(file.settings),
        "is_default": not found.verdict.is_better,
        "remark": file.remark,
        "data": dict(file.data),
        "search": dict(file.search),
        "trials": [
            {
                "number": trial.number,
                "state": trial.state,
                "settings": trial.settings,
                "scores": trial.scores,
                "seconds": trial.seconds,
                "reason": trial.reason,
            }
            for trial in found.trials
        ],
    }


def say_found(found: "Tuning", file: "SettingsFile", page: Path) -> None:
    """Print what was found."""
    from fdch.tuning.tuning_page import shown_value

    defaults = statistics.fmean(found.trials[0].scores)
    settings = (f"{name}={shown_value(v)}" for name, v in file.settings.items())
    say(f"method    {file.method}, {file.bits} bits, seed {file.seed}")
    say(f"trials    {len(found.trials)} in {found.minutes:.1f} minutes")
    say(f"folds     {file.search['folds']} of {found.held_out:,} held-out pairs")
    say(f"defaults  {defaults:.4f}")
    say(f"chosen    {statistics.fmean(found.chosen.scores):.4f}")
    say(f"settings  {', '.join(settings) or 'the defaults'}")
    say(f"          {found.remark}")
    say(f"page      {page} (open it in a browser)")


def _next_command(task: "TrainingTask") -> str:
    """Write the command that trains with the settings, on the same split."""
    words = ["fdch", "train", task.source, "--settings", str(task.out)]
    if task.seed:
        words += ["--seed", str(task.seed)]
    if task.split is not None:
        words += ["--split", str(task.split)]
    if task.sizes is not None:
        words += ["--query-pairs", str(task.sizes.query)]
        words += ["--train-pairs", str(task.sizes.train)]
        if task.sizes.validation is not None:
            words += ["--validation-pairs", str(task.sizes.validation)]
    if task.broken != "refuse":
        words += ["--broken", task.broken]
    return shlex.join([*words, "--out", "RUN"])


def _remains(folder: Path) -> str:
    if folder.exists():
        return (
            f"finished trials are kept in '{folder}'. Continue with the same command "
            "and --resume."
        )
    return "nothing was written; image features found so far are kept in the cache."
