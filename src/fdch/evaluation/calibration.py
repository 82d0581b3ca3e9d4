"""How probable it is that a result is relevant, by its distance from the query.

One curve for each kind of query and each kind of code found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.errors import DataError
from fdch.evaluation.fields import Fields

SIDES = ("image", "text", "pair")
STEPS = 4  # of a weighted distance, to the bit
DECIMALS = 6

Share = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Probabilities that never rise with the distance.

    Args:
        plain: At each Hamming distance, (bits + 1,).
        weighted: At each step of a weighted distance, (STEPS * bits + 1,).
    """

    plain: Share
    weighted: Share


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a distance means, for codes of one model.

    Args:
        bits: Length of the codes.
        pairs: Held-out pairs that it was fitted on.
        curves: By what asks, then by what the code found was made of.
    """

    bits: int
    pairs: int
    curves: Mapping[str, Mapping[str, Curve]]

    def probabilities(
        self,
        asking: str,
        kinds: Sequence[str],
        distances: ArrayLike,
        weighted: bool = False,
    ) -> list[float | None]:
        """Give the probability of each result; None where nothing is known.

        Args:
            asking: What the query's code was made of.
            kinds: What each result's code was made of.
            distances: Of each result, (results,).
            weighted: They are weighted distances.
        """
        known = self.curves.get(asking, {})
        places = places_of(np.asarray(distances), self.bits, weighted)
        found: list[float | None] = []
        for kind, place in zip(kinds, places.tolist(), strict=True):
            curve = known.get(kind)
            if curve is None:
                found.append(None)
            else:
                found.append(
                    float((curve.weighted if weighted else curve.plain)[place])
                )
        return found

    def farthest(self, asking: str, least: float) -> int:
        """Give the largest distance at which any result may be so probable, or -1."""
        curves = self.curves.get(asking, {}).values()
        return max((int((c.plain >= least).sum()) - 1 for c in curves), default=-1)

    def surest(self, asking: str) -> float:
        """Give the largest probability that any result may have."""
        curves = self.curves.get(asking, {}).values()
        return max((float(max(c.plain[0], c.weighted[0])) for c in curves), default=0.0)

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        curves = {
            asking: {
                kind: {
                    "plain": curve.plain.tolist(),
                    "weighted": curve.weighted.tolist(),
                }
                for kind, curve in found.items()
            }
            for asking, found in self.curves.items()
        }
        return {"bits": self.bits, "pairs": self.pairs, "curves": curves}

    @classmethod
    def from_json(cls, document: object) -> "Calibration":
        """Read what `to_json` wrote; wrong values are named."""
        given = Fields(document, "calibration")
        bits, asked = given.whole("bits", 1), given.inner("curves")
        curves = {}
        for asking in asked.document:
            inner = asked.inner(asking)
            curves[asking] = {
                kind: _read_curve(inner.inner(kind), bits) for kind in inner.document
            }
            strange = [name for name in (asking, *curves[asking]) if name not in SIDES]
            if strange:
                raise DataError(
                    f"calibration.curves has '{strange[0]}'; known are "
                    f"{', '.join(SIDES)}."
                )
        return cls(bits, given.whole("pairs"), curves)


def calibration_error(probabilities: ArrayLike, relevant: ArrayLike) -> float:
    """Give the expected calibration error over ten bins of equal width.

    >>> calibration_error([0.9, 0.9, 0.1], [1, 1, 0])
    0.1
    """
    said, true = np.asarray(probabilities, np.float64), np.asarray(relevant, np.float64)
    bins = np.minimum((said * 10).astype(np.int64), 9)
    gaps = np.bincount(bins, said - true, minlength=10)
    return round(float(np.abs(gaps).sum() / max(said.size, 1)), DECIMALS)


def places_of(distances: NDArray[Any], bits: int, weighted: bool) -> NDArray[np.int64]:
    """Give the points of a curve at which distances lie."""
    if not weighted:
        return distances.astype(np.int64)
    steps = np.rint(distances * STEPS).astype(np.int64)
    return np.clip(steps, 0, STEPS * bits)


def _read_curve(given: Fields, bits: int) -> Curve:
    sizes = {"plain": bits + 1, "weighted": STEPS * bits + 1}
    read = {name: np.array(given.numbers(name)) for name in sizes}
    for name, size in sizes.items():
        if len(read[name]) != size or np.any(np.diff(read[name]) > 0):
            raise DataError(
                f"{given.place}.{name} must be {size} numbers that never rise."
            )
    return Curve(read["plain"], read["weighted"])
