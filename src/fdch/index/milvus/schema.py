"""What a collection of codes holds: fields, limits, items as rows and back.

The collection's description is a JSON document that marks it as made by fdch.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, get_args

import numpy as np

from fdch.codes import Codes
from fdch.errors import DamagedIndex, DataError, IndexFolderError
from fdch.index.milvus.address import Address
from fdch.index.milvus.expressions import (
    CELLS,
    LABELS,
    NUMBER,
    cell_forms,
    cell_key,
    column_of,
)
from fdch.index.storage.catalogue.items import from_row, to_row
from fdch.index.store import ColumnType, Item, Kind, Vectors, check_items

FORMAT = 2
CODE = "code"
VECTOR = "vector"  # as text: Milvus 2.3 takes one field of vectors
MAX_ID_BYTES = 4096  # of 1,024 characters
MAX_LABEL_BYTES = 1024
MAX_LABELS = 1024
MAX_TEXT_BYTES = 65_535
MAX_JSON_BYTES = 65_000  # Milvus takes 65,536; its client may write some wider
ITEM_FIELDS = ["id", "text", LABELS, CELLS, "about"]
Row = dict[str, Any]


@dataclass(frozen=True)
class Description:
    """What a collection of codes says of itself; it cannot be changed later."""

    bits: int
    model: str  # fingerprint
    facts: dict[str, Any]  # what else its maker says of it
    generation: str  # of the model's files
    vector_bytes: int = 0
    types: dict[str, ColumnType] = field(default_factory=dict)  # given at creation
    model_bytes: int = 0  # of the archive of the model's files; 0 without a model
    model_digest: str = ""

    def write(self) -> str:
        """Write the document that marks a collection as made by fdch."""
        return json.dumps({"fdch": FORMAT, **vars(self)}, allow_nan=False)

    @classmethod
    def read(cls, address: Address, description: str) -> Self:
        """Read what `write` wrote, not what other programs or versions did."""
        try:
            document = json.loads(description)
            version = document.pop("fdch")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise IndexFolderError(
                f"collection '{address.collection}' at {address.server} was not made "
                "by fdch. Choose another name; fdch leaves this one alone."
            ) from None
        if version != FORMAT:
            raise IndexFolderError(
                f"collection '{address.collection}' has format {version}; this fdch "
                f"reads format {FORMAT}. Create the index again, or use the fdch that "
                "made it."
            )
        kinds = {name: type(value) for name, value in vars(cls(0, "", {}, "")).items()}
        is_right = all(type(document.get(name)) is kinds[name] for name in kinds)
        if not is_right or not {*document["types"].values()} <= {*get_args(ColumnType)}:
            raise DamagedIndex(
                f"the description of collection '{address.collection}' is damaged. "
                "Create the index again under another name."
            )
        return cls(**{name: document[name] for name in kinds})


def make_schema(description: Description) -> Any:
    """List the fields; codes are padded to whole bytes, as Milvus demands."""
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(
        auto_id=False, enable_dynamic_field=False, description=description.write()
    )
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MAX_ID_BYTES)
    schema.add_field(NUMBER, DataType.INT64)
    schema.add_field(CODE, DataType.BINARY_VECTOR, dim=(description.bits + 7) // 8 * 8)
    schema.add_field("text", DataType.VARCHAR, max_length=MAX_TEXT_BYTES)
    schema.add_field(
        LABELS,
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_capacity=MAX_LABELS,
        max_length=MAX_LABEL_BYTES,
    )
    schema.add_field(CELLS, DataType.JSON)
    schema.add_field("about", DataType.JSON)
    if description.vector_bytes:
        length = len(base64.b64encode(bytes(description.vector_bytes)))
        schema.add_field(VECTOR, DataType.VARCHAR, max_length=length)
    return schema


def make_rows(
    items: Sequence[Item], codes: Codes, first: int, vectors: Vectors | None = None
) -> list[Row]:
    """Write items as rows, numbered in order of insertion."""
    check_items(items, codes)
    rows = [
        make_row(item, first + row, codes.packed[row].tobytes())
        for row, item in enumerate(items)
    ]
    for row, vector in zip(rows, () if vectors is None else vectors, strict=False):
        row[VECTOR] = base64.b64encode(vector.tobytes()).decode()
    return rows


def read_vectors(written: Sequence[str], vector_bytes: int) -> Vectors | None:
    """Read what rows have as vectors; None for a collection without."""
    if not vector_bytes:
        return None
    try:
        content = b"".join(base64.b64decode(each, validate=True) for each in written)
        return np.frombuffer(content, np.int8).reshape(len(written), vector_bytes)
    except ValueError as problem:
        raise DamagedIndex(
            f"a vector is damaged ({problem}). Add the items again."
        ) from problem


def make_row(item: Item, number: int, code: bytes) -> Row:
    """Write an item as a row; DataError if a part is larger than its field."""
    checked = to_row(item)
    item = from_row(checked.id, checked.content)
    cells: dict[str, object] = {
        cell_key(column): cell_forms(cell) for column, cell in item.columns.items()
    }
    about, text = _about(item), item.text or ""
    _require_bytes(item.id, "id", item.id, MAX_ID_BYTES)
    _require_bytes(item.id, "text", text, MAX_TEXT_BYTES)
    for label in item.labels:
        _require_bytes(item.id, "label", label, MAX_LABEL_BYTES)
    for name, document in (("columns", cells), ("image", about)):
        written = json.dumps(document, ensure_ascii=False)
        _require_bytes(item.id, name, written, MAX_JSON_BYTES)
    if len(item.labels) > MAX_LABELS:
        raise DataError(
            f"item '{item.id}' has {len(item.labels):,} labels; an index on Milvus "
            f"holds at most {MAX_LABELS:,} of an item. Leave some out, or use an "
            "index folder."
        )
    return {
        "id": item.id,
        NUMBER: number,
        CODE: code,
        "text": text,
        LABELS: list(item.labels),
        CELLS: cells,
        "about": about,
    }


def read_item(row: Mapping[str, Any]) -> Item:
    """Read a row that `make_row` wrote."""
    try:
        about, cells = row["about"], row[CELLS]
        kind = about.get("kind", "code")
        if kind not in get_args(Kind):
            raise ValueError(f"its kind is '{kind}'")
        columns = {
            column_of(key): forms["v"] if "v" in forms else forms["t"]
            for key, forms in cells.items()
        }
        return Item(
            id=row["id"],
            text=row["text"] or about.get("text"),
            image=about.get("image"),
            labels=tuple(row[LABELS]),
            columns=columns,
            kind=kind,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise DamagedIndex(
            f"item '{row.get('id')}' is not as fdch wrote it ({problem!r}). "
            "Remove it and add it again."
        ) from problem


def row_bytes(row: Row) -> int:
    """Return an upper estimate of the size of a row on the wire."""
    written = sum(len(str(row[name])) for name in ("id", "text", LABELS, CELLS))
    return 100 + 4 * written + len(row.get(VECTOR, ""))


def columns_of(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of the columns that some rows have."""
    return {column_of(key) for row in rows for key in row[CELLS]}


def _about(item: Item) -> dict[str, str]:
    """Return what other fields do not hold; nothing for a mere code."""
    about: dict[str, str] = {}
    if item.kind != "code":
        about["kind"] = item.kind
    if item.image is not None:
        about["image"] = item.image
    if item.text == "":  # the field for texts has no other sign of an absent one
        about["text"] = ""
    return about


def _require_bytes(name: str, part: str, text: str, most: int) -> None:
    size = len(text.encode())
    if size > most:
        raise DataError(
            f"{part} of item '{name[:100]}' has {size:,} bytes; an index on Milvus "
            f"holds at most {most:,}. Shorten it, or use an index folder."
        )
