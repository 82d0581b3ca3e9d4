"""The contents of an index, for its description and the filters of the page."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import fdch
from fdch.index.store import LABEL, Contents
from fdch.retrieval.index import Index
from fdch.retrieval.searcher import Searcher
from fdch.service.index.overview import overview

FRESH_SECONDS = 10.0
QUICK_SECONDS = 0.1
_MAX_VALUES = 20
_MAX_LABELS = 200
_T = TypeVar("_T")
_log = logging.getLogger("fdch.service")
_WITHOUT_ADDRESS = (".", "..")
_LOOKED_AT = 50
_HEALTH = ("sampled", "distinct", "largest")


class Cached(Generic[_T]):
    """A value that is slow to compute, computed again when it has aged.

    If it was computed quickly, the caller waits for the new value; else the last one
    is given, and a thread computes the next.
    """

    def __init__(
        self, find: Callable[[], _T], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._find, self._clock = find, clock
        self._guard = threading.Lock()
        self._known: _T | None = None
        self._since = self._took = 0.0
        self._has_changed = False

    def get(self) -> _T:
        """Return the value."""
        known = self._known
        if known is not None and not self._is_old():
            return known
        if known is None or self._took < QUICK_SECONDS:
            with self._guard:
                if self._known is None or self._is_old():
                    self._refresh()
        elif self._guard.acquire(blocking=False):
            threading.Thread(target=self._refresh_aside, daemon=True).start()
        assert self._known is not None
        return self._known

    def forget(self) -> None:
        """Compute it again at the next call, unless that takes long."""
        self._has_changed = True

    def _is_old(self) -> bool:
        # what took long is kept longer, so that little time goes into it
        kept = max(FRESH_SECONDS, 20 * self._took)
        is_due = self._has_changed and self._took < QUICK_SECONDS
        return is_due or self._clock() - self._since > kept

    def _refresh(self) -> None:
        began = self._clock()
        self._has_changed = False
        self._known = self._find()
        self._since = self._clock()
        self._took = self._since - began

    def _refresh_aside(self) -> None:
        try:
            self._refresh()
        except Exception as problem:  # what is known stays; it is tried again later
            self._since = self._clock()
            _log.warning("what the index holds could not be computed: %s", problem)
        finally:
            self._guard.release()


class About:
    """Describes an index; threads may share one."""

    def __init__(self, index: Index, can_write: bool) -> None:
        self._index, self._can_write = index, can_write
        self._contents = Cached(self._find_contents)
        self._overview = Cached(lambda: overview(index.store))

    def index(self) -> dict[str, Any]:
        """Return what `GET /v1/index` replies."""
        index, known = self._index, self._overview.get()
        balance = known.get("balance") or []
        return {
            "items": len(index),
            "bits": index.bits,
            "model": index.fingerprint,
            "method": index.model.name,
            **self._contents.get(),
            "has_words": not index.store.words_obstacle(),
            "has_probability": index.model.calibration is not None,
            "can_write": self._can_write,
            "version": fdch.__version__,
            "health": {
                **{name: known[name] for name in _HEALTH if name in known},
                "constant_bits": sum(share in (0.0, 1.0) for share in balance),
            },
        }

    def overview(self) -> dict[str, Any]:
        """Return what `GET /v1/overview` replies."""
        return self._overview.get()

    def forget(self) -> None:
        """The index has changed."""
        self._contents.forget()
        self._overview.forget()

    def _find_contents(self) -> dict[str, Any]:
        found = self._index.store.contents(_MAX_LABELS)
        columns = {"columns": [_column(name, found) for name in found.columns]}
        if found.uncounted is not None:
            unknown = dict.fromkeys(("kinds", "labels", "label_count"))
            return {**unknown, **columns, "uncounted": found.uncounted}
        labels = found.facets.get(LABEL, ())
        return {
            "kinds": dict(found.kinds),
            "labels": [{"name": str(name), "count": count} for name, count in labels],
            "label_count": found.distinct.get(LABEL, 0),
            **columns,
            "uncounted": None,
        }


def _column(name: str, found: Contents) -> dict[str, Any]:
    low, high = found.extremes.get(name, (None, None))
    values, facts = found.facets.get(name, ())[:_MAX_VALUES], found.columns[name]
    return {
        "name": name,
        "values": [{"value": value, "count": count} for value, count in values],
        "value_count": found.distinct.get(name),
        "numeric": low is not None,
        "type": facts.type,
        "counts": dict(facts.counts),
        "min": low,
        "max": high,
    }


@dataclass(frozen=True)
class Examples:
    """Words, a label and an item that examples can use."""

    words: tuple[str, ...] = ()  # two of them, or none
    label: str | None = None
    id: str | None = None  # of an item, with a picture if any item has one
    has_picture: bool = False


# for those who may not read: nothing of the index
GENERAL = Examples(("dog", "beach"), "dog", "4711", has_picture=True)


def find_examples(searcher: Searcher, about: About) -> Examples:
    """Look for words, a label and an id that an index knows."""
    vocabulary = searcher.encoder.inputs.vocabulary
    words = () if vocabulary is None else tuple(vocabulary.examples()[:2])
    names = [each["name"] for each in about.index()["labels"] or ()]
    label = next((name for name in names if "\n" not in name), None)
    found = searcher.by_text(words[0], k=_LOOKED_AT) if words else ()
    items = [each for each in found if each.id not in _WITHOUT_ADDRESS]
    if not items:
        return Examples(words, label)
    item = next((each for each in items if each.image is not None), items[0])
    return Examples(words, label, item.id, item.image is not None)
