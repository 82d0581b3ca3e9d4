"""Tables: rows of names and figures, written as text, CSV or LaTeX."""

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "→": r"$\to$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


PLACES = 4  # digits after the point


@dataclass(frozen=True)
class Spread:
    """A mean over several runs, with their standard deviation."""

    mean: float
    deviation: float | None  # sample standard deviation; None for a single run

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Take mean and deviation of values."""
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return cls(statistics.fmean(values), deviation)

    def text(self, places: int = PLACES) -> str:
        """Write both with as many digits after the point."""
        shown = f"{self.mean:.{places}f}"
        deviation = "" if self.deviation is None else f" ± {self.deviation:.{places}f}"
        return shown + deviation

    def __str__(self) -> str:
        return self.text()


def mean_known(values: Iterable[float | None]) -> float | None:
    """Average the values that are known; None where there are none."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


Cell = str | int | float | Spread | None


@dataclass(frozen=True)
class Table:
    """A header, rows of as many cells, and notes that belong beside them.

    >>> print(Table(("method", "mAP"), (("fdch", 0.77621),), ("chance 0.55",)))
    method     mAP
    fdch    0.7762
    chance 0.55
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    places: int = PLACES  # digits after the point

    def text(self) -> str:
        """Align the columns for a terminal: names left, figures right."""
        shown = [self.header, *(tuple(map(self._format, row)) for row in self.rows)]
        columns = list(zip(*shown, strict=True))
        widths = [max(map(len, column)) for column in columns]
        names = [self._has_names(index) for index in range(len(columns))]
        lines = [
            "  ".join(
                cell.ljust(width) if is_name else cell.rjust(width)
                for cell, width, is_name in zip(row, widths, names, strict=True)
            ).rstrip()
            for row in shown
        ]
        return "\n".join([*lines, *self.notes])

    def csv(self) -> str:
        """Write figures in full; a spread takes two columns, mean and deviation."""
        columns = range(len(self.header))
        wide = [any(isinstance(row[i], Spread) for row in self.rows) for i in columns]
        header = [(name, f"{name} std") for name in self.header]
        output = io.StringIO()
        writer = csv.writer(output, lineterminator="\n")
        for row in (header, *(map(_halves, row) for row in self.rows)):
            pairs = zip(row, wide, strict=True)
            writer.writerow([half for both, two in pairs for half in both[: 1 + two]])
        return output.getvalue()

    def latex(self) -> str:
        """Write a tabular with the rules of the booktabs package."""
        kinds = "".join(
            "l" if self._has_names(i) else "r" for i in range(len(self.header))
        )
        return "\n".join(
            [
                *(f"% {note}" for note in self.notes),
                rf"\begin{{tabular}}{{{kinds}}}",
                r"\toprule",
                self._latex_row(self.header),
                r"\midrule",
                *map(self._latex_row, self.rows),
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        def line(cells: Iterable[Cell], tag: str) -> str:
            shown = (f"<{tag}>{escape(self._format(cell))}</{tag}>" for cell in cells)
            return f"<tr>{''.join(shown)}</tr>"

        rows = [line(self.header, "th"), *(line(row, "td") for row in self.rows)]
        notes = [f"<p>{escape(note)}</p>" for note in self.notes]
        return f"<table>{''.join(rows)}</table>{''.join(notes)}"

    def _has_names(self, index: int) -> bool:
        return any(isinstance(row[index], str) for row in self.rows)

    def _format(self, cell: Cell) -> str:
        if cell is None:
            return "-"
        if isinstance(cell, Spread):
            return cell.text(self.places)
        return f"{cell:.{self.places}f}" if isinstance(cell, float) else str(cell)

    def _latex_row(self, row: Sequence[Cell]) -> str:
        return " & ".join(map(self._latex_cell, row)) + r" \\"

    def _latex_cell(self, cell: Cell) -> str:
        if isinstance(cell, Spread):
            return f"${self._format(cell).replace('±', chr(92) + 'pm')}$"
        if isinstance(cell, str):
            return latex_text(cell)
        return "--" if cell is None else self._format(cell)


def _halves(cell: Cell) -> tuple[Cell, Cell]:
    return (cell.mean, cell.deviation) if isinstance(cell, Spread) else (cell, None)


def latex_text(text: str) -> str:
    r"""Escape a text for LaTeX.

    >>> latex_text("SCM_orth → 5%")
    'SCM\\_orth $\\to$ 5\\%'
    """
    return "".join(_LATEX.get(character, character) for character in text)
