"""Index: the codes of pairs under their ids, with the model that makes them."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.data.pairs import Broken, PairedSet, require_broken, require_pairs
from fdch.errors import DamagedIndex, DataError, ModelMismatch
from fdch.evaluation.calibration.model import Calibration
from fdch.index.column_types import find_types, require_typed_columns
from fdch.index.decimal_commas import read_decimal_commas
from fdch.index.opening import create_store, open_store, require_folder
from fdch.index.store import (
    CodeStore,
    ColumnType,
    Item,
    Kind,
    Vectors,
    read_ids,
)
from fdch.methods._base import HashMethod
from fdch.progress import Progress, Update, silent
from fdch.retrieval.adding import AddedPairs, add_parts, refuse_other_items
from fdch.retrieval.ordering import vector_bytes
from fdch.retrieval.params import DEFAULT_K, SearchParams, Where
from fdch.runs.code_files import read_encoded
from fdch.runs.engines import Engine, LocalEngine, cut_into_parts
from fdch.runs.run import Run, copy_model, open_run, save_run
from fdch.runs.run_files import RunFacts, read_facts
from fdch.training.context import PLAIN, Context

if TYPE_CHECKING:
    from fdch.index.storage.folder import CodeFolder
    from fdch.index.storage.maintenance.repair import Repair
    from fdch.index.storage.maintenance.verification import Verification

PICTURES_AT_A_TIME = 128
ROWS_AT_A_TIME = 8192


class Neighbours(NamedTuple):
    """Ids of the items nearest to some codes, and their distances, (queries, found)."""

    ids: NDArray[Any]
    distances: NDArray[np.int64]


class Index:
    """Codes of pairs under their ids, with the model that makes them.

    What `add` and `remove` have done when they return is on disk, or with the
    server. Many may read an index at a time; one may write to a folder.

    `context` has the device and the progress of encoding.
    """

    def __init__(self, store: CodeStore, context: Context = PLAIN) -> None:
        self.store = store
        self.context = context
        # an item record is read, joined and written by one at a time
        self._changing = threading.RLock()

    def __len__(self) -> int:
        return len(self.store)

    def __contains__(self, name: object) -> bool:
        return self.store.items(read_ids([name]))[0] is not None

    def __repr__(self) -> str:
        return f"<Index {self.store.name!r}, {self.bits} bits>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Close files or connections."""
        self.store.close()

    @classmethod
    def create(
        cls,
        name: str | Path,
        model: HashMethod | Run,
        *,
        calibration: Calibration | None = None,
        context: Context = PLAIN,
        types: Mapping[str, ColumnType] | None = None,
    ) -> Self:
        """Make an empty index for the codes of a model, and keep the model in it.

        It is a folder, or milvus://host:port/collection. A run brings its own
        calibration; `fdch.runs.encoding.calibrate` makes one for a method. `types`
        says how columns are compared ("number", "date", "boolean", "text"); those of
        other columns are found when they are added.
        """
        method = model.method if isinstance(model, Run) else model
        if not isinstance(method, HashMethod):
            raise DataError(
                "an index is made with a fitted method or a run; got "
                f"{str(method)[:80]!r}. open_run('runs/a') opens a run."
            )
        write = partial(_write_model, model, calibration)
        facts, width = {"method": model.name}, vector_bytes(method)
        store = create_store(name, method.bits, write, facts, width, types)
        return cls(store, context)

    @classmethod
    def open(
        cls, name: str | Path, *, writable: bool = False, context: Context = PLAIN
    ) -> Self:
        """Open a folder, or milvus://host:port/collection."""
        return cls(open_store(name, writable), context)

    @staticmethod
    def repair(name: str | Path) -> "Repair":
        """Keep all that is intact of a damaged index folder, which nobody has open."""
        from fdch.index.storage.maintenance.repair import repair_folder
        from fdch.retrieval.rebuilding import model_encoder

        folder = require_folder(name)
        return repair_folder(folder, partial(model_encoder, folder))

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

    def add(
        self,
        pairs: PairedSet,
        *,
        broken: Broken = "refuse",
        merge: bool = True,
        progress: Progress = silent,
        engine: Engine | None = None,
        types: Mapping[str, ColumnType] | None = None,
    ) -> AddedPairs:
        """Encode pairs and add them, some at a time; each time is on disk at once.

        A pair gets its unified code where the method has one, else that of its
        picture; a single picture or text its own. A row whose id is known replaces
        that item; where ids are only row numbers, it may replace only the same text
        and picture, and where they are paths in a folder, the same picture. Where it
        lacks a side that the item has, it is joined with it; with `merge` it then
        keeps the item's labels and cells that it lacks itself.
        A row without anything to encode is refused, or skipped with `broken="skip"`.
        `engine` encodes; by default this process does. `types` says how columns are
        compared; those of other new columns are found, by all of their cells. Decimal
        commas are read as numbers where a column is written so.
        """
        require_broken(broken)
        require_pairs(pairs)
        require_typed_columns(types or (), {**self.store.types(), **pairs.columns})
        columns = read_decimal_commas(pairs.columns, self.store.types(), types)
        pairs = replace(pairs, columns=columns)
        self.set_types({**self._find_types(pairs), **(types or {})})
        parts = cut_into_parts(pairs, PICTURES_AT_A_TIME, ROWS_AT_A_TIME)
        engine = engine or LocalEngine(self.method, self.context)
        total, done = AddedPairs(skipped=pairs.skipped), 0
        steps = add_parts(self.store, self.method, engine, parts, broken, merge)
        with closing(steps):
            while True:
                with self._changing:
                    added = next(steps, None)
                if added is None:
                    return total
                total += added
                done += added.new + added.replaced + len(added.skipped)
                progress(Update("indexing", done, len(pairs), "item"))

    def set_types(self, types: Mapping[str, ColumnType]) -> None:
        """Choose how columns are compared: "number", "date", "boolean" or "text"."""
        if types:
            with self._changing:
                self.store.set_types(types)

    def _find_types(self, pairs: PairedSet) -> dict[str, ColumnType]:
        """Find the types of columns that are new, by all of their cells."""
        if not self.store.keeps_types:
            return {}
        new = pairs.columns.keys() - self.store.types().keys()
        return find_types({name: pairs.columns[name] for name in new})

    def add_codes(
        self,
        ids: Sequence[str],
        codes: Codes,
        *,
        model: str,
        kinds: Sequence[Kind] | None = None,
        vectors: Vectors | None = None,
        numbered: bool = False,
    ) -> AddedPairs:
        """Add ready codes under ids, with what each was made of if that is known.

        An item that is there gets the code, and keeps its text, picture, labels and
        columns; where ids are only row numbers (`numbered`), it must have that code
        already. `model` is the fingerprint of the model that made the codes: the
        index's own. Where that gives vectors, they are needed too.
        """
        self.require_model(model, "these codes")
        ids = read_ids(ids)
        kinds = ["code"] * len(ids) if kinds is None else kinds
        for what, given in (("ids", ids), ("kinds", kinds)):
            if len(given) != len(codes):
                raise DataError(
                    f"{len(given)} {what} were given for {len(codes)} codes."
                )
        found = AddedPairs()
        for start in range(0, len(ids), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            names = ids[rows]
            some = None if vectors is None else vectors[rows]
            with self._changing:
                items = [
                    replace(known or Item(name), kind=kind)
                    for name, known, kind in zip(
                        names, self.store.items(names), kinds[rows], strict=True
                    )
                ]
                if numbered:
                    refuse_other_items(self.store, items, codes[rows], by_codes=True)
                added = self.store.add(items, codes[rows], some)
            found += AddedPairs(added.new, added.replaced)
        return found

    def add_numbered(
        self, codes: Codes, *, model: str, vectors: Vectors | None = None
    ) -> range:
        """Add ready codes, all or none, whose ids are running numbers.

        For millions of codes that need no ids of their own: these take next to no
        time and room. An index folder can do it, a server cannot. The numbers count
        all that was ever added, from 0; an item's id is its number in digits.
        """
        self.require_model(model, "these codes")
        with self._changing:
            return self._folder.add_numbered(codes, vectors)

    def add_encoded(self, path: str | Path) -> AddedPairs:
        """Add the codes of a file that `fdch encode` wrote."""
        file = read_encoded(Path(path))
        self.require_model(file.model, f"the codes in '{path}'")
        return self.add_codes(
            file.ids,
            file.codes,
            model=file.model,
            kinds=file.kinds,
            vectors=file.vectors,
            numbered=file.numbered,
        )

    def update(self, items: Sequence[Item]) -> None:
        """Replace item records; items keep their codes and vectors."""
        if not items:
            return
        with self._changing:
            _, codes, vectors = self.store.fetch([item.id for item in items])
            self.store.add(items, codes, vectors)

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove items; return those of the ids that were not there."""
        with self._changing:
            return self.store.remove(read_ids(ids))

    def items(self, ids: Sequence[str]) -> list[Item | None]:
        """Return item records, None for an unknown id."""
        return self.store.items(read_ids(ids))

    def search(
        self, codes: Codes, k: int = DEFAULT_K, *, where: Where = None
    ) -> Neighbours:
        """Find the k items nearest to each code, ties in the order of insertion.

        Fewer are found only where fewer items fulfil the conditions.
        """
        if not isinstance(codes, Codes):
            raise DataError(
                f"an index is searched with Codes; got {type(codes).__name__}. Encode "
                "with index.method, or pack signs with Codes.from_signs."
            )
        params = SearchParams(k, where=where)
        answers = self.store.search(codes, params.k, where=params.conditions)
        found = min((len(each.ids) for each in answers), default=0)
        ids = np.empty((len(answers), found), dtype=object)
        distances = np.empty((len(answers), found), dtype=np.int64)
        for row, each in enumerate(answers):
            ids[row], distances[row] = each.ids[:found], each.distances[:found]
        return Neighbours(ids, distances)

    def info(self) -> dict[str, object]:
        """Return what 'fdch index info' prints, as plain values."""
        return self.store.describe()

    def compact(self, progress: Progress = silent) -> None:
        """Reclaim the space of removed items, and make searching faster."""
        with self._changing:
            self._folder.compact(progress)

    def verify(self, progress: Progress = silent) -> "Verification":
        """Check every byte of the index; the result lists the `problems`."""
        return self._folder.verify(progress)

    def duplicates(
        self, radius: int = 0, progress: Progress = silent
    ) -> list[tuple[str, ...]]:
        """Group the ids of items within so many bits of another, largest first.

        At radius 0 their vectors are equal too, where the index stores some.
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


def _write_model(
    model: HashMethod | Run, calibration: Calibration | None, folder: Path
) -> str:
    if isinstance(model, Run):
        return copy_model(model, folder).fingerprint
    return save_run(folder, model, calibration=calibration).fingerprint
