"""Which column of a table is what: by the user's layout, by its name, or guessed."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from fdch.data.pictures.decoding import ENDINGS
from fdch.data.rows import list_names
from fdch.errors import DataError, SettingError, suggestion

KNOWN = ("id", "image", "text", "labels")
# other names of these columns, the most likely first: English, German, French, Spanish
NEAR = {
    "image": (
        *("image_path", "image_file", "file_name", "filename", "file_path"),
        *("filepath", "file", "path", "picture", "photo", "img"),
        *("bild", "bilddatei", "dateiname", "foto", "fichier", "imagen", "archivo"),
    ),
    "text": (
        *("caption", "captions", "title", "product_title", "description", "sentence"),
        *("titel", "beschreibung", "bezeichnung", "titre", "titulo", "descripcion"),
        *("product_name", "name", "tags", "keywords"),
        *("schlagworte", "schlagworter", "etiquettes", "etiquetas"),
    ),
    "labels": (
        *("label", "categories", "category", "classes", "class", "tags", "tag"),
        *("keywords", "kategorie", "kategorien", "schlagworte", "schlagworter"),
        *("categorie", "etiquettes", "categoria", "categorias", "etiquetas"),
    ),
}
# never read as ids unasked: another table's would have to be unique, too
_NEAR_IDS = (
    *("sku", "product_id", "item_id", "image_id", "article_id", "article", "asin"),
    *("ean", "gtin", "uuid", "uid", "key", "code", "number"),
    *("artikelnummer", "artikel", "nummer", "reference", "referencia", "codigo"),
)


@dataclass(frozen=True)
class Layout:
    """What to read from a user's data where it cannot be detected."""

    columns: Mapping[str, str] = field(default_factory=dict)  # such as text: title
    pictures: Path | None = None  # the folder that pictures have moved to
    limit: int | None = None  # pairs to keep; None for all
    # such as columns, but used only by tables that have them
    usual: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        strange = [name for name in self.columns if name not in KNOWN]
        if strange:
            hint = suggestion(strange[0], KNOWN) or "."
            raise DataError(
                f"columns are read as {', '.join(KNOWN)}, not as '{strange[0]}'{hint} "
                "Other columns keep their names."
            )
        own = list(self.columns.values())
        twice = [name for name in own if own.count(name) > 1]
        if twice:
            raise DataError(
                f"column '{twice[0]}' cannot be read as two things; name another."
            )
        if self.limit is not None and self.limit < 1:
            raise SettingError(f"a limit is 1 pair or more; got {self.limit}.")

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for a run to remember."""
        folder = None if self.pictures is None else str(self.pictures.absolute())
        return {
            "columns": dict(self.columns),
            "pictures": folder,
            "limit": self.limit,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Layout":
        """Take what a run remembers; older runs remember nothing."""
        columns, folder = document.get("columns"), document.get("pictures")
        limit = document.get("limit")
        named = columns if isinstance(columns, dict) else {}
        return cls(
            {str(name): str(own) for name, own in named.items()},
            Path(folder) if isinstance(folder, str) else None,
            limit if isinstance(limit, int) else None,
        )


AS_NAMED = Layout()


@dataclass(frozen=True)
class Assignment:
    """The role of each column, and notes for the user."""

    names: Mapping[str, str]  # own names by known names
    notes: list[str]

    def rename(self, cells: Mapping[str, Any]) -> dict[str, Any]:
        """Return the cells of a row under known names, without those they replace."""
        own = {raw: known for known, raw in self.names.items() if raw in cells}
        taken = set(own.values())
        return {
            own.get(name, name): value
            for name, value in cells.items()
            if name in own or name not in taken
        }


def assign_columns(
    columns: Sequence[str],
    layout: Layout,
    sample: Sequence[Mapping[str, Any]],
    is_open: bool,
) -> Assignment:
    """Find out what each column is, given the cells of the first rows.

    Where a table is open, rows may have other columns too.
    """
    plain = _by_plain_name(columns)
    found: dict[str, str] = {}
    notes: list[str] = []

    def find(*names: str) -> str | None:
        own = (name if name in columns else plain.get(_plain(name)) for name in names)
        return next((n for n in own if n is not None and n not in found.values()), None)

    def guess(known: str, raw: str, why: str = "") -> None:
        found[known] = raw
        notes.append(
            f"column '{raw}' is read as '{known}'{why}; to read another, add --columns "
            f"{known}=NAME."
        )

    for known, wanted in layout.columns.items():
        raw = find(wanted)
        if raw is None and not is_open:
            raise DataError(
                f"it has no column '{wanted}' to read as '{known}'"
                f"{suggestion(wanted, columns) or '.'} It has "
                f"{list_names(columns, 20)}."
            )
        found[known] = raw or wanted
    for known, wanted in layout.usual.items():
        if known not in found and (raw := find(wanted)):
            guess(known, raw, ", as in training")
    notes += [
        f"column '{known}' is left out, because '{raw}' is read as it."
        for known, raw in found.items()
        if known in columns and known not in found.values()
    ]
    for known in KNOWN:
        if known not in found and (raw := find(known)):
            found[known] = raw
    for known, near in NEAR.items():
        raw = None if known in found or is_open else find(*near)
        if raw and (known != "image" or _names_pictures(sample, raw)):
            guess(known, raw)
    if "image" not in found and "text" not in found:
        raise _lacks_sides(columns)
    if "id" not in found:
        likely = find(*_NEAR_IDS) or "NAME"
        notes.append(
            "there is no column 'id'; rows are named by their numbers. To name them by "
            f"a column, add --columns id={likely}."
        )
    if "labels" not in found:
        notes.append("there is no column 'labels'.")
    return Assignment(found, notes)


def _lacks_sides(columns: Sequence[str]) -> DataError:
    if not columns:
        return DataError(
            f"it is empty; a manifest has columns {list_names(KNOWN, 20)}."
        )
    hint = suggestion("image", columns) or suggestion("text", columns)
    return DataError(
        f"it has neither a column 'image' nor 'text'; it has "
        f"{list_names(columns, 20)}{hint or '.'} Rename a column, or say which it is: "
        "--columns text=NAME."
    )


def holds_names(cells: Iterable[object], layout: Layout) -> bool:
    """Return whether a row may name columns: an image or a text, and one more."""
    named = {_plain(each) for each in cells if isinstance(each, str)}
    wanted = {"image", "text", *NEAR["image"], *NEAR["text"]}
    wanted |= {_plain(name) for name in layout.columns.values()}
    return len(named) > 1 and not named.isdisjoint(wanted)


def find_image_column(columns: Sequence[str], layout: Layout) -> str | None:
    """Return the column that pictures would be read from, whatever its cells hold."""
    plain = _by_plain_name(columns) | {name: name for name in columns}
    usual = layout.usual.get("image", "image")
    wanted = layout.columns.get("image", usual)
    names = (wanted, _plain(wanted), "image", *NEAR["image"])
    return next((plain[name] for name in names if name in plain), None)


def _by_plain_name(columns: Iterable[str]) -> dict[str, str]:
    plain: dict[str, str] = {}
    for name in columns:
        plain.setdefault(_plain(name), name)
    return plain


def _plain(name: str) -> str:
    """Write a name as its nearest are written, without accents.

    >>> _plain(" File Name"), _plain("Catégorie")
    ('file_name', 'categorie')
    """
    letters = unicodedata.normalize("NFD", name.casefold())
    bare = "".join(each for each in letters if not unicodedata.combining(each))
    return "_".join(bare.replace("-", " ").split())


def _names_pictures(sample: Sequence[Mapping[str, Any]], column: str) -> bool:
    values = (cells.get(column) for cells in sample)
    return any(
        PurePath(value).suffix.lower() in ENDINGS
        if isinstance(value, str)
        else value is not None
        for value in values
    )
