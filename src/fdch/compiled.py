"""Compiled loops: how they are compiled and kept, and the one instruction they need.

Importing this file needs numba.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile on first use, and keep the result on disk where that is possible."""
    # numpy's error model: a test for division by zero would stop vectorising.
    # "reassoc" lets a sum be taken in several lanes.
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc"},
    }
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder to keep it in
        return njit(**options)(function)


def _set_bits(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), generate


set_bits: Any = intrinsic(_set_bits)  # counts the ones of a word, one instruction
