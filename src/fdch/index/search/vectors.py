"""Vector instructions that the compiler does not find by itself.

Written in LLVM's intermediate language, so that they suit any processor. A query is
a tuple of its words: every instruction is generated for their number and type.
Importing this file needs numba.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types as untyped_types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic

from fdch.index.search.rows import CHUNK

types: Any = untyped_types
cgutils: Any = untyped_cgutils
MASKED = 64  # rows to a mask
VECTOR_BITS = 512
LANES = 8  # words of 64 bits in a vector
PLANE_BYTES = 24576  # all planes of a block: most of a usual first-level cache

_INT64 = ir.IntType(64)


def rows_of_planes(words: int) -> int:
    """Return how many rows of so many words are laid out word by word at a time.

    >>> rows_of_planes(4)
    768
    """
    return PLANE_BYTES // (8 * words) // CHUNK * CHUNK


def _take_query(typing_context: Any, queries: Any, number: Any, words: Any) -> Any:
    """Return one of several queries that lie flat, as a tuple as long as `words`."""
    made = types.UniTuple(queries.dtype, len(words))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = _row_words(context, builder, signature.args[0], arguments, len(words))
        return context.make_tuple(builder, made, list(values))

    return made(queries, types.int64, words), generate


def _count_differing(typing_context: Any, rows: Any, row: Any, query: Any) -> Any:
    """Return the Hamming distance between a row and a query, in the type of words."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = cgutils.unpack_tuple(builder, arguments[2])
        values = _row_words(context, builder, signature.args[0], arguments, len(words))
        counts = [
            builder.ctpop(builder.xor(value, word))
            for value, word in zip(values, words, strict=True)
        ]
        return reduce(builder.add, counts)

    return rows.dtype(rows, types.int64, query), generate


def _any_below(typing_context: Any, rows: Any, row: Any, query: Any, limit: Any) -> Any:
    """Return whether a chunk of rows, from a row on, has one below the limit."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        lanes, count = _row_counter(context, builder, kind, arguments)
        bound = context.cast(builder, arguments[3], types.int64, kind.dtype)
        sums = (count(group)[0] for group in range(CHUNK // lanes))
        return _least_is_below(builder, sums, bound)

    return types.boolean(rows, types.int64, query, types.int64), generate


def _any_below_in_planes(
    typing_context: Any, planes: Any, row: Any, query: Any, limit: Any
) -> Any:
    """Do so for rows that lie word by word: first words of all, then second ones."""
    apart = rows_of_planes(len(query))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, (planes, row, query, limit) = signature.args[0], arguments
        words = [
            _splat(builder, word, LANES)
            for word in cgutils.unpack_tuple(builder, query)
        ]
        data = _data(context, builder, kind, planes)
        bound = context.cast(builder, limit, types.int64, kind.dtype)

        def count(vector: int) -> Any:
            counts = []
            for plane, word in enumerate(words):
                at = _move(builder, row, plane * apart + vector * LANES)
                values = _load(builder, data, at, LANES)
                counts.append(_set_bits(builder, builder.xor(values, word)))
            return reduce(builder.add, counts)

        return _least_is_below(builder, map(count, range(CHUNK // LANES)), bound)

    return types.boolean(planes, types.int64, query, types.int64), generate


def _mask_below(
    typing_context: Any, rows: Any, row: Any, query: Any, limit: Any
) -> Any:
    """Return which of 64 rows, from a row on, are below the limit.

    The first row is in the lowest bit of the mask.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        lanes, count = _row_counter(context, builder, kind, arguments)
        bound = context.cast(builder, arguments[3], types.int64, kind.dtype)
        mask = ir.Constant(_INT64, 0)
        for group in range(MASKED // lanes):
            sums, places = count(group)
            ordered = [places.index(row) for row in range(lanes)]
            sums = _pick(builder, sums, sums, ordered)
            flags = builder.icmp_unsigned("<", sums, _splat(builder, bound, lanes))
            some = builder.bitcast(flags, ir.IntType(lanes))
            wide = builder.zext(some, _INT64) if lanes < MASKED else some
            moved = builder.shl(wide, ir.Constant(_INT64, group * lanes))
            mask = builder.or_(mask, moved)
        return mask

    return types.uint64(rows, types.int64, query, types.int64), generate


def _row_counter(
    context: Any, builder: Any, kind: Any, arguments: Any
) -> tuple[int, Callable[[int], tuple[Any, list[int]]]]:
    """Make what counts differing bits for a group of rows, a row to a lane.

    The arguments are the rows, the first row and the query.

    Returns:
        Rows in a group; a function that returns the counts of the group of a number,
        and the row that each lane is of.
    """
    words = cgutils.unpack_tuple(builder, arguments[2])
    length, lanes = len(words), VECTOR_BITS // words[0].type.width
    data = _data(context, builder, kind, arguments[0])
    start = builder.mul(arguments[1], ir.Constant(_INT64, length))

    def count(group: int) -> tuple[Any, list[int]]:
        counts = []
        for vector in range(length):
            first = (group * length + vector) * lanes
            pattern = [words[(vector * lanes + lane) % length] for lane in range(lanes)]
            values = _load(builder, data, _move(builder, start, first), lanes)
            differing = builder.xor(values, _join(builder, pattern))
            counts.append(_set_bits(builder, differing))
        return _sum_rows(builder, counts, lanes)

    return lanes, count


def _sum_rows(builder: Any, counts: list[Any], lanes: int) -> tuple[Any, list[int]]:
    """Add the counts of the words of each row; return also the row of each lane."""
    length = len(counts)
    owners = [i // length for i in range(length * lanes)]  # the row of each lane
    step = 1
    while len(counts) % 2 == 0 and length < 8:  # add neighbours of two vectors
        taken = [i for i in range(2 * lanes) if not i & step]
        if step == 1:  # neighbours of the same 128 bits stay there: less time
            taken = [i // 2 * 2 + lanes * (i % 2) for i in range(lanes)]
        pairs = list(zip(counts[::2], counts[1::2], strict=True))
        counts = [_add_neighbours(builder, a, b, taken, step) for a, b in pairs]
        starts = range(0, len(owners), 2 * lanes)
        owners = [owners[start + lane] for start in starts for lane in taken]
        step = 2  # from now on they are interleaved
    if len(counts) > 1:
        joined = _concatenate(builder, counts)
        order = sorted(range(len(owners)), key=owners.__getitem__)  # row by row
        planes = [order[word :: len(counts)] for word in range(len(counts))]
        sums = [_pick(builder, joined, joined, plane) for plane in planes]
        return reduce(builder.add, sums), list(range(lanes))
    return counts[0], owners


def _concatenate(builder: Any, vectors: list[Any]) -> Any:
    """Make one long vector of several; what follows the last has no meaning."""
    while len(vectors) > 1:
        vectors = vectors + vectors[-1:] if len(vectors) % 2 else vectors
        both = list(range(2 * vectors[0].type.count))
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_pick(builder, a, b, both) for a, b in pairs]
    return vectors[0]


def _add_neighbours(builder: Any, a: Any, b: Any, lanes: list[int], step: int) -> Any:
    """Add each of these lanes of two vectors to the one so many lanes on."""
    others = [lane + step for lane in lanes]
    return builder.add(_pick(builder, a, b, lanes), _pick(builder, a, b, others))


def _least_is_below(builder: Any, counts: Iterator[Any], limit: Any) -> Any:
    """Return whether any lane of some vectors of counts is below the limit."""
    least = next(counts)
    for vector in counts:
        smaller = builder.icmp_unsigned("<", vector, least)
        least = builder.select(smaller, vector, least)
    lanes = least.type.count
    flags = builder.icmp_unsigned("<", least, _splat(builder, limit, lanes))
    mask = builder.bitcast(flags, ir.IntType(lanes))
    return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))


def _row_words(
    context: Any, builder: Any, kind: Any, arguments: Any, length: int
) -> Iterator[Any]:
    """Load the words of a row, one by one; rows and row are the first arguments."""
    data = _data(context, builder, kind, arguments[0])
    start = builder.mul(arguments[1], ir.Constant(_INT64, length))
    for word in range(length):
        yield builder.load(builder.gep(data, [_move(builder, start, word)]))


def _data(context: Any, builder: Any, kind: Any, rows: Any) -> Any:
    return context.make_array(kind)(context, builder, rows).data


def _load(builder: Any, data: Any, at: Any, lanes: int) -> Any:
    """Load so many words, from a place on, as a vector."""
    place = builder.gep(data, [at])
    item = place.type.pointee
    pointer = builder.bitcast(place, ir.VectorType(item, lanes).as_pointer())
    return builder.load(pointer, align=item.width // 8)


def _join(builder: Any, values: list[Any]) -> Any:
    """Make a vector of values, one to a lane."""
    if all(value is values[0] for value in values):
        return _splat(builder, values[0], len(values))
    vector = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
    for lane, value in enumerate(values):
        place = ir.Constant(ir.IntType(32), lane)
        vector = builder.insert_element(vector, value, place)
    return vector


def _splat(builder: Any, value: Any, lanes: int) -> Any:
    """Make a vector with the value in every lane."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    single = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return _pick(builder, single, single, [0] * lanes)


def _pick(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    """Take lanes of two vectors, those of the second counted after the first's."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(first, second, mask)


def _set_bits(builder: Any, vector: Any) -> Any:
    """Count the set bits of each lane."""
    kind = vector.type
    name = f"llvm.ctpop.v{kind.count}i{kind.element.width}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind]), name
    )
    return builder.call(function, [vector])


def _move(builder: Any, place: Any, by: int) -> Any:
    return builder.add(place, ir.Constant(_INT64, by))


take_query: Any = intrinsic(_take_query)
count_differing: Any = intrinsic(_count_differing)
any_below: Any = intrinsic(_any_below)
any_below_in_planes: Any = intrinsic(_any_below_in_planes)
mask_below: Any = intrinsic(_mask_below)
