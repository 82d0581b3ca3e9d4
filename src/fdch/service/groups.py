"""Near codes put together, and all of them laid on a plane to be looked at."""

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes

ROUNDS = 12


def group_codes(
    codes: Codes, most: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], list[int]]:
    """Group codes around majority codes, each code with the nearest of them.

    Args:
        codes: At least one.
        most: Groups at most.
        rng: Draws the first group's middle; the others begin far from the earlier.

    Returns:
        Which group each code is in, largest group 0; and the row nearest to the
        middle of each group.
    """
    signs = codes.signs().astype(np.float32)
    middles = _far_apart(signs, most, rng)
    owners = np.zeros(len(signs), dtype=np.int64)
    for _ in range(ROUNDS):
        owners = (signs @ middles.T).argmax(axis=1)
        sums = np.stack(
            [signs[owners == group].sum(axis=0) for group in range(len(middles))]
        )
        moved = np.where(sums >= 0, np.float32(1), np.float32(-1))
        moved[~sums.any(axis=1)] = middles[~sums.any(axis=1)]
        if np.array_equal(moved, middles):
            break
        middles = moved
    owners = (signs @ middles.T).argmax(axis=1)
    sizes = np.bincount(owners, minlength=len(middles))
    order = [group for group in np.argsort(-sizes, kind="stable") if sizes[group]]
    renamed = np.full(len(middles), -1, dtype=np.int64)
    renamed[order] = np.arange(len(order))
    nearness = signs @ middles.T  # (items, groups)
    centres = [
        int(np.where(owners == group, nearness[:, group], -np.inf).argmax())
        for group in order
    ]
    return renamed[owners], centres


def map_codes(codes: Codes) -> NDArray[np.float32]:
    """Lay codes on the plane along which they differ most, both axes in -1 to 1."""
    signs = codes.signs().astype(np.float32)
    centred = signs - signs.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    plane = centred @ axes[:, ::-1][:, :2]
    if plane.shape[1] < 2:
        plane = np.pad(plane, ((0, 0), (0, 1)))
    plane = plane - (plane.max(axis=0) + plane.min(axis=0)) / 2
    return plane / np.maximum(np.abs(plane).max(axis=0), np.float32(1e-6))


def _far_apart(
    signs: NDArray[np.float32], most: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Choose codes one after another, each likely far from those chosen before."""
    chosen = [int(rng.integers(len(signs)))]
    apart = signs.shape[1] - signs @ signs[chosen[0]]
    while len(chosen) < most and apart.max() > 0:
        weights = apart.astype(np.float64) ** 2
        chosen.append(int(rng.choice(len(signs), p=weights / weights.sum())))
        apart = np.minimum(apart, signs.shape[1] - signs @ signs[chosen[-1]])
    return signs[chosen]
