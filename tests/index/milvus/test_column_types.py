"""Types and notes on a server are those of a folder."""

from typing import Any

import pytest
from tests.index.store_samples import random_codes

from fdch.errors import DataError, SettingError
from fdch.index.conditions import parse_condition
from fdch.index.milvus import MilvusStore
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item

BITS = 32
DATES = ["2024-05-01", "2024-04", "2024-05-01T00:30+02:00", "2023-12-31", "unknown"]
SOLD: list[Any] = [True, "no", "Yes"]
ITEMS = [
    Item(
        f"item {i}",
        labels=(["kitchen", "garden"][i % 2],),
        columns={
            "price": i if i else "12,50",
            "date": DATES[i % 40 % 5] if i < 5 else f"2024-06-{i:02d}",
            "sold": SOLD[i % 3],
            "name": ["Nikon", "Nikkor", "canon", "7artisans"][i % 4],
        },
    )
    for i in range(30)
]
CONDITIONS = [
    *("price<=12", "price>28", "price!=3", 'price="12,50"', "name^=Nik", "name^=7"),
    *("date<2024-05", "date<=2024-05", "date=2024-05-01", "date>2024-05-01"),
    *("date>=2024", "date!=2024", "date=unknown", "date=2024-05-01T00:30+02:00"),
    *("sold=true", "sold!=1", "sold in no,x", "label!=kitchen"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("types") / "index"
    with CodeFolder.create(path, BITS, "model") as made:
        made.add(ITEMS, random_codes(len(ITEMS)))
        yield made


@pytest.fixture
def store(milvus_url):
    with MilvusStore.create(milvus_url, BITS, "model", types={"late": "date"}) as made:
        made.add(ITEMS, random_codes(len(ITEMS)))
        yield made


def test_a_server_compares_by_type_as_a_folder_does(store, folder):
    assert store.types() == {**folder.types(), "late": "date"}
    for written in CONDITIONS:
        where = [parse_condition(written)]
        [there] = store.search(random_codes(1), radius=BITS, where=where)
        [expected] = folder.search(random_codes(1), radius=BITS, where=where)
        assert there.ids == expected.ids, written
        assert store.facets(where).items == folder.facets(where).items, written
    near = (random_codes(1), 14)
    counted = store.facets(where, near=near)
    assert counted.items == folder.facets(where, near=near).items
    assert not counted.columns
    assert "does not count" in counted.uncounted["label"]
    for written in ("label=kitchn", "price<=20", "name=Nik*", "sold=treu"):
        where = [parse_condition(written)]
        assert store.notes(where) == folder.notes(where), written
    there = store.contents()
    assert {name: facts.type for name, facts in there.columns.items()} == store.types()
    assert "does not count" in there.uncounted
    with pytest.raises(DataError, match=r"did you mean 'price<12\.50'"):
        store.search(random_codes(1), 1, where=[parse_condition("price<12,50")])
    with pytest.raises(DataError, match="labels on Milvus are compared with"):
        store.search(random_codes(1), 1, where=[parse_condition("label^=kit")])
    with pytest.raises(SettingError, match="chosen when the index is made"):
        store.set_types({"price": "text"})
    store.set_types({"late": "date"})
