"""How to search: SearchParams, and the methods that take them as keyword arguments."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack, cast, get_args

import numpy as np

from fdch.errors import SettingError, suggestion
from fdch.index.conditions import parse_condition, write_condition
from fdch.index.store import Condition, is_whole, require_several
from fdch.retrieval.composed import ComposedQuery, QueryKind
from fdch.retrieval.results import Results


class DefaultK(int):
    """The k of a search that is given none: a number that a radius lifts."""


DEFAULT_K = DefaultK(10)
MAX_PLACE = 10_000  # of a result on a later page than the first
MIN_SORTED, MAX_SORTED = 1000, 10_000

Match = Literal["both", "codes", "words"]
Where = str | Condition | Sequence[str | Condition] | None
Text = TypeVar("Text")
Picture = TypeVar("Picture")


@dataclass(frozen=True)
class SearchParams:
    """How to search; unchanged from a command, request or call to the ranking.

    Args:
        k: The most results; by default 10, or all within the radius if there is one.
        where: Conditions that results must all fulfil: 'price<=20', also = != < > >=,
            ^= for a beginning, or 'column in a,b'; 'label' stands for the labels. Quote
            names and values that contain spaces or operators.
        radius: The largest Hamming distance of a result.
        rerank: Order the nearest candidates by their vectors where the index keeps
            some, else by how sure the query is of each bit; by default, do the former
            only.
        min_probability: Leave out results that are less probably relevant.
        offset: How many of the first results to leave out: those of earlier pages.
            Together with k at most 10,000.
        group: Put results whose codes differ in at most so many bits and whose texts
            share most words under the first of them.
        sort: Order results by a column, 'price', or from the largest, '-price': the
            nearest candidates, or all within the radius; a note counts them where
            there are more.
        facets: Count the values of all items that fulfil the conditions, and are
            within the radius if there is one; those with words if `match` is "words".
        match: What a text is compared by: "both" its code and its words with those
            of items' texts; "codes" or "words" only.

    >>> SearchParams().k, SearchParams(radius=3).k, SearchParams(5, radius=3).k
    (10, None, 5)
    """

    k: int | None = DEFAULT_K
    _: KW_ONLY
    where: Where = None
    radius: int | None = None
    rerank: bool | None = None
    min_probability: float | None = None
    offset: int = 0
    group: int | None = None
    sort: str | None = None
    facets: bool = False
    match: Match = "both"

    def __post_init__(self) -> None:
        no_k = f"Leave it out for {DEFAULT_K} results."
        no_radius = "Leave it out for results at any distance."
        k = None if isinstance(self.k, DefaultK) else self.k
        read: dict[str, Any] = {
            "k": _read_count("k", k, 1, no_k),
            "radius": _read_count("radius", self.radius, 0, no_radius),
            "where": _read_conditions(self.where),
            "rerank": _read_flag("rerank", self.rerank, or_none=True),
            "min_probability": _read_probability(self.min_probability),
            "offset": _read_count("offset", self.offset, 0, "It counts results.") or 0,
            "group": _read_count("group", self.group, 0, "Leave it out for no groups."),
            "facets": _read_flag("facets", self.facets),
        }
        if read["k"] is None and read["radius"] is None:
            read["k"] = int(DEFAULT_K)
        if read["offset"] and read["offset"] + (read["k"] or 1) > MAX_PLACE:
            raise SettingError(
                f"offset and k are {MAX_PLACE:,} at most together; got {self.offset} "
                f"and {read['k']}. Add words or conditions to have fewer results."
            )
        if self.sort is not None and not is_column(self.sort):
            raise SettingError(
                "sort must be the name of a column such as 'price', or '-price' for "
                f"the largest first; got {str(self.sort)[:100]!r}."
            )
        if self.match not in get_args(Match):
            raise SettingError(
                f"match must be both, codes or words; got {str(self.match)[:40]!r}."
            )
        vars(self).update(read)  # frozen: fields cannot be set one by one

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What `where` was read as."""
        return cast("tuple[Condition, ...]", self.where)

    @property
    def last(self) -> int | None:
        """The place of the last result, from 1; None for all within the radius."""
        return None if self.k is None else self.offset + self.k

    @property
    def sorted_candidates(self) -> int:
        """How many of the nearest to sort by a column."""
        if self.radius is not None:
            return MAX_SORTED
        return max(self.last or 0, MIN_SORTED)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "where": [write_condition(c) for c in self.conditions]}


class SearchKeywords(TypedDict, total=False):
    """The keywords of SearchParams, repeated for type checkers and editors.

    These cannot take keywords from a dataclass. A test compares the two lists.
    """

    where: Where
    radius: int | None
    rerank: bool | None
    min_probability: float | None
    offset: int
    group: int | None
    sort: str | None
    facets: bool
    match: Match


Function = TypeVar("Function", bound=Callable[..., Any])


def show_keywords(function: Function) -> Function:
    """Put the keywords of SearchParams into a search's signature, for `help`."""
    signature = inspect.signature(function)
    *own, _given = signature.parameters.values()
    _k, *keywords = inspect.signature(SearchParams).parameters.values()
    shown = signature.replace(parameters=[*own, *keywords])
    function.__signature__ = shown  # type: ignore[attr-defined]
    return function


class SearchMethods(ABC, Generic[Text, Picture]):
    """Searches by text, picture or id, one or many at a time, or by several together.

    Each takes the values of SearchParams as keyword arguments.
    """

    @abstractmethod
    def search(
        self, kind: QueryKind, queries: Sequence[Any], params: SearchParams
    ) -> list[Results]:
        """Find what is near each query.

        It is a text, a picture, the id of an item, or a ComposedQuery of several.
        """

    @show_keywords
    def by_text(
        self, text: Text, k: int | None = DEFAULT_K, **given: Unpack[SearchKeywords]
    ) -> Results:
        """Find what is near a text; see SearchParams for the keywords."""
        return self.search("text", [text], _read_params(k, given))[0]

    @show_keywords
    def by_image(
        self, image: Picture, k: int | None = DEFAULT_K, **given: Unpack[SearchKeywords]
    ) -> Results:
        """Find what is near a picture; see SearchParams for the keywords."""
        return self.search("image", [image], _read_params(k, given))[0]

    @show_keywords
    def by_id(
        self, name: str, k: int | None = DEFAULT_K, **given: Unpack[SearchKeywords]
    ) -> Results:
        """Find what is near an item of the index, without the item itself."""
        return self.search("id", [name], _read_params(k, given))[0]

    @show_keywords
    def query(
        self,
        text: Text | None = None,
        image: Picture | None = None,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
        avoid: Sequence[str] = (),
        k: int | None = DEFAULT_K,
        **given: Unpack[SearchKeywords],
    ) -> Results:
        """Find what fits several parts together; see ComposedQuery and SearchParams."""
        kind, value = ComposedQuery(text, image, like, unlike, avoid).simplest
        return self.search(kind, [value], _read_params(k, given))[0]

    @show_keywords
    def by_texts(
        self,
        texts: Sequence[Text],
        k: int | None = DEFAULT_K,
        **given: Unpack[SearchKeywords],
    ) -> list[Results]:
        """Find for each text what is near it; see SearchParams for the keywords."""
        require_several("texts", texts)
        return self.search("text", texts, _read_params(k, given))

    @show_keywords
    def by_images(
        self,
        images: Sequence[Picture],
        k: int | None = DEFAULT_K,
        **given: Unpack[SearchKeywords],
    ) -> list[Results]:
        """Find for each picture what is near it; see SearchParams for the keywords."""
        require_several("pictures", images)
        return self.search("image", images, _read_params(k, given))

    @show_keywords
    def by_ids(
        self,
        names: Sequence[str],
        k: int | None = DEFAULT_K,
        **given: Unpack[SearchKeywords],
    ) -> list[Results]:
        """Find for each item of the index what is near it, without itself."""
        require_several("ids", names)
        return self.search("id", names, _read_params(k, given))


def _read_params(k: int | None, given: Mapping[str, Any]) -> SearchParams:
    known = ("k", *SearchKeywords.__annotations__)
    unknown = [name for name in given if name not in known]
    if unknown:
        hint = suggestion(unknown[0], known) or "."
        raise SettingError(
            f"a search has no argument '{unknown[0]}'{hint} It has {', '.join(known)}."
        )
    return SearchParams(k, **given)


def is_column(sort: object) -> bool:
    """Return whether results can be sorted by something: a name, perhaps behind "-"."""
    return isinstance(sort, str) and bool(sort.removeprefix("-")) and is_whole(sort)


def _read_count(name: str, given: object, least: int, advice: str) -> int | None:
    if given is None:
        return None
    if not isinstance(given, Integral) or isinstance(given, bool):
        raise SettingError(f"{name} must be a whole number; got {given!r}. {advice}")
    if given < least:
        raise SettingError(f"{name} must be {least} or more; got {given}. {advice}")
    return int(given)


def _read_flag(name: str, given: object, *, or_none: bool = False) -> bool | None:
    if given is None and or_none:
        return None
    if not isinstance(given, bool | np.bool):
        raise SettingError(f"{name} must be True or False; got {given!r}.")
    return bool(given)


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
