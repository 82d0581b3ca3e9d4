"""Codes whose affinities match those of the labels in Kullback-Leibler divergence.

Pairs of items fill an n x n matrix. It is symmetric, so its upper half is worked
through in strips of rows: P of the labels, and N = 1/(1 + distance²/4).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from fdch.errors import LabelError
from fdch.progress import Progress, Update, silent

STRIP = 256
COST_EVERY = 10


@dataclass(frozen=True)
class DescentSchedule:
    """Step sizes of the descent, as in t-SNE."""

    iterations: int  # steps in all
    rate: float  # ε, factor of every step
    momentum: float  # share of the last step kept
    late_momentum: float  # the same from `late` on
    late: int  # step from which it counts
    exaggeration: float  # factor of P while `exaggerated`
    exaggerated: int  # steps at the start for which it counts


SCHEDULES = {
    "A": DescentSchedule(1000, 100.0, 0.5, 0.8, 250, 4.0, 100),
    "B": DescentSchedule(100, 500.0, 0.5, 0.5, 0, 1.0, 0),
}


class LabelAffinities:
    """P, the cosines of label vectors scaled to sum 1, beside a matrix of outputs.

    Labels Y are (n, classes). Outputs to compare have this type and lie on this device;
    `strip` rows are worked on at a time.
    """

    def __init__(
        self,
        Y: NDArray[Any],
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        strip: int = STRIP,
    ) -> None:
        rows = torch.as_tensor(Y, dtype=torch.float64)
        rows = torch.nn.functional.normalize(rows, dim=1)
        total = float(rows.sum(dim=0).square().sum() - rows.square().sum())
        if total < 1e-9:
            raise LabelError(
                f"no two of the {len(rows)} training pairs share a label, so nothing "
                "is alike; give pairs with common labels."
            )
        # the product of two such rows is an entry of P
        rows = (rows / total**0.5).to(device, dtype)
        starts = range(0, len(rows), strip)
        self._strips = [(i, min(i + strip, len(rows))) for i in starts]
        # the diagonal of P should be zero: that of N is, and log N there
        self._P = [rows[i:j] @ rows[i:].T for i, j in self._strips]
        self._N = [torch.empty_like(P) for P in self._P]
        self._room = torch.empty_like(self._P[0]).flatten()

    def update(self, H: Tensor) -> None:
        """Fill N with the affinities of outputs Ĥ, (n, bits)."""
        quarter = H.square().sum(dim=1, keepdim=True) / 4
        one = torch.ones_like(quarter)
        left = torch.cat([H / -2, quarter + 1, one], dim=1)
        right = torch.cat([H, one, quarter], dim=1)
        self._total = 0.0
        for (i, j), N in zip(self._strips, self._N, strict=True):
            torch.mm(left[i:j], right[i:].T, out=N)
            # round-off must not make a distance negative
            N.clamp_(min=1).reciprocal_().diagonal().zero_()
            self._total += _both_halves(N)

    def divergence(self) -> float:
        """Return KL(P‖Q) but for a constant: -ΣP log Q, with Q = N/ΣN."""
        expected = 0.0
        for P, N in zip(self._P, self._N, strict=True):
            logs = torch.log(N, out=self._scratch(N))
            logs.diagonal().zero_()
            expected -= _both_halves(logs.mul_(P))
        return expected + math.log(self._total)

    def gradient(self, H: Tensor, exaggeration: float = 1.0) -> Tensor:
        """Return the gradient of the divergence by the outputs Ĥ that N was made from.

        That is (diag(M1) - M)Ĥ with M = (P - Q) ⊙ N, (n, bits), P times `exaggeration`.
        """
        sums, products = torch.zeros_like(H[:, :1]), torch.zeros_like(H)
        for (i, j), P, N in zip(self._strips, self._P, self._N, strict=True):
            M = torch.mul(N, -1 / self._total, out=self._scratch(N))
            M.add_(P, alpha=exaggeration).mul_(N)
            sums[i:j] += M.sum(dim=1, keepdim=True)
            products[i:j].addmm_(M, H[i:])
            mirrored = M[:, j - i :].T
            sums[j:] += mirrored.sum(dim=1, keepdim=True)
            products[j:].addmm_(mirrored, H[i:j])
        return sums * H - products

    def _scratch(self, like: Tensor) -> Tensor:
        return self._room[: like.numel()].view_as(like)


def descend(
    affinities: LabelAffinities,
    H: Tensor,
    binary_weight: float,
    schedule: DescentSchedule,
    progress: Progress = silent,
) -> Tensor:
    """Minimise KL(P‖Q) + a‖|Ĥ| - 1‖², and give the best outputs on the way, (n, bits).

    `H` are the outputs to start from; a is the weight of the pull towards -1 and +1.
    """
    best, lowest = H, float("inf")
    step, gains = torch.zeros_like(H), torch.ones_like(H)
    for done in range(schedule.iterations + 1):
        affinities.update(H)
        off = H.abs() - 1
        # looking at every cost would take a fifth more time; they fall steadily
        if done % COST_EVERY == 0:
            cost = affinities.divergence()
            cost += binary_weight * float(off.square().sum())
            if cost < lowest:
                best, lowest = H, cost
            update = Update("codes", done, schedule.iterations, "iteration")
            progress(replace(update, values={"cost": cost}))
        factor = schedule.exaggeration if done < schedule.exaggerated else 1.0
        gradient = affinities.gradient(H, factor)
        gradient += 2 * binary_weight * off * (H.ge(0).to(H.dtype) * 2 - 1)
        turned = gradient.sign() != step.sign()
        gains = torch.where(turned, gains + 0.2, gains * 0.8).clamp_(min=0.01)
        is_late = done >= schedule.late
        momentum = schedule.late_momentum if is_late else schedule.momentum
        step = momentum * step - schedule.rate * gains * gradient
        H = H + step
        H = H - H.mean(dim=0)
    return best


def descent_bytes(items: int) -> int:
    """Return how much memory the pairs of so many items take."""
    return 4 * items * (items + 2 * STRIP)


def _both_halves(strip: Tensor) -> float:
    """Sum a strip that begins at the diagonal, and its mirror image."""
    return 2 * float(strip.sum()) - float(strip[:, : len(strip)].sum())
