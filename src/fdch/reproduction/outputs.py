"""Everything a reproduction leaves beside its cells: tables, figures, a page."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fdch.files import write_bytes
from fdch.reproduction.costs import cost_table, health_table
from fdch.reproduction.curves import panels_of
from fdch.reproduction.figures import figure_files
from fdch.reproduction.grid import Grid, build_grid
from fdch.reproduction.latex import latex_tables
from fdch.reproduction.page import write_page_of
from fdch.reproduction.reproduce import Reproduction
from fdch.reproduction.tables import score_rows

REPORT = "report.html"
# the figure again with one gallery for all methods
SAME_GALLERY = "modality"


def build_grids(found: Reproduction) -> dict[str, Grid]:
    """Give the tables by the names of their recipes."""
    return {
        recipe.name: build_grid(recipe, found)
        for recipe in found.recipes
        if recipe.kind == "table"
    }


def write_outputs(
    found: Reproduction, grids: Mapping[str, Grid] | None = None
) -> list[Path]:
    """Write tables, figures and the report page; give their paths, page first.

    Args:
        found: What was reproduced.
        grids: What `build_grids` gives, where it was called already.
    """
    grids = build_grids(found) if grids is None else grids
    written = []
    for name, content in _contents(found, grids):
        path = found.study.out / name
        write_bytes(path, content)
        written.append(path)
    page = found.study.out / REPORT
    write_page_of(page, found, list(grids.values()))
    return [page, *written]


def _contents(
    found: Reproduction, grids: Mapping[str, Grid]
) -> Iterator[tuple[str, bytes]]:
    for name, grid in grids.items():
        yield f"{name}.csv", score_rows(grid).csv().encode()
        yield f"{name}.tex", latex_tables(grid).encode()
    yield from _figures(found)
    for name, table in {
        "cost": cost_table(found),
        "health": health_table(found),
    }.items():
        yield f"{name}.csv", table.csv().encode()
        yield f"{name}.tex", (table.latex() + "\n").encode()


def _figures(found: Reproduction) -> Iterator[tuple[str, bytes]]:
    """Draw the figures; two that show the same are drawn once."""
    drawn: dict[tuple[Any, ...], dict[str, bytes]] = {}
    for recipe in found.recipes:
        if recipe.kind != "figure":
            continue
        for ending, gallery in (("", None), (f"-{SAME_GALLERY}", SAME_GALLERY)):
            shown = recipe.bits, recipe.methods, gallery
            if shown not in drawn:
                drawn[shown] = figure_files(panels_of(recipe, found, gallery))
            for form, content in drawn[shown].items():
                yield f"{recipe.name}{ending}.{form}", content
