"""`fdch train`: pairs in, a run folder out."""

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fdch.cli.shared import options
from fdch.cli.shared.groups import Interrupted
from fdch.cli.shared.options import PATH, option
from fdch.cli.shared.output import note, note_parts, report
from fdch.cli.shared.progress_lines import duration, show_progress
from fdch.cli.shared.training import build_task, read_settings, training_options

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.data.splits import Split
    from fdch.runs.pipeline import TrainingTask
    from fdch.runs.run import Run
    from fdch.tuning.settings_file import SettingsFile

OF_DATA = ("data", "split", "train", "validation")
OF_TRAINING = ("seconds", "chosen", "validation_map", "validation_scores", "settings")
REPORTED = ("method", "fingerprint", *OF_DATA, *OF_TRAINING)


@options.command("train", "fdch train scenes:300 --bits 16 --out runs/first")
@training_options
@option("--out RUN", "Folder for the trained run.", PATH, required=True)
@option(
    "--settings FILE",
    "Take the settings that 'fdch tune' wrote; --set overrides them.",
    PATH,
    name="settings_file",
)
@option("--stage-one RUN", "Take stage 1 from a run of fdch or of a variant.", PATH)
@option(
    "--use-all",
    "Learn from every pair and keep only some for validation: no test queries.",
    bool,
)
@option("--resume", "Resume interrupted training.", bool)
@options.json
def command(
    resume: bool, device: str, as_json: bool, settings_file: Path | None, **given: Any
) -> None:
    """Train a method on pairs and save it as a run.

    DATA is pairs.csv, pairs.xlsx, pairs.jsonl, pairs.parquet, a folder of
    pictures, features.npz, mirflickr25k:DIR, nuswide:DIR, dcmh-mat:FILE, scenes
    or scenes:N.
    """
    file = read_settings(settings_file, given) if settings_file else None
    task = build_task(file=file, **given)
    from fdch.training.devices.processes import is_first, join_processes

    with join_processes(device) as own_device:
        try:
            run = _train(task, file, resume, own_device, is_first())
        except KeyboardInterrupt:
            raise Interrupted(_explain_rest(task.out)) from None
        if is_first():
            known = {"bits": run.method.bits, "seed": run.method.seed}
            known |= {name: run.facts[name] for name in REPORTED if name in run.facts}
            report({"run": str(run.folder), **known}, as_json, *_show_run(run))


def _train(
    task: "TrainingTask",
    file: "SettingsFile | None",
    resume: bool,
    device: str,
    is_first: bool,
) -> "Run":
    """Train a task; where processes share it, only the first prints anything."""
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
        note_parts(pairs, split)
        if file is not None:
            _note_origin(file, task.bits, pairs, split)

    was_finished = resume and is_finished(task.out)
    with show_progress(device) as context:
        run = train_run(task, resume=resume, context=context, announce=announce)
    if was_finished:
        note(f"'{task.out}' was already finished; nothing was trained.")
    return run


def _show_run(run: "Run") -> list[str]:
    """Write where the run is and what to do with it."""
    from fdch.evaluation import DIRECTIONS

    method, facts = run.method, run.facts
    chosen = ", ".join(
        f"{name} {value if isinstance(value, str) else format(value, '.2f')}"
        for name, value in (facts.get("chosen") or {}).items()
    )
    maps = {
        gallery: ", ".join(f"{scores[k]:.4f} {name}" for k, name in DIRECTIONS.items())
        for gallery, scores in facts["validation_map"].items()
    }
    return [
        f"run          {run.folder}",
        f"method       {run.name}, {method.bits} bits, seed {method.seed}",
        f"trained on   {facts['train']:,} pairs in {duration(facts['seconds'])}",
        *([f"chosen       {chosen} (by the data)"] if chosen else []),
        *(f"validation   mAP {map} ({name} gallery)" for name, map in maps.items()),
        f"fingerprint  {run.fingerprint}",
        f"next         {_next_command(run)}",
    ]


def _next_command(run: "Run") -> str:
    name = shlex.quote(str(run.folder))
    if run.split().query and run.facts["labels"]:
        return f"fdch evaluate {name}"
    return f"fdch index create INDEX --run {name} {run.facts['data']['source']}"


def _note_origin(
    file: "SettingsFile", bits: int, pairs: "PairedSet", split: "Split"
) -> None:
    """Print a note if the settings were found for other bits, data or split."""
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


def _explain_rest(out: Path) -> str:
    from fdch.runs.run_files import CHECKPOINTS, is_finished

    if is_finished(out):
        return f"the run in '{out}' is complete."
    if (out / CHECKPOINTS).exists():
        return (
            f"what was learned is kept in '{out}'. "
            "Continue with the same command and --resume."
        )
    return "no run was written; image features found so far are kept in the cache."
