"""The index that is served now, and the switch to another one put in its place."""

import asyncio
import gc
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from fdch.errors import FdchError, IndexFolderError
from fdch.export.model import ExportedModel
from fdch.index.storage.files.layout import CATALOGUE, PICTURES
from fdch.retrieval.index import Index
from fdch.retrieval.searcher import Searcher
from fdch.service.http.limits import ServiceLimits
from fdch.service.index.contents import About, Cached, find_examples
from fdch.service.index.pictures import ItemPictures
from fdch.service.index.writing import Unfinished, Writer

WAIT_SECONDS = 5.0
_PAUSE_SECONDS = 0.05
_T = TypeVar("_T")
OpenEncoder = Callable[[Index], ExportedModel | None]
_log = logging.getLogger("fdch.service")


class Place:
    """The location of an open index: a folder, a link to one, or neither (Milvus)."""

    def __init__(self, index: Index) -> None:
        path = getattr(index.store, "path", None)
        self.folder = path.absolute() if isinstance(path, Path) else None
        self._identity = identify(self.folder)
        given = getattr(index.store, "opened_as", None)
        is_link = isinstance(given, Path) and given.is_symlink()
        self._link = given if is_link else None

    @property
    def name(self) -> Path | None:
        """The path to open the index again; None if it has no path."""
        return self._link or self.folder

    def is_there(self) -> bool:
        """Return whether the folder that was opened is where it was."""
        return identify(self.folder) == self._identity

    def is_current(self) -> bool:
        """Return whether opening it again would give the same index."""
        is_same = self._link is None or self._link.resolve() == self.folder
        return is_same and self.is_there()


def identify(folder: Path | None) -> list[tuple[int, int]]:
    """Return the file system's numbers of a folder and its catalogue, if there are any.

    They change when the folder is removed or replaced.
    """
    if folder is None:
        return []
    try:
        found = map(os.stat, (folder, folder / CATALOGUE))
        return [(each.st_dev, each.st_ino) for each in found]
    except OSError:
        return []


class CurrentIndex:
    """One index with all that is made of it, until another takes its place.

    Args:
        index: Open; for writing where `can_write` says so.
        can_write: Whether clients may write.
        limits: Of requests.
        pictures: Folder for uploaded pictures; None for the index's own.
        open_encoder: Gives what encodes queries in place of an index's method.
    """

    def __init__(
        self,
        index: Index,
        *,
        can_write: bool,
        limits: ServiceLimits,
        pictures: Path | None,
        open_encoder: OpenEncoder,
    ) -> None:
        self.can_write, self._limits = can_write, limits
        self._pictures_elsewhere = None if pictures is None else pictures.absolute()
        self._open_encoder = open_encoder
        self._use(index, Searcher(index, open_encoder(index)))
        self._switching = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self._complaint = ""

    def _use(self, index: Index, searcher: Searcher) -> None:
        """Answer from an index from now on."""
        self._place = Place(index)
        folder, elsewhere = self._place.folder, self._pictures_elsewhere
        own = None if folder is None else folder / PICTURES
        self.pictures = ItemPictures(elsewhere or own, self._limits)
        about = About(index, self.can_write)
        self.index, self.searcher, self.about = index, searcher, about
        self.examples = Cached(lambda: find_examples(searcher, about))
        # the index's own folder has one writer; another may have several
        record = Unfinished(own if elsewhere is None else None)
        self.writer = Writer(index, self.pictures, record)

    def load(self) -> None:
        """Load the model, and all that a search needs."""
        self.searcher.warm()
        if self.can_write:
            _ = self.index.method  # items are encoded by the method itself
            self.writer.delete_orphans()
        self.about.index()

    def forget(self) -> None:
        """The index has changed."""
        self.about.forget()
        self.examples.forget()

    async def close(self) -> None:
        """Close this index, and those before it."""
        for task in self._closing:
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)
        await asyncio.to_thread(self.index.close)

    async def is_there(self) -> bool:
        """Return whether an index is in its place; wait a while where it is not."""
        before = self.index
        return await asyncio.to_thread(
            self._place.is_there
        ) or await self._await_switch(before)

    async def switch(self) -> bool:
        """Serve the index that replaced this one; return whether there is one.

        Requests that run end on the index before, which is closed after them.

        Raises:
            FdchError: What is there cannot be served; nothing has changed then.
        """
        async with self._switching:
            if await asyncio.to_thread(self._place.is_current):
                return False
            before = self.index
            self._use(*await asyncio.to_thread(self._open_again))
            _log.info("switched to '%s'", self.index.store.name)
        closing = asyncio.create_task(self._close_later(before))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return True

    async def try_to_switch(self) -> None:
        """Switch, or log once why that is not possible."""
        try:
            await self.switch()
            self._complaint = ""
        except FdchError as problem:
            if str(problem) != self._complaint:
                self._complaint = str(problem)
                _log.error("no index can be served: %s", problem)

    async def repeat(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Run some work, and repeat it if the index was replaced meanwhile."""
        before = self.index
        try:
            return await work()
        except IndexFolderError:
            if not await self._await_switch(before):
                raise
        return await work()

    async def _await_switch(self, before: Index) -> bool:
        """Wait a while for an index to replace one that is gone."""
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_SECONDS
        while self.index is before:
            if await asyncio.to_thread(self._place.is_there):
                return False
            await self.try_to_switch()
            if loop.time() > end:
                break
            await asyncio.sleep(_PAUSE_SECONDS)
        return self.index is not before

    def _open_again(self) -> tuple[Index, Searcher]:
        name, context = self._place.name, self.index.context
        assert name is not None
        index = Index.open(name, writable=self.can_write, context=context)
        try:
            searcher = Searcher(index, self._open_encoder(index))
            searcher.warm()
            if self.can_write:
                _ = index.method
        except BaseException:
            index.close()
            raise
        return index, searcher

    async def _close_later(self, index: Index) -> None:
        try:
            await asyncio.sleep(self._limits.seconds)  # no request takes longer
        finally:
            await asyncio.to_thread(index.close)
        gc.unfreeze()  # its model can go
        gc.collect()
        gc.freeze()
