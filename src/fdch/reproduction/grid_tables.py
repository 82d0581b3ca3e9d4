"""The scores of a grid as tables: CSV for programs, text for a terminal, LaTeX."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from fdch.evaluation.measures import DIRECTIONS, MAIN, MEASURES
from fdch.evaluation.tables import Cell, Table, latex_text
from fdch.reproduction.grid import SECTIONS, Entry, Grid, Line
from fdch.reproduction.recipe import SOURCE


def score_rows(grid: Grid) -> Table:
    """Lay out every score in a row of its own, with all measures."""
    rows: list[tuple[Cell, ...]] = []
    for gallery, line in grid.lines():
        for number, (direction, bits) in enumerate(grid.columns):
            entry = line.entries[number]
            ends = entry.intervals if entry else {}
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
                    *(end for m in MEASURES for end in ends.get(m, (None, None))),
                )
            )
    header = ("method", "gallery", "authors_gallery", "direction", "bits", *MEASURES)
    limits = (f"{measure}_{end}" for measure in MEASURES for end in ("low", "high"))
    return Table((*header, "chance", "published", "best", *limits), tuple(rows))


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
            searched = f"{gallery} (own)" if line.is_usual else gallery
            rows.append((line.label, searched, *_scores(line, measure)))
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


def _scores(line: Line, measure: str) -> list[str]:
    return [
        f"{entry.measures[measure]}{' *' if measure in entry.best else '  '}"
        if entry and measure in entry.measures
        else f"- [{mark}]"
        if mark
        else "-"
        for entry, mark in zip(line.entries, line.failures, strict=True)
    ]


def _format_score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


# captions are read apart from the text, so they spell the paper's measure out
NAMES = {name: measure.title for name, measure in MEASURES.items()}
NAMES["map"] = "Mean average precision"


def latex_tables(grid: Grid) -> str:
    """Write a table to each main measure, and how far ties could move mAP."""
    title = f"{grid.recipe.title}, made by fdch; needs the package booktabs"
    lines = [f"% {line}" for line in (title, *grid.notes)]
    about = latex_text(_describe_run(grid))
    for measure in MAIN:
        if grid.galleries(measure):
            caption = (
                f"{about}. {latex_text(NAMES[measure])}: "
                f"{_over(grid, 'mean and standard deviation')}, best of a gallery in "
                r"bold. $^\star$: the gallery that the method's authors search."
            )
            if grid.has_published and measure == "map":
                caption += f" Small: as published ({latex_text(SOURCE)})."
            ending = "" if measure == "map" else f"-{measure.replace('_', '-')}"
            rows = _latex_rows(grid, measure)
            lines += [*_table(grid, caption, ending, rows), ""]
    caption = (
        f"{about}. mAP of the same codes in the worst and in the best order of items "
        f"at equal distance, {_over(grid, 'means')}."
    )
    rows = _latex_rows(grid, "map", of_ties=True)
    return "\n".join([*lines, *_table(grid, caption, "-ties", rows), ""])


def _describe_run(grid: Grid) -> str:
    """Say what was run, which may be less than the paper's table has."""
    *others, last = dict.fromkeys(line.label for _, line in grid.lines())
    named = f"{', '.join(others)} and {last}" if others else last
    return f"{grid.recipe.title} of the paper, run again: {named} on {grid.data}"


def _latex_rows(grid: Grid, measure: str, of_ties: bool = False) -> Iterator[str]:
    width = len(grid.columns) + 1
    write = _bounds if of_ties else _score
    for gallery in grid.galleries(measure):
        title = latex_text(SECTIONS[gallery])
        yield r"\midrule"
        yield rf"\multicolumn{{{width}}}{{l}}{{\emph{{{title}}}}} \\"
        for line in grid.sections[gallery]:
            name = latex_text(line.label) + (r"$^\star$" if line.is_usual else "")
            yield _latex_row(name, _latex_values(line, measure, write))
            if line.has_published and measure == "map" and not of_ties:
                printed = map(_latex_number, line.published)
                yield _latex_row(r"\quad\footnotesize published", printed)
        chances = grid.chance[gallery][measure]
        if any(chance is not None for chance in chances) and not of_ties:
            yield _latex_row(r"\emph{chance}", map(_latex_number, chances))


def _over(grid: Grid, means: str) -> str:
    """Say what the numbers are: of one seed nothing is a mean."""
    if len(grid.seeds) == 1:
        return f"of the one seed {grid.seeds[0]}"
    return f"{means} over {len(grid.seeds)} seeds"


def _table(grid: Grid, caption: str, ending: str, rows: Iterable[str]) -> list[str]:
    return [
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{grid.recipe.name}{ending}}}",
        rf"\begin{{tabular}}{{l{'r' * len(grid.columns)}}}",
        r"\toprule",
        *_latex_header(grid),
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *(
            rf"\par\footnotesize $^{{{number}}}$ {latex_text(' '.join(text.split()))}"
            for number, text in enumerate(grid.failures, start=1)
        ),
        r"\end{table}",
    ]


def _latex_header(grid: Grid) -> list[str]:
    """Name the directions over their columns, then the code lengths."""
    over, rules, first = [], [], 2
    for direction, columns in groupby(grid.columns, key=lambda column: column[0]):
        width = len(list(columns))
        title = latex_text(DIRECTIONS[direction])
        over.append(rf"\multicolumn{{{width}}}{{c}}{{{title}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    lengths = [f"{bits} bits" for _, bits in grid.columns]
    return [_latex_row("", over), "".join(rules), _latex_row("method", lengths)]


def _latex_row(name: str, cells: Iterable[str]) -> str:
    return " & ".join([name, *cells]) + r" \\"


def _latex_values(
    line: Line, measure: str, write: Callable[[Entry, str], str]
) -> list[str]:
    marks = ("--" if mark is None else f"--$^{{{mark}}}$" for mark in line.failures)
    return [
        write(entry, measure) if entry and measure in entry.measures else mark
        for entry, mark in zip(line.entries, marks, strict=True)
    ]


def _score(entry: Entry, measure: str) -> str:
    spread = entry.measures[measure]
    mean, deviation = f"{spread.mean:.4f}", ""
    if measure in entry.best:
        mean = rf"\mathbf{{{mean}}}"
    if spread.deviation is not None:
        deviation = rf" \pm {spread.deviation:.4f}"
    return f"${mean}{deviation}$"


def _latex_number(value: float | None) -> str:
    return "" if value is None else rf"\footnotesize {value:.4f}"


def _bounds(entry: Entry, measure: str) -> str:
    low, high = entry.measures["map_worst"].mean, entry.measures["map_best"].mean
    return f"{low:.4f}--{high:.4f}"
