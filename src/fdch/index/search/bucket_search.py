"""Searching a part within a radius: through buckets where that is quick."""

from fdch.index.search.bucketed import Buckets, loops
from fdch.index.search.engines import Engine
from fdch.index.search.exact import Counts, Keys, find_some
from fdch.index.search.gallery import Part
from fdch.index.search.rows import Rows, row_length

ROW_TIME = 70  # nanoseconds to compare a row found in a bucket
NEAR_ROW_TIME = 15  # the same where rows of a bucket lie near each other


def uses_buckets(part: Part, engine: Engine) -> Buckets | None:
    """Give the part's buckets where they can be searched with."""
    if part.buckets is None or engine == "numpy" or loops() is None:
        return None
    return part.buckets


def may_take(part: Part, buckets: Buckets, radius: int, most: float) -> bool:
    """Tell whether a lookup may be done in so many nanoseconds."""
    return buckets.least_time(radius, _row_time(part)) <= most


def within_buckets(
    part: Part, buckets: Buckets, bits: int, queries: Rows, radius: int, most: int
) -> list[Keys | None]:
    """Find the keys of all rows no farther than the radius, unsorted.

    Args:
        part: What is searched.
        buckets: Its own.
        bits: Length of the codes.
        queries: As rows, flat.
        radius: The largest distance.
        most: Nanoseconds that a query may take by the estimate.

    Returns:
        The keys of each query; None where it would take longer.
    """
    words = row_length(bits)
    search = loops().within_buckets
    row_time = _row_time(part)

    def work(start: int, stop: int, found: Keys, sizes: Counts) -> None:
        search(
            part.flat_rows, words, *buckets.fixed, part.flat_order, part.first,
            part.flat_dead, queries[start * words : stop * words], radius, row_time,
            most, found, sizes,
        )  # fmt: skip

    return find_some(work, 0, len(queries) // words)


def _row_time(part: Part) -> int:
    return ROW_TIME if part.grouping is None else NEAR_ROW_TIME
