"""Repair: what is provably intact is kept, and what is lost is named."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.storage.access import Access, View, read_facts
from fdch.index.storage.acknowledged import Acknowledged, acknowledged, begin
from fdch.index.storage.catalogue import PAGE_BYTES, Catalogue, commit_durably
from fdch.index.storage.changes import drop_items, forget_items, set_fact
from fdch.index.storage.consistency import check_catalogue
from fdch.index.storage.identities import rows_of
from fdch.index.storage.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    SEAL,
    is_damage,
    require_plain,
    require_remains,
    told,
)
from fdch.index.storage.locking import WriterLock
from fdch.index.storage.mending import lost_numbers, mend_files
from fdch.index.storage.numbering import Window
from fdch.index.storage.parts import Place, fact, read_parts
from fdch.index.storage.restoring import restore_log, restore_pages
from fdch.index.storage.salvage import (
    beyond_repair,
    finish_rebuilding,
    rebuild,
    salvage,
)
from fdch.index.storage.seal import Seal
from fdch.index.storage.verification import Problem, verify_folder


@dataclass
class Repair:
    """What a repair did.

    Args:
        restored: What was damaged and is now as it was written.
        lost: Ids of items that are lost.
        unnamed: Losses whose ids are not known.
        left: What is still wrong, such as a damaged file of the model.
        items: How many items the index holds now.
    """

    restored: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    left: tuple[Problem, ...] = ()
    items: int = 0


def repair_folder(folder: Path) -> Repair:
    """Repair an index.

    Raises:
        IndexFolderError: There is no index.
        DamagedIndex: Nothing can be kept.
        IndexBusy: Another process is writing.
    """
    require_remains(folder)
    done = Repair()
    with told(folder):
        require_plain(folder)
        lock = WriterLock(folder)
        try:
            finish_rebuilding(folder)
            names = _mend_catalogue(folder, done)
            files = mend_files(folder)
            done.restored += files.told
            access = Access(folder, writable=True, lock=lock)
        except BaseException:
            lock.release()
            raise
    with closing(access), access.changing() as view:
        gone = lost_numbers(view, done.restored)
        _drop(view, gone, files.lost, names, done)
        done.items = view.count("items")
    done.left = verify_folder(folder).problems
    return done


def _mend_catalogue(folder: Path, done: Repair) -> dict[int, str]:
    """Make the catalogue sound; give the names of items lost with it."""
    seal = _seal(folder)
    wrong: list[int] = []
    if seal is not None:
        right, wrong = restore_pages(folder, seal)
        done.restored += right
    seen, wrong_records = acknowledged(folder)
    if seen is not None and _commit(folder) < seen.commit:
        done.restored += restore_log(folder)
    try:
        names = _sound_catalogue(folder, wrong, seal, done)
        latest = _latest(folder)
    except (sqlite3.Error, DamagedIndex) as problem:
        if not is_damage(problem):
            raise
        raise beyond_repair(folder, problem) from problem
    if seal is None:
        done.restored.append(SEAL)
    if seen is not None and seen.uid != latest.uid:
        seen, wrong_records = None, ["it belongs to another index"]
    if wrong_records:
        done.restored.append(ACKNOWLEDGED)
    if seen is not None and seen.commit > latest.commit:
        done.unnamed.append(
            f"commits {latest.commit + 1} to {seen.commit}; there were {seen.items} "
            f"items after them and are {latest.items} now"
        )
    if wrong_records or seen is None or seen.commit > latest.commit:
        begin(folder, latest)
    return names


def _seal(folder: Path) -> Seal | None:
    try:
        return Seal.read(folder)
    except DamagedIndex:
        return None


def _commit(folder: Path) -> int:
    try:
        return _latest(folder).commit
    except (sqlite3.Error, DamagedIndex):
        return -1


def _latest(folder: Path) -> Acknowledged:
    """Read the last commit that the catalogue has."""
    with (
        closing(Catalogue(folder, writable=False)) as catalogue,
        catalogue.reading() as connection,
    ):
        place, _ = read_facts(connection, folder)
        read_parts(connection, place)
        return Acknowledged(
            fact(connection, place, "commit"),
            fact(connection, place, "items"),
            fact(connection, place, "next_number"),
            place.uid,
        )


def _sound_catalogue(
    folder: Path, wrong: list[int], seal: Seal | None, done: Repair
) -> dict[int, str]:
    """Write the catalogue anew where something in it does not fit."""
    with (
        closing(Catalogue(folder, writable=False)) as catalogue,
        catalogue.reading() as connection,
    ):
        place, _ = read_facts(connection, folder)
        if not wrong and _is_sound(connection, place):
            found = None
        else:
            found = salvage(connection, place, seal)
    if found is not None:
        rebuild(folder, found)
        if wrong or seal is None:
            done.restored.append(f"{CATALOGUE}, written anew")
        done.unnamed += found.told
        return found.lost
    if seal is None:
        with closing(sqlite3.connect(folder / CATALOGUE)) as connection:
            commit_durably(connection)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        Seal.of(folder, place.uid, PAGE_BYTES).write(folder)
    return {}


def _is_sound(connection: sqlite3.Connection, place: Place) -> bool:
    try:
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        return verdict == "ok" and not list(check_catalogue(connection, place))
    except Exception as problem:
        if not is_damage(problem):
            raise
        return False


def _drop(
    view: View,
    gone: NDArray[np.int64],
    windows: list[Window],
    names: dict[int, str],
    done: Repair,
) -> None:
    """Take out what is lost: items without a proven code, codes without an item.

    Args:
        view: The index.
        gone: Numbers of items whose codes are lost.
        windows: Where it is lost which code is whose.
        names: What is known of the ids of items that are lost.
        done: Told of the losses.
    """
    connection, snapshot = view.connection, view.snapshot
    table = dict(connection.execute("SELECT number, id FROM items"))
    numbers = np.array(sorted(table), dtype=np.int64)
    removed = _forget_removed(view)
    homeless = numbers[snapshot.positions(numbers) < 0]
    never = rows_of(connection, (table[n] for n in homeless.tolist()))
    forget_items(connection, never)
    alive = snapshot.living()
    orphans = alive[~snapshot.is_running(alive) & ~np.isin(alive, numbers)]
    torn = [_within(alive, window) for window in windows]
    lost = np.unique(np.concatenate([np.intersect1d(gone, alive), orphans, *torn]))
    rows = rows_of(connection, (table[n] for n in lost.tolist() if n in table))
    drop_items(connection, rows, {n for n in lost.tolist() if n not in table})
    done.lost += [*rows, *never]
    running = lost[snapshot.is_running(lost)]
    running = np.union1d(running, _running_within(view, removed, windows))
    done.lost += [str(number) for number in running.tolist()]
    named = np.array(sorted(names), dtype=np.int64)
    without = [lost, *(_within(named, window) for window in windows)]
    known = np.concatenate([numbers, running])
    for number in np.setdiff1d(np.concatenate(without), known).tolist():
        if number in names:
            done.lost.append(names[number])
        elif not any(window.low <= number < window.high for window in windows):
            done.unnamed.append(f"the item with number {number}")
    known = np.concatenate([known, removed, named])
    for window in windows:
        rest = window.codes - len(np.unique(_within(known, window)))
        line = f"an item with a number from {window.low} to {window.high - 1}"
        done.unnamed += [line] * rest
    (dead,) = connection.execute("SELECT count(*) FROM removed").fetchone()
    total = sum(part.record.rows for part in snapshot.parts)
    set_fact(connection, "items", total - dead)
    # whoever has the index open must not go on with files and lists of before
    set_fact(connection, "generation", snapshot.generation + 1)


def _within(numbers: NDArray[np.int64], window: Window) -> NDArray[np.int64]:
    return numbers[(numbers >= window.low) & (numbers < window.high)]


def _forget_removed(view: View) -> NDArray[np.int64]:
    """Take what has no code out of the list of removed items; give the whole list."""
    found = view.connection.execute("SELECT number FROM removed")
    removed = np.fromiter((number for (number,) in found), dtype=np.int64)
    has_code = np.zeros(len(removed), dtype=bool)
    for part in view.snapshot.parts:
        has_code |= part.offsets(removed) >= 0
    view.connection.executemany(
        "DELETE FROM removed WHERE number = ?",
        ((number,) for number in removed[~has_code].tolist()),
    )
    return removed


def _running_within(
    view: View, removed: NDArray[np.int64], windows: list[Window]
) -> NDArray[np.int64]:
    """Give the running numbers within windows that may have been items."""
    found = [np.empty(0, dtype=np.int64)]
    for window in windows:
        for first, last in view.snapshot.ranges.tolist():
            found.append(np.arange(max(first, window.low), min(last + 1, window.high)))
    return np.setdiff1d(np.concatenate(found), removed)
