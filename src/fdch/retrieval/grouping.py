"""Results that are nearly the same, put under the first of them."""

from collections.abc import Sequence
from dataclasses import replace

from fdch.codes import Codes, hamming_distances
from fdch.data.words import cut_words
from fdch.retrieval.results import Result

LOOKAHEAD = 100  # places after the first of a group in which others belong to it
MIN_SHARED = 0.8  # of the different words of two texts


def group_results(
    ranked: Sequence[Result], codes: Codes, bits: int, is_all: bool
) -> list[Result]:
    """Keep the first of each group, with the ids of the others.

    A result belongs to the first one before it, up to 100 places, whose code differs
    in so many bits at most and whose text shares four of five words, if both have one.
    So what belongs together does not depend on the page.

    Args:
        ranked: The best first.
        codes: Of these.
        bits: In which codes may differ.
        is_all: Whether no result follows; else groups that may grow are left out.
    """
    words = [None if one.text is None else {*cut_words(one.text)} for one in ranked]
    similar: dict[int, list[str]] = {}  # by the place of the first
    heads: list[int] = []
    for place, one in enumerate(ranked):
        heads = [head for head in heads if head >= place - LOOKAHEAD]
        near = hamming_distances(codes[[place]], codes[heads])[0] <= bits
        alike = (
            head
            for head, is_near in zip(heads, near, strict=True)
            if is_near and _share_most(words[head], words[place])
        )
        head = next(alike, None)
        if head is None:
            similar[place] = []
            heads.append(place)
        else:
            similar[head].append(one.id)
    ends = len(ranked) if is_all else len(ranked) - LOOKAHEAD
    return [
        replace(ranked[head], similar=tuple(ids))
        for head, ids in similar.items()
        if head < ends
    ]


def _share_most(one: set[str] | None, other: set[str] | None) -> bool:
    """Say whether two texts are nearly the same; what has none may be."""
    if one is None or other is None:
        return True
    return len(one & other) >= MIN_SHARED * len(one | other)
