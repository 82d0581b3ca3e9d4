"""The last commits that were acknowledged.

A log that was cut short looks like one whose last change was never finished. So the
sequence number of the last commit stands here too: two slots that take turns, each
in a sector of its own and written in place. A log that ends before is damaged.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from fdch.index.storage.files.layout import (
    ACKNOWLEDGED,
    digest,
    open_plainly,
    sync,
    write_durably,
)

_MAGIC = b"fdch-ack"
_RECORD = struct.Struct("<8s16sQQQ")
_SLOT_BYTES = 512
_SLOTS = 2


@dataclass(frozen=True, order=True)
class Acknowledged:
    """A commit that was acknowledged: its last record, its number, and the items."""

    sequence: int
    commit: int
    items: int
    uid: bytes


def begin(folder: Path, first: Acknowledged) -> None:
    """Write the file, with one record in both slots."""
    write_durably(folder / ACKNOWLEDGED, _slot(first) * _SLOTS)


def acknowledge(folder: Path, latest: Acknowledged) -> None:
    """Put a commit on record, over the last but one."""
    with open(folder / ACKNOWLEDGED, "r+b", opener=open_plainly) as file:
        os.pwrite(file.fileno(), _slot(latest), latest.commit % _SLOTS * _SLOT_BYTES)
        sync(file.fileno(), is_in_place=True)


def read_acknowledged(folder: Path) -> tuple[Acknowledged | None, list[str]]:
    """Read the last commit on record, and what is wrong with the file."""
    try:
        with (folder / ACKNOWLEDGED).open("rb") as file:
            content = file.read(_SLOTS * _SLOT_BYTES + 1)
    except FileNotFoundError:
        return None, ["it is missing"]
    wrong = []
    if len(content) != _SLOTS * _SLOT_BYTES:
        wrong.append(f"it does not have {_SLOTS * _SLOT_BYTES} bytes")
    slots = [content[i * _SLOT_BYTES :][:_SLOT_BYTES] for i in range(_SLOTS)]
    records = [_read(slot) for slot in slots]
    wrong += [f"record {i} is damaged" for i, r in enumerate(records) if r is None]
    intact = [record for record in records if record is not None]
    return max(intact, default=None), wrong


def _slot(record: Acknowledged) -> bytes:
    content = _RECORD.pack(
        _MAGIC, record.uid, record.sequence, record.commit, record.items
    )
    content += digest(content, record.uid, "acknowledged")
    return content.ljust(_SLOT_BYTES, b"\0")


def _read(slot: bytes) -> Acknowledged | None:
    if len(slot) != _SLOT_BYTES:
        return None
    _, uid, sequence, commit, items = _RECORD.unpack_from(slot)
    record = Acknowledged(sequence, commit, items, uid)
    return record if slot == _slot(record) else None
