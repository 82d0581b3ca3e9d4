"""How to search: SearchParams, and the methods that take them as keyword arguments."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Generic, Literal, TypeVar, cast, get_args

import numpy as np

from fdch.errors import SettingError
from fdch.index.conditions import parse_condition, write_condition
from fdch.index.store import Condition, require_several
from fdch.retrieval.results import Results

DEFAULT_K = 10
CANDIDATES_PER_RESULT, MIN_CANDIDATES = 10, 100
VECTOR_CANDIDATES_PER_RESULT, MIN_VECTOR_CANDIDATES = 20, 500

QueryKind = Literal["text", "image", "id"]
Match = Literal["both", "codes", "words"]
Where = str | Condition | Sequence[str | Condition] | None
Text = TypeVar("Text")
Picture = TypeVar("Picture")


@dataclass(frozen=True)
class SearchParams:
    """How to search; unchanged from a command, request or call to the ranking.

    Args:
        k: The most results; None for 10, or for all within the radius if there is one.
        radius: The largest Hamming distance of a result; None for any.
        where: Conditions that results must all fulfil, such as "price<=20".
        rerank: Order the nearest candidates by their vectors where the index keeps
            some, else by how sure the query is of each bit; None does the former only.
        min_probability: Leave out results that are less probably relevant.
        match: What a text is compared by: "both" its code and its words with those
            of items' texts; "codes" or "words" only.

    >>> SearchParams().k, SearchParams(radius=3).k, SearchParams(5, radius=3).k
    (10, None, 5)
    """

    k: int | None = None
    radius: int | None = None
    where: Where = None
    rerank: bool | None = None
    min_probability: float | None = None
    match: Match = "both"

    def __post_init__(self) -> None:
        k = _read_count("k", self.k, 1, f"Leave it out for {DEFAULT_K} results.")
        advice = "Leave it out for results at any distance."
        radius = _read_count("radius", self.radius, 0, advice)
        if k is None and radius is None:
            k = DEFAULT_K
        if not isinstance(self.rerank, bool | np.bool | None):
            raise SettingError(f"rerank must be True or False; got {self.rerank!r}.")
        if self.match not in get_args(Match):
            raise SettingError(
                f"match must be both, codes or words; got {str(self.match)[:40]!r}."
            )
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "where", _read_conditions(self.where))
        if self.rerank is not None:
            object.__setattr__(self, "rerank", bool(self.rerank))
        least = _read_probability(self.min_probability)
        object.__setattr__(self, "min_probability", least)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What `where` was read as."""
        return cast("tuple[Condition, ...]", self.where)

    @property
    def candidates(self) -> int | None:
        """How many of the nearest to rank; None for all within the radius."""
        if self.k is None or not self.rerank:
            return self.k
        return max(CANDIDATES_PER_RESULT * self.k, MIN_CANDIDATES)

    @property
    def vector_candidates(self) -> int | None:
        """How many of the nearest to order by vectors; None for all in the radius."""
        if self.k is None:
            return None
        return max(VECTOR_CANDIDATES_PER_RESULT * self.k, MIN_VECTOR_CANDIDATES)

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return {**vars(self), "where": [write_condition(c) for c in self.conditions]}


class SearchMethods(ABC, Generic[Text, Picture]):
    """Searches by text, picture or id, one or many at a time.

    Each takes the values of SearchParams: `k`, `radius`, `where`, `rerank`,
    `min_probability` and `match`.
    """

    @abstractmethod
    def search(
        self, kind: QueryKind, queries: Sequence[Any], params: SearchParams
    ) -> list[Results]:
        """Find what is near each query: a text, a picture or the id of an item."""

    def by_text(
        self,
        text: Text,
        k: int | None = None,
        *,
        radius: int | None = None,
        where: Where = None,
        rerank: bool | None = None,
        min_probability: float | None = None,
        match: Match = "both",
    ) -> Results:
        """Find what is near a text; see SearchParams for the keywords."""
        params = SearchParams(k, radius, where, rerank, min_probability, match)
        return self.search("text", [text], params)[0]

    def by_image(
        self,
        image: Picture,
        k: int | None = None,
        *,
        radius: int | None = None,
        where: Where = None,
        rerank: bool | None = None,
        min_probability: float | None = None,
        match: Match = "both",
    ) -> Results:
        """Find what is near a picture; see SearchParams for the keywords."""
        params = SearchParams(k, radius, where, rerank, min_probability, match)
        return self.search("image", [image], params)[0]

    def by_id(
        self,
        name: str,
        k: int | None = None,
        *,
        radius: int | None = None,
        where: Where = None,
        rerank: bool | None = None,
        min_probability: float | None = None,
        match: Match = "both",
    ) -> Results:
        """Find what is near an item of the index, without the item itself."""
        params = SearchParams(k, radius, where, rerank, min_probability, match)
        return self.search("id", [name], params)[0]

    def by_texts(
        self,
        texts: Sequence[Text],
        k: int | None = None,
        *,
        radius: int | None = None,
        where: Where = None,
        rerank: bool | None = None,
        min_probability: float | None = None,
        match: Match = "both",
    ) -> list[Results]:
        """Find for each text what is near it; see SearchParams for the keywords."""
        require_several("texts", texts)
        params = SearchParams(k, radius, where, rerank, min_probability, match)
        return self.search("text", texts, params)

    def by_images(
        self,
        images: Sequence[Picture],
        k: int | None = None,
        *,
        radius: int | None = None,
        where: Where = None,
        rerank: bool | None = None,
        min_probability: float | None = None,
        match: Match = "both",
    ) -> list[Results]:
        """Find for each picture what is near it; see SearchParams for the keywords."""
        require_several("pictures", images)
        params = SearchParams(k, radius, where, rerank, min_probability, match)
        return self.search("image", images, params)

    def by_ids(
        self,
        names: Sequence[str],
        k: int | None = None,
        *,
        radius: int | None = None,
        where: Where = None,
        rerank: bool | None = None,
        min_probability: float | None = None,
        match: Match = "both",
    ) -> list[Results]:
        """Find for each item of the index what is near it, without itself."""
        require_several("ids", names)
        params = SearchParams(k, radius, where, rerank, min_probability, match)
        return self.search("id", names, params)


def _read_count(name: str, given: object, least: int, advice: str) -> int | None:
    if given is None:
        return None
    if not isinstance(given, Integral) or isinstance(given, bool):
        raise SettingError(f"{name} must be a whole number; got {given!r}. {advice}")
    if given < least:
        raise SettingError(f"{name} must be {least} or more; got {given}. {advice}")
    return int(given)


def _read_probability(given: object) -> float | None:
    if given is None:
        return None
    if not isinstance(given, Real):
        raise SettingError(f"min_probability must be a number; got {given!r}.")
    if not 0 <= float(given) <= 1:
        raise SettingError(f"min_probability must be from 0 to 1; got {given}.")
    return float(given)


def _read_conditions(given: object) -> tuple[Condition, ...]:
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
