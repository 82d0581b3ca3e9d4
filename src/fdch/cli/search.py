"""`fdch search`: words, a picture or an id in, what is near it out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared import options
from fdch.cli.shared.output import count, lay_out, note, plain, say, say_json

if TYPE_CHECKING:
    from fdch.retrieval.params import QueryKind
    from fdch.retrieval.results import Results

TEXT_WIDTH = 48
QUERY_KINDS: tuple["QueryKind", ...] = ("text", "image", "id")


@options.command(
    "search", "fdch search scenes.index --text beach -k 5 --where scene=beach"
)
@options.index
@click.option("--text", metavar="WORDS", help="Find what fits these words.")
@options.path("--image", metavar="FILE", help="... this picture.")
@click.option("--id", "name", metavar="ID", help="... an item of the index.")
@options.count("-k", help="Results at most: 10, or all of them within a radius.")
@click.option(
    "--radius", type=options.Count(0), metavar="R", help="Results within R bits only."
)
@click.option(
    "--where",
    type=options.parse_where,
    multiple=True,
    metavar="CONDITION",
    help="'column=value', also != < <= > >=, or 'column in a,b'; 'label' stands for "
    "the labels. Odd names and values stand in double quotes. Repeatable: all must "
    "hold.",
)
@click.option(
    "--rerank/--no-rerank",
    default=None,
    help="Order by the items' vectors, the default where the index keeps some, else by "
    "how sure the query is of each bit.",
)
@click.option(
    "--min-probability",
    type=options.PROBABILITY,
    metavar="P",
    help="Only results that are relevant with at least this probability.",
)
@click.option(
    "--match",
    type=click.Choice(["both", "codes", "words"]),
    default="both",
    help="Compare a text's code, its words with those of stored texts, or both.",
)
@options.encoder
@options.device
@options.json
def command(
    index: str,
    text: str | None,
    image: Path | None,
    name: str | None,
    encoder: str,
    device: str,
    as_json: bool,
    **given: Any,
) -> None:
    """Find what fits some words, a picture, or an item of an index.

    Results come nearest first, ties in the order of insertion. INDEX is a
    folder or milvus://host:port/collection.
    """
    queries = {"text": text, "image": image, "id": name}
    kinds = [kind for kind in QUERY_KINDS if queries[kind] is not None]
    if len(kinds) != 1:
        raise click.UsageError("give one of --text, --image and --id.")
    from fdch.retrieval.encoders import open_encoder
    from fdch.retrieval.index import Index
    from fdch.retrieval.params import SearchParams
    from fdch.retrieval.searcher import Searcher
    from fdch.training.context import Context

    params = SearchParams(**given)
    with Index.open(index, context=Context(device=device)) as opened:
        searcher = Searcher(opened, open_encoder(opened, encoder))
        [found] = searcher.search(kinds[0], [queries[kinds[0]]], params)
    if as_json:
        say_json(found.to_json())
        return
    if read_as := found.query.get("read_as"):
        pairs = ", ".join(f"{word} as {known}" for word, known in read_as.items())
        note(f"read {plain(pairs, 200)}")
    if unknown := found.query.get("unknown_words"):
        note(f"words not known to the model: {plain(' '.join(unknown), 200)}")
    if said := found.query.get("note"):
        note(plain(said, 200))
    took = f"{count(found.scanned, 'code')} in {found.milliseconds:.1f} ms"
    if found.results:
        for line in marked_lines(found):
            click.echo(line)
        note(f"{count(len(found), 'result')} from {took}")
        return
    say("nothing fits")
    note(f"searched {took}")
    if params.min_probability is not None:
        note("no result is so probable; give a lower --min-probability")


def marked_lines(found: "Results") -> list[str]:
    """Lay results out with the words that matched in bold, where that can be shown."""
    header, *lines = plain(table(found), lines=True).split("\n")
    start = header.index("text")
    for row, each in enumerate(found):
        shown = plain(each.text or "", TEXT_WIDTH)
        if not (each.text or "").startswith(shown.removesuffix("…")):
            continue  # it has characters that are shown otherwise
        for match in reversed(each.matched):
            if match.end < len(shown) or shown == each.text:
                first, last = start + match.start, start + match.end
                line = lines[row]
                bold = click.style(line[first:last], bold=True)
                lines[row] = line[:first] + bold + line[last:]
    return [header, *lines]


def table(found: "Results") -> str:
    """Lay results out for a terminal."""
    rows = (
        (
            "" if each.distance is None else each.distance,
            "" if each.probability is None else f"{each.probability:.2f}",
            plain(each.id, 24),
            plain(each.text or each.image or "", TEXT_WIDTH),
            plain(", ".join(each.labels), 40),
        )
        for each in found
    )
    return lay_out(("bits", "probable", "id", "text", "labels"), rows)
