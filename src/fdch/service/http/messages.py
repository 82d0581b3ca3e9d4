"""The shapes of requests and replies, from which the OpenAPI document is made."""

from dataclasses import fields
from typing import Annotated, Any, Literal, Self, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from fdch.methods._settings.descriptions import setting_descriptions
from fdch.retrieval.composed import (
    MAX_AVOIDED,
    MAX_IDS,
    ComposedQuery,
    split_avoided,
)
from fdch.retrieval.params import MAX_PLACE, SearchParams
from fdch.service.http import limits

Condition = Annotated[str, Field(min_length=1, max_length=limits.MAX_CONDITION)]
Column = Annotated[str, Field(min_length=1, max_length=limits.MAX_NAME_CHARACTERS + 1)]
QueryText = Annotated[str, Field(min_length=1, max_length=limits.MAX_CHARACTERS)]
ItemId = Annotated[str, Field(min_length=1, max_length=limits.MAX_ID_CHARACTERS)]
Name = Annotated[str, Field(min_length=1, max_length=limits.MAX_NAME_CHARACTERS)]
ItemText = Annotated[str, Field(max_length=limits.MAX_ITEM_CHARACTERS)]
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Cell = ItemText | bool | Number | Annotated[float, Field(allow_inf_nan=False)] | None


class Body(BaseModel):
    """A request body: known fields of the right types only."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TextsRequest(Body):
    """One text, or several."""

    text: QueryText | None = Field(None, description="One text.")
    texts: list[QueryText] | None = Field(
        None,
        min_length=1,
        max_length=limits.MAX_TEXTS,
        description="Several texts, each with an answer of its own.",
    )

    @property
    def inputs(self) -> list[str]:
        """All texts, one or several."""
        return self.texts or [self.text or ""]


class EncodeRequest(TextsRequest):
    """One text, or several."""

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("give one of text and texts")
        return self


# what the service adds to the fields of SearchParams
_BOUNDS: dict[str, dict[str, Any]] = {
    "k": {"default": None, "ge": 1, "le": limits.MAX_RESULTS},
    "where": {"default": [], "max_length": limits.MAX_CONDITIONS},
    "radius": {"ge": 0, "le": limits.MAX_RADIUS},
    "min_probability": {"ge": 0, "le": 1},
    "offset": {"ge": 0, "le": MAX_PLACE},
    "group": {"ge": 0, "le": limits.MAX_RADIUS},
}
_TYPES = {"where": list[Condition], "sort": Column | None}


def _derive_fields() -> dict[str, Any]:
    """Return the fields of SearchParams as those of a request."""
    types = {**get_type_hints(SearchParams), **_TYPES}
    meanings = setting_descriptions(SearchParams)
    derived: dict[str, Any] = {}
    for each in fields(SearchParams):
        about = {"description": meanings.get(each.name), "default": each.default}
        field = Field(**{**about, **_BOUNDS.get(each.name, {})})
        derived[each.name] = types[each.name], field
    return derived


_SearchFields = create_model("_SearchFields", __base__=Body, **_derive_fields())


class SearchOptions(_SearchFields):  # type: ignore[valid-type, misc]
    """Search options."""

    @property
    def most(self) -> int:
        """The number of results; within a radius, as many as allowed."""
        allowed = min(limits.MAX_RESULTS, max(1, MAX_PLACE - self.offset))
        return SearchParams(self.k, radius=self.radius).k or allowed

    @property
    def params(self) -> SearchParams:
        """Search options."""
        given = {name: getattr(self, name) for name in _SearchFields.model_fields}
        return SearchParams(**{**given, "k": self.most})


class Feedback(Body):
    """Items and words that refine a query."""

    like: list[ItemId] = Field(
        default_factory=list,
        max_length=MAX_IDS,
        description="Ids of items that results should be like, themselves left out.",
    )
    unlike: list[ItemId] = Field(
        default_factory=list,
        max_length=MAX_IDS,
        description="Ids of items that results should not be like, left out too.",
    )
    avoid: list[QueryText] = Field(
        default_factory=list,
        max_length=MAX_AVOIDED,
        description="Words that the text of no result has.",
    )

    def compose(self, text: str | None, image: object = None) -> ComposedQuery:
        """Make a query of these, a text and a picture."""
        return ComposedQuery(text, image, self.like, self.unlike, self.avoid)


class SearchQuery(SearchOptions, Feedback):
    """One query by text, in an address."""

    q: QueryText = Field(
        description="The text as it is typed: a word with a hyphen before it is "
        "avoided, unless it is in double quotes."
    )

    @property
    def query(self) -> ComposedQuery:
        """The query to search for."""
        text, avoided = split_avoided(self.q)
        avoid = [*self.avoid, *avoided]
        return ComposedQuery(text or None, None, self.like, self.unlike, avoid)


class ImageSearch(SearchOptions, Feedback):
    """The form fields of a search by picture."""

    text: QueryText | None = Field(None, description="Words that results should fit.")


class SearchRequest(SearchOptions, Feedback, TextsRequest):
    """One query by text, by the id of an item or several, or many texts at once."""

    id: ItemId | None = Field(
        None, description="Find what is near this item, without itself."
    )

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        parts = any((self.text, self.like, self.unlike, self.avoid))
        if parts + (self.texts is not None) + (self.id is not None) != 1:
            raise ValueError(
                "give one of text, texts and id; like, unlike and avoid go with text, "
                "or without any of them"
            )
        if self.texts and len(self.texts) * self.most > limits.MAX_RESULTS_IN_ALL:
            raise ValueError(
                f"{len(self.texts)} texts with {self.most} results each are more "
                f"than {limits.MAX_RESULTS_IN_ALL} results: give a smaller k"
            )
        return self


class ItemRequest(Body):
    """An item record to write, without its picture.

    Of an item that is there already, what is given replaces what it has; what is
    left out is kept.
    """

    text: ItemText | None = Field(
        default=None, description="Its text; null is as if left out."
    )
    labels: list[Name] = Field(
        default_factory=list,
        max_length=limits.MAX_LABELS,
        description="All its labels; an empty list for none.",
    )
    columns: dict[Name, Cell] = Field(
        default_factory=dict,
        max_length=limits.MAX_COLUMNS,
        description="All its columns; an empty object for none.",
    )


class ItemReply(BaseModel):
    """An item record."""

    id: str
    text: str | None
    image: str | None = Field(description="Where its picture is served.")
    labels: list[str]
    columns: dict[str, Any]
    kind: Literal["pair", "image", "text", "code"]


class WordMatch(BaseModel):
    """A word of the query in an item's text."""

    word: str
    start: int = Field(description="Its first character, in Unicode characters from 0.")
    end: int = Field(description="The character behind its last.")


class Hit(ItemReply):
    """An item that was found."""

    distance: int | None = Field(
        description="Bits in which the codes differ; null where the model knows no "
        "word of the query."
    )
    probability: float | None = Field(
        description="That it is relevant; null where that is not known."
    )
    similar: list[str] | None = Field(
        None, description="With group: ids of the results that it stands for."
    )
    matched: list[WordMatch] = Field(
        description="Where words of the query occur in the text."
    )


class ValueCount(BaseModel):
    """A value of a column and how many items have it."""

    value: Any
    count: int


class FacetsReply(BaseModel):
    """Counts of values over the items that a search can return."""

    items: int = Field(description="How many the search can return.")
    columns: dict[str, list[ValueCount]] = Field(
        description="The most frequent values of each column, and of 'label'. "
        "Conditions on a column rule out none of its own values."
    )
    uncounted: dict[str, str] = Field(description="Columns left out, and why.")


class SearchReply(BaseModel):
    """The results of one query, best first."""

    query: dict[str, Any]
    results: list[Hit]
    scanned: int = Field(description="Codes compared, or ruled out by bounds.")
    milliseconds: float
    notes: list[str] = Field(
        description="What is odd about the conditions, such as a value that no item "
        "has, and how results were sorted."
    )
    facets: FacetsReply | None = Field(None, description="Where requested.")


class BatchReply(BaseModel):
    """The results of each of several texts."""

    batches: list[SearchReply]


class EncodeReply(BaseModel):
    """Codes, each in hexadecimal, the first bit highest."""

    bits: int
    model: str
    codes: list[str]


class PutReply(BaseModel):
    """Confirms that an item is on disk."""

    id: str
    kind: Literal["pair", "image", "text", "code"]
    created: bool = Field(description="False where it replaced an item.")


class LabelCount(BaseModel):
    """A label and how many items have it."""

    name: str
    count: int


class ColumnReply(BaseModel):
    """A column that filters may name."""

    name: str
    values: list[ValueCount] = Field(description="The most frequent ones.")
    value_count: int | None = Field(description="How many different ones there are.")
    numeric: bool
    type: Literal["number", "date", "boolean", "text"]
    counts: dict[str, int] = Field(
        description="How many cells are of each type, and how many items have none."
    )
    min: float | None
    max: float | None


class IndexReply(BaseModel):
    """The contents of the index."""

    items: int
    bits: int
    model: str = Field(description="Fingerprint of the model.")
    method: str
    kinds: dict[str, int] | None
    labels: list[LabelCount] | None = Field(description="The most frequent ones.")
    label_count: int | None = Field(description="How many different ones there are.")
    columns: list[ColumnReply]
    uncounted: str | None = Field(
        description="Why kinds, labels and values are not counted; null where they are."
    )
    has_words: bool = Field(description="Whether texts can be matched by words.")
    has_probability: bool
    can_write: bool
    version: str
    health: dict[str, Any] = Field(description="How well the codes use their bits.")


class NamedIndex(BaseModel):
    """One of the indexes of a service."""

    name: str
    items: int
    bits: int
    is_ready: bool
    address: str = Field(description="What its routes begin with, instead of /v1.")


class IndexesReply(BaseModel):
    """All indexes of a service."""

    indexes: list[NamedIndex]


class ReloadReply(BaseModel):
    """The outcome of a reload."""

    switched: bool = Field(description="Whether another index has taken its place.")


class ErrorContent(BaseModel):
    """An error: what was wrong, and what to do next."""

    code: str
    message: str
    hint: str


class ErrorReply(BaseModel):
    """The one shape of all errors."""

    error: ErrorContent


class StateReply(BaseModel):
    """The state of the service."""

    status: str
