"""Indexes that somebody made up, with checksums that hold: damage, never a bug."""

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue.recovery import rebuild_catalogue
from fdch.index.storage.files.layout import LOG
from fdch.index.storage.files.log import (
    Entry,
    Kind,
    encode_records,
    read_header,
    read_records,
)
from fdch.index.storage.files.records import item_entry
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Condition

ID = "item 7"


@pytest.fixture
def path(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(50), random_codes(50))
    return tmp_path / "index"


def craft(path, change):
    """Write the log again with records changed, and the catalogue after it."""
    header = read_header(path)
    records = read_records(path, header.uid, header.start)
    entries = [change(record.entry) for record in records]
    content, _, _ = encode_records(header.uid, header.start, entries)
    (path / LOG).write_bytes(header.pack() + content)
    rebuild_catalogue(path)


def search_all(path):
    with CodeFolder.open(path) as folder:
        for answer in folder.search(random_codes(2), 50):
            folder.items(answer.ids)
        folder.search(random_codes(2), 50, where=[Condition("colour", "=", ("red",))])
        folder.describe()
    with CodeFolder.open(path, writable=True) as folder:
        folder.remove(["item 8"])


@pytest.mark.parametrize(
    "content",
    [
        '["pair",5,null,["a"],{}]',
        '["pair",[1],null,["a"],{}]',
        '["pair","t",7,[],{}]',
        '["pair","t",null,[1,2],{}]',
        '["pair","t",null,"abc",{}]',
        '["pair","t",null,[],{"a":{"b":[1]}}]',
        '["pair","t",null,[],{"a":NaN}]',
        '["pair","t",null,[],{"a":1e999}]',
        '["odd","t",null,[],{}]',
        '["pair","\\ud800",null,[],{}]',
        "[" * 100_000,
        "5",
    ],
)
def test_an_item_of_the_wrong_kind_is_damage(path, content):
    def change(entry):
        is_wanted = entry.kind == Kind.ITEM and ID.encode() in entry.payload
        return item_entry(7, ID, content) if is_wanted else entry

    with pytest.raises(DamagedIndex, match="'item 7' is damaged"):
        craft(path, change)


PART_FIELDS = b'{"part":%d,"first":0,"rows":9,"span":9,"sidecars":%s,"checks":%s}\n'


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (Kind.ITEM, b"short"),
        (Kind.ITEM, b"\xff" * 40),
        (Kind.PART, b"{}"),
        (Kind.PART, PART_FIELDS % (0, b"[]", b"{}")),
        (Kind.PART, PART_FIELDS % (0, b"{}", b'{"rows":[0,8]}') + b"12345678"),
        (Kind.PART, PART_FIELDS % (0, b"{}", b'{"rows":[0,16]}')),
        (Kind.PART, PART_FIELDS % (0, b"{}", b'{"rows":[0,""]}')),
        (Kind.PART, PART_FIELDS % (-1, b"{}", b"{}")),
        (Kind.REMOVAL, b"seven b"),
        (Kind.RANGE, b"\xff" * 16),
        (b"C", b'{"commit":-1}'),
        (b"C", b"[" * 10_000),
        (b"F", b'{"bits":0,"model":"m"}'),
        (b"F", b'{"bits":32,"model":"m","vector_bytes":1025}'),
        (b"F", b'{"bits":32,"model":"m","vector_bytes":"4"}'),
        (b"F", b'{"bits":32,"model":"m","vector_bytes":4}'),
    ],
)
def test_a_record_of_the_wrong_kind_is_damage(path, kind, payload):
    def change(entry):
        return Entry(kind, payload) if entry.kind in (kind, Kind.ITEM) else entry

    with pytest.raises(DamagedIndex):
        craft(path, change)
        search_all(path)


def name_sidecars(path, sidecars):
    def change(entry):
        named = f'"sidecars":{sidecars}'.encode()
        return Entry(entry.kind, entry.payload.replace(b'"sidecars":{}', named))

    craft(path, change)


@pytest.mark.parametrize("sidecars", ['{"../../victim":[1,"x"]}', '{"rows":"abc"}'])
def test_files_that_no_part_has_are_not_looked_for(path, sidecars):
    with pytest.raises(DamagedIndex):
        name_sidecars(path, sidecars)


def test_a_table_that_is_not_there_is_done_without(path, caplog):
    name_sidecars(path, '{"grouping":[1,"x"]}')
    search_all(path)
    assert "without its tables" in caplog.text
    assert not verify_folder(path).is_clean


def test_an_index_that_describes_itself_in_no_text_is_damage(path):
    def change(entry):
        return Entry(Kind.INDEX, b"\xff") if entry.kind == Kind.INDEX else entry

    with pytest.raises(DamagedIndex, match="says of the index cannot be read"):
        craft(path, change)


def test_a_log_that_begins_beyond_all_numbers_is_damage(path):
    header = read_header(path)._replace(first=2**63)
    (path / LOG).write_bytes(header.pack())
    with pytest.raises(DamagedIndex, match="has the wrong header"):
        rebuild_catalogue(path)
