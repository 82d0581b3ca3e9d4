"""The demo's index: its database pairs, searched as a user would."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fdch.cli.search import table
from fdch.cli.shared.output import plain, say

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.retrieval.results import Results
    from fdch.runs.method_scores import Evaluation
    from fdch.runs.run import Run
    from fdch.training.context import Context

SEARCHES, RESULTS = 2, 4
PICTURES = "pictures"


def index_and_search(
    place: Path, run: "Run", found: "Evaluation", context: "Context"
) -> list["Results"]:
    """Index the database and search it: by words where they are known, else by id."""
    from fdch.data.texts import Sentences
    from fdch.retrieval.index import Index
    from fdch.retrieval.searcher import Searcher
    from fdch.runs.encoding import lacks_known_words

    database = with_files(found.database, place.with_name(PICTURES))
    with Index.create(place, run, context=context) as index:
        index.add(database, broken="skip", progress=context.progress)
        searcher, queries = Searcher(index), found.query
        if run.method.inputs.vocabulary is None:
            return searcher.by_ids(found.database.ids[:SEARCHES].tolist(), k=RESULTS)
        assert isinstance(queries.texts, Sentences)
        known = ~lacks_known_words(run.method, queries)
        texts = queries.texts.values[known & queries.texts.present]
        return searcher.by_texts(texts[:SEARCHES].tolist(), k=RESULTS)


def with_files(pairs: "PairedSet", folder: Path) -> "PairedSet":
    """Write generated pictures as files, for whoever looks at the index's items."""
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
    named = PictureArray(images.pixels, images.rows, paths)
    return replace(pairs, images=named)


def say_searches(place: Path, searches: list["Results"]) -> None:
    """Print the query and its results."""
    for found in searches:
        query = found.query.get("text") or found.query.get("id")
        say(f"search of {place}: '{plain(str(query), 60)}'")
        say(table(found))
        say()
