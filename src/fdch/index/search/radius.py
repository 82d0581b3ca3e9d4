"""All rows of a part within a radius, by scan, groups or buckets: the quickest."""

from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from fdch.errors import DamagedIndex
from fdch.index.search.buckets import Buckets, may_be_done, within_buckets
from fdch.index.search.gallery import Part
from fdch.index.search.groups import (
    QUERIES_PER_TASK,
    Grouping,
    count_reached,
    within_groups,
)
from fdch.index.search.rows import NUMBER_BITS, NUMBER_MASK, Rows, flat
from fdch.index.search.scan import Keys, is_compiled, threads_for, within_part
from fdch.index.search.threads import ranges, share

# Nanoseconds by which the time of each way is estimated.
QUICK_TIME = 20_000  # below which a lookup in buckets is done without comparing
ROW_TIME = 0.1  # that a scan for many queries spends on a code
SINGLE_ROW_TIME = 0.25  # the same for a single query: memory is the bound
GROUPED_ROW_TIME = 0.4  # the same in groups, which lie apart in memory
GROUPS_TIME = 2_000  # to compare a query with all centres


def has_quick_lookup(
    part: Part, queries: int, radius: int, threads: int, kernels: Any
) -> bool:
    """Return whether buckets may find all rows within a radius sooner than a scan."""
    if part.buckets is None or radius < 0 or not is_compiled(kernels):
        return False
    return may_be_done(part, part.buckets, radius, _scan_time(part, queries, threads))


def within_any(
    part: Part, bits: int, queries: Rows, radius: int, threads: int, kernels: Any
) -> list[Keys]:
    """Find for each query the keys of all rows no farther than the radius, unsorted."""
    buckets, grouping = part.buckets, part.grouping
    scan_time = _scan_time(part, len(queries), threads)
    if buckets is not None and not may_be_done(part, buckets, radius, scan_time):
        buckets = None
    if radius < 0 or (buckets is None and grouping is None) or not is_compiled(kernels):
        return within_part(part, bits, queries, radius, threads, kernels)
    look_up = partial(_look_up, part, buckets, grouping, bits, radius, scan_time)
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
        scanned = _scan_stored(part, bits, queries[left], radius, threads, kernels)
        for query, keys in zip(left, scanned, strict=True):
            found[query] = keys
    return cast("list[Keys]", found)


def _look_up(
    part: Part,
    buckets: Buckets | None,
    grouping: Grouping | None,
    bits: int,
    radius: int,
    scan_time: int,
    queries: Rows,
) -> list[Keys | None]:
    """Find by buckets or groups what is sooner found so; None for the scan's queries.

    `scan_time` is what a scan spends on a query, in nanoseconds; `buckets` are the
    part's own where they may be quicker.
    """
    if buckets is None:
        found: list[Keys | None] = [None] * len(queries)
    else:
        max_time = scan_time if grouping is None else min(scan_time, QUICK_TIME)
        found = within_buckets(part, buckets, bits, flat(queries), radius, max_time)
    if grouping is None:
        return found
    left = [query for query, keys in enumerate(found) if keys is None]
    if not left:
        return found
    reached = count_reached(grouping, bits, queries[left], radius)
    times = (reached * GROUPED_ROW_TIME).astype(np.int64) + GROUPS_TIME
    for query, time in zip(left, times.tolist(), strict=True):
        one = queries[query : query + 1]
        if buckets is not None:
            max_time = min(scan_time, time)
            [found[query]] = within_buckets(
                part, buckets, bits, flat(one), radius, max_time
            )
        if found[query] is None and time < scan_time:
            [found[query]] = within_groups(part, grouping, bits, one, radius)
    return found


def _scan_time(part: Part, queries: int, threads: int) -> int:
    """Estimate how many nanoseconds a scan spends on a query."""
    count = len(part)
    time = int(count * (ROW_TIME if queries > 1 else SINGLE_ROW_TIME))
    if threads == 1 or count == 0:
        return time
    return time // threads_for(count, part.rows.nbytes // count, queries, threads)


def _scan_stored(
    part: Part, bits: int, queries: Rows, radius: int, threads: int, kernels: Any
) -> list[Keys]:
    """Scan rows as they are stored, whatever order that is."""
    if part.grouping is None:
        return within_part(part, bits, queries, radius, threads, kernels)
    stored = replace(part, first=0, dead=None, grouping=None, buckets=None)
    collected = []
    for keys in within_part(stored, bits, queries, radius, threads, kernels):
        numbers = part.grouping.order[keys & NUMBER_MASK].astype(np.int64)
        if numbers.max(initial=0) >= len(part):
            raise DamagedIndex(
                "a grouping names rows that are not there; compact the index again."
            )
        moved = (keys >> NUMBER_BITS << NUMBER_BITS) | (numbers + part.first)
        collected.append(moved if part.dead is None else moved[~part.dead[numbers]])
    return collected
