"""`fdch demo`: from nothing to scores, an index, and a page to look at."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdch.cli import serve as service
from fdch.cli.evaluate import describe
from fdch.cli.search import table
from fdch.cli.shared import options
from fdch.cli.shared.groups import Interrupted
from fdch.cli.shared.options import DATA, PATH, PORT, option
from fdch.cli.shared.output import note, note_parts, plain, say, say_json
from fdch.cli.shared.progress_lines import show_progress
from fdch.errors import RunError

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.data.splits import Split
    from fdch.retrieval.results import Results
    from fdch.runs.method_scores import Evaluation
    from fdch.runs.pipeline import TrainingTask
    from fdch.runs.run import Run
    from fdch.training.context import Context

MARKER = "made-by-fdch-demo"
RUN, UNFINISHED, PAGE = "run", "run.unfinished", "report.html"
INDEX, PICTURES = "index", "pictures"
QUERIES, ANSWERS = 2, 4


@options.command("demo", "fdch demo")
@option(
    "--out",
    "Folder for run, index and page; an earlier demo there is replaced.",
    PATH,
    default="demo",
)
@option("--data", "Data to train on.", DATA, default="scenes")
@option("--bits", "Length of the codes.", default=32)
@options.seed()
@options.settings
@option("--serve", "Serve the index when it is made; Ctrl-C ends it.", bool)
@option("--port", "Port of --serve; 0 takes any that is free.", PORT, default=8000)
@options.device
@options.json
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
    _require_own(out)
    if serve:
        if as_json:
            raise click.UsageError("give --serve or --json: a service prints no JSON.")
        service.require_packages()
        from fdch.service.serving import listen

        listen("127.0.0.1", port).close()  # refuses a port that is taken, before work
    from fdch.evaluation.score_files import save_scores
    from fdch.index.search.rows import row_type
    from fdch.methods._settings import parse_assignments
    from fdch.report.evaluation_page import write_report
    from fdch.runs.model_card import write_card
    from fdch.runs.pipeline import TrainingTask

    row_type(bits)  # refuses what cannot be indexed, before anything is learned
    settings = parse_assignments(assignments)
    task = TrainingTask(data, out / UNFINISHED, bits=bits, seed=seed, settings=settings)
    index, page = out / INDEX, out / PAGE
    try:
        with _tidy(out), show_progress(device) as context:
            run, found = _train_and_score(task, context)
            searches = _index_and_search(index, run, found, context)
        document = describe(run, found)
        save_scores(run.folder, found.scores, document)
        write_card(run, found.scores)
        write_report(page, run, found)
    except KeyboardInterrupt:
        advice = "begin again with the same command; image features are kept."
        raise Interrupted(advice) from None
    if as_json:
        shown = [one.to_json() for one in searches]
        more = {"report": str(page), "index": str(index), "searches": shown}
        say_json(document | more)
        return
    for one in searches:
        query = one.query.get("text") or one.query.get("id")
        say(f"search of {index}: '{plain(str(query), 60)}'\n{table(one)}\n")
    say(found.scores)
    say(f"\nreport   {page} (open it in a browser)")
    say(f"run      {run.folder}")
    say(f"index    {index}")
    quoted = shlex.quote(str(index))
    say(f"next     fdch search {quoted} --text 'a red car'")
    if serve:
        call = click.get_current_context().invoke
        call(service.command, indexes=(str(index),), port=port, quiet=True)
    else:
        say(f"         fdch serve {quoted}")


def _require_own(out: Path) -> None:
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
    from fdch.runs.method_scores import evaluate_run
    from fdch.runs.pipeline import train_run
    from fdch.runs.run import open_run

    out = task.out.parent

    def announce(pairs: "PairedSet", split: "Split") -> None:
        note_parts(pairs, split)
        _mark(out)

    note(f"learning {task.bits}-bit codes from '{task.source}'")
    train_run(task, context=context, announce=announce)
    # an earlier demo stays whole until this one has learned
    for name in (RUN, INDEX, PICTURES):
        _remove(out / name)
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
def _tidy(out: Path) -> Iterator[None]:
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


def _index_and_search(
    place: Path, run: "Run", found: "Evaluation", context: "Context"
) -> list["Results"]:
    """Index the database and search it: by words where they are known, else by id."""
    from fdch.data.texts import Sentences
    from fdch.retrieval.index import Index
    from fdch.retrieval.searcher import Searcher
    from fdch.runs.encoding import lacks_known_words

    database = _save_pictures(found.database, place.with_name(PICTURES))
    with Index.create(place, run, context=context) as index:
        index.add(database, broken="skip", progress=context.progress)
        searcher, queries = Searcher(index), found.query
        if run.method.inputs.vocabulary is None:
            return searcher.by_ids(found.database.ids[:QUERIES].tolist(), k=ANSWERS)
        assert isinstance(queries.texts, Sentences)
        known = ~lacks_known_words(run.method, queries)
        texts = queries.texts.values[known & queries.texts.present]
        return searcher.by_texts(texts[:QUERIES].tolist(), k=ANSWERS)


def _save_pictures(pairs: "PairedSet", folder: Path) -> "PairedSet":
    """Write generated pictures as files, for people who open the index."""
    from PIL import Image

    from fdch.data.pictures.images import PictureArray
    from fdch.data.rows import in_threads

    images = pairs.images
    if not isinstance(images, PictureArray):
        return pairs
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number}.png" for number in range(images.pixels.shape[0])]

    def write(row: int) -> None:
        path = paths[int(images.rows[row])]
        Image.fromarray(images.content(row)).save(path, compress_level=1)

    list(in_threads(write, len(images)))
    return replace(pairs, images=PictureArray(images.pixels, images.rows, paths))
