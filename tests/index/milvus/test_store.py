"""The store against a real server; tests/conftest.py says how it is started."""

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.index.store_samples import random_vectors

from fdch.codes import Codes, binarize, hamming_distances
from fdch.errors import DataError, IndexFolderError, ModelMismatch, SettingError
from fdch.index.cells import as_number, write_cell
from fdch.index.milvus import MilvusStore
from fdch.index.store import Added, Condition, Item

MODEL = "a" * 32
BITS = 10  # padded to 16, and short, so that there are ties everywhere
COUNT = 600


def random_codes(count, bits=BITS, seed=0):
    return binarize(np.random.default_rng(seed).standard_normal((count, bits)))


def named(count, first=0):
    return [Item(f"item {number}") for number in range(first, first + count)]


def expected(codes, query, most=None, radius=512):
    distances = hamming_distances(query, codes)[0]
    order = np.argsort(distances, kind="stable")
    return order[distances[order] <= radius][:most]


@pytest.fixture(scope="module")
def filled(milvus_server):
    """A store to read from; tests of this module change nothing in it."""
    url = f"milvus://{milvus_server}/test_{secrets.token_hex(6)}"
    store = MilvusStore.create(url, BITS, MODEL, {"method": "fdch"})
    store.add(ITEMS, random_codes(len(ITEMS)))
    store.add(named(COUNT), random_codes(COUNT, seed=1))
    yield store
    store.close()
    MilvusStore.drop(url)


@pytest.fixture
def store(milvus_url):
    made = MilvusStore.create(milvus_url, BITS, MODEL)
    yield made
    made.close()


CELLS: list[Any] = [
    "10",
    9,
    2.5,
    "2.50",
    -1e300,
    "ten",
    "Ten",
    "",
    " ",
    'a"b',
    "a'b\\",
    "é😀",
]
CELLS += ["x]) or (number >= 0", True, None, 2**62, "1e2", 100, "%s{}", "a\nb\t"]
COLUMNS = ["year", 'a"b\\', "é/~😀"]
ITEMS = [
    Item(
        f"cell {row}",
        text=write_cell(cell) if row % 2 else None,
        image=None if row % 3 else f"pictures/{row}.jpg",
        labels=tuple(write_cell(c) for c in CELLS[row : row + row % 3]),
        columns={} if row == 3 else dict.fromkeys(COLUMNS[row % 2 :], cell),
        kind=("pair", "image", "text", "code")[row % 4],
    )
    for row, cell in enumerate(CELLS)
]
VALUES = [*map(write_cell, CELLS), "9.0", "10.0", "11", "z", "true", "0"]


def fulfils(item, condition):
    """What store.Condition states; labels are compared as texts."""
    of_labels = condition.column == "label"
    cells = item.labels if of_labels else [item.columns.get(condition.column)]
    found = [
        any(
            compare(cell, condition.operator, value, of_labels)
            for value in condition.values
        )
        for cell in cells
        if cell is not None
    ]
    return bool(found) and (all if condition.operator == "!=" else any)(found)


def compare(cell, operator, value, as_texts=False):
    left: Any = as_number(write_cell(cell))
    right: Any = as_number(value)
    if left is None or right is None or as_texts:
        left, right = write_cell(cell), value
    return {
        "=": left == right,
        "in": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[operator]


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("column", ["label", *COLUMNS])
def test_conditions_mean_what_the_store_states(filled, column, operator):
    if column == "label" and operator not in ("=", "!="):
        return
    anything = random_codes(1)
    for value in VALUES:
        condition = Condition(column, operator, (value,))
        (found,) = filled.search(anything, radius=BITS, where=[condition])
        wanted = {item.id for item in ITEMS if fulfils(item, condition)}
        assert set(found.ids) == wanted, condition


def test_conditions_hold_together_and_lists_offer_a_choice(filled):
    where = [
        Condition("year", "in", ("9", "2.5", "ten", "nothing")),
        Condition("label", "!=", ("9",)),
    ]
    (found,) = filled.search(random_codes(1), 50, where=where)
    wanted = {i.id for i in ITEMS if all(fulfils(i, one) for one in where)}
    assert set(found.ids) == wanted != set()


def test_a_column_that_no_item_has_is_refused(filled):
    with pytest.raises(DataError, match="'yaer'; did you mean 'year'"):
        filled.search(random_codes(1), 5, where=[Condition("yaer", "=", ("1",))])
    nothing = Condition("year", "=", ("nothing",))
    assert filled.search(random_codes(1), 5, where=[nothing])[0].ids == ()


@pytest.mark.parametrize("k", [1, 10, 150, COUNT, 5 * COUNT])
def test_the_nearest_come_by_distance_then_insertion(filled, k):
    codes = Codes.concatenate([random_codes(len(ITEMS)), random_codes(COUNT, seed=1)])
    names = [item.id for item in [*ITEMS, *named(COUNT)]]
    queries = random_codes(7, seed=2)
    for row, answer in enumerate(filled.search(queries, k)):
        order = expected(codes, queries[row], k)
        assert answer.ids == tuple(names[i] for i in order)
        assert answer.codes == codes[order]
        distances = hamming_distances(queries[row], codes)[0][order]
        assert answer.distances.tolist() == distances.tolist()
        assert answer.scanned == len(codes)


@pytest.mark.parametrize(
    ("radius", "most"), [(-1, None), (0, None), (3, None), (99, 20), (2, 9)]
)
def test_all_within_a_radius_are_found(filled, radius, most):
    codes = Codes.concatenate([random_codes(len(ITEMS)), random_codes(COUNT, seed=1)])
    names = [item.id for item in [*ITEMS, *named(COUNT)]]
    queries = codes[:3]
    for row, answer in enumerate(filled.search(queries, radius=radius, k=most)):
        order = expected(codes, queries[row], most, radius)
        assert answer.ids == tuple(names[i] for i in order)


def test_items_come_back_as_they_were_added(filled):
    ids = [item.id for item in ITEMS]
    assert filled.items([*ids, "nobody"]) == [*ITEMS, None]
    assert filled.items([]) == []


def test_codes_come_back_as_they_were_added(filled):
    assert (
        filled.fetch(["cell 3", "cell 0", "cell 3"]).codes
        == random_codes(20)[[3, 0, 3]]
    )
    assert len(filled.fetch([]).codes) == 0
    with pytest.raises(DataError, match=r"'milvus://.*' has no item 'x', 'y'\. Check"):
        filled.fetch(["x", "cell 0", "y"])


def test_another_client_finds_what_was_acknowledged(filled):
    other = MilvusStore.open(filled.describe()["url"])
    assert len(other) == len(ITEMS) + COUNT
    assert (other.bits, other.model, other.facts) == (BITS, MODEL, {"method": "fdch"})
    other.close()
    assert len(filled) == len(ITEMS) + COUNT  # closing one leaves the other


def test_a_store_tells_what_it_holds(filled):
    described, items = filled.describe(), len(ITEMS) + COUNT
    assert described.pop("server").startswith("v2.")
    assert described.pop("url").startswith("milvus://127.0.0.1:")
    assert described == {
        "items": items,
        "bits": BITS,
        "model": MODEL,
        "store": "milvus",
        "vector_bytes": 0,
        "bytes": 2 * items,  # of codes, padded
        "index": "BIN_FLAT",
        "consistency": "session",
        "facts": {"method": "fdch"},
    }


def test_a_sample_is_of_the_items(filled):
    ids, codes = filled.sample(9)
    assert len(set(ids)) == 9
    assert filled.fetch(ids).codes == codes
    assert len(filled.sample(10**6)[0]) == len(filled)


def test_codes_of_another_length_are_refused(filled):
    for wrong in (lambda c: filled.search(c, 1), lambda c: filled.search(c, radius=1)):
        with pytest.raises(ModelMismatch, match=f"of {BITS} bits.*these have 12"):
            wrong(random_codes(1, bits=12))
    with pytest.raises(ModelMismatch, match=r"these have 12\. Encode with the"):
        filled.add(named(1), random_codes(1, bits=12))


def test_senseless_demands_are_refused(filled):
    with pytest.raises(SettingError, match=r"at least one item.*got 0"):
        filled.search(random_codes(1), 0)
    with pytest.raises(SettingError, match=r"at least one item.*got -1"):
        filled.search(random_codes(1), radius=3, k=-1)
    with pytest.raises(DataError, match="1 items were given 2 codes"):
        filled.add(named(1), random_codes(2))
    with pytest.raises(DataError, match="'item 0' occurs 2 times"):
        filled.add(named(1) * 2, random_codes(2))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (Item("x", text="y" * 65_536), "text of item 'x' has 65,536 bytes"),
        (Item("x", labels=("y" * 1_025,)), "label of item 'x'"),
        (Item("x", labels=("y",) * 1_025), "1,025 labels"),
        (Item("x", columns={"c": "y" * 70_000}), "columns of item 'x'"),
        (Item("x", image="y" * 70_000), "image of item 'x'"),
    ],
)
def test_items_too_large_are_refused_before_any_is_sent(filled, item, message):
    with pytest.raises(DataError, match=message):
        filled.add([Item("fine"), item], random_codes(2))
    assert filled.items(["fine"]) == [None]


def test_an_existing_collection_is_not_overwritten(filled):
    with pytest.raises(IndexFolderError, match="already"):
        MilvusStore.create(filled.describe()["url"], BITS, MODEL)


def test_a_missing_collection_is_named(milvus_server):
    with pytest.raises(IndexFolderError, match="no collection 'nowhere'"):
        MilvusStore.open(f"milvus://{milvus_server}/nowhere")


def test_another_programs_collection_is_left_alone(milvus_server, milvus_url):
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(f"http://{milvus_server}")
    schema = client.create_schema(description="somebody's photos")
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("v", DataType.FLOAT_VECTOR, dim=2)
    client.create_collection(milvus_url.rpartition("/")[2], schema=schema)
    client.close()
    for touch in (MilvusStore.open, MilvusStore.drop):
        with pytest.raises(IndexFolderError, match="was not made by fdch"):
            touch(milvus_url)


def test_writes_are_seen_at_once(store):
    """Added, replaced, removed, added again; each step seen by the next search."""
    codes = random_codes(8)
    assert store.add(named(4), codes[:4]) == Added(4, 0)
    for step in range(5):
        (found,) = store.search(codes[:1], 100)
        assert len(found.ids) == len(store) == 4 + step
        assert store.add(named(1, 4 + step), codes[:1]) == Added(1, 0)
    assert store.search(codes[:1], radius=0)[0].ids[0] == "item 0"
    assert store.add(named(2), codes[[0, 0]]) == Added(0, 2)
    (found,) = store.search(codes[:1], radius=0)
    assert found.ids == (*(f"item {i}" for i in range(4, 9)), "item 0", "item 1")
    assert store.remove(["item 4", "nobody", "item 4", "item 5"]) == ["nobody"]
    assert len(store) == 7
    assert store.items(["item 4", "item 6"]) == [None, Item("item 6")]
    assert store.add([Item("item 4", text="again")], codes[:1]) == Added(1, 0)
    assert store.search(codes[:1], radius=0)[0].ids[-1] == "item 4"
    assert store.remove([]) == [] and store.add([], codes[:0]) == Added(0, 0)


@pytest.mark.slow
def test_a_clock_that_is_set_back_keeps_the_order_of_insertion(store, monkeypatch):
    codes = random_codes(1)
    for turn, jump in enumerate((0, -3600, 365 * 24 * 3600, -3600)):
        now = time.time_ns() + jump * 10**9
        with monkeypatch.context() as patch:
            patch.setattr("time.time_ns", lambda now=now: now)
            store.add(named(1, turn), codes)
    [found] = store.search(codes, 10)
    assert list(found.ids) == [f"item {turn}" for turn in range(4)]


def test_two_writers_lose_nothing_and_the_later_one_wins(milvus_url, monkeypatch):
    with (
        MilvusStore.create(milvus_url, BITS, MODEL) as first,
        MilvusStore.open(milvus_url) as second,
        ThreadPoolExecutor(2) as pool,
    ):
        codes = random_codes(400)

        def write(store, start):
            for row in range(start, start + 200, 20):
                store.add(named(20, row), codes[row : row + 20])

        for done in [pool.submit(write, first, 0), pool.submit(write, second, 200)]:
            done.result()
        first.add([Item("both", text="first")], codes[:1])
        now = time.time_ns() - 3600 * 10**9  # the later writer's clock is behind
        monkeypatch.setattr("time.time_ns", lambda: now)
        second.add([Item("both", text="second")], codes[1:2])
        monkeypatch.undo()
        with MilvusStore.open(milvus_url) as reader:
            assert len(reader) == 401
            assert reader.fetch([item.id for item in named(400)]).codes == codes
            assert reader.items(["both"]) == [Item("both", text="second")]
            assert reader.fetch(["both"]).codes == codes[1:2]


def test_more_hits_than_a_page_are_all_given(store):
    """Milvus gives 16,384 at most; the answers here have more, in order."""
    codes = random_codes(40_000)
    store.add(named(40_000), codes)
    query = random_codes(1, seed=5)
    (found,) = store.search(query, radius=5)
    assert found.ids == tuple(f"item {i}" for i in expected(codes, query, None, 5))
    assert len(found.ids) > 20_000
    (found,) = store.search(query, 20_000)
    assert found.ids == tuple(f"item {i}" for i in expected(codes, query, 20_000))
    assert len(store.fetch([f"item {i}" for i in range(20_000)]).codes) == 20_000
    assert store.remove(found.ids) == []
    assert len(store) == 20_000


@pytest.mark.slow
def test_the_next_search_after_removals_has_all_other_items(store):
    """The case of milvus #42951, which had 27 results where 2,052 were left."""
    codes, query = random_codes(6455), random_codes(1, seed=5)
    store.add(named(6455), codes)
    left = [i for i in expected(codes, query) if i % 3 == 0]
    gone = [f"item {i}" for i in range(6455) if i % 3]
    assert store.remove(gone) == []
    (found,) = store.search(query, 6455)
    assert found.ids == tuple(f"item {i}" for i in left)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [8, 24, 64, 100, 320, 384, 512])
def test_all_lengths_work(milvus_url, bits):
    store = MilvusStore.create(milvus_url, bits, MODEL)
    codes = random_codes(500, bits)
    store.add(named(500), codes)
    queries = random_codes(5, bits, seed=3)
    for row, answer in enumerate(store.search(queries, 20)):
        order = expected(codes, queries[row], 20)
        assert answer.ids == tuple(f"item {i}" for i in order)
        assert answer.codes == codes[order]
    store.close()


@pytest.mark.slow
def test_answers_stay_after_flushing_and_reloading(store, milvus_url):
    """Sealed segments are searched through the index, fresh ones without."""
    codes = random_codes(3_000)
    store.add(named(3_000), codes)
    store.remove(["item 0"])
    store._collection.call("flush")
    store._collection.call("release_collection")
    store.close()
    again = MilvusStore.open(milvus_url)
    query = random_codes(1, seed=5)
    wanted = tuple(f"item {i}" for i in expected(codes, query, 501) if i)[:500]
    assert again.search(query, 500)[0].ids == wanted
    radius = tuple(f"item {i}" for i in expected(codes, query, None, 3) if i)
    assert again.search(query, radius=3)[0].ids == radius
    again.close()


@pytest.mark.parametrize("width", [1, 8, 1024])
def test_vectors_come_back_with_their_items(milvus_url, width):
    codes, vectors = random_codes(300), random_vectors(300, width)
    with MilvusStore.create(milvus_url, BITS, MODEL, vector_bytes=width) as store:
        store.add(named(300), codes, vectors)
        with pytest.raises(ModelMismatch, match=rf"shape \(1, {width}\) .*got none"):
            store.add(named(1), codes[:1])
    query = random_codes(1, seed=3)
    with MilvusStore.open(milvus_url) as store:
        assert store.vector_bytes == store.describe()["vector_bytes"] == width
        items, found, kept = store.fetch(["item 7", "item 3"])
        assert [item.id for item in items] == ["item 7", "item 3"]
        assert found == codes[[7, 3]]
        assert kept is not None
        assert np.array_equal(kept, vectors[[7, 3]])
        rows = expected(codes, query, 40)
        [near] = store.search(query, 40)
        assert near.vectors is not None
        assert np.array_equal(near.vectors, vectors[rows])

        def choose(query, distances, codes, vectors, shares):
            return np.argsort(vectors[:, 0], kind="stable")[:5]

        [chosen] = store.search(query, 40, choose=choose)
        order = rows[np.argsort(vectors[rows, 0], kind="stable")][:5]
        assert chosen.ids == tuple(f"item {row}" for row in order)
        assert chosen.codes == codes[order]
        [near] = store.search(query, radius=3, choose=choose)
        rows = expected(codes, query, radius=3)
        order = rows[np.argsort(vectors[rows, 0], kind="stable")][:5]
        assert near.ids == tuple(f"item {row}" for row in order)


@pytest.mark.parametrize("bits", [0, 513])
def test_lengths_out_of_range_are_refused(bits):
    with pytest.raises(SettingError, match="1 to 512"):
        MilvusStore.create("milvus://127.0.0.1/photos", bits, MODEL)
