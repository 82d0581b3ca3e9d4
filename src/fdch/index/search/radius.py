"""All rows of a part within a radius, in whatever way should take least time."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from fdch.errors import DamagedIndex
from fdch.index.search.bucket_search import may_take, uses_buckets, within_buckets
from fdch.index.search.bucketed import Buckets
from fdch.index.search.engines import Engine
from fdch.index.search.exact import Keys, within_part
from fdch.index.search.gallery import Part
from fdch.index.search.group_search import (
    QUERIES_PER_TASK,
    rows_reached,
    uses_grouping,
    within_groups,
)
from fdch.index.search.keys import NUMBER_BITS, NUMBER_MASK
from fdch.index.search.partitioned import Grouping
from fdch.index.search.rows import Rows, flat
from fdch.index.search.threads import ranges, share, threads_for

QUICK = 20_000  # nanoseconds below which no other way is considered
ROW_TIME = 0.1  # nanoseconds that a scan for many queries spends on a code
LONE_ROW_TIME = 0.25  # the same for a single query: memory is the bound
GROUPED_ROW_TIME = 0.4  # the same in groups, which lie apart in memory
GROUPS_TIME = 2_000  # nanoseconds to compare a query with all centres


def has_quick_lookup(
    part: Part, queries: int, radius: int, threads: int, engine: Engine
) -> bool:
    """Tell whether buckets may find all rows within a radius sooner than a scan.

    Args:
        part: What is searched.
        queries: How many there are.
        radius: The largest distance.
        threads: How many threads may share a scan.
        engine: What compares.
    """
    buckets = uses_buckets(part, engine)
    if buckets is None or radius < 0:
        return False
    return may_take(part, buckets, radius, _scan_time(part, queries, threads))


def within_any(
    part: Part,
    bits: int,
    queries: Rows,
    radius: int,
    threads: int,
    engine: Engine,
) -> list[Keys]:
    """Find for each query the keys of all rows no farther than the radius, unsorted.

    Args:
        part: What is searched.
        bits: Length of the codes.
        queries: As rows.
        radius: The largest distance.
        threads: How many threads may share the work.
        engine: What compares.
    """
    buckets, grouping = uses_buckets(part, engine), uses_grouping(part, engine)
    scan = _scan_time(part, len(queries), threads)
    if buckets is not None and not may_take(part, buckets, radius, scan):
        buckets = None
    if radius < 0 or (buckets is None and grouping is None):
        return within_part(part, bits, queries, radius, threads, engine)
    if threads == 1 or len(queries) <= QUERIES_PER_TASK:
        # At once: a lookup takes microseconds.
        found = _look_up(part, buckets, grouping, bits, queries, radius, scan)
    else:
        found = _shared(
            lambda start, stop: _look_up(
                part, buckets, grouping, bits, queries[start:stop], radius, scan
            ),
            len(queries),
            threads,
        )
    left = [query for query, keys in enumerate(found) if keys is None]
    if left:
        for query, keys in zip(
            left, _scan(part, bits, queries[left], radius, threads), strict=True
        ):
            found[query] = keys
    return cast("list[Keys]", found)


def _shared(
    look: Callable[[int, int], list[Keys | None]], queries: int, threads: int
) -> list[Keys | None]:
    """Let threads share lookups."""
    found: list[Keys | None] = [None] * queries

    def work(start: int, stop: int) -> None:
        found[start:stop] = look(start, stop)

    pieces = ranges(0, queries, -(-queries // QUERIES_PER_TASK))
    share([partial(work, *piece) for piece in pieces], threads)
    return found


def _look_up(
    part: Part,
    buckets: Buckets | None,
    grouping: Grouping | None,
    bits: int,
    queries: Rows,
    radius: int,
    scan: int,
) -> list[Keys | None]:
    """Find what a scan would take longer for, by buckets or groups; None for the rest.

    Args:
        part: What is searched.
        buckets: Its own, where they may be quick.
        grouping: Its own.
        bits: Length of the codes.
        queries: As rows.
        radius: The largest distance.
        scan: Nanoseconds that a scan spends on a query.
    """
    if buckets is None:
        found: list[Keys | None] = [None] * len(queries)
    else:
        most = scan if grouping is None else min(scan, QUICK)
        found = within_buckets(part, buckets, bits, flat(queries), radius, most)
    if grouping is None:
        return found
    left = [query for query, keys in enumerate(found) if keys is None]
    if not left:
        return found
    reached = rows_reached(grouping, bits, queries[left], radius)
    times = (reached * GROUPED_ROW_TIME).astype(np.int64) + GROUPS_TIME
    for query, time in zip(left, times.tolist(), strict=True):
        one = queries[query : query + 1]
        if buckets is not None:
            most = min(scan, time)
            [found[query]] = within_buckets(
                part, buckets, bits, flat(one), radius, most
            )
        if found[query] is None and time < scan:
            [found[query]] = within_groups(part, grouping, bits, one, radius)
    return found


def _scan_time(part: Part, queries: int, threads: int) -> int:
    """Estimate how many nanoseconds a scan spends on a query."""
    count = len(part)
    time = int(count * (ROW_TIME if queries > 1 else LONE_ROW_TIME))
    if threads == 1 or count == 0:
        return time
    return time // threads_for(count, part.rows.nbytes // count, queries, threads)


def _scan(
    part: Part, bits: int, queries: Rows, radius: int, threads: int
) -> list[Keys]:
    """Scan rows as they are stored, whatever order that is."""
    if part.grouping is None:
        return within_part(part, bits, queries, radius, threads)
    stored = replace(part, first=0, dead=None, grouping=None, buckets=None)
    collected = []
    for keys in within_part(stored, bits, queries, radius, threads):
        numbers = part.grouping.order[keys & NUMBER_MASK].astype(np.int64)
        if numbers.max(initial=0) >= len(part):
            raise DamagedIndex(
                "a grouping names rows that are not there; compact the index again."
            )
        moved = (keys >> NUMBER_BITS << NUMBER_BITS) | (numbers + part.first)
        collected.append(moved if part.dead is None else moved[~part.dead[numbers]])
    return collected
