"""`fdch train`: pairs in, a run folder out."""

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.groups import Interrupted
from fdch.cli.options import PathName, example, json_option
from fdch.cli.output import note, say, say_json
from fdch.cli.progress_lines import ProgressPrinter, duration
from fdch.cli.training_options import build_task, read_settings, training_options

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.data.splits import Split
    from fdch.runs.pipeline import TrainingTask
    from fdch.runs.run import Run
    from fdch.tuning.settings_file import SettingsFile


@click.command(
    "train", epilog=example("fdch train scenes:300 --bits 16 --out runs/first")
)
@training_options
@click.option(
    "--out",
    required=True,
    type=PathName(),
    metavar="RUN",
    help="Folder for the trained run.",
)
@click.option(
    "--settings",
    "settings_file",
    type=PathName(),
    metavar="FILE",
    help="Take the settings that 'fdch tune' wrote; --set wins over them.",
)
@click.option(
    "--stage-one",
    type=PathName(),
    metavar="RUN",
    help="Take stage 1 from a run of fdch or of a variant.",
)
@click.option("--resume", is_flag=True, help="Go on with interrupted training.")
@json_option
def command(
    resume: bool,
    device: str,
    as_json: bool,
    settings_file: Path | None,
    **options: Any,
) -> None:
    """Train a method on pairs and save it as a run.

    DATA is pairs.csv, pairs.jsonl, pairs.parquet, features.npz,
    mirflickr25k:DIR, nuswide:DIR, dcmh-mat:FILE, scenes or scenes:N.
    """
    file = read_settings(settings_file, options) if settings_file else None
    task = build_task(file=file, **options)
    from fdch.training.processes import is_first, join_processes

    with join_processes(device) as own_device:
        try:
            run = _train(task, file, resume, own_device, is_first())
        except KeyboardInterrupt:
            raise Interrupted(_remains(task.out)) from None
        if is_first():
            say_json(describe(run)) if as_json else say_trained(run)


def _train(
    task: "TrainingTask",
    file: "SettingsFile | None",
    resume: bool,
    device: str,
    is_first: bool,
) -> "Run":
    """Train a task; where processes share it, only the first prints anything."""
    from fdch.cli.data_notes import tell_parts
    from fdch.index.search.rows import MAX_BITS
    from fdch.runs.pipeline import train_run
    from fdch.runs.run_files import is_finished
    from fdch.training.context import Context

    if not is_first:
        logging.disable(logging.WARNING)
        return train_run(task, resume=resume, context=Context(device=device))
    if task.bits > MAX_BITS:
        note(
            f"note: codes of {task.bits} bits can be scored, but not indexed and "
            f"searched; {MAX_BITS} bits are the most for that."
        )

    def announce(pairs: "PairedSet", split: "Split") -> None:
        tell_parts(pairs, split)
        if file is not None:
            _note_origin(file, task.bits, pairs, split)

    was_finished = resume and is_finished(task.out)
    with ProgressPrinter() as progress:
        context = Context(progress, device)
        run = train_run(task, resume=resume, context=context, announce=announce)
    if was_finished:
        note(f"'{task.out}' was already finished; nothing was trained.")
    return run


def describe(run: "Run") -> dict[str, Any]:
    """Give the document of `--json`."""
    facts = run.facts
    kept = (
        "method",
        "fingerprint",
        "data",
        "split",
        "train",
        "validation",
        "seconds",
        "chosen",
        "validation_map",
        "validation_scores",
    )
    return {
        "run": str(run.folder),
        "bits": run.method.bits,
        "seed": run.method.seed,
        **{name: facts[name] for name in kept if name in facts},
        "settings": facts["settings"],
    }


def say_trained(run: "Run") -> None:
    """Print where the run is and what to do with it."""
    from fdch.evaluation import DIRECTIONS

    method = run.method
    trained = f"{run.facts['train']:,} pairs in {duration(run.facts['seconds'])}"
    say(f"run          {run.folder}")
    say(f"method       {run.name}, {method.bits} bits, seed {method.seed}")
    say(f"trained on   {trained}")
    if chosen := run.facts.get("chosen"):
        listed = ", ".join(
            f"{name} {value if isinstance(value, str) else format(value, '.2f')}"
            for name, value in chosen.items()
        )
        say(f"chosen       {listed} (by the data)")
    for gallery, scores in run.facts["validation_map"].items():
        listed = ", ".join(
            f"{scores[key]:.4f} {name}" for key, name in DIRECTIONS.items()
        )
        say(f"validation   mAP {listed} ({gallery} gallery)")
    say(f"fingerprint  {run.fingerprint}")
    say(f"next         fdch evaluate {shlex.quote(str(run.folder))}")


def _note_origin(
    file: "SettingsFile", bits: int, pairs: "PairedSet", split: "Split"
) -> None:
    """Say where settings were found, where that was not quite here."""
    if bits != file.bits:
        note(f"note: the settings were found for {file.bits} bits, not {bits}.")
    if file.data.get("fingerprint") != pairs.fingerprint:
        name = file.data.get("name", "unnamed")
        note(f"note: the settings were found on other data ({name}).")
    elif file.data.get("split") != split.fingerprint:
        note(
            "note: the settings were found with another split of this data, so some "
            "of the queries may have been used to find them."
        )


def _remains(out: Path) -> str:
    from fdch.runs.run_files import CHECKPOINTS, is_finished

    if is_finished(out):
        return f"the run in '{out}' is whole."
    if (out / CHECKPOINTS).exists():
        return (
            f"what was learned is kept in '{out}'. "
            "Go on with the same command and --resume."
        )
    return "no run was written; image features found so far are kept in the cache."
