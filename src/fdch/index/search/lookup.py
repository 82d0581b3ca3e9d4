"""The one entry to searching a gallery, by whatever way is quickest.

The k nearest come from groups where a part has some, else from the scan. Within a
radius, each query takes the way with the lowest estimated time: buckets, groups or the
scan.
"""

from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DataError, SettingError
from fdch.index.search.buckets import Buckets, may_be_done, within_buckets
from fdch.index.search.gallery import Found, Gallery, Part
from fdch.index.search.groups import (
    QUERIES_PER_TASK,
    count_reached,
    group_rows,
    nearest_in_groups,
    within_groups,
)
from fdch.index.search.rows import (
    NOTHING,
    NUMBER_BITS,
    NUMBER_MASK,
    Rows,
    freeze,
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
    threads_for,
    within_part,
)
from fdch.index.search.threads import ranges, share
from fdch.machine import usable_cores

NO_KEYS: Keys = freeze(np.empty(0, dtype=np.int64))
NO_DISTANCES: NDArray[np.uint16] = freeze(np.empty(0, dtype=np.uint16))
KEYS_AT_A_TIME = 1 << 23  # keys that searching a part holds at most, 64 MB

# Nanoseconds by which the time of each way is estimated.
QUICK_TIME = 20_000  # below which a lookup in buckets is done without comparing
ROW_TIME = 0.1  # that a scan for many queries spends on a code
SINGLE_ROW_TIME = 0.25  # the same for a single query: memory is the bound
GROUPED_ROW_TIME = 0.4  # the same in groups, which lie apart in memory
GROUPS_TIME = 2_000  # to compare a query with all centres


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
        _quick_buckets(part, len(queries), radius, threads, kernels)
        for part in gallery.parts
    ):
        return _nearest(gallery, queries, radius, most, threads, kernels)
    seen, rows, step = len(gallery), row_words(queries), KEYS_AT_A_TIME // FIRST_ROOM
    found: list[Found] = []
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        in_parts = [
            _within_any(part, some, radius, threads, kernels) for part in gallery.parts
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
        count_reached(parts[-1], grouping, rows, 0)
        within_groups(parts[-1], grouping, rows, 0)
        within_buckets(parts[-1], buckets, rows, 0, 1 << 40)
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
        numbers = keys & NUMBER_MASK
        distances = (keys >> NUMBER_BITS).astype(np.uint16)
        for i, last in enumerate(keys[:, -1].tolist()):
            size = k if last != NOTHING else int((keys[i] != NOTHING).sum())
            found.append(Found(numbers[i, :size], distances[i, :size], seen))
    return found


def _nearest_keys(
    gallery: Gallery, queries: Rows, radius: int, k: int, threads: int, kernels: Any
) -> Keys:
    """Search part after part; what was found so far limits what may still come."""
    limits = np.empty(len(queries), dtype=np.int64)
    limits.fill(radius + 1)
    held: Keys | None = None
    for part in gallery.parts:
        if part.grouping is not None and is_compiled(kernels):
            keys, _ = nearest_in_groups(
                part, part.grouping, queries, limits, k, threads
            )
        else:
            keys = nearest_in_part(part, queries, limits, k, threads, kernels)
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


def _quick_buckets(
    part: Part, queries: int, radius: int, threads: int, kernels: Any
) -> Buckets | None:
    """Return a part's buckets where they may take less time than a scan."""
    if part.buckets is None or radius < 0 or not is_compiled(kernels):
        return None
    scan_time = _scan_time(part, queries, threads)
    is_quick = may_be_done(part, part.buckets, radius, scan_time)
    return part.buckets if is_quick else None


def _within_any(
    part: Part, queries: Rows, radius: int, threads: int, kernels: Any
) -> list[Keys]:
    """Find for each query the keys of all rows no farther than the radius, unsorted."""
    buckets = _quick_buckets(part, len(queries), radius, threads, kernels)
    has_groups = part.grouping is not None and radius >= 0 and is_compiled(kernels)
    if buckets is None and not has_groups:
        return within_part(part, queries, radius, threads, kernels)
    scan_time = _scan_time(part, len(queries), threads)
    look_up = partial(_look_up, part, buckets, radius, scan_time)
    if threads == 1 or len(queries) <= QUERIES_PER_TASK:
        found = look_up(queries)  # at once: a lookup takes microseconds
    else:
        found = [None] * len(queries)

        def work(start: int, stop: int) -> None:
            found[start:stop] = look_up(queries[start:stop])

        pieces = ranges(0, len(queries), -(-len(queries) // QUERIES_PER_TASK))
        share([partial(work, *piece) for piece in pieces], threads)
    left = [query for query, keys in enumerate(found) if keys is None]
    if left:
        scanned = within_part(part, queries[left], radius, threads, kernels)
        for query, keys in zip(left, scanned, strict=True):
            found[query] = keys
    return cast("list[Keys]", found)


def _look_up(
    part: Part, buckets: Buckets | None, radius: int, scan_time: int, queries: Rows
) -> list[Keys | None]:
    """Find by buckets or groups what is sooner found so; None for the scan's queries.

    `scan_time` is what a scan spends on a query, in nanoseconds; `buckets` are the
    part's own where they may be quicker.
    """
    grouping = part.grouping
    if buckets is None:
        found: list[Keys | None] = [None] * len(queries)
    else:
        max_time = scan_time if grouping is None else min(scan_time, QUICK_TIME)
        found = within_buckets(part, buckets, queries, radius, max_time)
    if grouping is None:
        return found
    left = [query for query, keys in enumerate(found) if keys is None]
    if not left:
        return found
    reached = count_reached(part, grouping, queries[left], radius)
    times = (reached * GROUPED_ROW_TIME).astype(np.int64) + GROUPS_TIME
    for query, time in zip(left, times.tolist(), strict=True):
        one = queries[query : query + 1]
        if buckets is not None:
            max_time = min(scan_time, time)
            [found[query]] = within_buckets(part, buckets, one, radius, max_time)
        if found[query] is None and time < scan_time:
            [found[query]] = within_groups(part, grouping, one, radius)
    return found


def _scan_time(part: Part, queries: int, threads: int) -> int:
    """Estimate how many nanoseconds a scan spends on a query."""
    count = len(part)
    time = int(count * (ROW_TIME if queries > 1 else SINGLE_ROW_TIME))
    if threads == 1 or count == 0:
        return time
    return time // threads_for(count, part.rows.nbytes // count, queries, threads)
