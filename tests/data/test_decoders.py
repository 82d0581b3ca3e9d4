"""Helper processes decode what threads do, refuse the same, and end."""

import io

import numpy as np
import pytest
from PIL import Image

from fdch.data.pictures import decoders
from fdch.data.pictures.batches import check_pictures, decode_batches
from fdch.data.pictures.decoders import DecodingProcess, open_decoders, serve
from fdch.data.pictures.images import PictureArray, PictureContents, PictureLimits
from fdch.errors import BrokenPicture


@pytest.fixture
def contents():
    rng = np.random.default_rng(0)
    found = []
    for form in ("JPEG", "PNG", "WEBP", "JPEG"):
        out = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, (30, 50, 3), np.uint8)).save(out, form)
        found.append(out.getvalue())
    return found


@pytest.fixture
def processes(monkeypatch):
    """Use processes however few pictures and threads there are; list them."""
    monkeypatch.setattr(decoders, "MAX_THREADS", 0)
    monkeypatch.setattr(decoders, "MIN_PICTURES", 1)
    started = []

    class Listed(DecodingProcess):
        def __init__(self, size):
            super().__init__(size)
            started.append(self._process)

    monkeypatch.setattr(decoders, "DecodingProcess", Listed)
    return started


def test_processes_give_the_pixels_that_threads_give_and_end(contents, processes):
    pictures = PictureContents(contents)
    batches = np.concatenate(list(decode_batches(pictures, 24, 2, workers=2)))
    expected = [pictures.decode(row, 24) for row in range(len(pictures))]
    np.testing.assert_array_equal(batches, expected)
    assert 1 <= len(processes) <= 2
    assert all(process.poll() is not None for process in processes)


def test_processes_refuse_what_threads_refuse_by_the_same_words(contents, processes):
    contents[2] = contents[2][:60]
    pictures = PictureContents(contents)
    with pytest.raises(BrokenPicture) as alone:
        pictures.decode(2, 16)
    [(row, found)] = check_pictures(pictures)
    assert (row, str(found)) == (2, str(alone.value))
    small = PictureContents(contents, PictureLimits(pixels=20))
    assert [row for row, _ in check_pictures(small)] == [0, 1, 2, 3]


def test_a_killed_process_costs_no_picture(contents, processes):
    pictures = PictureContents(contents)
    with open_decoders(pictures, 2) as decode:
        for row in range(len(pictures)):
            expected = pictures.decode(row, 8)
            np.testing.assert_array_equal(decode(row, 8, None), expected)
            for process in processes:
                process.kill()
                process.wait()


def test_a_process_that_cannot_start_costs_no_picture(contents, processes, monkeypatch):
    monkeypatch.setattr("sys.executable", "/no/such/python")
    assert check_pictures(PictureContents(contents)) == []
    assert processes == []


def test_pixels_need_no_process(processes):
    pixels = np.zeros((3, 8, 8, 3), np.uint8)
    with open_decoders(PictureArray(pixels), 2) as decode:
        assert decode(1, 4, None).shape == (4, 4, 3)
    assert processes == []


def test_what_a_process_does(contents):
    request = decoders._REQUEST.pack(len(contents[0]), 10**6, 10**6, False)
    broken = decoders._REQUEST.pack(5, 10**6, 10**6, False)
    sent, pixels = io.BytesIO(), np.zeros((4, 4, 3), np.uint8)
    serve(io.BytesIO(request + contents[0] + broken + b"words"), sent, pixels)
    assert sent.getvalue() == b"\1\0"
    np.testing.assert_array_equal(pixels, PictureContents(contents).decode(0, 4))
