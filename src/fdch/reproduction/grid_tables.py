"""The scores of a grid as tables: CSV for programs, text for a terminal, LaTeX."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from fdch.evaluation.measures import DIRECTIONS, MAIN, MEASURES
from fdch.evaluation.tables import Cell, Table, latex_text
from fdch.reproduction.grid import SECTIONS, Grid, Score
from fdch.reproduction.recipe import SOURCE, label

MEANS = tuple(name for name, measure in MEASURES.items() if not measure.is_rank)


def score_rows(grid: Grid) -> Table:
    """Lay out every score in a row of its own, with all measures."""
    rows: list[tuple[Cell, ...]] = [
        (
            score.method,
            score.gallery,
            "yes" if score.is_usual else "no",
            score.direction,
            score.bits,
            *(score.measures.get(measure) for measure in MEASURES),
            score.chance["map"],
            score.published,
            "yes" if grid.is_best(score, "map") else "no",
            *(
                end
                for measure in MEANS
                for end in score.intervals.get(measure, (None, None))
            ),
        )
        for score in grid.scores
    ]
    header = ("method", "gallery", "authors_gallery", "direction", "bits", *MEASURES)
    limits = (f"{measure}_{end}" for measure in MEANS for end in ("low", "high"))
    return Table((*header, "chance", "published", "best", *limits), tuple(rows))


def text_tables(grid: Grid) -> list[Table]:
    """Lay out the main measures for a terminal, a table to each."""
    return [text_table(grid, name) for name in MAIN if grid.lines(name)]


def text_table(grid: Grid, measure: str = "map") -> Table:
    """Lay out a measure for a terminal; the best of a gallery has a star."""
    header = (
        MEASURES[measure].title,
        "gallery",
        *(f"{DIRECTIONS[way]} {bits}" for way, bits in grid.columns),
    )

    def show(score: Score) -> str:
        if measure in score.measures:
            star = " *" if grid.is_best(score, measure) else "  "
            return f"{score.measures[measure]}{star}"
        return f"- [{score.failure}]" if score.failure else "-"

    rows: list[tuple[Cell, ...]] = []
    for gallery, lines in grid.lines(measure).items():
        for line in lines:
            searched = f"{gallery} (own)" if line[0].is_usual else gallery
            rows.append((label(line[0].method), searched, *map(show, line)))
            if has_published(line) and measure == "map":
                printed = (_format_score(score.published) for score in line)
                rows.append(("", "published", *printed))
        chances = [score.chance[measure] for score in lines[0]]
        if any(chance is not None for chance in chances):
            rows.append(("chance", gallery, *map(_format_score, chances)))
    if measure != "map":
        return Table(header, tuple(rows), (MEASURES[measure].meaning,))
    notes = [f"{grid.recipe.title}: {grid.recipe.caption}", *grid.notes]
    notes.append("* best of its gallery; (own): the gallery the authors search")
    notes += [f"[{number}] {text}" for number, text in enumerate(grid.failures, 1)]
    return Table(header, tuple(rows), tuple(notes))


def has_published(line: Sequence[Score]) -> bool:
    """Return whether the paper prints anything for a line."""
    return any(score.published is not None for score in line)


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
        if grid.lines(measure):
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
    """Describe what was run, which may be less than the paper's table has."""
    *others, last = dict.fromkeys(label(score.method) for score in grid.scores)
    named = f"{', '.join(others)} and {last}" if others else last
    return f"{grid.recipe.title} of the paper, run again: {named} on {grid.data}"


def _latex_rows(grid: Grid, measure: str, of_ties: bool = False) -> Iterator[str]:
    width = len(grid.columns) + 1

    def show(score: Score) -> str:
        if measure not in score.measures:
            return "--" if score.failure is None else f"--$^{{{score.failure}}}$"
        if of_ties:
            return "--".join(
                f"{score.measures[name].mean:.4f}" for name in ("map_worst", "map_best")
            )
        spread = score.measures[measure]
        mean, deviation = f"{spread.mean:.4f}", ""
        if grid.is_best(score, measure):
            mean = rf"\mathbf{{{mean}}}"
        if spread.deviation is not None:
            deviation = rf" \pm {spread.deviation:.4f}"
        return f"${mean}{deviation}$"

    for gallery, lines in grid.lines(measure).items():
        title = latex_text(SECTIONS[gallery])
        yield r"\midrule"
        yield rf"\multicolumn{{{width}}}{{l}}{{\emph{{{title}}}}} \\"
        for line in lines:
            star = r"$^\star$" if line[0].is_usual else ""
            yield _latex_row(latex_text(label(line[0].method)) + star, map(show, line))
            if has_published(line) and measure == "map" and not of_ties:
                printed = (_latex_number(score.published) for score in line)
                yield _latex_row(r"\quad\footnotesize published", printed)
        chances = [score.chance[measure] for score in lines[0]]
        if any(chance is not None for chance in chances) and not of_ties:
            yield _latex_row(r"\emph{chance}", map(_latex_number, chances))


def _over(grid: Grid, means: str) -> str:
    """Describe the numbers: those of a single seed are not means."""
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


def _latex_number(value: float | None) -> str:
    return "" if value is None else rf"\footnotesize {value:.4f}"
