"""Code health: how well a set of codes uses its bits, whatever they mean."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DataError
from fdch.evaluation.documents import Positive, Share, to_plain

ITEMS_PER_BLOCK = 65_536  # so few that sums of products of signs are exact in float32


@dataclass(frozen=True)
class CodeHealth:
    """How evenly and independently the bits of a set of codes are used."""

    items: Positive  # codes looked at
    bits: int
    # mean sign of each bit: 0 is even, 1 or -1 is constant
    balance: tuple[Annotated[float, (-1, 1)], ...]
    constant_bits: tuple[int, ...]  # positions of bits that never change
    correlation: Share | None  # mean absolute one of bits that change, where two do
    bit_entropy: Share  # mean entropy of a bit, at most 1
    code_entropy: float  # entropy of the distribution over whole codes, in bits
    distinct: int  # different codes in use
    largest_bucket: int  # items that share the most frequent code

    @property
    def largest_share(self) -> float:
        """Share of the items in the largest bucket."""
        return self.largest_bucket / self.items

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and lists."""
        return {**to_plain(self), "largest_share": self.largest_share}


def code_health(codes: Codes) -> CodeHealth:
    """Examine codes, a block at a time.

    >>> from fdch.codes import binarize
    >>> health = code_health(binarize([[1, 1], [1, -1], [1, 1], [1, -1]]))
    >>> health.balance, health.constant_bits, health.distinct
    ((1.0, 0.0), (0,), 2)
    """
    if len(codes) == 0:
        raise DataError("there are no codes to examine; give at least one.")
    sums, products = _moments(codes)
    balance = sums / len(codes)
    buckets = _bucket_sizes(codes)
    shares = buckets / len(codes)
    return CodeHealth(
        items=len(codes),
        bits=codes.bits,
        balance=tuple(balance.tolist()),
        constant_bits=tuple(np.flatnonzero(np.abs(sums) == len(codes)).tolist()),
        correlation=_mean_correlation(balance, products / len(codes)),
        bit_entropy=float(_bit_entropies(balance).mean()),
        # The + 0 turns the -0 of a single bucket into 0.
        code_entropy=float(-(shares * np.log2(shares)).sum()) + 0.0,
        distinct=len(buckets),
        largest_bucket=int(buckets.max()),
    )


def _moments(codes: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum the signs, (bits,), and the products of two, (bits, bits)."""
    sums, products = np.zeros(codes.bits), np.zeros((codes.bits, codes.bits))
    for start in range(0, len(codes), ITEMS_PER_BLOCK):
        signs = codes[start : start + ITEMS_PER_BLOCK].signs().astype(np.float32)
        sums += signs.sum(axis=0)
        products += signs.T @ signs
    return sums, products


def _mean_correlation(
    means: NDArray[np.float64], products: NDArray[np.float64]
) -> float | None:
    varies = np.abs(means) < 1
    number = int(varies.sum())
    if number < 2:
        return None
    means, products = means[varies], products[np.ix_(varies, varies)]
    deviations = np.sqrt(1 - means**2)
    correlations = (products - np.outer(means, means)) / np.outer(
        deviations, deviations
    )
    off_diagonal = np.abs(correlations).sum() - np.abs(np.diag(correlations)).sum()
    return float(off_diagonal / (number * (number - 1)))


def _bit_entropies(means: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.stack([1 + means, 1 - means]) / 2
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(axis=0) + 0.0


def _bucket_sizes(codes: Codes) -> NDArray[np.int64]:
    """Count the items of each distinct code."""
    words = codes.words()
    words = words[np.lexsort(words.T)]
    is_first = np.ones(len(words), dtype=bool)
    is_first[1:] = (words[1:] != words[:-1]).any(axis=1)
    return np.diff(np.append(np.flatnonzero(is_first), len(words)))
