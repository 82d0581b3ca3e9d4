"""The numbers that the papers print, to stand beside ours."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from fdch.data.pairs import PairedSet

SOURCE = (
    "Wang et al., Fusion-supervised Deep Cross-modal Hashing, 2019; "
    "later methods: their own papers"
)


@dataclass(frozen=True)
class Published:
    """Printed mAP by method, direction and code length; empty for other data.

    >>> Published.of("mirflickr25k").value("fdch", "image_to_text", 16)
    0.7762
    """

    values: Mapping[tuple[str, str, int], float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: str) -> "Published":
        """Give the numbers of a benchmark by the name its reader gives it."""
        content = _content()
        by_direction = content.get(data, {}) if data != "notes" else {}
        values = {
            (method, direction, int(bits)): float(value)
            for direction, methods in by_direction.items()
            for method, lengths in methods.items()
            for bits, value in lengths.items()
        }
        return cls(values, content["notes"] if values else {})

    @classmethod
    def beside(cls, pairs: PairedSet) -> "Published":
        """Give the numbers that belong beside scores on these pairs.

        Only the benchmark itself, with the benchmark's split sizes, has any.
        """
        return cls.of(pairs.name) if pairs.benchmark is not None else cls()

    def value(self, method: str, direction: str, bits: int) -> float | None:
        """Give a printed number, None where the paper has none."""
        return self.values.get((method, direction, bits))


@cache
def _content() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("published.toml").read_text("utf-8")
    return tomllib.loads(text)
