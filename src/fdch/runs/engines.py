"""Engines that encode parts of data: this process, or workers of a Ray cluster.

Parts go in, and come out once and in order, each with its result. With every engine,
the calling process alone writes codes.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Literal, Protocol, TypeVar

from fdch.data.pairs import Broken, PairedSet
from fdch.data.pictures.images import Pictures
from fdch.methods._base import ROWS_AT_A_TIME, HashMethod
from fdch.progress import silent
from fdch.runs.run import Run
from fdch.training.context import PLAIN, Context

EngineName = Literal["local", "ray"]
R = TypeVar("R")
Work = Callable[[HashMethod, PairedSet, Context], R]


class Engine(Protocol):
    """Encodes parts of data, each of at most `pictures_at_a_time` pictures."""

    pictures_at_a_time: int

    def run(
        self, work: Work[R], parts: Iterable[PairedSet]
    ) -> Iterator[tuple[PairedSet, R]]:
        """Yield each part, in their order, with the result of the work on it.

        A part may come back without broken pictures; its `skipped` then lists them.
        """


class LocalEngine:
    """Encodes in this process, one part after the other.

    >>> from fdch.methods.fdch import FDCH
    >>> parts = cut_into_parts(PairedSet.read("scenes:60"), 40, 40)
    >>> done = LocalEngine(FDCH()).run(lambda method, part, _: len(part), parts)
    >>> [size for _, size in done]
    [40, 20]
    """

    pictures_at_a_time = ROWS_AT_A_TIME

    def __init__(self, method: HashMethod, context: Context = PLAIN) -> None:
        self._method = method
        self._context = replace(context, progress=silent)

    def run(
        self, work: Work[R], parts: Iterable[PairedSet]
    ) -> Iterator[tuple[PairedSet, R]]:
        """Yield each part with the result of the work on it."""
        for part in parts:
            yield part, work(self._method, part, self._context)


def open_engine(
    name: EngineName, run: Run, broken: Broken, context: Context
) -> AbstractContextManager[Engine]:
    """Make an engine that encodes with a run.

    "ray" takes the cluster that RAY_ADDRESS names, else that of this machine. Its
    workers check pictures too: one that is broken is refused or skipped.
    """
    if name == "local":
        return nullcontext(LocalEngine(run.method, context))
    from fdch.runs.ray_engine import RayEngine

    return RayEngine(run, broken, context.device)


def cut_into_parts(pairs: PairedSet, pictures: int, rows: int) -> Iterator[PairedSet]:
    """Cut pairs into parts of a number of pictures, or rows of ready features."""
    size = pictures if isinstance(pairs.images, Pictures) else rows
    for start in range(0, len(pairs), size):
        yield replace(pairs[start : start + size], skipped=())
