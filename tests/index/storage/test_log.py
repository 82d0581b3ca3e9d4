"""Records of the log: a chain in which every change shows."""

from itertools import pairwise

import pytest

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.storage.files.layout import LOG
from fdch.index.storage.files.log import (
    HEADER_BYTES,
    Entry,
    Kind,
    LogHeader,
    append_records,
    cut_log,
    encode_records,
    read_header,
    read_records,
)

UID = bytes(range(16))
HEADER = LogHeader(UID, 40)
ENTRIES = [Entry(Kind.ITEM, f"item {i}".encode()) for i in range(4)] + [
    Entry(Kind.COMMIT, b"{}")
]


@pytest.fixture
def folder(tmp_path):
    content, _, _ = encode_records(UID, HEADER.start, ENTRIES)
    (tmp_path / LOG).write_bytes(HEADER.pack() + content)
    return tmp_path


def read(folder, **options):
    header = read_header(folder)
    return list(read_records(folder, header.uid, header.start, **options))


def test_records_are_read_as_written(folder):
    records = read(folder)
    assert [record.entry for record in records] == ENTRIES
    assert [record.sequence for record in records] == [41, 42, 43, 44, 45]
    assert records[-1].position.offset == (folder / LOG).stat().st_size


def test_records_go_on_where_the_last_ended(folder):
    last = read(folder)[-1]
    content, _, _ = encode_records(UID, last.position, ENTRIES[:1])
    append_records(folder, last.position.offset, content)
    assert [record.entry for record in read(folder)] == [*ENTRIES, ENTRIES[0]]
    cut_log(folder, last.position.offset)
    assert [record.entry for record in read(folder)] == ENTRIES


def test_a_flip_of_any_byte_ends_the_chain_there(folder):
    path = folder / LOG
    whole = path.read_bytes()
    ends = [record.position.offset for record in read(folder)]
    for place in range(HEADER_BYTES, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        assert len(read(folder)) == sum(end <= place for end in ends)


def test_every_flip_of_the_header_is_found(folder):
    path = folder / LOG
    whole = path.read_bytes()
    for place in range(HEADER_BYTES):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(DamagedIndex, match="has the wrong header"):
            read_header(folder)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (99, "format 99, written by a later version.*Upgrade fdch"),
        (2, "format 2, written by an earlier version.*Create it again"),
    ],
)
def test_another_format_is_refused_by_name(folder, monkeypatch, version, message):
    with monkeypatch.context() as patch:
        patch.setattr("fdch.index.storage.files.log.FORMAT", version)
        (folder / LOG).write_bytes(HEADER.pack())
    with pytest.raises(IndexFolderError, match=message):
        read_header(folder)


def test_a_record_left_out_or_moved_breaks_the_chain(folder):
    whole = (folder / LOG).read_bytes()
    ends = [HEADER_BYTES, *(record.position.offset for record in read(folder))]
    parts = [whole[low:high] for low, high in pairwise(ends)]
    head = whole[:HEADER_BYTES]
    (folder / LOG).write_bytes(head + parts[0] + b"".join(parts[2:]))
    assert len(read(folder)) == 1
    (folder / LOG).write_bytes(head + parts[0] + parts[2] + parts[1])
    assert len(read(folder)) == 1


def test_a_record_of_another_index_breaks_the_chain(folder):
    content, _, _ = encode_records(bytes(16), HEADER.start, ENTRIES)
    (folder / LOG).write_bytes(HEADER.pack() + content)
    assert read(folder) == []


def test_what_lies_behind_damage_is_salvaged(folder):
    whole = (folder / LOG).read_bytes()
    records = read(folder)
    for place in range(HEADER_BYTES, len(whole)):
        damaged = whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]
        (folder / LOG).write_bytes(damaged)
        found = [record.sequence for record in read(folder, skip_damage=True)]
        hit = next(
            record.sequence for record in records if place < record.position.offset
        )
        # the record that was hit, and the next one if the check between them was
        assert set(range(41, 46)) - set(found) <= {hit, hit + 1}
        assert hit not in found


def test_salvage_ends_on_bytes_that_only_look_like_records(folder):
    content = HEADER.pack() + b"\xff\xff\xff\x0fI" * 5000
    (folder / LOG).write_bytes(content)
    assert read(folder, skip_damage=True) == []
