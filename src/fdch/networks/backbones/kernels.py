"""Triton kernels of the layers in `fused.py`.

Activations lie channels last, so that memory is a table of places by channels.
"""

import triton
import triton.language as tl

_OPEN = ["end"]  # differs between batches, which need no kernel of their own


@triton.jit
def _window(CHANNELS: tl.constexpr, WINDOW: tl.constexpr, HALO: tl.constexpr):
    """Return the channels that this program reads, and which it reads and writes."""
    near = tl.arange(0, WINDOW)
    channel = tl.program_id(1) * (WINDOW - 2 * HALO) - HALO + near
    is_read = (channel >= 0) & (channel < CHANNELS)
    return channel, is_read, is_read & (near >= HALO) & (near < WINDOW - HALO)


@triton.jit
def _band(WINDOW: tl.constexpr):
    """Return the matrix that sums each channel with two before and two after it."""
    near = tl.arange(0, WINDOW)
    is_near = tl.abs(near[:, None] - near[None, :]) <= 2
    return is_near.to(tl.float32).to(tl.bfloat16)


@triton.jit
def _sum_near(values, band, PARTS: tl.constexpr):
    """Sum values over five channels, on matrix units that take bfloat16.

    One part of a value keeps 8 bits of it, three all 24 of a float32.
    """
    total = tl.zeros_like(values)
    for _ in tl.static_range(PARTS):
        part = values.to(tl.bfloat16)
        total = tl.dot(part, band, total)
        values -= part.to(tl.float32)
    return total


@triton.jit(do_not_specialize=_OPEN)
def activate_forward(
    planes,
    bias,
    outputs,
    end,
    CHANNELS: tl.constexpr,
    IS_NORMALIZED: tl.constexpr,
    OFFSET: tl.constexpr,
    ALPHA: tl.constexpr,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
    WINDOW: tl.constexpr,
    HALO: tl.constexpr,
):
    """Add the bias; then ReLU; then divide by the scale of five channels ** 0.75."""
    channel, is_read, is_written = _window(CHANNELS, WINDOW, HALO)
    shift = tl.load(bias + channel, mask=is_read, other=0.0).to(tl.float32)
    band = _band(WINDOW)
    for block in range(tl.program_id(0), tl.cdiv(end, ROWS), tl.num_programs(0)):
        row = block * ROWS + tl.arange(0, ROWS)
        is_row = (row < end)[:, None]
        at = row.to(tl.int64)[:, None] * CHANNELS + channel[None, :]
        values = tl.load(planes + at, mask=is_row & is_read[None, :], other=0.0)
        values = tl.maximum(values.to(tl.float32) + shift[None, :], 0.0)
        if IS_NORMALIZED:
            root = tl.rsqrt(OFFSET + ALPHA * _sum_near(values * values, band, PARTS))
            values *= root * tl.sqrt(root)
        values = values.to(outputs.dtype.element_ty)
        tl.store(outputs + at, values, mask=is_row & is_written[None, :])


@triton.jit(do_not_specialize=_OPEN)
def activate_backward(
    planes,
    bias,
    gradients,
    results,
    partial,
    end,
    CHANNELS: tl.constexpr,
    IS_NORMALIZED: tl.constexpr,
    OFFSET: tl.constexpr,
    ALPHA: tl.constexpr,
    BETA: tl.constexpr,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
    WINDOW: tl.constexpr,
    HALO: tl.constexpr,
):
    """Return the gradient of the planes, and this program's part of the bias's.

    `partial` takes sums over places, (programs, channels).
    """
    channel, is_read, is_written = _window(CHANNELS, WINDOW, HALO)
    shift = tl.load(bias + channel, mask=is_read, other=0.0).to(tl.float32)
    band = _band(WINDOW)
    of_bias = tl.zeros([WINDOW], dtype=tl.float32)
    for block in range(tl.program_id(0), tl.cdiv(end, ROWS), tl.num_programs(0)):
        row = block * ROWS + tl.arange(0, ROWS)
        is_row = (row < end)[:, None]
        at = row.to(tl.int64)[:, None] * CHANNELS + channel[None, :]
        is_there = is_row & is_read[None, :]
        values = tl.load(planes + at, mask=is_there, other=0.0).to(tl.float32)
        gradient = tl.load(gradients + at, mask=is_there, other=0.0).to(tl.float32)
        values = tl.maximum(values + shift[None, :], 0.0)
        gradient = tl.where(values > 0.0, gradient, 0.0)
        if IS_NORMALIZED:
            root = tl.rsqrt(OFFSET + ALPHA * _sum_near(values * values, band, PARTS))
            gradient *= root * tl.sqrt(root)
            shared = _sum_near(gradient * values * (root * root), band, PARTS)
            gradient -= shared * (2 * ALPHA * BETA) * values
        of_bias += tl.sum(gradient, axis=0)
        back = gradient.to(results.dtype.element_ty)
        tl.store(results + at, back, mask=is_row & is_written[None, :])
    place = partial + tl.program_id(0) * CHANNELS + channel
    tl.store(place, of_bias, mask=is_written)


@triton.jit
def _places(end, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """Return item, row and column of this program's places, and which there are."""
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    item = place // (HEIGHT * WIDTH)
    return item, place // WIDTH % HEIGHT, place % WIDTH, place < end


@triton.jit(do_not_specialize=_OPEN)
def max_pool_forward(
    planes,
    outputs,
    positions,
    end,
    CHANNELS: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Take the maximum of each window, and its first position there, 0 to 8."""
    channel, is_channel = _columns(CHANNELS, COLUMNS)
    item, row, column, is_place = _places(end, HEIGHT // 2, WIDTH // 2, ROWS)
    largest = tl.full([ROWS, COLUMNS], float("-inf"), dtype=tl.float32)
    position = tl.zeros([ROWS, COLUMNS], dtype=tl.int32)
    for i in tl.static_range(9):
        y, x = 2 * row + i // 3, 2 * column + i % 3
        is_there = is_place & (y < HEIGHT) & (x < WIDTH)
        place = (item.to(tl.int64) * HEIGHT + y) * WIDTH + x
        at = place[:, None] * CHANNELS + channel[None, :]
        is_there = is_there[:, None] & is_channel[None, :]
        values = tl.load(planes + at, mask=is_there, other=float("-inf"))
        values = values.to(tl.float32)
        position = tl.where(values > largest, i, position)
        largest = tl.maximum(values, largest)
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = place[:, None] * CHANNELS + channel[None, :]
    is_there = is_place[:, None] & is_channel[None, :]
    tl.store(outputs + at, largest.to(outputs.dtype.element_ty), mask=is_there)
    tl.store(positions + at, position.to(tl.uint8), mask=is_there)


@triton.jit(do_not_specialize=_OPEN)
def max_pool_backward(
    positions,
    gradients,
    results,
    end,
    CHANNELS: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Sum for each place what the windows give it in which it is the maximum."""
    channel, is_channel = _columns(CHANNELS, COLUMNS)
    item, row, column, is_place = _places(end, HEIGHT, WIDTH, ROWS)
    total = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for i in tl.static_range(4):  # at most four windows contain a place
        y, x = row // 2 - i // 2, column // 2 - i % 2
        down, right = row - 2 * y, column - 2 * x
        is_there = is_place & (y >= 0) & (y < HEIGHT // 2) & (down < 3)
        is_there = is_there & (x >= 0) & (x < WIDTH // 2) & (right < 3)
        place = (item.to(tl.int64) * (HEIGHT // 2) + y) * (WIDTH // 2) + x
        at = place[:, None] * CHANNELS + channel[None, :]
        is_there = is_there[:, None] & is_channel[None, :]
        position = tl.load(positions + at, mask=is_there, other=9).to(tl.int32)
        gradient = tl.load(gradients + at, mask=is_there, other=0.0).to(tl.float32)
        total += tl.where(position == (3 * down + right)[:, None], gradient, 0.0)
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = place[:, None] * CHANNELS + channel[None, :]
    is_there = is_place[:, None] & is_channel[None, :]
    tl.store(results + at, total.to(results.dtype.element_ty), mask=is_there)


@triton.jit
def _columns(channels, COLUMNS: tl.constexpr):
    """Return the channels of this program, and which of them there are."""
    channel = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    return channel, channel < channels


@triton.jit(do_not_specialize=_OPEN)
def frozen_norm_forward(
    planes,
    residual,
    outputs,
    weight,
    bias,
    mean,
    variance,
    end,
    channels,
    EPSILON: tl.constexpr,
    IS_ACTIVATED: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Scale and shift each channel; then ReLU6, or add the residual."""
    channel, is_channel = _columns(channels, COLUMNS)
    scale = tl.load(weight + channel, mask=is_channel, other=0.0) * tl.rsqrt(
        tl.load(variance + channel, mask=is_channel, other=1.0) + EPSILON
    )
    centre = tl.load(mean + channel, mask=is_channel, other=0.0)
    shift = tl.load(bias + channel, mask=is_channel, other=0.0) - centre * scale
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = row[:, None] * channels + channel[None, :]
    is_there = (row < end)[:, None] & is_channel[None, :]
    values = tl.load(planes + at, mask=is_there, other=0.0).to(tl.float32)
    values = values * scale[None, :] + shift[None, :]
    if IS_ACTIVATED:
        values = tl.minimum(tl.maximum(values, 0.0), 6.0)
    if HAS_RESIDUAL:
        values += tl.load(residual + at, mask=is_there, other=0.0).to(tl.float32)
    tl.store(outputs + at, values.to(outputs.dtype.element_ty), mask=is_there)


@triton.jit(do_not_specialize=_OPEN)
def frozen_norm_backward(
    planes,
    gradients,
    results,
    partial,
    weight,
    bias,
    mean,
    variance,
    end,
    channels,
    EPSILON: tl.constexpr,
    IS_ACTIVATED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Return the gradient of the planes, and this program's part of the others.

    `partial` takes sums over places, (programs, 2, channels): of the weight's
    gradient, then of the bias's.
    """
    channel, is_channel = _columns(channels, COLUMNS)
    root = tl.rsqrt(tl.load(variance + channel, mask=is_channel, other=1.0) + EPSILON)
    scale = tl.load(weight + channel, mask=is_channel, other=0.0) * root
    centre = tl.load(mean + channel, mask=is_channel, other=0.0)
    shift = tl.load(bias + channel, mask=is_channel, other=0.0)
    of_weight = tl.zeros([COLUMNS], dtype=tl.float32)
    of_bias = tl.zeros([COLUMNS], dtype=tl.float32)
    program, programs = tl.program_id(0), tl.num_programs(0)
    for block in range(program, tl.cdiv(end, ROWS), programs):
        row = tl.cast(block, tl.int64) * ROWS + tl.arange(0, ROWS)
        at = row[:, None] * channels + channel[None, :]
        is_there = (row < end)[:, None] & is_channel[None, :]
        values = tl.load(planes + at, mask=is_there, other=0.0).to(tl.float32)
        gradient = tl.load(gradients + at, mask=is_there, other=0.0).to(tl.float32)
        centred = values - centre[None, :]
        if IS_ACTIVATED:
            found = centred * scale[None, :] + shift[None, :]
            gradient = tl.where((found > 0.0) & (found < 6.0), gradient, 0.0)
        of_weight += tl.sum(gradient * centred, axis=0)
        of_bias += tl.sum(gradient, axis=0)
        back = (gradient * scale[None, :]).to(results.dtype.element_ty)
        tl.store(results + at, back, mask=is_there)
    place = partial + program * 2 * channels + channel
    tl.store(place, of_weight * root, mask=is_channel)
    tl.store(place + channels, of_bias, mask=is_channel)
