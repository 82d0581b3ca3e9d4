"""Triton kernels of the layers in `fused.py`.

Activations lie channels last, so that memory is a table of places by channels.
"""

import triton
import triton.language as tl

_OPEN = ["end"]  # differs between batches, for which nothing is to be compiled


@triton.jit
def _near(values, at, channel, end, DISTANCE: tl.constexpr, CHANNELS: tl.constexpr):
    """Load what lies some channels away; 0 where there is no such channel."""
    other = channel + DISTANCE
    is_there = (at < end) & (other >= 0) & (other < CHANNELS)
    return tl.load(values + at + DISTANCE, mask=is_there, other=0.0).to(tl.float32)


@triton.jit
def _scale(a, b, c, d, e, OFFSET: tl.constexpr, ALPHA: tl.constexpr):
    """Return offset + alpha * sum of squares of five channels."""
    return OFFSET + ALPHA * (a * a + b * b + c * c + d * d + e * e)


@triton.jit
def _factor(scale):
    """Return scale ** -0.75."""
    root = tl.rsqrt(scale)
    return root * tl.sqrt(root)


@triton.jit(do_not_specialize=_OPEN)
def response_norm_forward(
    planes,
    outputs,
    end,
    CHANNELS: tl.constexpr,
    OFFSET: tl.constexpr,
    ALPHA: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Normalise each value by five channels around it."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    channel = at % CHANNELS
    a = _near(planes, at, channel, end, -2, CHANNELS)
    b = _near(planes, at, channel, end, -1, CHANNELS)
    c = _near(planes, at, channel, end, 0, CHANNELS)
    d = _near(planes, at, channel, end, 1, CHANNELS)
    e = _near(planes, at, channel, end, 2, CHANNELS)
    values = c * _factor(_scale(a, b, c, d, e, OFFSET, ALPHA))
    tl.store(outputs + at, values.to(outputs.dtype.element_ty), mask=at < end)


@triton.jit
def _shared(gradient, value, scale):
    """Return what one channel adds to the gradients of those around it."""
    return gradient * value * _factor(scale) / scale


@triton.jit(do_not_specialize=_OPEN)
def response_norm_backward(
    planes,
    gradients,
    results,
    end,
    CHANNELS: tl.constexpr,
    OFFSET: tl.constexpr,
    ALPHA: tl.constexpr,
    BETA: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Return the gradient of each value, from nine channels around it."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    channel = at % CHANNELS
    x0 = _near(planes, at, channel, end, -4, CHANNELS)
    x1 = _near(planes, at, channel, end, -3, CHANNELS)
    x2 = _near(planes, at, channel, end, -2, CHANNELS)
    x3 = _near(planes, at, channel, end, -1, CHANNELS)
    x4 = _near(planes, at, channel, end, 0, CHANNELS)
    x5 = _near(planes, at, channel, end, 1, CHANNELS)
    x6 = _near(planes, at, channel, end, 2, CHANNELS)
    x7 = _near(planes, at, channel, end, 3, CHANNELS)
    x8 = _near(planes, at, channel, end, 4, CHANNELS)
    g2 = _near(gradients, at, channel, end, -2, CHANNELS)
    g3 = _near(gradients, at, channel, end, -1, CHANNELS)
    g4 = _near(gradients, at, channel, end, 0, CHANNELS)
    g5 = _near(gradients, at, channel, end, 1, CHANNELS)
    g6 = _near(gradients, at, channel, end, 2, CHANNELS)
    own = _scale(x2, x3, x4, x5, x6, OFFSET, ALPHA)
    total = _shared(g2, x2, _scale(x0, x1, x2, x3, x4, OFFSET, ALPHA))
    total += _shared(g3, x3, _scale(x1, x2, x3, x4, x5, OFFSET, ALPHA))
    total += _shared(g4, x4, own)
    total += _shared(g5, x5, _scale(x3, x4, x5, x6, x7, OFFSET, ALPHA))
    total += _shared(g6, x6, _scale(x4, x5, x6, x7, x8, OFFSET, ALPHA))
    values = g4 * _factor(own) - 2 * ALPHA * BETA * x4 * total
    tl.store(results + at, values.to(results.dtype.element_ty), mask=at < end)


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
