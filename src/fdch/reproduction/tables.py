"""Tables as files: CSV for programs, text for a terminal."""

from fdch.evaluation import DIRECTIONS, MEASURES
from fdch.evaluation.tables import Cell, Table
from fdch.reproduction.grid import Grid, Line


def score_rows(grid: Grid) -> Table:
    """Lay out every score in a row of its own, with all measures."""
    rows: list[tuple[Cell, ...]] = []
    for gallery, line in grid.lines():
        chances = grid.chance[gallery]
        for number, (direction, bits) in enumerate(grid.columns):
            entry = line.entries[number]
            measures = entry.measures if entry else {}
            rows.append(
                (
                    line.method,
                    gallery,
                    "yes" if line.is_usual else "no",
                    direction,
                    bits,
                    *(measures.get(measure) for measure in MEASURES),
                    chances[number],
                    line.published[number],
                    "yes" if entry and entry.is_best else "no",
                )
            )
    header = ("method", "gallery", "authors_gallery", "direction", "bits", *MEASURES)
    return Table((*header, "chance", "published", "best"), tuple(rows))


def text_table(grid: Grid) -> Table:
    """Lay the main scores out for a terminal; the best of a gallery has a star."""
    header = (
        "method",
        "gallery",
        *(f"{DIRECTIONS[way]} {bits}" for way, bits in grid.columns),
    )
    rows: list[tuple[Cell, ...]] = []
    for gallery, lines in grid.sections.items():
        for line in lines:
            rows.append((line.label, _marked(gallery, line), *_scores(line)))
            if line.has_published:
                rows.append(("", "published", *map(_printed, line.published)))
        rows.append(("chance", gallery, *map(_printed, grid.chance[gallery])))
    notes = [f"{grid.recipe.title}: {grid.recipe.caption}", *grid.notes]
    notes.append("* best of its gallery; (own): the gallery the authors search")
    notes += [f"[{number}] {text}" for number, text in enumerate(grid.failures, 1)]
    return Table(header, tuple(rows), tuple(notes))


def _marked(gallery: str, line: Line) -> str:
    return f"{gallery} (own)" if line.is_usual else gallery


def _scores(line: Line) -> list[str]:
    return [
        f"{entry.map}{' *' if entry.is_best else '  '}"
        if entry
        else f"- [{mark}]"
        if mark
        else "-"
        for entry, mark in zip(line.entries, line.failures, strict=True)
    ]


def _printed(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
