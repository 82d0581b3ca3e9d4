"""Everything a reproduction writes beside its cells: tables, figures, a page."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fdch import __version__
from fdch.evaluation import DIRECTIONS, MEASURES
from fdch.evaluation.tables import Table
from fdch.files import write_bytes
from fdch.report.render import write_page
from fdch.reproduction.costs import cost_table, health_table, warnings_of
from fdch.reproduction.curves import panels_of
from fdch.reproduction.figures import figure_files, figure_on_page, page_colours
from fdch.reproduction.grid import SECTIONS, Grid, build_grid
from fdch.reproduction.grid_tables import latex_tables, score_rows
from fdch.reproduction.overview_plot import overview_plot
from fdch.reproduction.recipe import SOURCE, Published, Recipe, label
from fdch.reproduction.reproduce import Reproduction
from fdch.reproduction.tuned import SEED, cells_to_tune
from fdch.tuning.tuning_page import shown_value

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
    """Write tables, figures and the report page; give their paths, page first."""
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


TUNED_FIGURES = ("default_score", "score", "trials", "folds", "minutes")


@dataclass(frozen=True)
class Drawing:
    """A figure on the page: as the authors search, and with one gallery for all."""

    title: str
    caption: str
    usual: str
    alike: str


def write_page_of(path: Path, found: Reproduction, grids: Sequence[Grid]) -> None:
    """Write the report page."""
    records = found.records.values()
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
        drawings=_drawings(found),
        cost=_by_method(cost_table(found)),
        lengths=sorted({cell.bits for cell in found.records}),
        health=_by_method(health_table(found)),
        constant=_constant(health_table(found)),
        colours=page_colours(),
        warnings=warnings_of(found),
        failures=found.failures(),
        source=SOURCE if Published.beside(found.pairs).values else None,
        protocol=next((r.scores.protocol for r in records if r.scores), None),
        chance=_chance(found),
        settings=_list_changes(found),
        tuned=tuned_rows(found),
        tuning_seed=SEED,
        version=__version__,
    )


def tuned_rows(found: Reproduction) -> list[dict[str, Any]]:
    """Give what tuning has found, a row to each method and length it was done for."""
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


def _drawings(found: Reproduction) -> list[Drawing]:
    """Draw the figures; those that show the same share a drawing."""
    alike: dict[tuple[Any, ...], list[Recipe]] = {}
    for recipe in found.recipes:
        if recipe.kind == "figure":
            alike.setdefault((recipe.bits, recipe.methods), []).append(recipe)
    return [
        Drawing(
            " and ".join(recipe.title for recipe in recipes),
            recipes[0].caption,
            figure_on_page(
                recipes[0].name,
                f"{recipes[0].caption}, each method with its authors' gallery",
                panels_of(recipes[0], found),
            ),
            figure_on_page(
                f"{recipes[0].name} modality",
                f"{recipes[0].caption}, all methods with the modality gallery",
                panels_of(recipes[0], found, "modality"),
            ),
        )
        for recipes in alike.values()
    ]


def _chance(found: Reproduction) -> float | None:
    chances = [r.scores.chance for r in found.records.values() if r.scores]
    return statistics.fmean(chances) if chances else None


def _by_method(table: Table) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """Sort rows by method, then by code length, each with its columns' names."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for row in table.rows:
        named = dict(zip(table.header, row, strict=True))
        lengths = found.setdefault(str(row[0]), {})
        lengths.setdefault(int(str(named["bits"])), []).append(named)
    return found


def _constant(health: Table) -> list[str]:
    """List the sets of codes with bits that never change."""
    rows = (dict(zip(health.header, row, strict=True)) for row in health.rows)
    return [
        f"{label(str(row['method']))} at {row['bits']} bits, {row['codes']} codes: "
        f"{row['constant_bits']}"
        for row in rows
        if row["constant_bits"]
    ]


def _list_changes(found: Reproduction) -> dict[str, str]:
    return {
        method: ", ".join(f"{key}={value}" for key, value in settings.items())
        for method, settings in found.study.settings.items()
        if settings
    }
