"""The one entry to searching a gallery, by whatever way is quickest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DataError, SettingError
from fdch.index.search.buckets import Buckets, within_buckets
from fdch.index.search.gallery import Found, Gallery, Part
from fdch.index.search.groups import (
    count_reached,
    group_rows,
    nearest_in_groups,
    within_groups,
)
from fdch.index.search.radius import has_quick_lookup, within_any
from fdch.index.search.rows import (
    NOTHING,
    NUMBER_BITS,
    NUMBER_MASK,
    Rows,
    flat,
    frozen,
    row_length,
    row_type,
    row_words,
)
from fdch.index.search.scan import (
    FIRST_ROOM,
    Engine,
    Keys,
    choose_engine,
    is_compiled,
    load_engine,
    nearest_in_part,
)
from fdch.machine import usable_cores

NO_KEYS: Keys = frozen(np.empty(0, dtype=np.int64))
NO_DISTANCES: NDArray[np.uint16] = frozen(np.empty(0, dtype=np.uint16))
KEYS_AT_A_TIME = 1 << 23  # keys that searching a part holds at most, 64 MB


def nearest(
    gallery: Gallery,
    queries: Codes,
    k: int,
    *,
    threads: int | None = None,
    engine: Engine = "auto",
) -> list[Found]:
    """Find the k nearest items of each query, ties in order of insertion.

    `threads` may share the work, by default one per core. The engine "auto" begins
    with NumPy, which needs no loading, and takes the compiled kernels when they are
    loaded or worth loading.
    """
    _check(gallery, queries, k)
    kernels = choose_engine(engine, len(gallery) * len(queries))
    threads = threads or usable_cores()
    return _nearest(gallery, queries, gallery.bits, k, threads, kernels)


def within(
    gallery: Gallery,
    queries: Codes,
    radius: int,
    *,
    most: int | None = None,
    threads: int | None = None,
    engine: Engine = "auto",
) -> list[Found]:
    """Find all items no farther than the radius, or the nearest of them.

    A negative radius finds nothing. `threads` and `engine` are those of `nearest`.
    """
    _check(gallery, queries, 1 if most is None else most)
    kernels = choose_engine(engine, len(gallery) * len(queries))
    threads = threads or usable_cores()
    radius = min(max(radius, -1), gallery.bits)
    if most is not None and not any(
        has_quick_lookup(part, len(queries), radius, threads, kernels)
        for part in gallery.parts
    ):
        return _nearest(gallery, queries, radius, most, threads, kernels)
    seen, rows, step = len(gallery), row_words(queries), KEYS_AT_A_TIME // FIRST_ROOM
    found: list[Found] = []
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        in_parts = [
            within_any(part, gallery.bits, some, radius, threads, kernels)
            for part in gallery.parts
        ]
        if len(in_parts) == 1:  # buckets take microseconds, so that a copy would count
            found += [_sort_keys(keys, most, seen) for keys in in_parts[0]]
            continue
        for i in range(len(some)):
            keys = np.concatenate([NO_KEYS, *(each[i] for each in in_parts)])
            found.append(_sort_keys(keys, most, seen))
    return found


def warm(bits: int) -> None:
    """Compile all kernels that such codes need, or load them from the cache."""
    length = row_length(bits)
    rows = np.zeros((2, length) if length > 1 else 2, dtype=row_type(bits))
    dead = np.zeros(2, dtype=np.bool_)
    codes = Codes(np.zeros((2, (bits + 7) // 8), dtype=np.uint8), bits)
    parts = [Part(rows, 0), Part(rows, 2, dead)]
    if is_compiled(load_engine()):
        grouping = group_rows(rows, bits, rows[:1], 1)
        # One table with one bucket.
        buckets = Buckets(
            np.array([[0, 2]], dtype=np.uint32),
            np.array([[0, 1]], dtype=np.uint32),
            np.zeros((1, 2), dtype=np.int64),
        )
        parts += [Part(rows, 4, dead, grouping), Part(rows, 6, dead, grouping, buckets)]
        # So few rows would be scanned rather than looked up.
        count_reached(grouping, bits, rows, 0)
        within_groups(parts[-1], grouping, bits, rows, 0)
        within_buckets(parts[-1], buckets, bits, flat(rows), 0, 1 << 40)
    gallery = Gallery(bits, tuple(parts))
    nearest(gallery, codes, 1)
    within(gallery, codes, 0)


def _check(gallery: Gallery, queries: Codes, k: int) -> None:
    if queries.bits != gallery.bits:
        raise DataError(
            f"queries have {queries.bits} bits, the gallery's codes {gallery.bits}; "
            "they must come from the same method."
        )
    if k < 1:
        raise SettingError(f"at least one item must be requested; got {k}.")


def _nearest(
    gallery: Gallery, queries: Codes, radius: int, k: int, threads: int, kernels: Any
) -> list[Found]:
    """Find the k nearest items no farther than the radius, some queries at a time."""
    seen, rows = len(gallery), row_words(queries)
    k = max(1, min(k, seen))
    # What the kernels hold for a query: keys found, some more, and counts.
    step = max(1, KEYS_AT_A_TIME // (3 * k + gallery.bits))
    found: list[Found] = []
    for start in range(0, len(queries), step):
        some = rows[start : start + step]
        keys = _nearest_keys(gallery, some, radius, k, threads, kernels)
        if keys[:, -1].max(initial=0) < NOTHING:
            sizes = [k] * len(keys)
        else:
            sizes = (keys != NOTHING).sum(axis=1).tolist()
        numbers = keys & NUMBER_MASK
        distances = (keys >> NUMBER_BITS).astype(np.uint16)
        found += [
            Found(numbers[i, :size], distances[i, :size], seen)
            for i, size in enumerate(sizes)
        ]
    return found


def _nearest_keys(
    gallery: Gallery, queries: Rows, radius: int, k: int, threads: int, kernels: Any
) -> Keys:
    """Search part after part; what was found so far limits what may still come."""
    bits, limits = gallery.bits, np.empty(len(queries), dtype=np.int64)
    limits.fill(radius + 1)
    held: Keys | None = None
    for part in gallery.parts:
        if part.grouping is not None and is_compiled(kernels):
            keys, _ = nearest_in_groups(
                part, part.grouping, bits, queries, limits, k, threads
            )
        else:
            keys = nearest_in_part(part, bits, queries, limits, k, threads, kernels)
        if held is not None:
            keys = np.sort(np.concatenate([held, keys], 1), axis=1)[:, :k]
        held = keys
        if part is not gallery.parts[-1]:
            # Later parts have higher numbers: only what is strictly nearer counts.
            limits = np.minimum(limits, held[:, -1] >> NUMBER_BITS)
    if held is None:
        return np.full((len(queries), k), NOTHING, dtype=np.int64)
    return held


def _sort_keys(keys: Keys, most: int | None, seen: int) -> Found:
    if not keys.size:
        return Found(NO_KEYS, NO_DISTANCES, seen)
    if keys.size > 1:
        keys = np.sort(keys)[:most]
    return Found(keys & NUMBER_MASK, (keys >> NUMBER_BITS).astype(np.uint16), seen)
