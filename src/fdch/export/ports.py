"""Checks that the graphs of an export match its manifest."""

from collections.abc import Mapping
from typing import Any, NamedTuple

FLOATS, BYTES, NUMBERS = "tensor(float)", "tensor(uint8)", "tensor(int64)"
MAX_BITS = 32_767  # that can be scored
MAX_SIDE = 4096  # of pictures, in pixels: 50 MB each
MAX_WIDTH = 2**31


class Port(NamedTuple):
    """An input or output of a graph: name, type and sizes; None for any size."""

    name: str
    type: str
    shape: tuple[int | None, ...]


def read_size(facts: Mapping[str, Any], name: str, most: int = MAX_WIDTH) -> int:
    """Return a whole number of a manifest, from 1; any other is a ValueError."""
    found = facts[name]
    if type(found) is not int or not 1 <= found <= most:
        raise ValueError(f"its {name} is {str(found)[:40]}, not from 1 to {most:,}")
    return found


def image_ports(size: int | None, width: int) -> list[Port]:
    """Return what a graph takes of pictures of a size, or of ready features."""
    if size is None:
        return [Port("features", FLOATS, (None, width))]
    return [Port("pixels", BYTES, (None, size, size, 3))]


def text_ports(takes_words: bool, width: int, static: int) -> list[Port]:
    """Return what a graph takes of texts: words, or ready vectors."""
    if not takes_words:
        return [Port("vectors", FLOATS, (None, width))]
    words = [
        Port("words", NUMBERS, (None, None)),
        Port("weights", FLOATS, (None, None)),
    ]
    return [*words, Port("static", FLOATS, (None, static))] if static else words


def require_ports(side: str, session: Any, takes: list[Port], bits: int) -> None:
    """Refuse, by a ValueError, a graph with other inputs or outputs."""
    found = sorted(map(_port, session.get_inputs()))
    given = [_port(each)[1:] for each in session.get_outputs()]
    if found != sorted(takes) or given != [(FLOATS, (None, bits))]:
        raise ValueError(f"{side}.onnx takes or gives something else than it says")


def _port(found: Any) -> Port:
    shape = (size if isinstance(size, int) else None for size in found.shape)
    return Port(found.name, found.type, tuple(shape))
