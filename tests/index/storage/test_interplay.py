"""What may come together: crashes, compaction, readers, damage, repair."""

import shutil

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.errors import DamagedIndex, IndexBusy
from fdch.index.storage import access
from fdch.index.storage.catalogue import catalogue, recovery
from fdch.index.storage.catalogue.tables import State, kept_parts
from fdch.index.storage.files import checking, log
from fdch.index.storage.files.layout import ACKNOWLEDGED, CATALOGUE, CHECK, LOG, WAL
from fdch.index.storage.files.locking import WriterLock
from fdch.index.storage.files.log import (
    Entry,
    Kind,
    encode_records,
    read_header,
    read_records,
)
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Condition, Item

RED = [Condition("colour", "=", ("red",))]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        for start in range(0, 600, 200):
            folder.add(sample_items(200, start), random_codes(200, seed=start))
        folder.remove(["item 3"])
    return path


def names(path, where=()):
    with CodeFolder.open(path) as folder:
        return sorted(folder.search(random_codes(1), radius=32, where=where)[0].ids)


def read_log(path):
    header = read_header(path)
    return header, list(read_records(path, header.uid, header.start))


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def put_back(path, older, *files):
    (path / WAL).unlink(missing_ok=True)
    for name in files:
        shutil.copyfile(older / name, path / name)


def test_a_repair_takes_nothing_from_before_a_compaction(path, tmp_path):
    older = shutil.copytree(path, tmp_path / "older")
    with CodeFolder.open(path, writable=True) as folder:
        folder.compact()
    before = names(path)
    put_back(path, older, CATALOGUE, CHECK)  # as if a power cut had taken SQLite's log
    done = repair_folder(path)
    assert (done.lost, done.unnamed, done.left) == ([], [], ())
    assert names(path) == before


def test_a_checkpoint_while_the_state_is_read_is_no_damage(path, monkeypatch):
    with CodeFolder.open(path, writable=True) as writer:
        writer.add(sample_items(2, 50), random_codes(2))
        read, seen = State.read, list[bool]()

        def read_slowly(connection, folder):
            state = read(connection, folder)
            if not seen:
                writer._access.checkpoint()
            seen.append(catalogue.is_log_of_file(connection, folder))
            return state

        monkeypatch.setattr(State, "read", read_slowly)
        state, is_whole = catalogue.read_state(path)
    assert seen == [False, True]
    assert state is not None and is_whole


@pytest.fixture
def killed(path, tmp_path):
    """The index, and a copy of it with SQLite's log, of before its last change."""
    with CodeFolder.open(path, writable=True) as folder:
        folder.remove(["item 590"])
        older = shutil.copytree(path, tmp_path / "older")
        (older / f"{CATALOGUE}-shm").unlink()
        folder.remove([f"item {i}" for i in range(20)])
    return path, older


def counts(path):
    with CodeFolder.open(path) as folder:
        return folder.facets(), folder.facets(RED)


def test_an_older_log_of_sqlite_is_not_applied(killed):
    """Its pages would replace newer ones: facets would count removed items."""
    path, older = killed
    before = counts(path)
    put_back(path, older, WAL)
    assert not verify_folder(path).is_clean
    assert counts(path) == before
    assert verify_folder(path).is_clean


def test_a_newer_log_of_sqlite_is_not_applied_to_an_older_catalogue(killed, tmp_path):
    path, older = killed
    with CodeFolder.open(path, writable=True) as folder:
        folder.add(sample_items(50, 600), random_codes(50))
        newer = shutil.copytree(path, tmp_path / "newer")
    before = counts(path)
    shutil.copyfile(older / CATALOGUE, newer / CATALOGUE)
    shutil.copyfile(older / CHECK, newer / CHECK)
    assert not verify_folder(newer).is_clean
    assert counts(newer) == before
    assert verify_folder(newer).is_clean


def test_a_log_that_ends_before_the_catalogue_is_damage(killed):
    """What was acknowledged may be as old as the log."""
    path, older = killed
    before = names(path)
    put_back(path, older, LOG, ACKNOWLEDGED)
    with pytest.raises(DamagedIndex, match="acknowledged"):
        names(path)
    problems = [str(problem) for problem in verify_folder(path).problems]
    assert f"{ACKNOWLEDGED}: it is older than '{CATALOGUE}'" in problems
    assert any(problem.startswith(f"{LOG}, byte") for problem in problems)
    done = repair_folder(path)
    assert (done.lost, done.unnamed, done.left) == ([], [], ())
    assert names(path) == before


def test_a_log_that_ends_before_a_killed_writers_catalogue_is_damage(killed, tmp_path):
    """Even where the checksum, older too, lets SQLite's log look foreign."""
    path, older = killed
    with CodeFolder.open(path, writable=True) as folder:
        folder.remove(["item 100"])
        left = shutil.copytree(path, tmp_path / "left")
    before = names(shutil.copytree(left, tmp_path / "copy"))
    for name in (LOG, ACKNOWLEDGED, CHECK):
        shutil.copyfile(older / name, left / name)
    with pytest.raises(DamagedIndex, match="acknowledged"):
        names(left)
    done = repair_folder(left)
    assert (done.lost, done.unnamed, done.left) == ([], [], ())
    assert names(left) == before


def test_an_older_record_of_what_was_acknowledged_is_found(killed):
    path, older = killed
    before = names(path)
    put_back(path, older, ACKNOWLEDGED)
    (problem,) = verify_folder(path).problems
    assert str(problem) == f"{ACKNOWLEDGED}: it is older than '{CATALOGUE}'"
    assert names(path) == before
    assert verify_folder(path).is_clean


def test_a_commit_that_readers_see_is_acknowledged(killed):
    """Killed before it could be, it is when the index is opened."""
    path, older = killed
    put_back(path, older, ACKNOWLEDGED, CATALOGUE, CHECK)
    assert verify_folder(path).is_clean
    names(path)
    put_back(path, older, LOG, CATALOGUE, CHECK)
    with pytest.raises(DamagedIndex, match="acknowledged"):
        names(path)


def test_a_repair_applies_no_change_that_was_never_committed(path):
    before = names(path)
    header, known = read_log(path)
    gone = Entry(Kind.REMOVAL, b"".join(n.to_bytes(8, "little") for n in range(300)))
    torn, _, _ = encode_records(header.uid, known[-1].position, [gone])
    with (path / LOG).open("ab") as file:
        file.write(torn)
    flip(path / LOG, known[5].position.offset - 20)
    done = repair_folder(path)
    assert (done.lost, done.unnamed, done.left) == ([], [], ())
    assert names(path) == before


@pytest.mark.parametrize("which", [0, 1, 2])
def test_items_whose_part_is_lost_are_named(path, which):
    before = names(path)
    _, known = read_log(path)
    part = [record for record in known if record.entry.kind == Kind.PART][which]
    flip(path / LOG, part.position.offset - 20)
    (path / CATALOGUE).unlink()
    done = repair_folder(path)
    after = names(path)
    assert set(before) - set(after) == set(done.lost)
    assert set(after) <= set(before)
    assert len(done.lost) <= 200 if which == 2 else len(done.lost) < 600
    assert verify_folder(path).is_clean


def test_a_replayed_catalogue_gets_no_checksum_over_damage(path, tmp_path):
    older = shutil.copytree(path, tmp_path / "older")
    with CodeFolder.open(path, writable=True) as folder:
        folder.add([Item("late", columns={"colour": "red"})], random_codes(1))
    right = names(path, RED)
    content = (older / CATALOGUE).read_bytes()
    for place in range(4096, len(content), 4096):
        put_back(path, older, CATALOGUE, CHECK)
        for at in range(place + 1000, place + 1010):
            flip(path / CATALOGUE, at)
        assert names(path, RED) == right


def test_a_writer_writes_no_checksum_over_damage(path, monkeypatch):
    monkeypatch.setattr(checking.Scrub, "_look", lambda self: None)
    flip(path / CATALOGUE, (path / CATALOGUE).stat().st_size - 100)
    with CodeFolder.open(path, writable=True) as folder:
        folder.add([Item("late")], random_codes(1))
    monkeypatch.undo()
    assert not verify_folder(path).is_clean
    with pytest.raises(DamagedIndex):
        names(path)


def test_a_reader_opens_while_another_process_compacts(path, monkeypatch):
    with CodeFolder.open(path, writable=True) as writer:
        read_state = catalogue.read_state

        def compact_first(folder):
            monkeypatch.setattr(recovery, "read_state", read_state)
            writer.compact()
            return read_state(folder)

        monkeypatch.setattr(recovery, "read_state", compact_first)
        assert len(names(path)) == 599


def test_parts_that_are_compacted_during_a_check_are_no_damage(path, monkeypatch):
    with CodeFolder.open(path, writable=True) as writer:

        def compact_first(*args):
            monkeypatch.setattr(access, "kept_parts", kept_parts)
            found = kept_parts(*args)
            writer.compact()
            return found

        monkeypatch.setattr("fdch.index.storage.files.checking._sound", set())
        monkeypatch.setattr(access, "kept_parts", compact_first)
        with CodeFolder.open(path) as reader:
            assert len(reader) == 599
            assert len(reader.search(random_codes(1), radius=32)[0].ids) == 599


def test_a_commit_that_no_reader_could_see_is_waited_for(path, tmp_path, monkeypatch):
    older = shutil.copytree(path, tmp_path / "older")
    with CodeFolder.open(path, writable=True) as folder:
        folder.add([Item("late")], random_codes(1))
    put_back(path, older, CATALOGUE, CHECK)
    monkeypatch.setattr(recovery, "_TRIES", 2)
    lock = WriterLock(path)
    with pytest.raises(IndexBusy):
        CodeFolder.open(path)
    lock.release()
    assert "late" in names(path)


def test_an_index_is_read_while_it_is_compacted(path):
    with CodeFolder.open(path, writable=True) as folder:
        counts = []
        folder.compact(lambda update: counts.append(len(folder)))
        assert set(counts) == {599}
        folder.add([Item("late")], random_codes(1))
        assert len(folder) == 600


def test_a_reader_goes_on_when_the_catalogue_was_made_again(path):
    with CodeFolder.open(path) as reader:
        assert len(reader) == 599
        (path / CHECK).unlink()  # as a kill during a checkpoint leaves it
        with CodeFolder.open(path, writable=True) as writer:
            writer.add([Item("late")], random_codes(1))
        assert len(reader) == 600


def test_a_log_that_lost_an_unacknowledged_tail_is_no_damage(path):
    """The log is flushed before the catalogue follows it."""
    flushed = []
    sync = log.cut_log

    def note(folder, offset):
        flushed.append(offset)
        sync(folder, offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recovery, "cut_log", note)
        (path / CATALOGUE).unlink()
        names(path)
    assert flushed == [(path / LOG).stat().st_size]
