"""Everything a reproduction writes beside its cells: tables, figures, a page."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from fdch import __version__
from fdch.evaluation import DIRECTIONS, MEASURES
from fdch.evaluation.tables import Table, mean_known
from fdch.files import write_bytes
from fdch.report.plots import inline_svg
from fdch.report.render import write_page
from fdch.reproduction.costs import cost_table, health_table, warnings_of
from fdch.reproduction.figures import figure_files, panels_of
from fdch.reproduction.grid import SECTIONS, Grid, build_grid
from fdch.reproduction.grid_runner import SEED, cell_to_tune
from fdch.reproduction.grid_tables import has_published, latex_tables, score_rows
from fdch.reproduction.recipe import SOURCE, Published, Recipe, label
from fdch.reproduction.reproduce import Reproduction
from fdch.tuning.tuning_page import show_setting

REPORT = "report.html"
# what figures' names end with: which gallery they show, None for the authors', and how
ENDINGS = {
    "": (None, "each method with the gallery that its authors search"),
    "-modality": ("modality", "all methods with the modality gallery"),
}


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
    drawings = draw_figures(found)
    contents = {}
    for name, grid in grids.items():
        contents[f"{name}.csv"] = score_rows(grid).csv().encode()
        contents[f"{name}.tex"] = latex_tables(grid).encode()
    for drawing in drawings:
        for recipe, ending in product(drawing.recipes, ENDINGS):
            for form, content in drawing.files[ending].items():
                contents[f"{recipe.name}{ending}.{form}"] = content
    for name, table in (("cost", cost_table(found)), ("health", health_table(found))):
        contents[f"{name}.csv"] = table.csv().encode()
        contents[f"{name}.tex"] = (table.latex() + "\n").encode()
    for name, content in contents.items():
        write_bytes(found.study.out / name, content)
    page = found.study.out / REPORT
    write_page_of(page, found, list(grids.values()), drawings)
    return [page, *(found.study.out / name for name in contents)]


class Drawing(NamedTuple):
    """A figure of one recipe or of several that show the same."""

    recipes: list[Recipe]
    files: dict[str, dict[str, bytes]]  # by ending of the name, then by format

    def inline(self, ending: str) -> str:
        """Return the figure as part of a page."""
        svg = self.files[ending]["svg"].decode()
        return inline_svg(svg, f"{self.recipes[0].caption}, {ENDINGS[ending][1]}")


def draw_figures(found: Reproduction) -> list[Drawing]:
    """Draw each figure as the authors search, and with one gallery for all methods."""
    alike: dict[tuple[Any, ...], list[Recipe]] = {}
    for recipe in found.recipes:
        if recipe.kind == "figure":
            alike.setdefault((recipe.bits, recipe.methods), []).append(recipe)
    return [
        Drawing(
            recipes,
            {
                ending: figure_files(panels_of(recipes[0], found, gallery))
                for ending, (gallery, _) in ENDINGS.items()
            },
        )
        for recipes in alike.values()
    ]


TUNED_FIGURES = ("default_score", "score", "trials", "folds", "minutes")


def write_page_of(
    path: Path,
    found: Reproduction,
    grids: Sequence[Grid],
    drawings: Sequence[Drawing] = (),
) -> None:
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
        has_published=has_published,
        drawings=drawings,
        endings=ENDINGS,
        cost=_by_method(cost_table(found)),
        lengths=sorted({cell.bits for cell in found.records}),
        health=health,
        constant=_constant(health),
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
    for cell in dict.fromkeys(map(cell_to_tune, found.records)):
        if (file := found.study.tuned(cell)) is not None:
            changed = (f"{key}={show_setting(v)}" for key, v in file.settings.items())
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
