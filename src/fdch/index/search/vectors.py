"""Vector instructions that the compiler does not find by itself.

Written for its intermediate language, so that they suit any processor. Importing
this file needs numba.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic

cgutils: Any = untyped_cgutils
MASKED = 64  # rows to a mask
LANES = 8  # 64-bit words looked at together


def _rows_below(
    typing_context: Any, rows: Any, start: Any, word: Any, limit: Any
) -> Any:
    """Tell which of 64 rows of one word, from a place on, are nearer than a limit.

    Returns:
        A mask, the first row in its lowest bit.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, _, _, limit_kind = signature.args
        item = context.get_value_type(kind.dtype)
        values = load(context, builder, kind, arguments[0], arguments[1], item, MASKED)
        differing = builder.xor(values, splat(builder, arguments[2], MASKED))
        counted = ones(builder, differing)
        bound = context.cast(builder, arguments[3], limit_kind, kind.dtype)
        flags = builder.icmp_unsigned("<", counted, splat(builder, bound, MASKED))
        return builder.bitcast(flags, ir.IntType(MASKED))

    return types.uint64(rows, types.uint64, rows.dtype, types.int64), generate


def _lowest(typing_context: Any, mask: Any) -> Any:
    """Give the place of the lowest set bit of a mask that has one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


def _least_wide(
    typing_context: Any, rows: Any, start: Any, vectors: Any, query: Any
) -> Any:
    """Give the least distance of rows of 2 or 4 words, eight words at a time.

    Told the rows, flat; the first word; how many times eight words; the query as a
    tuple of its words.
    """
    length = len(query)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        item = ir.IntType(64)
        vector = ir.VectorType(item, LANES)
        pattern = ir.Constant(vector, ir.Undefined)
        for lane in range(LANES):
            word = builder.extract_value(arguments[3], lane % length)
            pattern = builder.insert_element(pattern, word, _lane(lane))
        most = ir.Constant(vector, [ir.Constant(item, 65535)] * LANES)
        least = cgutils.alloca_once_value(builder, most)
        with cgutils.for_range(builder, arguments[2]) as loop:
            offset = builder.mul(loop.index, ir.Constant(item, LANES))
            at = builder.add(arguments[1], offset)
            values = load(context, builder, kind, arguments[0], at, item, LANES)
            counted = ones(builder, builder.xor(values, pattern))
            step = 1
            while step < length:  # every word of a row gets the sum over all of them
                turned = [lane ^ step for lane in range(LANES)]
                counted = builder.add(counted, pick(builder, counted, counted, turned))
                step *= 2
            held = builder.load(least)
            smaller = builder.icmp_unsigned("<", counted, held)
            builder.store(builder.select(smaller, counted, held), least)
        return _reduce_least(builder, builder.load(least))

    made = types.int64(rows, types.int64, types.int64, query)
    return made, generate


def load(
    context: Any, builder: Any, kind: Any, rows: Any, at: Any, item: Any, lanes: int
) -> Any:
    """Give so many words of rows, from a place on, as a vector."""
    data = context.make_array(kind)(context, builder, rows).data
    place = builder.gep(data, [at])
    vector = ir.VectorType(item, lanes)
    pointer = builder.bitcast(place, vector.as_pointer())
    return builder.load(pointer, align=item.width // 8)


def splat(builder: Any, value: Any, lanes: int) -> Any:
    """Give a vector with the value in every lane."""
    vector = ir.VectorType(value.type, lanes)
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _lane(0))
    return pick(builder, single, single, [0] * lanes)


def pick(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    """Give lanes of two vectors, those of the second counted after the first's."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(first, second, mask)


def ones(builder: Any, vector: Any) -> Any:
    """Count the set bits of each lane."""
    kind = vector.type
    name = f"llvm.ctpop.v{kind.count}i{kind.element.width}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind]), name
    )
    return builder.call(function, [vector])


def _reduce_least(builder: Any, vector: Any) -> Any:
    kind = vector.type
    name = f"llvm.vector.reduce.umin.v{kind.count}i{kind.element.width}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind.element, [kind]), name
    )
    return builder.call(function, [vector])


def _lane(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


rows_below: Any = intrinsic(_rows_below)
lowest: Any = intrinsic(_lowest)
least_wide: Any = intrinsic(_least_wide)
