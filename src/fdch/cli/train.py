"""`fdch train`: pairs in, a run folder out."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.groups import Interrupted
from fdch.cli.options import (
    DataName,
    PathName,
    device_option,
    example,
    json_option,
    refuse_broken,
)
from fdch.cli.output import note, say, say_json
from fdch.cli.progress_lines import ProgressPrinter, duration
from fdch.cli.values import seed_option

if TYPE_CHECKING:
    from fdch.experiment import TrainingTask
    from fdch.runs import Run


@click.command(
    "train", epilog=example("fdch train scenes:300 --bits 16 --out runs/first")
)
@click.argument("data", type=DataName())
@click.option("--method", default="fdch", show_default=True, help="See 'fdch methods'.")
@click.option("--bits", default=64, show_default=True, help="Length of the codes.")
@click.option(
    "--out",
    required=True,
    type=PathName(),
    metavar="RUN",
    help="Folder for the trained run.",
)
@seed_option("Of the split and of learning.")
@click.option(
    "--split",
    type=PathName(),
    metavar="FILE",
    help="Use a saved split, such as another run's split.json.",
)
@click.option("--query-pairs", type=int, help="Queries to draw, with --train-pairs.")
@click.option("--train-pairs", type=int, help="Training pairs, validation included.")
@click.option(
    "--groups",
    type=click.Choice(["pictures", "texts", "both"]),
    help="Keep pairs with the same picture, text or either in one part of the split.",
)
@click.option("--image-network", metavar="NAME", help="As --set image_network=NAME.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting, or take a preset: preset=paper. Repeatable.",
)
@click.option(
    "--stage-one",
    type=PathName(),
    metavar="RUN",
    help="Take stage 1 from a run of fdch or of a variant.",
)
@click.option("--resume", is_flag=True, help="Go on with interrupted training.")
@refuse_broken
@device_option
@json_option
def command(resume: bool, device: str, as_json: bool, **asked: Any) -> None:
    """Train a method on pairs and save it as a run.

    DATA is pairs.csv, pairs.jsonl, pairs.parquet, features.npz,
    mirflickr25k:DIR, nuswide:DIR, dcmh-mat:FILE, scenes or scenes:N.
    """
    task = _task(**asked)
    from fdch.cli.data_notes import tell_parts
    from fdch.experiment import train_run
    from fdch.index.rows import MOST_BITS
    from fdch.run_files import is_finished
    from fdch.training.context import Context

    if task.bits > MOST_BITS:
        note(
            f"note: codes of {task.bits} bits can be scored, but not indexed and "
            f"searched; {MOST_BITS} bits are the most for that."
        )
    was_finished = resume and is_finished(task.out)
    try:
        with ProgressPrinter() as progress:
            context = Context(progress, device)
            run = train_run(task, resume=resume, context=context, announce=tell_parts)
    except KeyboardInterrupt:
        raise Interrupted(_remains(task.out)) from None
    if was_finished:
        note(f"'{task.out}' was already finished; nothing was trained.")
    say_json(describe(run)) if as_json else say_trained(run)


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
    for gallery, scores in run.facts["validation_map"].items():
        told = ", ".join(
            f"{scores[key]:.4f} {name}" for key, name in DIRECTIONS.items()
        )
        say(f"validation   mAP {told} ({gallery} gallery)")
    say(f"fingerprint  {run.fingerprint}")
    say(f"next         fdch evaluate {shlex.quote(str(run.folder))}")


def _task(
    data: str,
    assignments: tuple[str, ...],
    image_network: str | None,
    query_pairs: int | None,
    train_pairs: int | None,
    **same: Any,
) -> "TrainingTask":
    if (query_pairs is None) != (train_pairs is None):
        raise click.UsageError("give --query-pairs and --train-pairs together.")
    if query_pairs is not None and same["split"]:
        raise click.UsageError("a saved --split has its sizes; leave theirs out.")
    if same["groups"] and same["split"]:
        raise click.UsageError("a saved --split has its groups; leave --groups out.")
    from fdch.data.splits import SplitSizes
    from fdch.experiment import TrainingTask
    from fdch.methods._settings import parse_assignments

    settings = parse_assignments(assignments)
    if twice := {"bits", "seed"} & set(settings):
        names = " and ".join(f"--{name}" for name in sorted(twice))
        raise click.UsageError(f"give {names} as an option, not with --set.")
    if image_network is not None:
        settings["image_network"] = image_network
    sizes = None
    if query_pairs is not None and train_pairs is not None:
        sizes = SplitSizes(query_pairs, train_pairs)
    return TrainingTask(data, settings=settings, sizes=sizes, **same)


def _remains(out: Path) -> str:
    from fdch.run_files import CHECKPOINTS, is_finished

    if is_finished(out):
        return f"the run in '{out}' is whole."
    if (out / CHECKPOINTS).exists():
        return (
            f"what was learned is kept in '{out}'. "
            "Go on with the same command and --resume."
        )
    return "no run was written; image features found so far are kept in the cache."
