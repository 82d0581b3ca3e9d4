"""Queries of several parts: words, a picture, items, words to avoid."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fdch.data.words import cut_words
from fdch.errors import SettingError
from fdch.index.store import require_several

QueryKind = Literal["text", "image", "id", "composed"]
MAX_IDS = 32  # of items to be like or unlike, together
MAX_AVOIDED = 16
_AVOIDED = re.compile(r"(?<!\S)-(\w\S*)")


@dataclass(frozen=True, eq=False)
class ComposedQuery:
    """What to search for, in any of several ways at once.

    Args:
        text: Words that results should fit.
        image: A picture that they should fit.
        like: Ids of items that they should be like; these are no results.
        unlike: Ids of items that they should not be like; these are no results.
        avoid: Words, or several in their order, that the text of no result has.

    >>> ComposedQuery(text="bag", avoid=["Red"]).to_json()
    {'text': 'bag', 'avoid': ['Red']}
    """

    text: Any = None
    image: Any = None
    like: Sequence[str] = ()
    unlike: Sequence[str] = ()
    avoid: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("like", "unlike", "avoid"):
            object.__setattr__(self, name, _read_names(name, getattr(self, name)))
        if self.text is None and self.image is None and not self.like:
            raise SettingError(
                "there is nothing to search for; give text, image or like. Items to be "
                "unlike and words to avoid only refine a query."
            )
        if both := sorted({*self.like} & {*self.unlike}):
            raise SettingError(
                f"'{both[0]}' is in like and in unlike; leave it out of one of them."
            )
        _require_few("like and unlike", len(self.like) + len(self.unlike), MAX_IDS)
        _require_few("avoid", len(self.avoid), MAX_AVOIDED)
        for each in self.avoid:
            if not cut_words(each):
                raise SettingError(f"'{each[:100]}' in avoid has no word in it.")

    @property
    def ids(self) -> tuple[str, ...]:
        """The items to be like, then those to be unlike."""
        return (*self.like, *self.unlike)

    @property
    def simplest(self) -> tuple[QueryKind, Any]:
        """The kind and the value to search with: of a single part, that part's own."""
        given: list[tuple[QueryKind, Any]] = [
            ("text", self.text),
            ("image", self.image),
        ]
        given += [("id", name) for name in self.like]
        found = [(kind, value) for kind, value in given if value is not None]
        is_single = len(found) == 1 and not self.unlike and not self.avoid
        return found[0] if is_single else ("composed", self)

    def to_json(self) -> dict[str, Any]:
        """Return the parts, without the picture, as plain values."""
        names = ("like", "unlike", "avoid")
        found = {name: list(getattr(self, name)) for name in names}
        text = {} if self.text is None else {"text": self.text}
        return text | {name: value for name, value in found.items() if value}


def split_avoided(text: str) -> tuple[str, list[str]]:
    """Take the words to avoid, each with a hyphen before it, out of what was typed.

    A hyphen inside a word is part of it; a word in double quotes is never avoided.

    >>> split_avoided('t-shirt -red "-blue"')
    ('t-shirt "-blue"', ['red'])
    """
    avoided = _AVOIDED.findall(text)
    return " ".join(_AVOIDED.sub("", text).split()) if avoided else text, avoided


def contains_phrase(text: str | None, phrases: Sequence[str]) -> bool:
    """Return whether a text has one of some words, or several in their order.

    >>> contains_phrase("A red bag.", ["Red"]), contains_phrase("reddish", ["red"])
    (True, False)
    """
    words = f" {' '.join(cut_words(text or ''))} "
    return any(f" {' '.join(cut_words(each))} " in words for each in phrases)


def _read_names(name: str, given: object) -> tuple[str, ...]:
    require_several(name, given)
    if not isinstance(given, Sequence) or not all(
        isinstance(each, str) for each in given
    ):
        raise SettingError(f"{name} must be a list of texts; got {str(given)[:100]!r}.")
    return tuple(dict.fromkeys(given))


def _require_few(what: str, count: int, most: int) -> None:
    if count > most:
        raise SettingError(f"{what} may have {most} entries at most; got {count}.")
