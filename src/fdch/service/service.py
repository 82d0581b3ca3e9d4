"""The service itself: what the routes call, and what starts and stops with it."""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
from fdch.service.answering import Answer, NoKnownWord, Query, answer_queries
from fdch.service.batching import Batcher, BoundedPool
from fdch.service.examples import GENERAL, Examples, find_examples
from fdch.service.http.limits import ServiceLimits
from fdch.service.http.problems import Problem, index_lost, loading
from fdch.service.http.tokens import Tokens
from fdch.service.metrics import Metrics
from fdch.service.pictures import ItemPictures
from fdch.service.place import find_folder, find_link, identify
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
        self._can_follow = encoder is None and find_link(index) is not None
        self.trouble: Exception | None = None
        self.give_up: Callable[[], None] = lambda: None
        self.is_ready = False
        self._why_not: Callable[[], Problem] = loading
        self._searches = Batcher[Query, Answer](
            lambda queries: answer_queries(self.searcher, queries),
            _BATCH,
            "fdch-answers",
            self.metrics.batch.observe,
        )
        self._writes = Batcher[Change, Written](
            lambda changes: self._writer.work(changes), _WRITES, "fdch-writer"
        )
        self.decoding = BoundedPool(usable_cores(), _WAITING, "fdch-decoding")
        self.reading = BoundedPool(_READERS, _WAITING, "fdch-reading")
        self._measure()

    def _use(self, index: Index, searcher: Searcher) -> None:
        """Answer from an index from now on."""
        folder = find_folder(index)
        own = None if folder is None else folder / PICTURES
        elsewhere = self._pictures_elsewhere
        self.pictures = ItemPictures(
            elsewhere or own,
            self.limits.picture_pixels,
            self.limits.thumbnail_bytes,
            self._count_thumbnail,
        )
        about = About(index, self.can_write)
        self.index, self.searcher, self.about = index, searcher, about
        self._examples = Cached(lambda: find_examples(searcher, about))
        self._folder, self._identity = folder, identify(folder)
        # the index's own folder has one writer; another may have several
        record = Unfinished(own if elsewhere is None else None)
        self._writer = Writer(index, self.pictures, record)

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
        for each in (self._searches, self._writes, self.decoding, self.reading):
            await asyncio.to_thread(each.close)
        await asyncio.to_thread(self.index.close)

    async def search(self, query: Query) -> list[Results]:
        """Search, in one batch with other requests."""
        found = await self._submit(query)
        assert not isinstance(found, Codes)
        self.metrics.scanned.inc(sum(each.scanned for each in found))
        if self.log_queries and query.kind != "image":
            _log.info("searched by %s: %.200r", query.kind, list(query.inputs))
        return found

    async def encode(self, query: Query) -> Codes:
        """Encode, in one batch with other requests."""
        found = await self._submit(query)
        assert isinstance(found, Codes)
        return found

    async def decode(self, picture: bytes) -> NDArray[np.uint8]:
        """Decode an uploaded picture to what the model's network takes."""
        size = self.searcher.encoder.inputs.size
        if size is None:
            message = (
                "the model of this index was trained on ready features, so it cannot "
                "look at pictures."
            )
            hint = "Search by text, or by the id of an item."
            raise Problem(422, "no_pictures", message, hint)
        return await self._decode(picture, size)

    async def check(self, picture: bytes) -> None:
        """Refuse an uploaded picture that cannot be decoded."""
        await self._decode(picture, 16)

    async def _decode(self, picture: bytes, size: int) -> NDArray[np.uint8]:
        limits = self.limits.pictures
        return await self.decoding.run(decode, picture, size, limits, "the picture")

    async def item(self, name: str) -> Item:
        """Give an item of the index, or refuse an unknown id."""
        [found] = await self.reading.run(self.index.store.items, [name])
        if found is None:
            hint = "Ids are as in the index; in an address, each is percent-encoded."
            raise Problem(404, "unknown_item", "there is no item of this id.", hint)
        return found

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

    async def examples(self) -> Examples:
        """Give words and names with which examples work on this index."""
        if not self.is_ready:
            return GENERAL
        return await self.reading.run(self._examples.get)

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
        await self.reading.run(encode_text_queries, encoder, query.inputs)
        raise AssertionError("a text without a known word was encoded")

    async def _warm(self) -> None:
        try:
            await asyncio.to_thread(self._load)
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

    def _load(self) -> None:
        self.searcher.warm()
        if self.can_write:
            _ = self.index.method  # items are encoded by the method itself
            self._writer.delete_orphans()
        self.about.index()

    async def _watch(self) -> None:
        """Notice when the index's folder is removed, or another put in its place."""
        self._why_not = index_lost
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            link = await asyncio.to_thread(self._find_moved_link)
            if link is not None:
                await self._follow_link(link)
            found = await asyncio.to_thread(identify, self._folder)
            is_same = found == self._identity
            if is_same != self.is_ready:
                self.is_ready = is_same
                _log.error("the index is back" if is_same else index_lost().message)

    def _find_moved_link(self) -> Path | None:
        link = find_link(self.index) if self._can_follow else None
        return None if link is None or link.resolve() == self._folder else link

    async def _follow_link(self, link: Path) -> None:
        """Switch to the index that the link leads to now, once it is loaded."""
        before = self.index
        try:
            index, searcher = await asyncio.to_thread(self._load_linked, link)
        except FdchError as problem:
            _log.error("the link leads to no index that can be served: %s", problem)
            return
        self._use(index, searcher)
        _log.info("switched to '%s'", index.store.name)
        await asyncio.sleep(WATCH_SECONDS)  # batches that have begun come to their end
        await asyncio.to_thread(before.close)

    def _load_linked(self, link: Path) -> tuple[Index, Searcher]:
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

    def _measure(self) -> None:
        metrics, waiting = self.metrics, self.metrics.waiting
        waiting.labels("search").set_function(lambda: self._searches.length)
        waiting.labels("write").set_function(lambda: self._writes.length)
        metrics.ready.set_function(lambda: float(self.is_ready))
        metrics.items.set_function(self._count_items)

    def _count_items(self) -> float:
        try:
            return float(len(self.index))
        except FdchError:
            return float("nan")

    def _count_thumbnail(self, is_known: bool) -> None:
        self.metrics.thumbnails.labels("hit" if is_known else "miss").inc()
