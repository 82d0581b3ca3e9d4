"""The compiled full scan: many queries share each block of codes.

A found row is one number, its key: the distance above, the row's number below, so
that keys sort by distance and then by insertion. Rows of several words lie flat.

Most of the time goes into the least distance of a slice, which touches nothing but
the codes; only a slice with something below the limit is looked at row by row.
Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled, set_bits
from fdch.index.keys import NUMBER_BITS, NUMBER_MASK
from fdch.index.slice_vectors import (
    PLANE_BYTES,
    SLICE,
    near_planes,
    near_rows,
    near_words,
    wide_rows_below,
)
from fdch.index.vectors import LANES, MASKED, least_wide, lowest, rows_below

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

BLOCK_BYTES = 16384  # half of a usual first-level cache
PIECE = 16  # rows looked at together where a slice has something
ENOUGH = 12  # queries for which rows of several words are laid out word by word
MANY = 1 << 17  # rows; the first limit is guessed from larger samples of so many

# Indices are unsigned where a loop must vectorise: one that might be negative would
# have to be tested. Arrays are not sliced in these loops, which would count
# references.


@compiled
def _least_word(rows: Flat, start: Int, stop: Int, word: Int) -> Int:
    """Give the least distance between a word and a range of rows of one word."""
    best = rows.dtype.type(255)
    for i in range(np.uint64(start), np.uint64(stop)):
        best = min(best, set_bits(rows[i] ^ word))
    return np.int64(best)


@compiled
def _slice_of_words(rows: Flat, start: Int, stop: Int, word: Int, limit: Int) -> Int:
    """Give where the first slice with a row nearer than the limit begins."""
    i = start
    while i < stop:
        if i % SLICE == 0:
            while i + SLICE <= stop and not near_words(rows, i, word, limit):
                i += SLICE
            if i + SLICE <= stop or i == stop:
                return i
        end = min(i - i % SLICE + SLICE, stop)
        if _least_word(rows, i, end, word) < limit:
            return i
        i = end
    return stop


@compiled
def _words_of(queries: Flat, query: Int) -> Int:
    """Give the four words of a query."""
    at = 4 * query
    return (
        np.uint64(queries[at]),
        np.uint64(queries[at + 1]),
        np.uint64(queries[at + 2]),
        np.uint64(queries[at + 3]),
    )


@compiled
def _three_of(queries: Flat, query: Int) -> Int:
    """Give the three words of a query."""
    at = 3 * query
    return (
        np.uint64(queries[at]),
        np.uint64(queries[at + 1]),
        np.uint64(queries[at + 2]),
    )


@compiled
def _pair_of(queries: Flat, query: Int) -> Int:
    """Give the two words of a query."""
    return np.uint64(queries[2 * query]), np.uint64(queries[2 * query + 1])


@compiled
def least(
    rows: Flat, start: Int, stop: Int, queries: Flat, query: Int, words: Int
) -> Int:
    """Give the least distance between a query and a range of rows."""
    if words == 1:
        return _least_word(rows, start, stop, queries[query])
    best, left = np.int64(65535), start
    vectors = (stop - start) * words // LANES
    if words == 2:
        best = least_wide(rows, 2 * start, vectors, _pair_of(queries, query))
        left += vectors * (LANES // 2)
    elif words == 4:
        best = least_wide(rows, 4 * start, vectors, _words_of(queries, query))
        left += vectors * (LANES // 4)
    for row in range(left, stop):
        best = min(best, distance(rows, row, queries, query, words))
    return best


@compiled
def _whole_slices(
    rows: Flat, start: Int, stop: Int, queries: Flat, query: Int, words: Int, limit: Int
) -> Int:
    """Pass over whole slices of rows of 2 or 4 words with nothing below the limit."""
    i = start
    if words == 2:
        pair = _pair_of(queries, query)
        while i + SLICE <= stop:
            if near_rows(rows, 2 * i, pair, limit):
                break
            i += SLICE
    elif words == 4:
        four = _words_of(queries, query)
        while i + SLICE <= stop:
            if near_rows(rows, 4 * i, four, limit):
                break
            i += SLICE
    return i


@compiled
def distance(rows: Flat, row: Int, queries: Flat, query: Int, words: Int) -> Int:
    """Count the bits in which a row differs from a query."""
    if words == 1:
        return np.int64(set_bits(rows[np.uint64(row)] ^ queries[np.uint64(query)]))
    total = np.int64(0)
    for word in range(words):
        differing = rows[row * words + word] ^ queries[query * words + word]
        total += np.int64(set_bits(differing))
    return total


@compiled
def next_slice(
    rows: Flat,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
) -> Int:
    """Give where the first slice with a row nearer than the limit begins, else stop.

    Slices end at multiples of SLICE; only the first and the last may be shorter.
    """
    if limit <= 0:
        return stop
    if words == 1:
        return _slice_of_words(rows, start, stop, queries[query], limit)
    i = start
    while i < stop:
        if i % SLICE == 0:
            i = _whole_slices(rows, i, stop, queries, query, words, limit)
        end = min(i - i % SLICE + SLICE, stop)
        if least(rows, i, end, queries, query, words) < limit:
            return i
        i = end
    return stop


@compiled
def _whole_planes(
    planes: Flat,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
) -> Int:
    """Pass over whole slices of rows laid out word by word."""
    i = start
    if words == 2:
        pair = _pair_of(queries, query)
        while i + SLICE <= stop and not near_planes(planes, i, pair, limit):
            i += SLICE
    elif words == 3:
        three = _three_of(queries, query)
        while i + SLICE <= stop and not near_planes(planes, i, three, limit):
            i += SLICE
    elif words == 4:
        four = _words_of(queries, query)
        while i + SLICE <= stop and not near_planes(planes, i, four, limit):
            i += SLICE
    return i


@compiled
def _next_in_block(
    rows: Flat,
    planes: Flat,
    begin: Int,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
) -> Int:
    """Do as `next_slice` in a block, which planes hold, too, unless they are empty."""
    if limit <= 0:
        return stop
    if words == 1:
        return _slice_of_words(rows, start, stop, queries[query], limit)
    if planes.shape[0] == 0:
        return next_slice(rows, start, stop, queries, query, words, limit)
    i = start
    while i < stop:
        if i % SLICE == 0:
            i = begin + _whole_planes(
                planes, i - begin, stop - begin, queries, query, words, limit
            )
        end = min(i - i % SLICE + SLICE, stop)
        if i < end and least(rows, i, end, queries, query, words) < limit:
            return i
        i = end
    return stop


@compiled
def _room_for_planes(rows: Flat, words: Int, asked: Int) -> Int:
    """Give room to lay rows out word by word, where so many queries repay it."""
    repays = words == 3 or (words > 1 and asked >= ENOUGH)
    return np.empty(PLANE_BYTES // 8 if repays else 0, rows.dtype)


@compiled
def _block_rows(rows: Flat, words: Int, planes: Flat) -> Int:
    """Give how many rows are shown to all queries at a time."""
    size = PLANE_BYTES if planes.shape[0] else BLOCK_BYTES
    return size // (rows.itemsize * words) // SLICE * SLICE


@compiled
def _lay_out(rows: Flat, start: Int, stop: Int, words: Int, planes: Flat) -> None:
    """Write the first words of a block of rows, then the second ones, and so on."""
    apart = np.uint64(_block_rows(rows, words, planes))
    for word in range(np.uint64(words)):
        for i in range(np.uint64(stop - start)):
            place = (np.uint64(start) + i) * np.uint64(words) + word
            planes[word * apart + i] = rows[place]


@compiled
def _wide_mask(
    rows: Flat, row: Int, queries: Flat, query: Int, words: Int, limit: Int
) -> Int:
    """Tell which of 64 rows of 2 or 4 words are nearer than the limit."""
    if words == 2:
        return wide_rows_below(rows, 2 * row, _pair_of(queries, query), limit)
    return wide_rows_below(rows, 4 * row, _words_of(queries, query), limit)


@compiled
def collect(
    rows: Flat,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
    near: Ints,
) -> Int:
    """Write distance and place of the rows nearer than the limit; give how many."""
    taken, left = 0, start
    while words == 1 and left + MASKED <= stop:
        mask = rows_below(rows, np.uint64(left), queries[query], np.int64(limit))
        while mask:
            row = left + np.int64(lowest(mask))
            far = distance(rows, row, queries, query, words)
            near[taken] = (far << NUMBER_BITS) | row
            taken += 1
            mask &= mask - np.uint64(1)
        left += MASKED
    while (words == 2 or words == 4) and left + MASKED <= stop:
        mask = _wide_mask(rows, left, queries, query, words, limit)
        while mask:
            row = left + np.int64(lowest(mask))
            far = distance(rows, row, queries, query, words)
            near[taken] = (far << NUMBER_BITS) | row
            taken += 1
            mask &= mask - np.uint64(1)
        left += MASKED
    while left < stop:
        right = min(left + PIECE, stop)
        if least(rows, left, right, queries, query, words) < limit:
            for row in range(left, right):
                far = distance(rows, row, queries, query, words)
                if far < limit:
                    near[taken] = (far << NUMBER_BITS) | row
                    taken += 1
        left = right
    return taken


@compiled
def first_below(
    rows: Flat,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
) -> Int:
    """Give the first row of a range that is nearer than the limit, else stop."""
    i = next_slice(rows, start, stop, queries, query, words, limit)
    while i < stop:
        if distance(rows, i, queries, query, words) < limit:
            return i
        i += 1
    return stop


@compiled
def keep(
    keys: Ints,
    counts: Ints,
    states: Ints,
    query: Int,
    k: Int,
    distance: Int,
    number: Int,
) -> Int:
    """Take up a row nearer than the limit, and lower the limit if that fills k.

    Args:
        keys: What is held, in order of numbers, with room for more than k.
        counts: Rows held at each distance, right below the limit.
        states: Rows held; those of them nearer than the limit; the limit.
        query: Whose row this is.
        k: How many are wanted.
        distance: Of the new row.
        number: Of the new row; later ones are higher.

    Returns:
        The limit.
    """
    held, nearer, limit = states[query, 0], states[query, 1], states[query, 2]
    if held == keys.shape[1]:
        held = _drop_far(keys[query], counts[query], limit, k - nearer)
    keys[query, held] = (distance << NUMBER_BITS) | number
    counts[query, distance] += 1
    nearer += 1
    while nearer >= k:
        limit -= 1
        nearer -= counts[query, limit]
    states[query, 0], states[query, 1], states[query, 2] = held + 1, nearer, limit
    return limit


@compiled
def _drop_far(keys: Ints, counts: Ints, limit: Int, at_limit: Int) -> Int:
    """Keep only rows nearer than the limit, and the first ones at it."""
    kept, taken = 0, 0
    for i in range(keys.shape[0]):
        far = keys[i] >> NUMBER_BITS
        if far > limit or (far == limit and taken == at_limit):
            continue
        taken += int(far == limit)
        keys[kept] = keys[i]
        kept += 1
    counts[limit] = taken
    return kept


@compiled
def sort_held(keys: Ints, held: Int, bits: Int, found: Ints) -> Int:
    """Write the first of the held keys in order; give how many are written."""
    places = np.zeros(bits + 2, np.int64)
    for i in range(held):
        places[(keys[i] >> NUMBER_BITS) + 1] += 1
    for far in range(bits + 1):
        places[far + 1] += places[far]
    for i in range(held):
        far = keys[i] >> NUMBER_BITS
        if places[far] < found.shape[0]:
            found[places[far]] = keys[i]
        places[far] += 1
    return min(held, found.shape[0])


@compiled
def _gather(rows: Flat, words: Int, places: Ints, gathered: Flat) -> None:
    for i in range(places.shape[0]):
        # A place beyond the rows can only come from a damaged file.
        place = min(places[i], rows.shape[0] // words - 1)
        for word in range(words):
            gathered[i * words + word] = rows[place * words + word]


@compiled
def _nearest_in_block(
    rows: Flat,
    planes: Flat,
    start: Int,
    stop: Int,
    words: Int,
    numbers: Ints,
    base: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    chosen: Ints,
    keys: Ints,
    counts: Ints,
    states: Ints,
    k: Int,
    near: Ints,
) -> None:
    """Show one block of rows to all queries."""
    for place in range(chosen.shape[0]):
        j = chosen[place]
        limit = states[j, 2]
        i = _next_in_block(rows, planes, start, start, stop, queries, j, words, limit)
        while i < stop:
            end = min(i - i % SLICE + SLICE, stop)
            for at in range(collect(rows, i, end, queries, j, words, limit, near)):
                far = near[at] >> NUMBER_BITS
                number = base + (near[at] & NUMBER_MASK)
                if numbers.shape[0]:
                    number = numbers[number]
                if far < limit and (dead.shape[0] == 0 or not dead[number]):
                    limit = keep(keys, counts, states, j, k, far, first + number)
            i = _next_in_block(rows, planes, start, end, stop, queries, j, words, limit)


@compiled
def _nearest_in_range(
    rows: Flat,
    words: Int,
    numbers: Ints,
    places: Ints,
    start: Int,
    stop: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    chosen: Ints,
    keys: Ints,
    counts: Ints,
    states: Ints,
    k: Int,
) -> None:
    """Show a range of rows, or of the numbered ones, to all queries, in blocks."""
    near = np.empty(SLICE, np.int64)
    planes = _room_for_planes(rows, words, chosen.shape[0])
    block = _block_rows(rows, words, planes)
    gathered = np.empty(block * words if numbers.shape[0] else 0, rows.dtype)
    if chosen.shape[0] == 1 and numbers.shape[0] == 0 and planes.shape[0] == 0:
        block = max(stop - start, 1)  # nobody to share a block with
    for left in range(start, stop, block):
        right = min(left + block, stop)
        if numbers.shape[0] == 0:
            if planes.shape[0]:
                _lay_out(rows, left, right, words, planes)
            _nearest_in_block(
                rows, planes, left, right, words, numbers, 0, first, dead,
                queries, chosen, keys, counts, states, k, near,
            )  # fmt: skip
        else:
            _gather(rows, words, places[left:right], gathered)
            if planes.shape[0]:
                _lay_out(gathered, 0, right - left, words, planes)
            _nearest_in_block(
                gathered, planes, 0, right - left, words, numbers, left, first, dead,
                queries, chosen, keys, counts, states, k, near,
            )  # fmt: skip


@compiled
def _guess_limit(
    rows: Flat,
    words: Int,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    bits: Int,
    k: Int,
) -> Int:
    """Guess from a sample a distance that k rows or somewhat more stay below.

    A guess that is too low is noticed, since fewer than k rows are then found.
    """
    size = stop - start
    groups, sampled = size // 256, 16
    if size >= MANY:
        groups, sampled = min(size // 4096, 4096), 64
    if groups == 0:
        return bits + 1
    expected = k * (groups * sampled) / size
    wanted = int(expected + 3 * np.sqrt(expected)) + 1
    if wanted * 4 > groups:
        return bits + 1
    counts = np.zeros(bits + 1, np.int64)
    step = size // groups
    for group in range(groups):
        left = start + group * step
        counts[least(rows, left, left + sampled, queries, query, words)] += 1
    limit, seen = 0, counts[0]
    while seen < wanted:
        limit += 1
        seen += counts[limit]
    return limit + 1


@compiled
def nearest_rows(
    rows: Flat,
    words: Int,
    numbers: Ints,
    places: Ints,
    start: Int,
    stop: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    limits: Ints,
    bits: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find for each query the nearest rows of a range that stay below its limit.

    Args:
        rows: Codes, flat.
        words: Words to a row.
        numbers: Of the rows to look at, counted from the first, rising; empty for
            all.
        places: Where these rows are stored.
        start: First row, or place in numbers, to look at.
        stop: One past the last.
        first: Number of the first row of all.
        dead: Rows to leave out; empty for none.
        queries: Codes to search with, flat.
        limits: Distances that rows must stay below.
        bits: Length of the codes.
        found: Keys in order, (queries, k), to be written.
        sizes: How many keys of each query, to be written.
    """
    count, k = found.shape
    keys = np.empty((count, 2 * k + 32), np.int64)
    counts = np.zeros((count, bits + 2), np.int64)
    states = np.zeros((count, 3), np.int64)
    may_guess = numbers.shape[0] == 0 and dead.shape[0] == 0
    for j in range(count):
        states[j, 2] = min(limits[j], bits + 1)
        if limits[j] > bits and may_guess:
            states[j, 2] = _guess_limit(rows, words, start, stop, queries, j, bits, k)
    _nearest_in_range(
        rows, words, numbers, places, start, stop, first, dead,
        queries, np.arange(count), keys, counts, states, k,
    )  # fmt: skip
    missed = np.empty(count, np.int64)
    misses = 0
    for j in range(count):
        if may_guess and limits[j] > bits >= states[j, 2] and states[j, 0] < k:
            counts[j] = 0
            states[j, 0], states[j, 1], states[j, 2] = 0, 0, bits + 1
            missed[misses] = j
            misses += 1
    if misses:
        _nearest_in_range(
            rows, words, numbers, places, start, stop, first, dead,
            queries, missed[:misses], keys, counts, states, k,
        )  # fmt: skip
    for j in range(count):
        sizes[j] = sort_held(keys[j], states[j, 0], bits, found[j])


@compiled
def _within_in_block(
    rows: Flat,
    planes: Flat,
    start: Int,
    stop: Int,
    words: Int,
    numbers: Ints,
    base: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
    near: Ints,
) -> None:
    """Show one block to all queries, and take up what is nearer than the limit."""
    for j in range(sizes.shape[0]):
        i = _next_in_block(rows, planes, start, start, stop, queries, j, words, limit)
        while i < stop:
            end = min(i - i % SLICE + SLICE, stop)
            for at in range(collect(rows, i, end, queries, j, words, limit, near)):
                number = base + (near[at] & NUMBER_MASK)
                if numbers.shape[0]:
                    number = numbers[number]
                if dead.shape[0] == 0 or not dead[number]:
                    if sizes[j] < found.shape[1]:
                        far = near[at] >> NUMBER_BITS
                        found[j, sizes[j]] = (far << NUMBER_BITS) | (first + number)
                    sizes[j] += 1
            i = _next_in_block(rows, planes, start, end, stop, queries, j, words, limit)


@compiled
def rows_within(
    rows: Flat,
    words: Int,
    numbers: Ints,
    places: Ints,
    start: Int,
    stop: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find the rows of a range nearer than the limit, in order of their numbers.

    Where `found` has too little room, `sizes` still counts all of them.
    """
    near = np.empty(SLICE, np.int64)
    planes = _room_for_planes(rows, words, sizes.shape[0])
    block = _block_rows(rows, words, planes)
    gathered = np.empty(block * words if numbers.shape[0] else 0, rows.dtype)
    for left in range(start, stop, block):
        right = min(left + block, stop)
        if numbers.shape[0] == 0:
            if planes.shape[0]:
                _lay_out(rows, left, right, words, planes)
            _within_in_block(
                rows, planes, left, right, words, numbers, 0, first, dead,
                queries, limit, found, sizes, near,
            )  # fmt: skip
        else:
            _gather(rows, words, places[left:right], gathered)
            if planes.shape[0]:
                _lay_out(gathered, 0, right - left, words, planes)
            _within_in_block(
                gathered, planes, 0, right - left, words, numbers, left, first, dead,
                queries, limit, found, sizes, near,
            )  # fmt: skip
