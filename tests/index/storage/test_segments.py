import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import DamagedIndex
from fdch.index.storage.files.layout import CODES
from fdch.index.storage.files.segments import HEADER_BYTES, Segment

UID = bytes(range(16))


def segment_in(folder, kind="u8", width=1, part=3):
    (folder / CODES).mkdir(exist_ok=True)
    return Segment(folder, UID, part, "rows", np.dtype(kind), width)


def some_rows(segment, count, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 200, (count, segment.width)).astype(segment.dtype)
    return rows[:, 0] if segment.width == 1 else rows


@given(st.lists(st.integers(1, 1500), min_size=1, max_size=5), st.sampled_from([1, 3]))
def test_appending_in_pieces_is_appending_at_once(tmp_path_factory, sizes, width):
    folder = tmp_path_factory.mktemp("index")
    segment = segment_in(folder, width=width)
    rows = some_rows(segment, sum(sizes))
    segment.create()
    _, at_once = segment.append(0, rows, b"")
    segment.create()
    digests, done = b"", 0
    for size in sizes:
        first, new = segment.append(done, rows[done : done + size], digests[-16:])
        digests, done = digests[: first * 16] + new, done + size
    assert digests == at_once
    assert np.array_equal(segment.map_rows(done), rows)
    for chunk, content in segment.chunks(done):
        assert segment.digest(chunk, content) == digests[chunk * 16 :][:16]


def test_what_does_not_count_is_overwritten_and_cut(tmp_path):
    segment = segment_in(tmp_path)
    segment.create()
    rows = some_rows(segment, 20)
    segment.append(0, rows, b"")
    _, last = segment.append(0, rows[:5], b"")
    segment.append(5, rows[5:9], last)
    assert segment.path.stat().st_size == HEADER_BYTES + 9 * 8
    segment.cut(5)
    assert segment.path.stat().st_size == HEADER_BYTES + 5 * 8
    with pytest.raises(DamagedIndex, match=r"104 bytes; 112 were written"):
        segment.cut(6)


def test_a_damaged_chunk_is_not_continued(tmp_path):
    segment = segment_in(tmp_path)
    segment.create()
    _, last = segment.append(0, some_rows(segment, 5), b"")
    with segment.path.open("r+b") as file:
        file.seek(HEADER_BYTES + 9)
        file.write(b"\xff")
    with pytest.raises(DamagedIndex, match="last rows do not match their checksum"):
        segment.append(5, some_rows(segment, 5), last)


def test_a_short_foreign_or_renamed_file_is_refused(tmp_path):
    segment = segment_in(tmp_path)
    segment.create()
    segment.append(0, some_rows(segment, 5), b"")
    with pytest.raises(DamagedIndex, match="104 bytes; 112 were written"):
        segment.map_rows(6)
    other = segment_in(tmp_path, part=4)
    segment.path.rename(other.path)
    with pytest.raises(DamagedIndex, match="has the wrong header"):
        other.map_rows(5)


def test_equal_rows_elsewhere_have_another_checksum(tmp_path):
    content = b"the same rows"
    digests = {
        segment_in(tmp_path, part=part).digest(chunk, content)
        for part in (0, 1)
        for chunk in (0, 1)
    }
    assert len(digests) == 4
