import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.errors import DamagedIndex
from fdch.index.storage.layout import CODES
from fdch.index.storage.segments import HEADER_BYTES, Segment

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
    segment.begin()
    at_once = dict(segment.append(0, rows, None))
    segment.begin()
    digests: dict[int, bytes] = {}
    done = 0
    for size in sizes:
        last = digests.get(done // segment.chunk_rows)
        digests |= dict(segment.append(done, rows[done : done + size], last))
        done += size
    assert digests == at_once
    assert np.array_equal(segment.mapped(done), rows)
    for chunk, content in segment.chunks(done):
        assert segment.digest(chunk, content) == digests[chunk]


def test_what_does_not_count_is_overwritten_and_cut(tmp_path):
    segment = segment_in(tmp_path)
    segment.begin()
    rows = some_rows(segment, 20)
    segment.append(0, rows, None)
    (_, last), *_ = segment.append(0, rows[:5], None)
    segment.append(5, rows[5:9], last)
    assert segment.path.stat().st_size == HEADER_BYTES + 9 * 8
    segment.cut(5)
    assert segment.path.stat().st_size == HEADER_BYTES + 5 * 8
    with pytest.raises(DamagedIndex, match=r"104 bytes; 112 were written"):
        segment.cut(6)


def test_a_damaged_chunk_is_not_continued(tmp_path):
    segment = segment_in(tmp_path)
    segment.begin()
    (_, last), *_ = segment.append(0, some_rows(segment, 5), None)
    with segment.path.open("r+b") as file:
        file.seek(HEADER_BYTES + 9)
        file.write(b"\xff")
    with pytest.raises(DamagedIndex, match="last rows are not as written"):
        segment.append(5, some_rows(segment, 5), last)


def test_a_short_foreign_or_renamed_file_is_refused(tmp_path):
    segment = segment_in(tmp_path)
    segment.begin()
    segment.append(0, some_rows(segment, 5), None)
    with pytest.raises(DamagedIndex, match="104 bytes; 112 were written"):
        segment.mapped(6)
    other = segment_in(tmp_path, part=4)
    segment.path.rename(other.path)
    with pytest.raises(DamagedIndex, match="does not begin as it was written"):
        other.mapped(5)


def test_equal_rows_elsewhere_have_another_checksum(tmp_path):
    content = b"the same rows"
    digests = {
        segment_in(tmp_path, part=part).digest(chunk, content)
        for part in (0, 1)
        for chunk in (0, 1)
    }
    assert len(digests) == 4
