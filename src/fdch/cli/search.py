"""`fdch search`: words, a picture or an id in, what is near it out."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdch.cli.options import (
    PathName,
    device_option,
    encoder_option,
    example,
    index_argument,
    json_option,
)
from fdch.cli.output import count, note, plain, say, say_json
from fdch.cli.values import Count, Probability, Where

if TYPE_CHECKING:
    from fdch.evaluation.calibration import Calibration
    from fdch.evaluation.tables import Table
    from fdch.index.store import Condition
    from fdch.retrieval.results import Options, Results
    from fdch.retrieval.searcher import Searcher


@click.command(
    "search",
    epilog=example("fdch search scenes.index --text beach -k 5 --where scene=beach"),
)
@index_argument
@click.option("--text", metavar="WORDS", help="Find what fits these words.")
@click.option("--image", type=PathName(), metavar="FILE", help="... this picture.")
@click.option("--id", "name", metavar="ID", help="... an item of the index.")
@click.option(
    "-k", type=Count(), help="Results at most: 10, or all of them within a radius."
)
@click.option(
    "--radius", type=Count(0), metavar="R", help="Results within R bits only."
)
@click.option(
    "--where",
    type=Where(),
    multiple=True,
    metavar="CONDITION",
    help="'column=value', also != < <= > >=, or 'column in a,b'; 'label' stands for "
    "the labels. Odd names and values stand in double quotes. Repeatable: all must "
    "hold.",
)
@click.option(
    "--rerank", is_flag=True, help="Order by how sure the query is of each bit."
)
@click.option(
    "--min-probability",
    type=Probability(),
    metavar="P",
    help="Only results that are relevant with at least this probability.",
)
@encoder_option
@device_option
@json_option
def command(
    index: str,
    text: str | None,
    image: Path | None,
    name: str | None,
    encoder: str,
    device: str,
    as_json: bool,
    k: int | None,
    radius: int | None,
    where: "tuple[Condition, ...]",
    rerank: bool,
    min_probability: float | None,
) -> None:
    """Find what fits some words, a picture, or an item of an index.

    Results come nearest first, ties in the order of insertion. INDEX is a
    folder or milvus://host:port/collection.
    """
    if sum(asked is not None for asked in (text, image, name)) != 1:
        raise click.UsageError("give one of --text, --image and --id.")
    from fdch.retrieval.encoders import open_encoder
    from fdch.retrieval.index import Index
    from fdch.retrieval.searcher import Searcher
    from fdch.training.context import Context

    options: Options = {
        "k": k,
        "radius": radius,
        "where": where,
        "rerank": rerank,
        "min_probability": min_probability,
    }
    with Index.open(index, context=Context(device=device)) as opened:
        searcher = Searcher(opened, open_encoder(opened, encoder))
        found = _search(searcher, text, image, name, options)
        calibration = searcher.calibration
    if as_json:
        say_json(found.to_json())
        return
    if unknown := found.query.get("unknown_words"):
        note(f"words not known to the model: {plain(' '.join(unknown), 200)}")
    say_results(found)
    if not found.results and min_probability is not None and calibration:
        asking = "pair" if name else "image" if image else "text"
        note(_too_sure(calibration, asking, min_probability))


def _too_sure(calibration: "Calibration", asking: str, least: float) -> str:
    """Say what to ask for where no result was probable enough."""
    surest = calibration.surest(asking)
    told = "no result is so probable"
    if surest < least:
        told = f"no result of this model is ever more probable than {surest:.2f}"
    return f"{told}; ask for less with --min-probability, or train with more pairs"


def _search(
    searcher: "Searcher",
    text: str | None,
    image: Path | None,
    name: str | None,
    options: "Options",
) -> "Results":
    if text is not None:
        return searcher.by_text(text, **options)
    if image is not None:
        return searcher.by_image(image, **options)
    assert name is not None
    return searcher.by_id(name, **options)


def say_results(found: "Results") -> None:
    """Print results as a table, and what it took."""
    took = f"{count(found.scanned, 'code')} in {found.milliseconds:.1f} ms"
    if found.results:
        say(table(found))
        note(f"{count(len(found), 'result')} from {took}")
    else:
        say("nothing fits")
        note(f"searched {took}")


def table(found: "Results") -> "Table":
    """Lay results out for a terminal."""
    from fdch.evaluation.tables import Table

    rows = tuple(
        (
            each.distance,
            "" if each.probability is None else f"{each.probability:.2f}",
            plain(each.id, 24),
            plain(each.text or each.image or "", 48),
            plain(", ".join(each.labels), 40),
        )
        for each in found
    )
    return Table(("bits", "probable", "id", "text", "labels"), rows)
