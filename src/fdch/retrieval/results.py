"""What a search is asked for, and what it gives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypedDict

import numpy as np

from fdch.errors import SettingError, suggestion
from fdch.index.conditions import parse_condition, write_condition
from fdch.index.store import Cell, Condition, Item

DEFAULT_RESULTS = 10
CANDIDATES_PER_RESULT = 10
FEWEST_CANDIDATES = 100
_SHOWN = 60


class Options(TypedDict, total=False):
    """How to search.

    Args:
        k: Results to give at most: 10 if not told, all of them within a radius.
        radius: The largest Hamming distance of a result.
        where: Conditions that results must fulfil, such as "price<=20".
        rerank: Order the nearest candidates by how sure the query is of each bit.
        min_probability: Leave out what is less probably relevant.
    """

    k: int | None
    radius: int | None
    where: Sequence[str | Condition]
    rerank: bool
    min_probability: float | None


@dataclass(frozen=True)
class Demand:
    """Options that were checked; see there."""

    k: int | None
    radius: int | None = None
    where: tuple[Condition, ...] = ()
    rerank: bool = False
    min_probability: float | None = None

    @classmethod
    def of(cls, options: Options) -> "Demand":
        """Check options and read the conditions among them.

        Raises:
            SettingError: Saying which option is unknown, or what it must be.
        """
        for name in options.keys() - Options.__annotations__.keys():
            hint = suggestion(name, Options.__annotations__)
            raise SettingError(f"a search has no option '{name}'{hint or '.'}")
        k = _whole("k", options.get("k"))
        radius = _whole("the radius", options.get("radius"))
        least = options.get("min_probability")
        if least is not None and not isinstance(least, Real):
            raise SettingError(f"the probability must be a number; got {least!r}.")
        if k is None and radius is None:
            k = DEFAULT_RESULTS
        if k is not None and k < 1:
            raise SettingError(f"k must be 1 or more; got {k}.")
        if radius is not None and radius < 0:
            raise SettingError(f"the radius must be 0 or more; got {radius}.")
        if least is not None and not 0 <= least <= 1:
            raise SettingError(f"the probability must be from 0 to 1; got {least}.")
        rerank = options.get("rerank", False)
        if not isinstance(rerank, bool | np.bool):
            raise SettingError(f"rerank must be True or False; got {rerank!r}.")
        return cls(k, radius, _conditions(options.get("where")), bool(rerank), least)

    @property
    def candidates(self) -> int | None:
        """How many of the nearest to look at; None for all within the radius."""
        if self.k is None or not self.rerank:
            return self.k
        return max(CANDIDATES_PER_RESULT * self.k, FEWEST_CANDIDATES)

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return {
            "k": self.k,
            "radius": self.radius,
            "where": [write_condition(each) for each in self.where],
            "rerank": self.rerank,
            "min_probability": self.min_probability,
        }


@dataclass(frozen=True)
class Result:
    """One item that was found.

    Args:
        item: What is known of it.
        distance: Bits in which its code differs from the query's.
        probability: That it is relevant; None where that is not known.
    """

    item: Item
    distance: int
    probability: float | None

    @property
    def id(self) -> str:
        """The item's id."""
        return self.item.id

    @property
    def text(self) -> str | None:
        """Its text, where it has one."""
        return self.item.text

    @property
    def image(self) -> str | None:
        """Path of its picture, where it has one."""
        return self.item.image

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of its labels."""
        return self.item.labels

    @property
    def columns(self) -> Mapping[str, Cell]:
        """Its further cells."""
        return self.item.columns

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return {
            "id": self.id,
            "distance": self.distance,
            "probability": self.probability,
            "text": self.text,
            "image": self.image,
            "labels": list(self.labels),
            "columns": dict(self.columns),
        }


@dataclass(frozen=True)
class Results(Sequence[Result]):
    """What was found for one query, best first.

    Args:
        query: What was asked for and how.
        results: The items found.
        scanned: Codes compared, or ruled out by bounds.
        milliseconds: How long it took, encoding included; in a batch, its share.
    """

    query: Mapping[str, Any]
    results: tuple[Result, ...]
    scanned: int
    milliseconds: float

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: Any) -> Any:
        return self.results[place]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def ids(self) -> list[str]:
        """Ids of the items found."""
        return [result.id for result in self.results]

    def __str__(self) -> str:
        lines = [
            f"{each.distance:4d}  {_percent(each.probability)}  {each.id}  "
            f"{(each.text or each.image or '')[:_SHOWN]}"
            for each in self.results
        ]
        return "\n".join(lines) or "nothing was found"

    def to_json(self) -> dict[str, Any]:
        """Give the document of `fdch search --json`."""
        return {
            "query": dict(self.query),
            "results": [result.to_json() for result in self.results],
            "scanned": self.scanned,
            "milliseconds": self.milliseconds,
        }


def _whole(what: str, given: object) -> int | None:
    if given is None:
        return None
    if isinstance(given, Integral) and not isinstance(given, bool):
        return int(given)
    raise SettingError(f"{what} must be a whole number; got {given!r}.")


def _conditions(given: object) -> tuple[Condition, ...]:
    if given is None:
        return ()
    listed = [given] if isinstance(given, str | Condition) else given
    if not isinstance(listed, Sequence) or not all(
        isinstance(each, str | Condition) for each in listed
    ):
        raise SettingError(
            "where must be a condition such as 'price<=20', or a list of them; got "
            f"{str(given)[:100]!r}."
        )
    return tuple(
        parse_condition(each) if isinstance(each, str) else each for each in listed
    )


def _percent(probability: float | None) -> str:
    return "   ?" if probability is None else f"{probability:4.0%}"
