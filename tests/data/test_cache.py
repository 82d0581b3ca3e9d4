"""The cache: shared, damaged, read-only or full, it never costs a result."""

import logging
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fdch.data.cache import ResultCache, default_folder
from fdch.data.pictures.batches import decode_batches, pixel_store
from fdch.data.pictures.images import PictureArray, PictureFiles
from fdch.errors import BrokenPicture
from fdch.progress import Update

unless_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0,
    reason="root may write into a read-only folder",
)


@pytest.fixture
def photos(tmp_path):
    paths = [tmp_path / f"{number}.png" for number in range(5)]
    for number, path in enumerate(paths):
        Image.new("RGB", (8, 8), (number * 50, 0, 0)).save(path)
    return PictureFiles(paths)


def all_pixels(pictures, size):
    return np.concatenate(list(decode_batches(pictures, size)))


def test_what_was_put_is_given_and_nothing_else(tmp_path):
    cache = ResultCache(tmp_path / "new" / "folder")
    cache.put_many({b"a": b"1", b"b": b""})
    cache.put_many({b"a": b"2"})
    assert cache.get_many([b"a", b"b", b"c", b"a"]) == {b"a": b"2", b"b": b""}
    assert ResultCache(tmp_path / "new" / "folder").get_many([b"a"]) == {b"a": b"2"}


def test_queries_alone_write_nothing(tmp_path):
    cache = ResultCache(tmp_path / "none")
    assert cache.get_many([b"a"]) == {}
    cache.put_many({})
    assert not (tmp_path / "none").exists()


@given(st.dictionaries(st.binary(max_size=80), st.binary(max_size=100), max_size=9))
def test_any_bytes_come_back_as_they_were(tmp_path_factory, items):
    cache = ResultCache(tmp_path_factory.getbasetemp() / "any bytes")
    cache.put_many(items)
    assert cache.get_many(items) == items


def test_thousands_of_keys_are_requested_at_once(tmp_path):
    items = {str(number).encode(): b"x" * 10 for number in range(3000)}
    cache = ResultCache(tmp_path)
    cache.put_many(items)
    assert cache.get_many(items) == items


def test_the_folder_follows_the_environment(monkeypatch):
    assert default_folder() == Path(os.environ["FDCH_CACHE"])
    monkeypatch.delenv("FDCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/where")
    assert default_folder() == Path("/some/where/fdch")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_folder() == Path("/home/someone/.cache/fdch")


def test_others_cannot_read_the_folder(tmp_path):
    cache = ResultCache(tmp_path / "own")
    cache.put_many({b"a": b"1"})
    assert stat.S_IMODE(cache.folder.stat().st_mode) & 0o077 == 0


def test_threads_share_it(tmp_path):
    cache = ResultCache(tmp_path)

    def write(thread):
        for number in range(10):
            cache.put_many({f"{thread} {number}".encode(): str(thread).encode()})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = [
        f"{thread} {number}".encode() for thread in range(4) for number in range(10)
    ]
    assert len(cache.get_many(keys)) == 40


def test_processes_share_it(tmp_path):
    program = (
        "import sys; from fdch.data.cache import ResultCache\n"
        "cache = ResultCache(sys.argv[1])\n"
        "for n in range(20): cache.put_many({f'{sys.argv[2]} {n}'.encode(): b'x'})\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name])
        for name in "ab"
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    keys = [f"{name} {number}".encode() for name in "ab" for number in range(20)]
    assert len(ResultCache(tmp_path).get_many(keys)) == 40


def test_a_cache_locked_for_a_while_is_waited_for(tmp_path, caplog):
    cache = ResultCache(tmp_path)
    cache.put_many({b"a": b"1"})
    other = sqlite3.connect(cache.path, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    release = threading.Timer(0.2, other.rollback)
    release.start()
    assert cache.get_many([b"a"]) == {b"a": b"1"}
    release.join()
    other.close()
    assert not caplog.text


def test_a_file_that_is_no_cache_is_rebuilt(tmp_path, caplog):
    cache = ResultCache(tmp_path)
    cache.path.write_bytes(b"this is no database at all" * 100)
    assert cache.get_many([b"a"]) == {}
    cache.put_many({b"a": b"1"})
    assert cache.get_many([b"a"]) == {b"a": b"1"}
    assert caplog.text.count("damaged") == 1


def test_damage_in_the_middle_is_survived(tmp_path):
    cache = ResultCache(tmp_path)
    items = {str(number).encode(): os.urandom(500) for number in range(400)}
    cache.put_many(items)
    content = bytearray(cache.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    cache.path.write_bytes(content)
    assert set(cache.get_many(items)) <= set(items)
    cache.put_many(items)
    assert cache.get_many(items) == items


def test_a_value_changed_on_disk_is_not_given(tmp_path):
    cache = ResultCache(tmp_path)
    cache.put_many({b"a": b"right", b"b": b"right"})
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE results SET value = 'text' WHERE key = ?", (b"a",))
        wrong = "UPDATE results SET value = zeroblob(13) WHERE key = ?"
        connection.execute(wrong, (b"b",))
    connection.close()
    assert cache.get_many([b"a", b"b"]) == {}


def test_a_folder_that_cannot_be_made_costs_only_the_caching(tmp_path, caplog, photos):
    (tmp_path / "file").write_text("not a folder")
    cache = ResultCache(tmp_path / "file" / "cache")
    for _ in range(3):
        cache.put_many({b"a": b"1"})
    assert cache.get_many([b"a"]) == {}
    assert caplog.text.count("going on without the cache") == 1
    pixels = pixel_store(photos, 4, folder=tmp_path / "file" / "cache")
    assert np.array_equal(pixels, all_pixels(photos, 4))


@unless_root
def test_a_read_only_folder_costs_only_the_caching(tmp_path, caplog, photos):
    cache = ResultCache(tmp_path / "cache")
    cache.put_many({b"a": b"1"})
    cache.folder.chmod(0o500)
    try:
        cache.put_many({b"b": b"2"})
        assert np.array_equal(
            pixel_store(photos, 4, folder=cache.folder), all_pixels(photos, 4)
        )
    finally:
        cache.folder.chmod(0o700)
    assert "going on without the cache" in caplog.text


def test_a_read_only_database_costs_only_the_caching(tmp_path, caplog, monkeypatch):
    cache = ResultCache(tmp_path)
    cache.put_many({b"a": b"1"})
    connected = cache._connect

    def read_only():
        connection = connected()
        connection.execute("PRAGMA query_only = 1")
        return connection

    monkeypatch.setattr(cache, "_connect", read_only)
    cache.put_many({b"b": b"2"})
    assert cache.get_many([b"a", b"b"]) == {b"a": b"1"}
    assert "readonly" in caplog.text


def test_stored_pixels_are_the_decoded_ones_and_are_decoded_once(tmp_path, photos):
    expected = all_pixels(photos, 4)
    for decoded in (5, 0):
        seen: list[Update] = []
        pixels = pixel_store(photos, 4, seen.append, tmp_path / "store")
        assert np.array_equal(pixels, expected) and not pixels.flags.writeable
        assert (seen[-1].done if seen else 0) == decoded
    assert [path.suffix for path in (tmp_path / "store").iterdir()] == [".npy"]


def test_other_content_order_or_size_is_another_store(tmp_path, photos):
    first = pixel_store(photos, 4, folder=tmp_path / "store")
    assert np.array_equal(pixel_store(photos[::-1], 4, folder=tmp_path), first[::-1])
    assert pixel_store(photos, 2, folder=tmp_path / "store").shape == (5, 2, 2, 3)
    Image.new("RGB", (8, 8), "white").save(photos.paths[0])
    assert pixel_store(photos, 4, folder=tmp_path / "store")[0].min() == 255


def test_a_damaged_store_is_written_again(tmp_path, photos):
    expected = all_pixels(photos, 4)
    pixel_store(photos, 4, folder=tmp_path / "store")
    (path,) = (tmp_path / "store").iterdir()
    other = np.zeros((5, 4, 4, 3), dtype=np.int16)
    for damage in (b"", b"no numpy file", path.read_bytes()[:150], other):
        path.unlink()
        if isinstance(damage, bytes):
            path.write_bytes(damage)
        else:
            np.save(path, damage)
        pixels = pixel_store(photos, 4, folder=tmp_path / "store")
        assert np.array_equal(pixels, expected)


def test_a_full_disk_costs_only_the_caching(tmp_path, photos, monkeypatch, caplog):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fdch.files.os.fsync", full)
    with caplog.at_level(logging.WARNING):
        pixels = pixel_store(photos, 4, folder=tmp_path / "store")
    assert np.array_equal(pixels, all_pixels(photos, 4))
    assert "No space left" in caplog.text
    assert list((tmp_path / "store").iterdir()) == []


def test_a_broken_picture_leaves_no_half_written_store(tmp_path, photos):
    photos.paths[4].write_bytes(b"broken")
    with pytest.raises(BrokenPicture, match=r"4\.png"):
        pixel_store(photos, 4, folder=tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []


def test_pixels_of_an_array_and_of_nothing_are_stored_too():
    pixels = np.random.default_rng(0).integers(0, 256, (3, 4, 4, 3)).astype(np.uint8)
    assert np.array_equal(pixel_store(PictureArray(pixels), 4), pixels)
    assert pixel_store(PictureArray(pixels[:0]), 4).shape == (0, 4, 4, 3)
