"""Files of another index, older files and forged ones lie in a folder."""

import gc
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DamagedIndex
from fdch.index.storage import access
from fdch.index.storage.files.layout import (
    ACKNOWLEDGED,
    CATALOGUE,
    CHECK,
    CODES,
    LOG,
    WAL,
)
from fdch.index.storage.files.log import (
    Entry,
    Kind,
    LogHeader,
    read_header,
    read_records,
)
from fdch.index.storage.files.log import write_log as write_records
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.backup import backup_folder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Condition, Item


@pytest.fixture
def path(tmp_path):
    """A compacted index; `older` beside it has its log from before."""
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(300), random_codes(300))
        folder.remove([f"item {number}" for number in range(0, 90, 3)])
    shutil.copytree(path, tmp_path / "older")
    with CodeFolder.open(path, writable=True) as folder:
        folder.compact()
        folder.add([Item("new")], random_codes(1))
    return path


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("grouped") / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add_numbered(random_codes(64)[[k % 64 for k in range(40_000)]])
        folder.compact()
    assert list((path / CODES).glob("*.grouping"))
    return path


@pytest.fixture
def grouped(original, tmp_path):
    """An index with files for speed, whose items cannot be encoded again."""
    return shutil.copytree(original, tmp_path / "grouped")


def names(path):
    with CodeFolder.open(path) as folder:
        return sorted(folder.search(random_codes(1), radius=32)[0].ids)


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def test_the_log_of_another_index_loses_nothing(path, tmp_path):
    expected = names(path)
    CodeFolder.create(tmp_path / "other", 32, "model").close()
    shutil.copyfile(tmp_path / "other" / LOG, path / LOG)
    done = repair_folder(path)
    assert (done.lost, done.left, names(path)) == ([], (), expected)


def test_an_older_log_loses_nothing(path, tmp_path):
    expected = names(path)
    shutil.copyfile(tmp_path / "older" / LOG, path / LOG)
    done = repair_folder(path)
    assert (done.lost, done.left, names(path)) == ([], (), expected)


def test_damage_is_found_while_a_writer_is_open(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        items = [Item(str(k), columns={"kind": f"v{k % 2}"}) for k in range(50)]
        folder.add(items, random_codes(50))
    code = (
        "import sys; from pathlib import Path\n"
        "from fdch.index.storage.folder import CodeFolder\n"
        "folder = CodeFolder.open(Path(sys.argv[1]), writable=True)\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as writer:
        assert writer.stdin and writer.stdout
        assert writer.stdout.readline() == b"open\n"
        content = (path / CATALOGUE).read_bytes()
        flip(path / CATALOGUE, content.rfind(b"v1") + 1)
        with CodeFolder.open(path) as folder, pytest.raises(DamagedIndex):
            folder.search(random_codes(1), 50, where=[Condition("kind", "=", ("v1",))])
        writer.stdin.close()


def test_codes_are_restored_from_the_grouping(grouped):
    expected = names(grouped)
    rows = next((grouped / CODES).glob("*.rows"))
    flip(rows, 5_000)
    done = repair_folder(grouped)
    assert (done.lost, names(grouped)) == ([], expected)
    assert any("from the grouping" in each for each in done.restored)


def test_a_damaged_grouping_is_put_aside(grouped):
    grouping = next((grouped / CODES).glob("*.grouping"))
    flip(grouping, -100)
    repair_folder(grouped)
    assert (grouped / "damaged" / grouping.name).exists()
    assert not grouping.exists()


def test_a_backup_names_the_file_that_is_missing(grouped, tmp_path):
    buckets = next((grouped / CODES).glob("*.buckets"))
    buckets.unlink()
    with pytest.raises(DamagedIndex, match=f"{buckets.name}' is missing.*repair"):
        backup_folder(grouped, tmp_path / "copy")


def test_an_id_with_a_zero_byte_is_no_other_id(path):
    with CodeFolder.open(path, writable=True) as folder:
        before = len(folder)
        assert list(folder.remove(["new\0er"])) == ["new\0er"]
        assert len(folder) == before


def test_items_are_named_where_all_codes_are_gone(path):
    expected = names(path)
    shutil.rmtree(path / CODES)
    assert sorted(repair_folder(path).lost) == expected


@pytest.mark.parametrize("start", [2**34, 2**60])
def test_a_forged_first_row_is_damage(path, start):
    header = read_header(path)
    entries = [r.entry for r in read_records(path, header.uid, header.start)]

    def forge(entry):
        if entry.kind != Kind.PART:
            return entry
        forged = f'"rows":[{start},'.encode()
        return Entry(Kind.PART, entry.payload.replace(b'"rows":[0,', forged))

    header = LogHeader(header.uid, header.first)
    write_records(path, header, [forge(entry) for entry in entries])
    for name in (CATALOGUE, CHECK, WAL):
        (path / name).unlink(missing_ok=True)
    assert verify_folder(path).problems
    with pytest.raises(DamagedIndex, match="first row"):
        names(path)


def test_an_id_too_long_for_a_record_is_no_proof(path):
    expected = names(path)
    connection = sqlite3.connect(path / CATALOGUE)
    long = "\N{GRINNING FACE}" * 2**14
    connection.execute("UPDATE items SET id = ? WHERE id = 'new'", (long,))
    connection.commit()
    connection.close()
    (path / ACKNOWLEDGED).unlink()
    assert repair_folder(path).lost == []
    assert names(path) == expected


WRITER = """
import sys
from pathlib import Path
import numpy as np
from fdch.codes import binarize
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
with CodeFolder.open(Path(sys.argv[1]), writable=True) as folder:
    folder.add([Item(sys.argv[2])], binarize(np.ones((1, 32))))
"""


def test_a_reader_that_has_checked_the_files_follows_other_processes(path):
    with CodeFolder.open(path) as reader:
        assert reader.search(random_codes(1), 1)  # checks the files
        before = len(reader)
        for number in range(1, 4):
            command = [sys.executable, "-c", WRITER, str(path), f"later {number}"]
            subprocess.run(command, check=True)
            assert len(reader) == before + number


def test_large_files_for_speed_may_be_deleted(grouped, monkeypatch):
    monkeypatch.setattr(access, "CHECKED_BYTES", 1_000)
    expected = names(grouped)
    next((grouped / CODES).glob("*.buckets")).unlink()
    assert names(grouped) == expected


def test_closing_and_forgetting_an_index_leaves_no_file_open(path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with CodeFolder.open(path) as folder:
            folder.search(random_codes(1), 1)
        CodeFolder.open(path)  # never closed
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
