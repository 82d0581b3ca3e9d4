"""`fdch search`: words, a picture or items in, what is near them out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared import options
from fdch.cli.shared.options import COUNT, PATH, PROBABILITY, WHOLE, option, parse_where
from fdch.cli.shared.output import count, lay_out, note, plain, say, say_json

if TYPE_CHECKING:
    from fdch.index.store import Facets
    from fdch.retrieval.results import Results

TEXT_WIDTH = 48


@options.command(
    "search", "fdch search scenes.index --text beach -k 5 --where scene=beach"
)
@options.index
@option(
    "--text WORDS",
    "Find what fits these words, and not those with a hyphen before them: 'bag "
    "-red'. Put a word that begins with one in double quotes.",
)
@option("--image FILE", "... this picture.", PATH)
@option("--id ID", "... an item of the index, alone.", name="name")
@option("--like ID...", "... this item, and whatever else is given.")
@option("--unlike ID...", "... but not this item.")
@option("--avoid WORD...", "Leave out items whose text has this word.")
@option("-k", "Results at most: 10, or all of them within a radius.", COUNT)
@option("--radius R", "Results within R bits only.", WHOLE)
@option(
    "--where CONDITION...",
    "'column=value', also != < <= > >=, ^= for a beginning, or 'column in a,b'; "
    "'label' stands for the labels. Quote names and values that "
    "contain spaces or operators. All must hold.",
    parse_where,
)
@option(
    "--sort COLUMN",
    "Order results by a column, or by '-COLUMN' the largest first: the nearest "
    "candidates, or all within the radius.",
)
@option("--facets", "Count the values of all items that the search can return.", bool)
@option(
    "--rerank/--no-rerank",
    "Order by the items' vectors, the default where the index keeps some, else by "
    "how sure the query is of each bit.",
    default=None,
)
@option(
    "--min-probability P",
    "Only results that are relevant with at least this probability.",
    PROBABILITY,
)
@option(
    "--offset N",
    "Leave out the first N results: those of earlier pages.",
    WHOLE,
    default=0,
)
@option(
    "--group R",
    "Put near-duplicates under the first of them: codes within R bits, texts of "
    "nearly the same words.",
    WHOLE,
)
@option(
    "--match",
    "Compare a text's code, its words with those of stored texts, or both.",
    ["both", "codes", "words"],
    default="both",
)
@options.encoder
@options.device
@options.json
def command(
    index: str,
    text: str | None,
    image: Path | None,
    name: str | None,
    like: tuple[str, ...],
    unlike: tuple[str, ...],
    avoid: tuple[str, ...],
    encoder: str,
    device: str,
    as_json: bool,
    **given: Any,
) -> None:
    """Find what fits words, a picture, items, or several together.

    The best results come first: nearest codes, unless matched words or the
    items' vectors order them. INDEX is a folder or milvus://host:port/collection.
    """
    from fdch.retrieval.composed import ComposedQuery, split_avoided

    if text is not None:
        text, avoided = split_avoided(text)
        text, avoid = text if text or not avoided else None, (*avoid, *avoided)
    others = text, image, like, unlike, avoid
    if (name is not None) == any(each not in (None, ()) for each in others):
        raise click.UsageError(
            "give --id alone, or any of --text, --image and --like, which --unlike and "
            "--avoid refine."
        )
    from fdch.retrieval.encoders import open_encoder
    from fdch.retrieval.index import Index
    from fdch.retrieval.params import SearchParams
    from fdch.retrieval.searcher import Searcher
    from fdch.training.context import Context

    params = SearchParams(**given)
    like = like if name is None else (name,)
    kind, query = ComposedQuery(text, image, like, unlike, avoid).simplest
    with Index.open(index, context=Context(device=device)) as opened:
        searcher = Searcher(opened, open_encoder(opened, encoder))
        [found] = searcher.search(kind, [query], params)
    if as_json:
        say_json(found.to_json())
        return
    if read_as := found.query.get("read_as"):
        pairs = ", ".join(f"{word} as {known}" for word, known in read_as.items())
        note(f"read {plain(pairs, 200)}")
    if unknown := found.query.get("unknown_words"):
        note(f"words not known to the model: {plain(' '.join(unknown), 200)}")
    for said in found.notes:
        note(f"note: {said}")
    took = f"{count(found.scanned, 'code')} in {found.milliseconds:.1f} ms"
    if found.results:
        for line in mark_lines(found):
            click.echo(line)
        note(f"{count(len(found), 'result')} from {took}")
    else:
        say("no results")
    if found.facets is not None:
        say(f"\n{facet_table(found.facets)}")
    if found.results:
        return
    note(f"searched {took}")
    if params.min_probability is not None:
        note("no result reaches that probability; give a lower --min-probability")


def facet_table(facets: "Facets") -> str:
    """Lay counts by value out for a terminal."""
    rows = [
        (plain(name, 24), plain(str(value), 40), f"{number:>9,}")
        for name, counted in facets.columns.items()
        for value, number in counted
    ]
    notes = [f"of {count(facets.items, 'item')} that the search can return"]
    notes += [f"{plain(name, 24)}: {why}" for name, why in facets.uncounted.items()]
    return lay_out(("column", "value", f"{'items':>9}"), rows, notes)


def mark_lines(found: "Results") -> list[str]:
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
    is_grouped = any(each.similar is not None for each in found)
    rows = [
        (
            "" if each.distance is None else each.distance,
            "" if each.probability is None else f"{each.probability:.2f}",
            plain(each.id, 24),
            plain(each.text or each.image or "", TEXT_WIDTH),
            plain(", ".join(each.labels), 40),
            plain(" ".join(each.similar or ()), 40),
        )
        for each in found
    ]
    header = ("bits", "probable", "id", "text", "labels", "similar")
    columns = len(header) if is_grouped else len(header) - 1
    return lay_out(header[:columns], [row[:columns] for row in rows])
