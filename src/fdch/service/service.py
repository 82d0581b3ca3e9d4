"""The service itself: what the routes call, and what starts and stops with it."""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.data.pictures.decoding import decode
from fdch.errors import FdchError, SettingError
from fdch.index.store import Item
from fdch.machine import usable_cores
from fdch.retrieval.composed import ComposedQuery
from fdch.retrieval.index import Index
from fdch.retrieval.params import SearchParams
from fdch.retrieval.results import Results
from fdch.retrieval.searcher import Searcher
from fdch.service.http.limits import ServiceLimits
from fdch.service.http.problems import Problem, loading, lost_index
from fdch.service.http.tokens import Tokens
from fdch.service.index.answering import Answer, Query, answer_queries
from fdch.service.index.batching import Batcher, BoundedPool
from fdch.service.index.contents import GENERAL, Examples
from fdch.service.index.current import CurrentIndex, OpenEncoder
from fdch.service.index.writing import Change, Put, Written
from fdch.service.metrics import Metrics

WATCH_SECONDS = 5.0
_BATCH = 256
_WRITES = 128
_READERS = 4
_WAITING = 256
_SHOWN = 400
_T = TypeVar("_T")
_log = logging.getLogger("fdch.service")


class Service:
    """One index, searched by many concurrent requests.

    Args:
        index: Open; for writing where there is a write token.
        limits: Of requests.
        tokens: Who may read and write; None where anyone may read.
        pictures: Folder for uploaded pictures; None for the index's own.
        log_queries: Whether the log may hold what is searched for.
        open_encoder: Gives what encodes queries in place of an index's method.
        name: Identifies the index among others of the same site.
        metrics: Shared with others; None for its own.
    """

    def __init__(
        self,
        index: Index,
        *,
        limits: ServiceLimits | None = None,
        tokens: Tokens | None = None,
        pictures: Path | None = None,
        log_queries: bool = False,
        open_encoder: OpenEncoder = lambda _: None,
        name: str = "index",
        metrics: Metrics | None = None,
    ) -> None:
        self.limits = limits or ServiceLimits()
        self.tokens = tokens
        # tokens may change; how the index was opened does not
        self.can_write = tokens is not None and tokens.can_write
        self.log_queries = log_queries
        self.name, self.metrics = name, metrics or Metrics()
        # set where a site has several
        self.address, self.group = "/v1", [self]
        self.current = CurrentIndex(
            index,
            can_write=self.can_write,
            limits=self.limits,
            pictures=pictures,
            open_encoder=open_encoder,
        )
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
            lambda changes: self.current.writer.work(changes), _WRITES, "fdch-writer"
        )
        self.decoding = BoundedPool(usable_cores(), _WAITING, "fdch-decoding")
        self.reading = BoundedPool(_READERS, _WAITING, "fdch-reading")
        self._measure()

    @property
    def index(self) -> Index:
        """The index that is served now."""
        return self.current.index

    @property
    def searcher(self) -> Searcher:
        """The searcher of the index."""
        return self.current.searcher

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
        await self.current.close()

    async def search(self, query: Query) -> list[Results]:
        """Search, in one batch with other requests."""
        found = await self._submit(query)
        assert not isinstance(found, Codes)
        self.metrics.scanned.inc(sum(each.scanned for each in found))
        if self.log_queries and query.kind != "image":
            _log.info("searched by %s: %.200r", query.kind, query.described)
        return found

    async def compose(
        self, query: ComposedQuery, params: SearchParams
    ) -> list[Results]:
        """Search with several parts together, whose items must be there."""
        if query.ids:
            items = await self.read(lambda: self.index.store.items(query.ids))
            pairs = zip(query.ids, items, strict=True)
            if gone := [f"'{name}'" for name, item in pairs if item is None]:
                message = f"there is no item {', '.join(gone)}."
                hint = "Leave it out of like and unlike; ids are as in the index."
                raise Problem(404, "unknown_item", message[:_SHOWN], hint)
        kind, value = query.simplest
        return await self.search(Query(kind, [value], params))

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
        """Return an item of the index, or refuse an unknown id."""
        [found] = await self.read(lambda: self.index.store.items([name]))
        if found is None:
            hint = "Ids are as in the index; in an address, each is percent-encoded."
            raise Problem(404, "unknown_item", "there is no item of this id.", hint)
        return found

    async def read(self, find: Callable[[], _T]) -> _T:
        """Find something out in a thread."""
        return await self.current.repeat(lambda: self.reading.run(find))

    async def change(self, change: Change) -> Written:
        """Change the index; the change is on disk when this returns."""
        self.require_ready()
        # a client that disconnects does not stop the change
        make = asyncio.ensure_future(
            self.current.repeat(lambda: self._writes.submit(change))
        )
        written = await asyncio.shield(make)
        kind = "put" if isinstance(change, Put) else "remove"
        self.metrics.writes.labels(kind).inc()
        self.current.forget()
        return written

    async def examples(self) -> Examples:
        """Return words and names with which examples work on this index."""
        if not self.is_ready:
            return GENERAL
        return await self.read(lambda: self.current.examples.get())

    def require_ready(self) -> None:
        """Refuse while nothing can be answered."""
        if not self.is_ready:
            raise self._why_not()

    async def _submit(self, query: Query) -> Answer:
        self.require_ready()
        return await self.current.repeat(lambda: self._searches.submit(query))

    async def _warm(self) -> None:
        try:
            await asyncio.to_thread(self.current.load)
        except Exception as problem:
            self.trouble = problem
            self.give_up()
            return
        # the model stays in memory: scanning it for garbage would delay all requests
        gc.collect()
        gc.freeze()
        self.is_ready = True
        _log.info("ready")
        await self._watch()

    async def _watch(self) -> None:
        """Notice what becomes of the token file and of the index's folder."""
        self._why_not = lost_index
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            await self.try_to_reload()
            is_there = await self.current.is_there()
            if is_there != self.is_ready:
                self.is_ready = is_there
                if is_there:
                    _log.warning("the index is back")
                else:
                    _log.error(lost_index().message)

    async def reload(self) -> bool:
        """Read the tokens and open the index again where they have changed."""
        await self.refresh_tokens()
        return await self.current.switch()

    async def try_to_reload(self) -> None:
        """Do the same, or log why it failed."""
        await self.refresh_tokens()
        await self.current.try_to_switch()

    async def refresh_tokens(self) -> None:
        """Take over a token file that has changed; keep the tokens if it is wrong."""
        try:
            if self.tokens is not None and await asyncio.to_thread(self.tokens.refresh):
                _log.info("the token file was read again")
        except SettingError as problem:
            _log.error("the tokens are unchanged: %s", problem)

    def _measure(self) -> None:
        metrics, waiting = self.metrics, self.metrics.waiting
        name = self.name
        waiting.labels(name, "search").set_function(lambda: self._searches.length)
        waiting.labels(name, "write").set_function(lambda: self._writes.length)
        metrics.ready.labels(name).set_function(lambda: float(self.is_ready))
        metrics.items.labels(name).set_function(self._count_items)

    def _count_items(self) -> float:
        try:
            return float(len(self.index))
        except FdchError:
            return float("nan")
