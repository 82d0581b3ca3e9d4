"""What can be done with an open index besides adding and removing items."""

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DamagedIndex, DataError, ModelMismatch
from fdch.index.opening import IndexStore, require_folder, store_info
from fdch.methods._base import HashMethod
from fdch.progress import Progress, silent
from fdch.retrieval.params import DEFAULT_K, SearchParams, Where
from fdch.runs.run import Run, open_run
from fdch.runs.run_files import RunFacts, read_facts
from fdch.training.context import PLAIN, Context

if TYPE_CHECKING:
    from fdch.index.storage.folder import CodeFolder
    from fdch.index.storage.verification import Verification


class Neighbours(NamedTuple):
    """The items nearest to some codes, nearest first.

    Args:
        ids: Of the items, (queries, found).
        distances: Their Hamming distances, (queries, found).
    """

    ids: NDArray[Any]
    distances: NDArray[np.int64]


class OpenIndex:
    """An index that is open: what it is, its model, and its upkeep."""

    def __init__(self, store: IndexStore, context: Context = PLAIN) -> None:
        self.store = store
        self.context = context
        # what is known of an item is read, joined and written by one at a time
        self._changing = threading.RLock()

    def __len__(self) -> int:
        return len(self.store)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.store.items([name])[0] is not None

    def __repr__(self) -> str:
        return f"<Index {self.store.name!r}, {self.bits} bits>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files or connections."""
        self.store.close()

    @property
    def bits(self) -> int:
        """Length of the codes."""
        return self.store.bits

    @property
    def fingerprint(self) -> str:
        """Which model makes the codes."""
        return self.store.model

    @cached_property
    def model(self) -> RunFacts:
        """The model's description, read without loading the model."""
        facts = read_facts(self.store.model_folder())
        self._require_own(facts.fingerprint)
        return facts

    @cached_property
    def run(self) -> Run:
        """The model, opened when it is first used."""
        run = open_run(self.store.model_folder(), self.context)
        self._require_own(run.fingerprint)
        return run

    @property
    def method(self) -> HashMethod:
        """What encodes items and queries."""
        return self.run.method

    def search(
        self, codes: Codes, k: int = DEFAULT_K, *, where: Where = None
    ) -> Neighbours:
        """Find the items nearest to codes of the index's own model.

        Args:
            codes: What to search with, one query to the row.
            k: The most results of each query.
            where: Conditions that results must all fulfil, such as "price<=20".

        Returns:
            Ids and distances, a row to each query, ties in the order of insertion.
            All rows are as long as k, or as there are items that fulfil the
            conditions.
        """
        if not isinstance(codes, Codes):
            raise DataError(
                f"an index is searched with Codes; got {type(codes).__name__}. Encode "
                "with index.method, or pack signs with Codes.from_signs."
            )
        params = SearchParams(k, where=where)
        assert params.k is not None
        answers = self.store.nearest(codes, params.k, params.conditions)
        found = min((len(each.ids) for each in answers), default=0)
        ids = np.empty((len(answers), found), dtype=object)
        distances = np.empty((len(answers), found), dtype=np.int64)
        for row, each in enumerate(answers):
            ids[row], distances[row] = each.ids[:found], each.distances[:found]
        return Neighbours(ids, distances)

    def info(self) -> dict[str, object]:
        """Say what the index holds, as 'fdch index info' does; plain values."""
        return store_info(self.store)

    def compact(self, progress: Progress = silent) -> None:
        """Reclaim the space of removed items, and make searching faster."""
        with self._changing:
            self._folder.compact(progress)

    def verify(self, progress: Progress = silent) -> "Verification":
        """Look at every byte of the index; `problems` of the answer is what is wrong.

        Raises:
            IndexBusy: Another process is writing.
        """
        return self._folder.verify(progress)

    def duplicates(
        self, radius: int = 0, progress: Progress = silent
    ) -> list[tuple[str, ...]]:
        """Group the ids of items that are within so many bits of another's code.

        Returns:
            Groups of two or more, the largest first.
        """
        return self._folder.duplicates(radius, progress)

    @property
    def _folder(self) -> "CodeFolder":
        """The store, where it is a folder; a server looks after itself."""
        from fdch.index.storage.folder import CodeFolder

        if not isinstance(self.store, CodeFolder):
            require_folder(self.store.name)
        return cast("CodeFolder", self.store)

    def require_model(self, fingerprint: str, what: str) -> None:
        """Refuse what another model has made."""
        if fingerprint != self.fingerprint:
            raise ModelMismatch(
                f"{what} were made by model {fingerprint}; this index holds codes of "
                f"model {self.fingerprint}. Encode them with the index's own model."
            )

    def _require_own(self, fingerprint: str) -> None:
        if fingerprint != self.fingerprint:
            raise DamagedIndex(
                f"the model in this index is {fingerprint}, but its codes were made by "
                f"{self.fingerprint}. Restore the index from a copy, or create it "
                "again."
            )
