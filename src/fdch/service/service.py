"""The service itself: what the routes call, and what starts and stops with it."""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Callable
from pathlib import Path

from fdch.codes import Codes
from fdch.data.pictures.decoding import decode
from fdch.errors import FdchError
from fdch.export.model import ExportedModel
from fdch.index.store import Item
from fdch.machine import usable_cores
from fdch.retrieval.index import Index
from fdch.retrieval.queries import encode_text_queries
from fdch.retrieval.results import Results
from fdch.retrieval.searcher import Searcher
from fdch.service.about import About, Cached
from fdch.service.answering import Answer, Answers, NoKnownWord, Pixels, Query
from fdch.service.batching import Batcher, BoundedPool
from fdch.service.examples import GENERAL, Examples, find_examples
from fdch.service.http.limits import ServiceLimits
from fdch.service.http.problems import Problem, index_lost, loading
from fdch.service.http.tokens import Tokens
from fdch.service.metrics import Metrics
from fdch.service.pictures import ItemPictures, ServedPicture
from fdch.service.place import Place
from fdch.service.unfinished import Unfinished
from fdch.service.writing import Change, Put, Writer, Written

PICTURES = "pictures"
WATCH_SECONDS = 5.0
_BATCH = 256
_WRITES = 128
_READERS = 4
_WAITING = 256
_log = logging.getLogger("fdch.service")


class Service:
    """One index, searched by many requests at a time.

    Args:
        index: Open; for writing where there is a write token.
        limits: Of requests.
        tokens: Who may read and write; None where anyone may read.
        pictures: Folder for uploaded pictures; None for the index's own.
        log_queries: Whether the log may hold what is searched for.
        encoder: What encodes queries in place of the index's method.
    """

    def __init__(
        self,
        index: Index,
        *,
        limits: ServiceLimits | None = None,
        tokens: Tokens | None = None,
        pictures: Path | None = None,
        log_queries: bool = False,
        encoder: ExportedModel | None = None,
    ) -> None:
        self.limits = limits or ServiceLimits()
        self.tokens = tokens
        self.log_queries = log_queries
        self.metrics = Metrics()
        self._pictures_elsewhere = None if pictures is None else pictures.absolute()
        self._use(index, Searcher(index, encoder))
        self._can_follow = encoder is None and _link(index) is not None
        self.trouble: Exception | None = None
        self.give_up: Callable[[], None] = lambda: None
        self.is_ready = False
        self._why_not: Callable[[], Problem] = loading
        self._searches = Batcher[Query, Answer](
            lambda queries: self._answers.work(queries),
            _BATCH,
            "fdch-answers",
            self.metrics.batch.observe,
        )
        self._writes = Batcher[Change, Written](
            lambda changes: self._writer.work(changes), _WRITES, "fdch-writer"
        )
        cores = usable_cores()
        self._decoding = BoundedPool(cores, _WAITING, "fdch-decoding")
        self._reading = BoundedPool(_READERS, _WAITING, "fdch-reading")
        self._measure()

    def _use(self, index: Index, searcher: Searcher) -> None:
        """Answer from an index from now on."""
        elsewhere = self._pictures_elsewhere
        pictures = ItemPictures(
            _pictures_folder(index) if elsewhere is None else elsewhere,
            self.limits.picture_pixels,
            self.limits.thumbnail_bytes,
            self._count_thumbnail,
        )
        about = About(index, self.can_write)
        self.index, self.searcher, self.about = index, searcher, about
        self._examples = Cached(lambda: find_examples(searcher, about))
        self._place = Place(_folder(index))
        self.pictures = pictures
        self._answers = Answers(searcher)
        # the index's own folder has one writer; another may have several
        own = pictures.folder if elsewhere is None else None
        self._writer = Writer(index, pictures, Unfinished(own))

    @property
    def can_write(self) -> bool:
        """Whether any client may write."""
        return self.tokens is not None and self.tokens.can_write

    async def start(self) -> None:
        """Begin to load the model; searches are answered once that is done."""
        loop = asyncio.get_running_loop()
        self._searches.start(loop)
        self._writes.start(loop)
        self._warming = asyncio.create_task(self._warm())

    async def stop(self) -> None:
        """Finish what was begun, and close the index."""
        self.is_ready = False
        self._warming.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._warming
        gc.unfreeze()
        await asyncio.to_thread(self._close)

    async def search(self, query: Query) -> list[Results]:
        """Search, in one batch with other requests."""
        found = await self._submit(query)
        assert not isinstance(found, Codes)
        self.metrics.scanned.inc(sum(each.scanned for each in found))
        return found

    def log_query(self, query: Query) -> None:
        """Log what was searched for, where that is switched on."""
        if self.log_queries:
            _log.info("searched by %s: %.200r", query.kind, list(query.inputs))

    async def encode(self, query: Query) -> Codes:
        """Encode, in one batch with other requests."""
        found = await self._submit(query)
        assert isinstance(found, Codes)
        return found

    async def decode(self, picture: bytes) -> Pixels:
        """Decode an uploaded picture to what the model's network takes."""
        size = self.searcher.encoder.inputs.size
        if size is None:
            raise Problem(
                422,
                "no_pictures",
                "the model of this index was trained on ready features, so it cannot "
                "look at pictures.",
                "Search by text, or by the id of an item.",
            )
        return await self._decoding.run(
            decode, picture, size, self.limits.pictures, "the picture"
        )

    async def check(self, picture: bytes) -> None:
        """Refuse an uploaded picture that cannot be decoded."""
        await self._decoding.run(
            decode, picture, 16, self.limits.pictures, "the picture"
        )

    async def item(self, name: str) -> Item:
        """Give an item of the index, or refuse an unknown id."""
        [found] = await self._reading.run(self.index.store.items, [name])
        if found is None:
            raise Problem(
                404,
                "unknown_item",
                "there is no item of this id.",
                "Ids are as in the index; in an address, each is percent-encoded.",
            )
        return found

    async def picture(self, item: Item, known: str | None) -> ServedPicture:
        """Give an item's picture."""
        return await self._decoding.run(self.pictures.picture, item, known)

    async def thumbnail(
        self, item: Item, size: int, known: str | None
    ) -> ServedPicture:
        """Give an item's picture, small."""
        return await self._decoding.run(self.pictures.thumbnail, item, size, known)

    async def change(self, change: Change) -> Written:
        """Change the index; what is returned is on disk."""
        self.require_ready()
        # a client that disconnects does not stop the change
        written = await asyncio.shield(self._writes.submit(change))
        kind = "put" if isinstance(change, Put) else "remove"
        self.metrics.writes.labels(kind).inc()
        self.about.forget()
        self._examples.forget()
        return written

    async def describe(self) -> dict[str, object]:
        """Say what the index holds."""
        self.require_ready()
        return await self._reading.run(self.about.index)

    async def overview(self) -> dict[str, object]:
        """Say how the index's codes lie."""
        self.require_ready()
        return await self._reading.run(self.about.overview)

    async def measurements(self) -> bytes:
        """Give all counters as Prometheus reads them."""
        return await self._reading.run(self.metrics.text)

    async def examples(self) -> Examples:
        """Give words and names with which examples work on this index."""
        if not self.is_ready:
            return GENERAL
        return await self._reading.run(self._examples.get)

    def require_ready(self) -> None:
        """Refuse while nothing can be answered."""
        if not self.is_ready:
            raise self._why_not()

    async def _submit(self, query: Query) -> Answer:
        self.require_ready()
        try:
            return await self._searches.submit(query)
        except NoKnownWord:
            encoder = self.searcher.encoder
        # raises, with words that would be known: slow, so not in the batch thread
        await self._reading.run(encode_text_queries, encoder, query.inputs)
        raise AssertionError("a text without a known word was encoded")

    async def _warm(self) -> None:
        try:
            await asyncio.to_thread(self.searcher.warm)
            if self.can_write:  # items are encoded by the method itself
                await asyncio.to_thread(lambda: self.index.method)
                await asyncio.to_thread(self._writer.delete_orphans)
            await asyncio.to_thread(self.about.index)
        except Exception as problem:
            self.trouble = problem
            self.give_up()
            return
        # What is loaded stays: looking through it for garbage again and again would
        # make all requests wait.
        gc.collect()
        gc.freeze()
        self.is_ready = True
        _log.info("ready")
        await self._watch()

    async def _watch(self) -> None:
        """Notice when the index's folder is removed, or another put in its place."""
        self._why_not = index_lost
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self._can_follow and await asyncio.to_thread(self._leads_elsewhere):
                await self._follow_link()
            is_same = await asyncio.to_thread(self._place.is_same)
            if is_same != self.is_ready:
                self.is_ready = is_same
                _log.error("the index is back" if is_same else index_lost().message)

    def _leads_elsewhere(self) -> bool:
        link, folder = _link(self.index), _folder(self.index)
        return link is not None and folder is not None and link.resolve() != folder

    async def _follow_link(self) -> None:
        """Switch to the index that the link leads to now, once it is loaded."""
        before = self.index
        try:
            index, searcher = await asyncio.to_thread(self._load_linked)
        except FdchError as problem:
            _log.error("the link leads to no index that can be served: %s", problem)
            return
        self._use(index, searcher)
        _log.info("switched to '%s'", index.store.name)
        await asyncio.sleep(WATCH_SECONDS)  # batches that have begun come to their end
        await asyncio.to_thread(before.close)

    def _load_linked(self) -> tuple[Index, Searcher]:
        link = _link(self.index)
        assert link is not None
        index = Index.open(link, writable=self.can_write, context=self.index.context)
        try:
            searcher = Searcher(index)
            searcher.warm()
            if self.can_write:
                _ = index.method
        except BaseException:
            index.close()
            raise
        return index, searcher

    def _close(self) -> None:
        self._searches.close()
        self._writes.close()
        self._decoding.close()
        self._reading.close()
        self.index.close()

    def _measure(self) -> None:
        metrics = self.metrics
        waiting = metrics.waiting
        waiting.labels("search").set_function(lambda: self._searches.length)
        waiting.labels("write").set_function(lambda: self._writes.length)
        metrics.ready.set_function(lambda: float(self.is_ready))
        metrics.items.set_function(self._items)

    def _items(self) -> float:
        try:
            return float(len(self.index))
        except FdchError:
            return float("nan")

    def _count_thumbnail(self, is_known: bool) -> None:
        self.metrics.thumbnails.labels("hit" if is_known else "miss").inc()


def _pictures_folder(index: Index) -> Path | None:
    """Give the folder beside the codes, where there is one."""
    folder = _folder(index)
    return None if folder is None else folder / PICTURES


def _link(index: Index) -> Path | None:
    """Return the link by which an index was opened, if it was one."""
    path = getattr(index.store, "opened_as", None)
    return path if isinstance(path, Path) and path.is_symlink() else None


def _folder(index: Index) -> Path | None:
    path = getattr(index.store, "path", None)
    return path.absolute() if isinstance(path, Path) else None
