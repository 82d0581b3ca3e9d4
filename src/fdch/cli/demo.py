"""`fdch demo`: from nothing to scores, an index, and a page to look at."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.demo_search import PICTURES, index_and_search, say_searches
from fdch.cli.demo_serve import serve_demo
from fdch.cli.serve import require_packages
from fdch.cli.shared.groups import Interrupted
from fdch.cli.shared.options import (
    DataName,
    PathName,
    device_option,
    example,
    json_option,
)
from fdch.cli.shared.output import note, plain, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import seed_option
from fdch.errors import RunError

if TYPE_CHECKING:
    from fdch.runs.method_scores import Evaluation
    from fdch.runs.pipeline import TrainingTask
    from fdch.runs.run import Run
    from fdch.training.context import Context

MARKER = "made-by-fdch-demo"
RUN, UNFINISHED, PAGE = "run", "run.unfinished", "report.html"
INDEX = "index"
QUERIES, ANSWERS = 2, 4


@click.command("demo", epilog=example("fdch demo"))
@click.option(
    "--out",
    default="demo",
    show_default=True,
    type=PathName(),
    help="Folder for run, index and page; an earlier demo there is replaced.",
)
@click.option(
    "--data",
    type=DataName(),
    default="scenes",
    show_default=True,
    help="Data to train on.",
)
@click.option("--bits", default=32, show_default=True, help="Length of the codes.")
@seed_option()
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a setting."
)
@click.option(
    "--serve", is_flag=True, help="Serve the index when it is made; Ctrl-C ends it."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port of --serve; a free one if it is taken.",
)
@device_option
@json_option
def command(
    out: Path,
    data: str,
    bits: int,
    seed: int,
    assignments: tuple[str, ...],
    serve: bool,
    port: int,
    device: str,
    as_json: bool,
) -> None:
    """Train, evaluate, index and search generated pictures, in minutes.

    FDCH learns from pictures of coloured shapes with captions and labels; then
    pictures find captions and captions find pictures, and an index of them is
    made and searched. Nothing is downloaded.
    """
    require_own(out)
    if serve:
        if as_json:
            raise click.UsageError("give --serve or --json: a service prints no JSON.")
        require_packages()
    from fdch.index.search.rows import row_type
    from fdch.methods._settings import parse_assignments
    from fdch.runs.pipeline import TrainingTask
    from fdch.training.context import Context

    row_type(bits)  # refuses what cannot be indexed, before anything is learned
    settings = parse_assignments(assignments)
    task = TrainingTask(data, out / UNFINISHED, bits=bits, seed=seed, settings=settings)
    try:
        with _tidied(out), ProgressPrinter() as progress:
            context = Context(progress, device)
            run, found = _train_and_score(task, context)
            searches = index_and_search(out / INDEX, run, found, context)
        document = _write_page(out, run, found)
    except KeyboardInterrupt:
        advice = "begin again with the same command; image features are kept."
        raise Interrupted(advice) from None
    if as_json:
        more = {"report": str(out / PAGE), "index": str(out / INDEX)}
        say_json(document | more | {"searches": [one.to_json() for one in searches]})
        return
    say_examples(found, seed)
    say_searches(out / INDEX, searches)
    say(found.scores)
    say(f"\nreport   {out / PAGE} (open it in a browser)")
    say(f"run      {run.folder}")
    say(f"index    {out / INDEX}")
    index = shlex.quote(str(out / INDEX))
    say(f"next     fdch search {index} --text 'a red car'")
    if serve:
        serve_demo(out / INDEX, port)
    else:
        say(f"         fdch serve {index}")


def require_own(out: Path) -> None:
    """Refuse a folder that no demo has made; clear away what one left unfinished."""
    if (out / MARKER).is_file():
        _remove(out / UNFINISHED)
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(
            f"'{out}' is there and was not made by a demo, so it is left alone. "
            "Choose another folder with --out."
        )


def _train_and_score(
    task: "TrainingTask", context: "Context"
) -> tuple["Run", "Evaluation"]:
    from fdch.cli.shared.data_notes import tell_parts
    from fdch.data.pairs import PairedSet
    from fdch.data.splits import Split
    from fdch.runs.method_scores import evaluate_run
    from fdch.runs.pipeline import train_run
    from fdch.runs.run import open_run

    out = task.out.parent

    def announce(pairs: PairedSet, split: Split) -> None:
        tell_parts(pairs, split)
        _mark(out)

    note(f"learning {task.bits}-bit codes from '{task.source}'")
    train_run(task, context=context, announce=announce)
    # an earlier demo stays whole until this one has learned
    _remove(out / RUN)
    _remove(out / INDEX)
    _remove(out / PICTURES)
    (out / PAGE).unlink(missing_ok=True)
    task.out.rename(out / RUN)
    run = open_run(out / RUN, context)
    return run, evaluate_run(run, context=context)


def _mark(out: Path) -> None:
    """Make the folder ours, so that the next demo may replace what it made."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MARKER).write_text("Made by 'fdch demo', which may replace it.\n")
    except OSError as problem:
        raise RunError(f"'{out}' cannot be written: {problem}.") from problem


@contextmanager
def _tidied(out: Path) -> Iterator[None]:
    """Leave nothing of a demo that ends before it has learned."""
    is_new = not out.exists()
    try:
        yield
    except BaseException:
        shutil.rmtree(out / UNFINISHED, ignore_errors=True)
        if out.is_dir() and [path.name for path in out.iterdir()] == [MARKER]:
            (out / MARKER).unlink()
            if is_new:
                out.rmdir()
        raise


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _write_page(out: Path, run: "Run", found: "Evaluation") -> dict[str, Any]:
    from fdch.cli.evaluate import describe
    from fdch.evaluation.score_files import save_scores
    from fdch.report.evaluation_page import write_report

    document = describe(run, found)
    save_scores(run.folder, found.scores, document)
    write_report(out / PAGE, run, found)
    return document


def say_examples(found: "Evaluation", seed: int) -> None:
    """Print captions with the pictures they find, and pictures with captions."""
    from fdch.evaluation.tables import Table
    from fdch.report.cards import draw_examples

    for direction, asks in (
        ("text_to_image", "nearest pictures to the text"),
        ("image_to_text", "nearest texts to the picture"),
    ):
        for each in draw_examples(
            found, direction, number=QUERIES, answers=ANSWERS, seed=seed
        ):
            text = found.query.texts.text(each.query)
            shown = f" '{plain(text, 60)}'" if text and "text_to" in direction else ""
            labels = ", ".join(found.query.labels_of(each.query))
            say(f"{asks}{shown} ({found.query.ids[each.query]}: {plain(labels, 60)})")
            rows = tuple(
                (
                    "  right" if answer.right else "  wrong",
                    answer.distance,
                    plain(str(found.database.ids[answer.row]), 20),
                    plain(found.database.texts.text(answer.row) or "", 48),
                    plain(", ".join(found.database.labels_of(answer.row)), 40),
                )
                for answer in each.found
            )
            say(Table(("", "bits", "id", "text", "labels"), rows))
            say()
