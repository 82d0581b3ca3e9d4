"""Templates to one self-contained HTML file, and pairs as pages show them."""

import base64
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import Pictures, thumbnail
from fdch.errors import MissingExtra
from fdch.files import write_bytes


def write_page(path: Path, template: str, **values: Any) -> None:
    """Fill a template and write it whole or not at all."""
    write_bytes(path, render(template, **values).encode("utf-8", errors="replace"))


def render(template: str, **values: Any) -> str:
    """Fill a template; every value is escaped unless the template says otherwise."""
    try:
        import jinja2
    except ImportError as problem:
        raise MissingExtra("the report page", "report") from problem
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fdch.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = figure
    return environment.get_template(template).render(**values)


def figure(value: float | None, places: int = 3) -> str:
    """Format a number; a dash for None."""
    return "–" if value is None else f"{value:.{places}f}"  # noqa: RUF001


def show_pair(
    pairs: PairedSet,
    row: int,
    size: int,
    side: str = "",
    wanted: Collection[str] = (),
    found: Any = None,
) -> dict[str, Any]:
    """Return what a page shows of a pair: one side or both, and its labels.

    Labels come with whether the query has them too. `found` is how it was found.
    """
    return {
        "name": str(pairs.ids[row]),
        "text": pairs.texts.text(row) if side != "image" else None,
        "labels": [(name, name in wanted) for name in pairs.labels_of(row)],
        "picture": _picture_uri(pairs, row, size) if side != "text" else None,
        "found": found,
    }


def _picture_uri(pairs: PairedSet, row: int, size: int) -> str | None:
    """Return a row's picture, made small, as text that a page can hold."""
    pictures = pairs.images
    if not isinstance(pictures, Pictures) or not pictures.present[row]:
        return None
    content = base64.b64encode(thumbnail(pictures, row, size)).decode()
    return f"data:image/jpeg;base64,{content}"
