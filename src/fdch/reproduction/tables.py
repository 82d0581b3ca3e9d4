"""Tables as files: CSV for programs, text for a terminal."""

from fdch.evaluation.measures import DIRECTIONS, MAIN, MEASURES
from fdch.evaluation.tables import Cell, Table
from fdch.reproduction.entries import Entry
from fdch.reproduction.grid import Grid, Line


def score_rows(grid: Grid) -> Table:
    """Lay out every score in a row of its own, with all measures."""
    rows: list[tuple[Cell, ...]] = []
    for gallery, line in grid.lines():
        for number, (direction, bits) in enumerate(grid.columns):
            entry = line.entries[number]
            rows.append(
                (
                    line.method,
                    gallery,
                    "yes" if line.is_usual else "no",
                    direction,
                    bits,
                    *(entry.measures.get(m) if entry else None for m in MEASURES),
                    grid.chance[gallery]["map"][number],
                    line.published[number],
                    "yes" if entry and "map" in entry.best else "no",
                    *(end for m in MEASURES for end in _ends(entry, m)),
                )
            )
    header = ("method", "gallery", "authors_gallery", "direction", "bits", *MEASURES)
    ends = (f"{measure}_{end}" for measure in MEASURES for end in ("low", "high"))
    return Table((*header, "chance", "published", "best", *ends), tuple(rows))


def text_tables(grid: Grid) -> list[Table]:
    """Lay out the main measures for a terminal, a table to each."""
    return [text_table(grid, name) for name in MAIN if grid.galleries(name)]


def text_table(grid: Grid, measure: str = "map") -> Table:
    """Lay out a measure for a terminal; the best of a gallery has a star."""
    header = (
        MEASURES[measure].title,
        "gallery",
        *(f"{DIRECTIONS[way]} {bits}" for way, bits in grid.columns),
    )
    rows: list[tuple[Cell, ...]] = []
    for gallery in grid.galleries(measure):
        for line in grid.sections[gallery]:
            rows.append(
                (line.label, _mark_gallery(gallery, line), *_scores(line, measure))
            )
            if line.has_published and measure == "map":
                rows.append(("", "published", *map(_format_score, line.published)))
        chances = grid.chance[gallery][measure]
        if any(chance is not None for chance in chances):
            rows.append(("chance", gallery, *map(_format_score, chances)))
    if measure != "map":
        return Table(header, tuple(rows), (MEASURES[measure].meaning,))
    notes = [f"{grid.recipe.title}: {grid.recipe.caption}", *grid.notes]
    notes.append("* best of its gallery; (own): the gallery the authors search")
    notes += [f"[{number}] {text}" for number, text in enumerate(grid.failures, 1)]
    return Table(header, tuple(rows), tuple(notes))


def _mark_gallery(gallery: str, line: Line) -> str:
    return f"{gallery} (own)" if line.is_usual else gallery


def _scores(line: Line, measure: str) -> list[str]:
    return [
        f"{entry.measures[measure]}{' *' if measure in entry.best else '  '}"
        if entry and measure in entry.measures
        else f"- [{mark}]"
        if mark
        else "-"
        for entry, mark in zip(line.entries, line.failures, strict=True)
    ]


def _ends(entry: Entry | None, measure: str) -> tuple[float | None, float | None]:
    return entry.intervals.get(measure, (None, None)) if entry else (None, None)


def _format_score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
