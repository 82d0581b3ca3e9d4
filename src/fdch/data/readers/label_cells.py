"""The labels in cells of text: what separates them, and their names."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

SEPARATORS = (";", "|", ",")
Cell = str | tuple[str, ...]


def split_labels(cells: Sequence[Cell]) -> tuple[list[tuple[str, ...]], str]:
    """Split the cells that are texts; give also a note for the user, "" for none.

    Labels are separated by ";". Without any, "|" or "," is taken for the separator
    if the parts recur in other cells, as labels do.

    >>> split_labels(["kitchen, red", "kitchen, blue", "hall, red"])[0]
    [('kitchen', 'red'), ('kitchen', 'blue'), ('hall', 'red')]
    """
    texts = {cell for cell in cells if isinstance(cell, str)}
    present = [mark for mark in SEPARATORS if any(mark in text for text in texts)]
    separator = present[0] if present else SEPARATORS[0]
    note = ""
    if separator != SEPARATORS[0]:
        holding = [
            cell for cell in cells if isinstance(cell, str) and separator in cell
        ]
        shown = min(holding, key=len)[:60]
        if _parts_recur(texts, separator):
            note = (
                f"labels are separated by '{separator}' here, such as '{shown}'. If it "
                "is part of a label, end each label with ';'."
            )
        else:
            note = (
                f"{len(holding):,} cells of labels hold '{separator}' and are read as "
                f"one label each, such as '{shown}'. Separate labels with ';'."
            )
            separator = SEPARATORS[0]
    found = [
        clean_labels(cell.split(separator)) if isinstance(cell, str) else cell
        for cell in cells
    ]
    return found, note


def _parts_recur(texts: Iterable[str], separator: str) -> bool:
    """Tell whether half of the parts of divided cells occur in other cells too."""
    split = [clean_labels(text.split(separator)) for text in texts]
    counts = Counter(part for parts in split for part in parts)
    divided = {part for parts in split if len(parts) > 1 for part in parts}
    return 2 * sum(counts[part] > 1 for part in divided) >= len(divided) > 0


def clean_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Give each label once, in one form of Unicode, without outer spaces."""
    plain = (unicodedata.normalize("NFC", name.strip()) for name in names)
    return tuple(dict.fromkeys(name for name in plain if name))
