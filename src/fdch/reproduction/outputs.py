"""Everything a reproduction writes beside its cells: tables, figures, a page."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fdch import __version__
from fdch.evaluation import DIRECTIONS, MEASURES
from fdch.evaluation.tables import Table, mean_known
from fdch.files import write_bytes
from fdch.report.render import write_page
from fdch.reproduction.costs import cost_table, health_table, warnings_of
from fdch.reproduction.curves import panels_of
from fdch.reproduction.figures import figure_files, figure_on_page, page_colours
from fdch.reproduction.grid import SECTIONS, Grid, build_grid
from fdch.reproduction.grid_runner import SEED, cells_to_tune
from fdch.reproduction.grid_tables import latex_tables, score_rows
from fdch.reproduction.overview_plot import overview_plot
from fdch.reproduction.recipe import SOURCE, Published, Recipe, label
from fdch.reproduction.reproduce import Reproduction
from fdch.tuning.tuning_page import shown_value

REPORT = "report.html"
# the figure again with one gallery for all methods
SAME_GALLERY = "modality"


def build_grids(found: Reproduction) -> dict[str, Grid]:
    """Return the tables by the names of their recipes."""
    return {
        recipe.name: build_grid(recipe, found)
        for recipe in found.recipes
        if recipe.kind == "table"
    }


def write_outputs(
    found: Reproduction, grids: Mapping[str, Grid] | None = None
) -> list[Path]:
    """Write tables, figures and the report page; return their paths, page first."""
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
    endings = {"": None, f"-{SAME_GALLERY}": SAME_GALLERY}
    for alike in _list_figures(found):
        drawn = {
            ending: figure_files(panels_of(alike[0], found, gallery))
            for ending, gallery in endings.items()
        }
        for recipe, ending in product(alike, endings):
            for form, content in drawn[ending].items():
                yield f"{recipe.name}{ending}.{form}", content
    for name, table in (("cost", cost_table(found)), ("health", health_table(found))):
        yield f"{name}.csv", table.csv().encode()
        yield f"{name}.tex", (table.latex() + "\n").encode()


def _list_figures(found: Reproduction) -> list[list[Recipe]]:
    """List the figures, those that show the same together."""
    alike: dict[tuple[Any, ...], list[Recipe]] = {}
    for recipe in found.recipes:
        if recipe.kind == "figure":
            alike.setdefault((recipe.bits, recipe.methods), []).append(recipe)
    return list(alike.values())


TUNED_FIGURES = ("default_score", "score", "trials", "folds", "minutes")


def write_page_of(path: Path, found: Reproduction, grids: Sequence[Grid]) -> None:
    """Write the report page."""
    records = found.records.values()
    health = _by_method(health_table(found))
    write_page(
        path,
        "reproduction.html.j2",
        found=found,
        title=_page_title(found),
        grids=grids,
        sections=SECTIONS,
        measures=MEASURES,
        shown_first="map",
        directions=DIRECTIONS,
        label=label,
        overviews=[overview_plot(grid) for grid in grids],
        drawings=[_draw(recipes, found) for recipes in _list_figures(found)],
        cost=_by_method(cost_table(found)),
        lengths=sorted({cell.bits for cell in found.records}),
        health=health,
        constant=_constant(health),
        colours=page_colours(),
        warnings=warnings_of(found),
        failures=found.failures(),
        source=SOURCE if Published.beside(found.pairs).values else None,
        protocol=next((r.scores.protocol for r in records if r.scores), None),
        chance=mean_known(r.scores.chance for r in records if r.scores),
        settings={
            method: ", ".join(f"{key}={value}" for key, value in settings.items())
            for method, settings in found.study.settings.items()
            if settings
        },
        tuned=tuned_rows(found),
        tuning_seed=SEED,
        version=__version__,
    )


def tuned_rows(found: Reproduction) -> list[dict[str, Any]]:
    """Return what tuning has found, a row to each method and length it was done for."""
    rows = []
    for cell in cells_to_tune(list(found.records)):
        if (file := found.study.tuned(cell)) is not None:
            changed = (f"{key}={shown_value(v)}" for key, v in file.settings.items())
            rows.append(
                {
                    "method": cell.method,
                    "bits": cell.bits,
                    "settings": ", ".join(changed),
                    "remark": file.remark,
                    **{key: file.search.get(key) for key in TUNED_FIGURES},
                }
            )
    return rows


def _page_title(found: Reproduction) -> str:
    titles = [recipe.title for recipe in found.recipes]
    listed = ", ".join(titles[:-1]) + " and " + titles[-1] if titles[1:] else titles[0]
    return f"{listed} on {found.pairs.name}"


def _draw(recipes: Sequence[Recipe], found: Reproduction) -> dict[str, str]:
    """Draw a figure as the authors search, and with one gallery for all methods."""
    first = recipes[0]
    return {
        "title": " and ".join(recipe.title for recipe in recipes),
        "caption": first.caption,
        "usual": figure_on_page(
            first.name,
            f"{first.caption}, each method with its authors' gallery",
            panels_of(first, found),
        ),
        "alike": figure_on_page(
            f"{first.name} {SAME_GALLERY}",
            f"{first.caption}, all methods with the {SAME_GALLERY} gallery",
            panels_of(first, found, SAME_GALLERY),
        ),
    }


def _by_method(table: Table) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """Sort rows by method, then by code length, each with its columns' names."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for row in table.rows:
        named: dict[str, Any] = dict(zip(table.header, row, strict=True))
        lengths = found.setdefault(named["method"], {})
        lengths.setdefault(named["bits"], []).append(named)
    return found


def _constant(health: dict[str, dict[int, list[dict[str, Any]]]]) -> list[str]:
    """List the sets of codes with bits that never change."""
    return [
        f"{label(method)} at {bits} bits, {row['codes']} codes: {row['constant_bits']}"
        for method, lengths in health.items()
        for bits, rows in lengths.items()
        for row in rows
        if row["constant_bits"]
    ]
