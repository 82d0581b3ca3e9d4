"""Single flipped bits put right, where a checksum proves what was written."""

from collections.abc import Callable
from pathlib import Path

from fdch.index.storage.layout import CATALOGUE, WAL, open_plainly, sync
from fdch.index.storage.seal import Seal
from fdch.index.storage.verification import bad_pages
from fdch.index.storage.wal_mending import mends_of_log

MOST_WOUNDS = 64  # beyond so many that stay open, no more are searched for a bit


def restored(
    content: bytes, is_right: Callable[[bytes | bytearray], bool]
) -> bytes | None:
    """Try to flip every single bit; None where none makes the content right."""
    if not any(content):
        return None
    trial = bytearray(content)
    for place, byte in enumerate(content):
        for bit in range(8):
            trial[place] = byte ^ 1 << bit
            if is_right(trial):
                return bytes(trial)
        trial[place] = byte
    return None


def restore_pages(folder: Path, seal: Seal) -> tuple[list[str], list[int]]:
    """Put right the pages of the catalogue with one flipped bit.

    Returns:
        What was put right, and which pages could not be.
    """
    right: list[str] = []
    wrong: list[int] = []
    for page, content in list(bad_pages(folder, seal)):
        mended = None
        if len(wrong) < MOST_WOUNDS:
            mended = _restored_page(seal, page, content)
        if mended is None:
            wrong.append(page)
            continue
        write_at(folder / CATALOGUE, (page - 1) * seal.page_size, mended)
        right.append(f"{CATALOGUE}, page {page}")
    return right, wrong


def _restored_page(seal: Seal, page: int, content: bytes) -> bytes | None:
    if len(content) != seal.page_size:
        return None
    return restored(content, lambda trial: seal.holds(page, trial))


def restore_log(folder: Path) -> list[str]:
    """Put right single damaged bytes of the write-ahead log."""
    mends = mends_of_log(folder / WAL)
    for place, byte in mends:
        write_at(folder / WAL, place, bytes([byte]))
    return [f"{WAL}, byte {place}" for place, _ in mends]


def write_at(path: Path, place: int, content: bytes) -> None:
    """Overwrite some bytes of a file, for good."""
    with open(path, "r+b", opener=open_plainly) as file:
        file.seek(place)
        file.write(content)
        file.flush()
        sync(file.fileno())
