"""What compares codes: loops that Numba compiles, or NumPy; answers are the same."""

import importlib
import sys
from collections.abc import Callable
from functools import cache
from typing import Literal, Protocol, cast

from fdch.errors import MissingExtra, SettingError
from fdch.index.search import scan_numpy

Engine = Literal["auto", "numba", "numpy"]

LOOPS = "fdch.index.search.scan_kernels"
# Comparisons that NumPy makes in about a second: as long as loading the loops takes,
# and far shorter than compiling them for the first time on a machine.
PATIENCE = 1 << 26

_compared = 0


class ScanEngine(Protocol):
    """How rows are compared: compiled, or by NumPy."""

    nearest_rows: Callable[..., None]
    rows_within: Callable[..., None]


@cache
def scan_engine(engine: Engine = "auto") -> ScanEngine:
    """Give the engine of that name; "auto" is numba where it is installed."""
    if engine == "numpy":
        return cast(ScanEngine, scan_numpy)
    if engine not in ("auto", "numba"):
        raise SettingError(f"unknown engine {engine!r}; use auto, numba or numpy.")
    try:
        return cast(ScanEngine, importlib.import_module(LOOPS))
    except ImportError as error:
        if engine == "numba":
            raise MissingExtra("the compiled scan", "fast") from error
        return cast(ScanEngine, scan_numpy)


def settled(engine: Engine, comparisons: int) -> Engine:
    """Choose for "auto": NumPy, until a process has searched a good deal.

    Args:
        engine: What was asked for.
        comparisons: That a search makes.
    """
    global _compared
    if engine != "auto" or LOOPS in sys.modules:
        return engine
    _compared += comparisons
    return engine if _compared > PATIENCE else "numpy"
