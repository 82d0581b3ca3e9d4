"""Whether a slice of codes holds one nearer than a limit, in vector instructions.

All of a slice is compared without a branch, and only at its end the least of each
lane with the limit. Importing this file needs numba.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fdch.index.search.vectors import LANES, MASKED, load, ones, pick, splat

SLICE = 128  # rows looked at together
PLANE_BYTES = 24576  # all planes of a block: most of a usual first-level cache
VECTOR_BITS = 512

_INT64 = ir.IntType(64)


def rows_of_planes(words: int) -> int:
    """Give how many rows of so many words are laid out word by word at a time.

    >>> rows_of_planes(4)
    768
    """
    return PLANE_BYTES // (8 * words) // SLICE * SLICE


def _near_words(
    typing_context: Any, rows: Any, start: Any, word: Any, limit: Any
) -> Any:
    """Tell whether a slice of rows of one word, from a place on, has a near one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        item = context.get_value_type(kind.dtype)
        lanes = VECTOR_BITS // item.width
        word = splat(builder, arguments[2], lanes)

        def counted(vector: int) -> Any:
            at = _move(builder, arguments[1], vector * lanes)
            values = load(context, builder, kind, arguments[0], at, item, lanes)
            return ones(builder, builder.xor(values, word))

        bound = context.cast(builder, arguments[3], types.int64, kind.dtype)
        return _any_below(builder, counted, SLICE // lanes, bound)

    return types.boolean(rows, types.int64, rows.dtype, types.int64), generate


def _near_rows(
    typing_context: Any, rows: Any, start: Any, query: Any, limit: Any
) -> Any:
    """Do so for rows of 2 or 4 words, from a word on; the query is a tuple."""
    length = len(query)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        words = [builder.extract_value(arguments[2], i) for i in range(length)]
        count = _group_counter(context, builder, kind, arguments, words)

        def counted(group: int) -> Any:
            return count(group)[0]

        return _any_below(builder, counted, SLICE // LANES, arguments[3])

    return types.boolean(rows, types.int64, query, types.int64), generate


def _near_planes(
    typing_context: Any, planes: Any, start: Any, query: Any, limit: Any
) -> Any:
    """Do so for rows that lie word by word: first words of all, then second ones."""
    length = len(query)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        apart = rows_of_planes(length)
        words = [
            splat(builder, builder.extract_value(arguments[2], i), LANES)
            for i in range(length)
        ]

        def counted(vector: int) -> Any:
            total = ir.Constant(ir.VectorType(_INT64, LANES), [0] * LANES)
            for plane, word in enumerate(words):
                at = _move(builder, arguments[1], plane * apart + vector * LANES)
                values = load(context, builder, kind, arguments[0], at, _INT64, LANES)
                total = builder.add(total, ones(builder, builder.xor(values, word)))
            return total

        return _any_below(builder, counted, SLICE // LANES, arguments[3])

    return types.boolean(planes, types.int64, query, types.int64), generate


def _wide_rows_below(
    typing_context: Any, rows: Any, start: Any, query: Any, limit: Any
) -> Any:
    """Tell which of 64 rows of 2 or 4 words, from a word on, are near, as a mask."""
    length = len(query)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        words = [builder.extract_value(arguments[2], i) for i in range(length)]
        count = _group_counter(context, builder, kind, arguments, words)
        bound = splat(builder, arguments[3], LANES)
        mask = ir.Constant(_INT64, 0)
        for group in range(MASKED // LANES):
            sums, places = count(group)
            ordered = [places.index(row) for row in range(LANES)]
            sums = pick(builder, sums, sums, ordered)
            flags = builder.icmp_unsigned("<", sums, bound)
            byte = builder.zext(builder.bitcast(flags, ir.IntType(LANES)), _INT64)
            moved = builder.shl(byte, ir.Constant(_INT64, group * LANES))
            mask = builder.or_(mask, moved)
        return mask

    return types.uint64(rows, types.int64, query, types.int64), generate


def _group_counter(
    context: Any, builder: Any, kind: Any, arguments: Any, words: Sequence[Any]
) -> Callable[[int], tuple[Any, list[int]]]:
    """Make what counts for eight rows, and tells which row each lane is of."""
    length = len(words)
    pattern = ir.Constant(ir.VectorType(_INT64, LANES), ir.Undefined)
    for lane in range(LANES):
        place = ir.Constant(ir.IntType(32), lane)
        pattern = builder.insert_element(pattern, words[lane % length], place)

    def count(group: int) -> tuple[Any, list[int]]:
        counts = []
        for vector in range(length):
            at = _move(builder, arguments[1], (group * length + vector) * LANES)
            values = load(context, builder, kind, arguments[0], at, _INT64, LANES)
            lanes = range(vector * LANES, (vector + 1) * LANES)
            places = [lane // length for lane in lanes]
            counts.append((ones(builder, builder.xor(values, pattern)), places))
        # Neighbours of the same 128 bits stay there, which takes less time.
        near = [i // 2 * 2 + LANES * (i % 2) for i in range(LANES)]
        counts = _add_neighbours(builder, counts, near, 1)
        if length == 4:
            far = [i for i in range(2 * LANES) if not i & 2]
            counts = _add_neighbours(builder, counts, far, 2)
        return counts[0]

    return count


def _add_neighbours(
    builder: Any, counts: Sequence[tuple[Any, list[int]]], lanes: list[int], step: int
) -> list[tuple[Any, list[int]]]:
    """Add each of these lanes of two vectors to the one so many lanes on."""
    added, others = [], [lane + step for lane in lanes]
    for (a, rows), (b, more) in zip(counts[::2], counts[1::2], strict=True):
        total = builder.add(pick(builder, a, b, lanes), pick(builder, a, b, others))
        added.append((total, [(rows + more)[lane] for lane in lanes]))
    return added


def _any_below(
    builder: Any, counted: Callable[[int], Any], number: int, limit: Any
) -> Any:
    """Tell whether any lane of so many vectors of counts is below the limit."""
    least = counted(0)
    for vector in range(1, number):
        counts = counted(vector)
        smaller = builder.icmp_unsigned("<", counts, least)
        least = builder.select(smaller, counts, least)
    lanes = least.type.count
    flags = builder.icmp_unsigned("<", least, splat(builder, limit, lanes))
    mask = builder.bitcast(flags, ir.IntType(lanes))
    return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))


def _move(builder: Any, place: Any, by: int) -> Any:
    return builder.add(place, ir.Constant(_INT64, by))


near_words: Any = intrinsic(_near_words)
near_rows: Any = intrinsic(_near_rows)
near_planes: Any = intrinsic(_near_planes)
wide_rows_below: Any = intrinsic(_wide_rows_below)
