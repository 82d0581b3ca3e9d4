"""What the summed terms of a loss are divided by, and their weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

Reduction = Literal["per_term", "paper"]


@dataclass(frozen=True)
class WeightedSum:
    """Adds weighted loss terms under one of two scalings.

    The papers print sums over all n items and train on batches of b. With
    "paper" every term is divided by n·b, as the released code of this family
    does. A term over single items (quantization, classification) then fades as
    n grows. With "per_term" those are divided by b alone, so that one set of
    weights fits any n; a weight w here equals w·n under "paper".

    Args:
        reduction: "per_term" or "paper".
        items: n, the number of training items.
    """

    reduction: Reduction
    items: int

    def __call__(
        self,
        batch: int,
        over_pairs: Mapping[str, tuple[float, Tensor]],
        over_items: Mapping[str, tuple[float, Tensor]],
        means: Mapping[str, tuple[float, Tensor]] | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Add the terms.

        Args:
            batch: b, the number of items in the batch.
            over_pairs: Weight and sum of terms that couple an item with all n.
            over_items: Weight and sum of terms of single items.
            means: Weight and value of terms that are means already; these are not
                divided, whatever the reduction.

        Returns:
            The loss, and its weighted terms by name, detached, for progress.
        """
        by_pairs = self.items * batch
        by_items = batch if self.reduction == "per_term" else by_pairs
        groups = ((over_pairs, by_pairs), (over_items, by_items), (means or {}, 1))
        return add_weighted(
            {
                name: (weight / divisor, total)
                for group, divisor in groups
                for name, (weight, total) in group.items()
            }
        )


def add_weighted(
    terms: Mapping[str, tuple[float, Tensor]],
) -> tuple[Tensor, dict[str, Tensor]]:
    """Add terms, each a weight and a value.

    Returns:
        The loss, and its weighted terms by name, detached, for progress.
    """
    weighted = {name: weight * value for name, (weight, value) in terms.items()}
    loss = sum(weighted.values(), start=next(iter(weighted.values())).new_zeros(()))
    return loss, {name: term.detach() for name, term in weighted.items()}
