"""`fdch demo`: from nothing to scores, an index, and a page to look at."""

import shlex
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli import serve as service
from fdch.cli.evaluate import describe
from fdch.cli.search import table
from fdch.cli.shared import options, training
from fdch.cli.shared.groups import Interrupted
from fdch.cli.shared.options import DATA, PATH, PORT, option
from fdch.cli.shared.output import note, note_parts, plain, program, say, say_json
from fdch.cli.shared.progress_lines import show_progress
from fdch.errors import RunError

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.data.splits import Split
    from fdch.evaluation import Scores
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
@training.method_option
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
    method: str,
    bits: int,
    seed: int,
    assignments: tuple[str, ...],
    serve: bool,
    port: int,
    device: str,
    as_json: bool,
) -> None:
    """Train, evaluate, index and search generated pictures, in minutes.

    The method learns from pictures of coloured shapes with captions and labels; then
    pictures find captions and captions find pictures, and an index of them is
    made and searched. Nothing is downloaded.
    """
    is_taken = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if is_taken and not (out / MARKER).is_file():
        raise RunError(
            f"'{out}' exists and was not created by a demo. "
            "Choose another folder with --out."
        )
    if serve:
        if as_json:
            raise click.UsageError("give --serve or --json: a service prints no JSON.")
        service.require_packages()
        from fdch.service.serving import listen

        listen("127.0.0.1", port).close()  # refuses a port that is taken, before work
    from fdch.index.search.rows import row_type
    from fdch.methods._settings.assignments import parse_assignments
    from fdch.runs.pipeline import TrainingTask

    row_type(bits)  # refuses what cannot be indexed, before anything is learned
    settings = parse_assignments(assignments)
    task = TrainingTask(data, out / UNFINISHED, method, bits, seed, settings)
    _remove(out, UNFINISHED)
    note(f"learning {bits}-bit codes from '{data}'")
    try:
        document, scores, searches = _make(out, task, device)
    except KeyboardInterrupt:
        advice = "begin again with the same command; image features are kept."
        raise Interrupted(advice) from None
    finally:
        _remove(out, UNFINISHED)
        if out.is_dir() and [path.name for path in out.iterdir()] == [MARKER]:
            shutil.rmtree(out)  # it has not learned, so nothing is left of it
    if as_json:
        shown = [one.to_json() for one in searches]
        more = {"report": str(out / PAGE), "index": str(out / INDEX)}
        say_json({**document, **more, "searches": shown})
        return
    _show(out, scores, searches)
    if serve:
        call = click.get_current_context().invoke
        call(service.command, indexes=(str(out / INDEX),), port=port, quiet=True)
    else:
        say(f"         {program()} serve {shlex.quote(str(out / INDEX))}")


def _make(
    out: Path, task: "TrainingTask", device: str
) -> tuple[dict[str, Any], "Scores", list["Results"]]:
    """Train, score, index and search; return what is reported."""
    from fdch.evaluation.score_files import save_scores
    from fdch.report.evaluation_page import write_report
    from fdch.runs.method_scores import evaluate_run
    from fdch.runs.model_card import write_card
    from fdch.runs.pipeline import train_run
    from fdch.runs.run import open_run

    with show_progress(device) as context:
        train_run(task, context=context, announce=partial(_begin, out))
        # an earlier demo stays whole until this one has learned
        _remove(out, RUN, INDEX, PICTURES, PAGE)
        run = open_run(task.out.rename(out / RUN), context)
        found = evaluate_run(run, context=context)
        searches = _index_and_search(out / INDEX, run, found, context)
    document = describe(run, found)
    save_scores(run.folder, found.scores, document)
    write_card(run, found.scores)
    write_report(out / PAGE, run, found)
    return document, found.scores, searches


def _show(out: Path, scores: "Scores", searches: list["Results"]) -> None:
    """Print results and scores, then where everything is."""
    index = out / INDEX
    for one in searches:
        query = one.query.get("text") or one.query.get("id")
        say(f"search of {index}: '{plain(str(query), 60)}'\n{table(one)}\n")
    say(scores)
    say(f"\nreport   {out / PAGE} (open it in a browser)")
    say(f"run      {out / RUN}")
    say(f"index    {index}")
    say(f"next     {program()} search {shlex.quote(str(index))} --text 'a red car'")


def _begin(out: Path, pairs: "PairedSet", split: "Split") -> None:
    """Mark the folder, so that the next demo may replace what this one makes."""
    note_parts(pairs, split)
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MARKER).write_text("Made by 'fdch demo', which may replace it.\n")
    except OSError as problem:
        raise RunError(f"'{out}' cannot be written: {problem}.") from problem


def _remove(out: Path, *names: str) -> None:
    for name in names:
        if (out / name).is_dir():
            shutil.rmtree(out / name)
        else:
            (out / name).unlink(missing_ok=True)


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
