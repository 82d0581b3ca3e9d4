"""Catalogues that somebody made up: refused as damaged, never a bug's trace."""

import contextlib
import sqlite3

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DamagedIndex, FdchError
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.items import row_digest
from fdch.index.storage.layout import CATALOGUE
from fdch.index.storage.repair import repair_folder
from fdch.index.storage.seal import Seal
from fdch.index.storage.verification import verify_folder
from fdch.index.store import Condition

ID = "item 7"


@pytest.fixture
def path(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model") as folder:
        folder.add(sample_items(50), random_codes(50))
    return tmp_path / "index"


def craft(path, query, values=()):
    connection = sqlite3.connect(path / CATALOGUE)
    ((uid,),) = connection.execute("SELECT value FROM facts WHERE name = 'uid'")
    with connection:
        connection.execute(query, values)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    Seal.of(path, bytes.fromhex(uid), 4096).write(path)
    return bytes.fromhex(uid)


def put_content(path, content):
    """Let an item say something else, with a checksum that holds."""
    uid = craft(path, "UPDATE items SET id = id WHERE id = ''")
    digest = row_digest(uid, 7, ID, content)
    values = (content, digest, ID)
    craft(path, "UPDATE items SET content = ?, digest = ? WHERE id = ?", values)


def search_all(path):
    with CodeFolder.open(path) as folder:
        for answer in folder.nearest(random_codes(2), 50):
            folder.items(answer.ids)
        folder.nearest(random_codes(2), 50, [Condition("colour", "=", ("red",))])
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
    put_content(path, content)
    with pytest.raises(DamagedIndex, match="'item 7' is damaged"):
        search_all(path)
    assert not verify_folder(path).is_clean
    done = repair_folder(path)
    assert done.lost == [ID]
    assert done.items == 49
    assert not done.left
    search_all(path)


@pytest.mark.parametrize(
    "query",
    [
        "UPDATE facts SET value = 9223372036854775807 WHERE name = 'commit'",
        "UPDATE facts SET value = -1 WHERE name = 'items'",
        "UPDATE items SET id = x'ff' WHERE number = 7",
        "UPDATE columns SET name = x'ff00' WHERE name = 'colour'",
        "INSERT INTO ranges VALUES (100, 9223372036854775807)",
    ],
)
def test_a_value_of_the_wrong_kind_is_damage(path, query):
    craft(path, query)
    with pytest.raises(DamagedIndex):
        search_all(path)
    assert not verify_folder(path).is_clean


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO ranges VALUES (0, 'abc')",
        "INSERT INTO removed VALUES (1, 'abc')",
        "INSERT INTO files VALUES ('codes/../../victim', 1, x'00')",
    ],
)
def test_what_is_read_though_crafted_is_no_bug(path, query):
    craft(path, query)
    with contextlib.suppress(FdchError):
        search_all(path)
    assert not verify_folder(path).is_clean
