"""How an index folder is opened, read and changed: locks, snapshots, commits."""

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fdch.errors import FdchError, IndexFolderError
from fdch.index.storage.catalogue.catalogue import Catalogue, check_problem
from fdch.index.storage.catalogue.recovery import make_current, recover
from fdch.index.storage.catalogue.tables import State, kept_parts
from fdch.index.storage.changes import Change
from fdch.index.storage.files.acknowledged import acknowledge
from fdch.index.storage.files.checking import (
    MISSING,
    Problem,
    Scrub,
    file_problems,
    part_problems,
    sidecar_rows,
)
from fdch.index.storage.files.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    CHECK,
    LOG,
    PART_FILE,
    file_number,
    file_version,
    part_files,
    require_index,
    translate_os_errors,
)
from fdch.index.storage.files.locking import WriterLock
from fdch.index.storage.files.log import append_records
from fdch.index.storage.files.parts import CHECKED_BYTES
from fdch.index.storage.files.records import PartRecord
from fdch.index.storage.snapshot import Snapshot, View, load_snapshot

_log = logging.getLogger(__name__)
_TRIES = 20


class Access:
    """An open index folder, under the writer's lock where it is writable."""

    def __init__(self, folder: Path, *, writable: bool) -> None:
        require_index(folder)
        if writable and not os.access(folder, os.W_OK | os.X_OK):
            raise IndexFolderError(
                f"index '{folder}' is read-only here. Check the folder's permissions, "
                "or copy it to where it can be changed."
            )
        self.opened_as = folder.absolute()
        # the program may leave for another folder, a link may lead elsewhere later
        folder = Path(os.path.realpath(folder))
        self._process = os.getpid()
        self._writing = threading.RLock()
        self._snapshot: Snapshot | None = None
        self._scrub: Scrub | None = None
        self.is_log_ahead = False  # of the catalogue, while a commit is being written
        self._must_recover = False  # such a commit has failed
        self._log_file: tuple[int, int] | None = None
        with ExitStack() as undo, translate_os_errors(folder):
            self.lock = WriterLock(folder) if writable else None
            if self.lock:
                undo.callback(self.lock.release)
                recover(folder)
            else:
                make_current(folder)
            self.catalogue = Catalogue(folder, writable=writable)
            undo.callback(self.catalogue.close)
            with self.catalogue.reading() as connection:
                state = State.read(connection, folder)
                self.about = state.about
                self.place = self.about.place(folder, state.uid)
            if writable:
                self._remove_leftovers(state.parts)
            undo.pop_all()

    @contextmanager
    def reading(self) -> Iterator[View]:
        """See the index as of its last commit."""
        self._require_own_process()
        with translate_os_errors(self.place.folder):
            self._recover()
            for left in reversed(range(_TRIES)):
                self._follow_catalogue()
                with self.catalogue.reading() as connection:
                    try:
                        snapshot = self._load(connection)
                    except FileNotFoundError:
                        # compacted between our look at the catalogue and at the files
                        if not left:
                            raise
                        continue
                    self.catalogue.require_unmoved(connection)
                    self._snapshot = snapshot
                    yield View(connection, snapshot)
                    return

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """Change the index in one commit, on disk and acknowledged at the end.

        The order matters. Rows are on disk before the records that let them count,
        these before their commit is acknowledged; the catalogue follows, and can
        always be made again.
        """
        with self.writing() as view:
            change = Change(view)
            yield change
            content, state = change.apply()
            folder, self.is_log_ahead = self.place.folder, True
            append_records(folder, state.position.offset - len(content), content)
            acknowledge(folder, state.acknowledged)

    @contextmanager
    def writing(self) -> Iterator[View]:
        """Yield the index in a write transaction of the catalogue, to this thread."""
        with self.exclusive():
            self._recover()
            # without this file a commit could not be acknowledged
            (self.place.folder / ACKNOWLEDGED).stat()
            try:
                with self.catalogue.writing() as connection:
                    yield View(connection, self._load(connection))
            except BaseException:
                self._must_recover = self.is_log_ahead
                raise
            finally:
                self.is_log_ahead = False
            if self.catalogue.needs_checkpoint:
                self.checkpoint()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other threads of this process from changing the index."""
        self._require_own_process()
        with self._writing, translate_os_errors(self.place.folder):
            yield

    def close(self) -> None:
        """Leave the folder checked and unlocked."""
        if os.getpid() != self._process:
            return  # a forked child leaves it to the parent
        with self._writing:
            # a folder moved away keeps its commits in its write-ahead log
            if self.lock and not self.catalogue.is_replaced():
                self.checkpoint()
            self.catalogue.close()
            self._snapshot = None  # and with it the maps of files
            if self.lock:
                self.lock.release()

    def checkpoint(self) -> None:
        """Let the catalogue's file hold every commit; what fails now is done later."""
        try:
            with translate_os_errors(self.place.folder):
                self.catalogue.checkpoint(self.place.uid)
        except FdchError as problem:
            _log.warning("no checkpoint of '%s': %s", self.place.folder, problem)

    def _load(self, connection: sqlite3.Connection) -> Snapshot:
        snapshot = load_snapshot(connection, self.place, self._snapshot)
        if self._scrub is None:
            self._scrub = self._start_scrub(connection, snapshot)
        self._scrub.require_sound(self.place.folder)
        if self._snapshot is None or self._snapshot.state.first != snapshot.state.first:
            self._log_file = file_number(self.place.folder / LOG)
        return snapshot

    def _start_scrub(self, connection: sqlite3.Connection, snapshot: Snapshot) -> Scrub:
        """Look for damage of what answers are made from."""
        place, parts = self.place, [part.part for part in snapshot.state.parts]
        known = kept_parts(connection, place.uid)  # now, for the check may go on later

        def problems() -> Iterator[Problem]:
            if (wrong := self._catalogue_problem()) is not None:
                yield Problem(CATALOGUE, "", wrong)
            if known.keys() != set(parts):
                yield Problem(CATALOGUE, "parts", "they do not match its records")
            for part in known.values():
                for problem in part_problems(place, part):
                    if problem.what == MISSING:
                        raise FileNotFoundError(problem.file)  # compacted meanwhile
                    yield problem
                for row in sidecar_rows(part):
                    if row[1] > CHECKED_BYTES and (place.folder / row[0]).exists():
                        yield from file_problems(place.folder, [row])

        rows = [each.path for part in parts for each in place.row_segments(part)]
        return Scrub(problems(), [place.folder / CATALOGUE, *rows])

    def _catalogue_problem(self) -> str | None:
        """Check the catalogue's file, unless another process writes it meanwhile."""
        folder = self.place.folder
        before = _version(folder)
        wrong = check_problem(folder, self.place.uid)
        if self.lock is None and not (folder / CHECK).exists():
            return None  # a writer is at a checkpoint
        return wrong if wrong and before == _version(folder) else None

    def _follow_catalogue(self) -> None:
        """Open the catalogue again if another process has made it again."""
        if not self.catalogue.is_replaced():
            return
        with self._writing:
            is_same = self._log_file == file_number(self.place.folder / LOG)
            if self.lock is None and is_same and self.catalogue.is_replaced():
                before = self.catalogue
                self.catalogue = Catalogue(self.place.folder, writable=False)
                before.close()
                self._snapshot = None
            self.catalogue.require_same_file()

    def _recover(self) -> None:
        """Bring the catalogue to the end of the log after a commit that failed."""
        if not self._must_recover:
            return
        with self._writing:
            if self._must_recover:
                self.catalogue.close()
                recover(self.place.folder)
                self.catalogue = Catalogue(self.place.folder, writable=True)
                self._snapshot, self._must_recover = None, False

    def _require_own_process(self) -> None:
        """Refuse a forked child: what it has of SQLite is its parent's."""
        if os.getpid() != self._process:
            raise IndexFolderError(
                f"index '{self.place.folder}' was opened by the process that this one "
                "was forked from. Open it again in this process."
            )

    def _remove_leftovers(self, parts: Sequence[PartRecord]) -> None:
        """Remove what a killed writer left behind."""
        for part in parts:
            for segment in self.place.segments(part.part, part.has_gaps):
                segment.cut(part.rows)
        known = {part.part for part in parts}
        for file in part_files(self.place.folder):
            name = PART_FILE.fullmatch(file.name)
            if name and int(name[1]) not in known:
                file.unlink()


def _version(folder: Path) -> tuple[object, ...]:
    """Return what changes when a writer writes the catalogue's file."""
    check = file_version(folder / CHECK) if (folder / CHECK).exists() else ()
    return *file_version(folder / CATALOGUE), *check
