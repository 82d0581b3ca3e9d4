"""Any sequence of changes to an index against a dictionary that does the same."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fdch.codes import Codes, hamming_distances
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Added, Condition, Item

BITS = 12
ids = st.sampled_from([*"abcdefgh", "3", "17"])
numbers = st.integers(0, 2**BITS - 1)
colours = st.sampled_from(["red", "green", None, 7])


def to_codes(values):
    shifted = np.array(values, dtype=">u2").reshape(-1, 1) << (16 - BITS)
    return Codes(shifted.astype(">u2").view(np.uint8).reshape(-1, 2), BITS)


class IndexAndDictionary(RuleBasedStateMachine):
    """The dictionary keeps items in order of insertion: id to item and code."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder = CodeFolder.create(self.place / "index", BITS, "model")
        self.known: dict[str, tuple[Item, int]] = {}

    @rule(batch=st.lists(st.tuples(ids, numbers, colours), max_size=5))
    def add(self, batch):
        batch = list({one[0]: one for one in batch}.values())
        items = [Item(id, text=id, columns={"c": colour}) for id, _, colour in batch]
        codes = [code for _, code, _ in batch]
        replaced = sum(item.id in self.known for item in items)
        expected = Added(len(items) - replaced, replaced)
        assert self.folder.add(items, to_codes(codes)) == expected
        for item, code in zip(items, codes, strict=True):
            self.known.pop(item.id, None)
            self.known[item.id] = item, code

    @precondition(lambda self: not {"3", "17"} & set(self.known))
    @rule(codes=st.lists(numbers, max_size=8))
    def add_numbered(self, codes):
        added = self.folder.add_numbered(to_codes(codes))
        assert len(added) == len(codes)
        for number, code in zip(added, codes, strict=True):
            self.known[str(number)] = Item(str(number)), code

    @rule(some=st.lists(ids | st.integers(0, 30).map(str), max_size=5))
    def remove(self, some):
        gone = [id for id in dict.fromkeys(some) if id not in self.known]
        assert self.folder.remove(some) == gone
        for id in some:
            self.known.pop(id, None)

    @rule()
    def compact(self):
        self.folder.compact()

    @rule(writable=st.booleans())
    def reopen(self, writable):
        self.folder.close()
        assert verify_folder(self.place / "index").is_clean
        if not writable:
            with CodeFolder.open(self.place / "index") as self.folder:
                self.is_the_same()
        self.folder = CodeFolder.open(self.place / "index", writable=True)

    @rule(query=numbers, k=st.integers(1, 12), colour=st.none() | colours)
    def search(self, query, k, colour):
        known = self.known
        where = []
        columns = self.folder.describe()["columns"]
        assert isinstance(columns, list)
        if colour is not None and "c" in columns:
            where = [Condition("c", "=", (str(colour),))]
            known = {
                id: (item, code)
                for id, (item, code) in known.items()
                if item.columns.get("c") == colour
            }
        ranking = sorted(
            ((query ^ code).bit_count(), place, id)
            for place, (id, (_, code)) in enumerate(known.items())
        )
        (answer,) = self.folder.search(to_codes([query]), k, where=where)
        assert answer.ids == tuple(id for *_, id in ranking[:k])
        assert answer.distances.tolist() == [far for far, *_ in ranking[:k]]
        assert np.array_equal(
            hamming_distances(answer.codes, to_codes([query]))[:, 0], answer.distances
        )
        (answer,) = self.folder.search(to_codes([query]), radius=4, where=where, k=k)
        near = tuple(id for far, _, id in ranking if far <= 4)
        assert answer.ids == near[:k]

    @invariant()
    def is_the_same(self):
        assert len(self.folder) == len(self.known)
        names = list(self.known)
        assert self.folder.items(names) == [item for item, _ in self.known.values()]
        codes = to_codes([code for _, code in self.known.values()])
        assert self.folder.fetch(names).codes == codes

    def teardown(self):
        assert self.folder.verify().is_clean
        self.folder.close()
        shutil.rmtree(self.place)


TestIndexAndDictionary = IndexAndDictionary.TestCase
TestIndexAndDictionary.settings = settings(stateful_step_count=25)
