"""The protocol: what must be known of a score before it is compared."""

from dataclasses import asdict, dataclass
from typing import Any

from fdch.evaluation.documents import Positive


@dataclass(frozen=True)
class Protocol:
    """How scores were made; scores of different protocols are not comparable."""

    data: str  # fingerprint of the pairs
    split: str  # fingerprint of the split
    queries: Positive  # pairs used as queries
    database: Positive  # pairs that are searched
    train: int  # pairs trained on, without the validation part
    validation: int = 0  # pairs held out for choosing settings and for calibration
    relevance: str = "shared label"  # when a database item answers a query
    ties: str = "expected"  # how tied items are ranked
    cutoff: Positive | None = None  # rank after which rankings are cut
    seed: int = 0  # seed of the split and the training
    trained_on: str = ""  # fingerprint of the pairs of the training, where known
    # what no two parts of the split share: "pictures", "texts", "both" or nothing
    groups: str = ""
    # how many of the nearest items the method orders by more than their distance
    ordered: int = 0

    def differences(
        self, other: "Protocol", *, besides: tuple[str, ...] = ()
    ) -> dict[str, tuple[Any, Any]]:
        """Name the fields in which two protocols differ, with both values.

        What one of them does not know of its training is no difference, nor is how a
        method orders what it finds.
        """
        besides = (*besides, "ordered")
        if not self.trained_on or not other.trained_on:
            besides = (*besides, "trained_on")
        mine, theirs = asdict(self), asdict(other)
        return {
            name: (mine[name], theirs[name])
            for name in mine
            if name not in besides and mine[name] != theirs[name]
        }

    def describe(self, *, of_a_seed: bool = True) -> str:
        """Describe it in one line; facts of a single seed can be left out."""
        cut = "whole database" if self.cutoff is None else f"cut at {self.cutoff}"
        drawn = f", split {self.split[:12]}, seed {self.seed}" if of_a_seed else ""
        elsewhere = self.trained_on not in ("", self.data)
        origin = f" of data {self.trained_on[:12]}" if elsewhere else ""
        named = {"both": "pictures or texts"}.get(self.groups, self.groups)
        order = f"; the nearest {self.ordered:,} ordered" if self.ordered else ""
        kept = f"; pairs with the same {named} kept in one part" if named else ""
        return (
            f"data {self.data[:12]}{drawn}; "
            f"{self.queries:,} queries, {self.database:,} in the database, "
            f"{self.train:,} for training, {self.validation:,} for validation{origin}"
            f"{kept}; relevance: {self.relevance}; ties: {self.ties}; {cut}{order}"
        )

    def __str__(self) -> str:
        return self.describe()
