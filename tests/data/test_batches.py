"""Batches of decoded pictures: their order, their memory, their end."""

import threading

import numpy as np
import pytest
from PIL import Image

from fdch.data.pictures.batches import decode_batches
from fdch.data.pictures.images import PictureArray, PictureFiles
from fdch.errors import BrokenPicture


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{number}.png" for number in range(5)]
    for number, path in enumerate(paths):
        Image.new("RGB", (9, 7), (number * 40, 0, 0)).save(path)
    return paths


def test_files_come_in_row_order_whatever_the_batch(files):
    pictures = PictureFiles(files)
    for batch in (1, 2, 5, 64):
        sizes = [len(part) for part in decode_batches(pictures, 4, batch, workers=3)]
        assert max(sizes) <= batch and sum(sizes) == 5
        together = np.concatenate(list(decode_batches(pictures, 4, batch)))
        assert together[:, 0, 0, 0].tolist() == [0, 40, 80, 120, 160]


def test_batches_end_at_a_broken_picture_and_threads_with_them(files):
    files[3].write_bytes(b"not a picture")
    batches = decode_batches(PictureFiles(files), 4, batch=2)
    assert len(next(batches)) == 2
    with pytest.raises(BrokenPicture, match=r"3\.png"):
        next(batches)
    assert not [t for t in threading.enumerate() if t.name.startswith("fdch-rows")]


def test_closing_the_batches_early_ends_their_threads(files):
    batches = decode_batches(PictureFiles(files), 4, batch=1)
    next(batches)
    batches.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("fdch-rows")]


def numbered(count):
    """Pictures whose every pixel is their row number."""
    rows = np.arange(count, dtype=np.uint8)[:, None, None, None]
    return PictureArray(np.tile(rows, (1, 4, 4, 3)))


def test_every_batch_has_memory_of_its_own():
    batches = list(decode_batches(numbered(50), 4, batch=3, workers=2))
    assert np.array_equal(np.concatenate(batches)[:, 0, 0, 0], np.arange(50))


def test_no_pictures_give_no_batches():
    assert list(decode_batches(numbered(0), 4)) == []
