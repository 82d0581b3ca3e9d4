"""Index: the codes of pairs under their ids, with the model that makes them."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from fdch.codes import Codes
from fdch.data.pairs import Broken, PairedSet, require_broken, require_pairs
from fdch.data.pictures.images import Pictures
from fdch.errors import DataError
from fdch.evaluation.calibration import Calibration
from fdch.index.opening import create_store, open_store, require_folder
from fdch.index.store import Item, Kind, require_several
from fdch.methods._base import HashMethod
from fdch.progress import Progress, Update, silent
from fdch.retrieval.adding import AddedPairs, add_pairs
from fdch.retrieval.open_index import OpenIndex
from fdch.runs.code_files import read_encoded
from fdch.runs.run import Run, copy_model, save_run
from fdch.training.context import PLAIN, Context

if TYPE_CHECKING:
    from fdch.index.storage.repair import Repair

PICTURES_AT_A_TIME = 128
ROWS_AT_A_TIME = 8192


class Index(OpenIndex):
    """Codes of pairs under their ids, with the model that makes them.

    What `add` and `remove` have done when they return is on disk, or with the
    server. Many may read an index at a time; one may write to a folder.

    Args:
        store: Where the codes are.
        context: Device and progress of encoding.
    """

    @classmethod
    def create(
        cls,
        name: str | Path,
        model: HashMethod | Run,
        *,
        calibration: Calibration | None = None,
        context: Context = PLAIN,
    ) -> Self:
        """Make an empty index for the codes of a model, and keep the model in it.

        Args:
            name: A folder to make, or milvus://host:port/collection.
            model: A fitted method, or a run.
            calibration: How probable a result at a distance is, by
                `fdch.runs.encoding.calibrate`; a run brings its own.
            context: Device and progress of encoding.
        """
        method = model.method if isinstance(model, Run) else model
        write = partial(_write_model, model, calibration)
        store = create_store(name, method.bits, write, {"method": model.name})
        return cls(store, context)

    @classmethod
    def open(
        cls, name: str | Path, *, writable: bool = False, context: Context = PLAIN
    ) -> Self:
        """Open an index.

        Args:
            name: A folder, or milvus://host:port/collection.
            writable: Whether to add or remove items.
            context: Device and progress of encoding.
        """
        return cls(open_store(name, writable), context)

    @staticmethod
    def repair(name: str | Path) -> "Repair":
        """Keep all that is intact of a damaged index folder, which nobody has open.

        Returns:
            What was restored, what is lost, and what is still wrong.
        """
        from fdch.index.storage.repair import repair_folder
        from fdch.retrieval.rebuilding import model_encoder

        folder = require_folder(name)
        return repair_folder(folder, partial(model_encoder, folder))

    def add(
        self,
        pairs: PairedSet,
        *,
        broken: Broken = "refuse",
        merge: bool = True,
        progress: Progress = silent,
    ) -> AddedPairs:
        """Encode pairs and add them, some at a time; each time is on disk at once.

        A pair gets its unified code where the method has one, else that of its
        picture; a single picture or text its own. A row whose id is known replaces
        that item. Where it lacks a side that the item has, it is joined with it.

        Args:
            pairs: Rows with a picture, a text, or both; labels may be missing.
            broken: Whether a row without anything to encode is refused or skipped.
            merge: Whether a row that is joined keeps the item's labels where it has
                none, and the item's cells in columns where it has none.
            progress: Called with the number of items added.
        """
        require_broken(broken)
        require_pairs(pairs)
        is_slow = isinstance(pairs.images, Pictures)
        at_a_time = PICTURES_AT_A_TIME if is_slow else ROWS_AT_A_TIME
        context = Context(silent, self.context.device)
        total = AddedPairs(skipped=pairs.skipped)
        for start in range(0, len(pairs), at_a_time):
            some = pairs[start : start + at_a_time]
            with self._changing:
                total += add_pairs(
                    self.store, self.method, some, broken, merge, context
                )
            done = min(start + at_a_time, len(pairs))
            progress(Update("indexing", done, len(pairs), "item"))
        return total

    def add_codes(
        self,
        ids: Sequence[str],
        codes: Codes,
        *,
        model: str,
        kinds: Sequence[Kind] | None = None,
    ) -> AddedPairs:
        """Add ready codes.

        Args:
            ids: One to each code.
            codes: Made by the index's model.
            model: Fingerprint of the model that made them.
            kinds: What each was made of, where that is known.
        """
        self.require_model(model, "these codes")
        require_several("ids", ids)
        if not len(ids) == len(codes) == len(kinds or ids):
            raise DataError(f"{len(ids)} ids were given for {len(codes)} codes.")
        found = AddedPairs()
        for start in range(0, len(ids), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            some = zip(ids[rows], (kinds or ["code"] * len(ids))[rows], strict=True)
            items = [Item(name, kind=kind) for name, kind in some]
            with self._changing:
                added = self.store.add(items, codes[rows])
            found += AddedPairs(added.new, added.replaced)
        return found

    def add_numbered(self, codes: Codes, *, model: str) -> range:
        """Add ready codes, all or none, whose ids are running numbers.

        For millions of codes that need no ids of their own: these take next to no
        time and room. An index folder can do it, a server cannot.

        Args:
            codes: Made by the index's model.
            model: Fingerprint of the model that made them.

        Returns:
            The numbers. They count all that was ever added, from 0; the id of an
            item is its number in digits.

        Raises:
            DataError: An item has one of these ids already.
        """
        self.require_model(model, "these codes")
        with self._changing:
            return self._folder.add_numbered(codes)

    def add_encoded(self, path: str | Path) -> AddedPairs:
        """Add the codes of a file that `fdch encode` wrote."""
        file = read_encoded(Path(path))
        self.require_model(file.model, f"the codes in '{path}'")
        return self.add_codes(file.ids, file.codes, model=file.model, kinds=file.kinds)

    def update(self, items: Sequence[Item]) -> None:
        """Replace what is known of items, which keep their codes.

        Raises:
            DataError: One of them is not in the index.
        """
        if not items:
            return
        with self._changing:
            self.store.add(items, self.store.codes([item.id for item in items]))

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove items; give those of the ids that were not there."""
        require_several("ids", ids)
        with self._changing:
            return self.store.remove(ids)

    def items(self, ids: Sequence[str]) -> list[Item | None]:
        """Give what is known of items, None for an unknown id."""
        require_several("ids", ids)
        return self.store.items(ids)


def _write_model(
    model: HashMethod | Run, calibration: Calibration | None, folder: Path
) -> str:
    if isinstance(model, Run):
        return copy_model(model, folder).fingerprint
    return save_run(folder, model.name, model, None, {}, calibration).fingerprint
