"""`fdch tune`: pairs in, settings that suit them out."""

import shlex
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fdch.cli.shared import options
from fdch.cli.shared.groups import Interrupted
from fdch.cli.shared.options import PATH, POSITIVE, option
from fdch.cli.shared.output import note, note_parts, require_place, say, say_json
from fdch.cli.shared.progress_lines import show_progress
from fdch.cli.shared.training import build_task, training_options

if TYPE_CHECKING:
    from fdch.runs.pipeline import TrainingTask
    from fdch.tuning.settings_file import SettingsFile
    from fdch.tuning.tune import Tuning

# options that training does not have, or that the settings file holds
OF_TUNING = (
    *("data", "out", "minutes", "resume", "as_json"),
    *("method", "bits", "assignments", "image_network"),
)
OF_TRIALS = ("number", "state", "settings", "scores", "seconds", "reason")


@options.command(
    "tune",
    "fdch tune scenes:300 --method dch --bits 16 --minutes 1 --out settings.toml",
)
@training_options
@option("--out FILE", "Settings to write: .toml.", PATH, required=True)
@option(
    "--minutes",
    "Time for the search; reading data and image features come on top.",
    POSITIVE,
    default=20.0,
)
@option("--resume", "Continue an earlier search.", bool)
@options.json
def command(
    out: Path, minutes: float, resume: bool, device: str, as_json: bool, **given: Any
) -> None:
    """Find the settings of a method that suit some data.

    Trains with many settings on folds of the training part, and scores them on the
    pairs held out; test queries are never used. The best are written to FILE, for
    'fdch train DATA --settings FILE', unless the defaults are as good; a page
    beside it shows all trials. Settings given by --set are fixed.
    """
    from fdch.tuning import tune
    from fdch.tuning.tuning_page import write_tuning_page

    task = build_task(out=out, **given)
    target = require_place(out, ".toml", inputs=[task.source])
    page = require_place(tune.page_path(out), inputs=[task.source])
    tune.require_free_place(out, resume)
    try:
        with show_progress(device) as context:
            found, pairs = tune.tune_settings(
                task, minutes, context=context, announce=note_parts
            )
        file = found.to_file({"name": pairs.name, "source": task.source})
        file.save(target)
        write_tuning_page(page, found, file)
    except KeyboardInterrupt:
        raise Interrupted(_explain_rest(tune.study_folder(out))) from None
    for text in found.warnings:
        note(f"warning: {text}")
    if as_json:
        say_json(_describe(found, file, out, page))
    else:
        say("\n".join(_show_found(found, file, page)))
        say(f"next      {_next_command(task)}")


def _describe(
    found: "Tuning", file: "SettingsFile", out: Path, page: Path
) -> dict[str, Any]:
    return {
        "file": str(out),
        "page": str(page),
        **asdict(file),
        "is_default": not found.verdict.is_better,
        "trials": [
            {name: getattr(trial, name) for name in OF_TRIALS} for trial in found.trials
        ],
    }


def _show_found(found: "Tuning", file: "SettingsFile", page: Path) -> list[str]:
    from fdch.tuning.tuning_page import show_setting

    settings = (f"{name}={show_setting(v)}" for name, v in file.settings.items())
    return [
        f"method    {file.method}, {file.bits} bits, seed {file.seed}",
        f"trials    {len(found.trials)} in {found.minutes:.1f} minutes",
        f"folds     {file.search['folds']} of {found.held_out:,} held-out pairs",
        f"defaults  {statistics.fmean(found.trials[0].scores):.4f}",
        f"chosen    {statistics.fmean(found.chosen.scores):.4f}",
        f"settings  {', '.join(settings) or 'the defaults'}",
        f"          {found.remark}",
        f"page      {page} (open it in a browser)",
    ]


def _next_command(task: "TrainingTask") -> str:
    """Write the command that trains with the settings, on the same data and split."""
    context, words = click.get_current_context(), ["fdch", "train", task.source]
    words += ["--settings", str(task.out)]
    for each in context.command.params:
        name = str(each.name)
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in OF_TUNING:
            value = context.params[name]
            if isinstance(value, dict):
                value = ",".join(map("=".join, value.items()))
            words += [each.opts[0], str(value)]
    return shlex.join([*words, "--out", "RUN"])


def _explain_rest(folder: Path) -> str:
    if folder.exists():
        return (
            f"finished trials are kept in '{folder}'. Continue with the same command "
            "and --resume."
        )
    return "nothing was written; image features found so far are kept in the cache."
