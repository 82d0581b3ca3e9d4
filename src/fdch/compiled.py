"""Compiled loops: how they are compiled and kept, and the one instruction they need.

Importing this file needs numba.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from inspect import unwrap
from types import CodeType, FunctionType
from typing import Any, TypeVar

from numba import njit
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile on first use, and keep the result on disk where that is possible.

    Numba would reuse a stored result as long as the function's own file is unchanged,
    even if a loop or a constant of another file that it uses has changed. So the name
    of the stored result contains a hash of all of them.
    """
    digest = sha256()
    for piece in _description(function, set()):
        digest.update(piece.encode(errors="surrogatepass") + b"\0")
    function.__qualname__ = f"{function.__name__}_{digest.hexdigest()[:16]}"
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


def _description(value: object, seen: set[FunctionType]) -> Iterator[str]:
    """Yield what determines the compiled loop, from a function and its file."""
    if isinstance(value, int | float | str | tuple):
        yield repr(value)
        return
    function = unwrap(value) if callable(value) else value
    if not isinstance(function, FunctionType) or function in seen:
        return
    seen.add(function)
    if function.__module__.split(".")[0] == "numba":  # which looks after itself
        return
    for code in _codes(function.__code__):
        yield code.co_code.hex()
        yield repr([each for each in code.co_consts if not isinstance(each, CodeType)])
        for name in code.co_names:
            yield name
            yield from _description(function.__globals__.get(name), seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Return a function's code, and those of functions inside."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _set_bits(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), generate


set_bits: Any = intrinsic(_set_bits)  # counts the ones of a word, one instruction
