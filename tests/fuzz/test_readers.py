"""Every reader of outside bytes, on whole samples and on some hundred changed ones."""

import random
import time
import zlib

import pytest
from tests.fuzz.corpus import FOLDER, MAX_BYTES, read_corpus, write_corpus
from tests.fuzz.limits import Hang, limit_seconds
from tests.fuzz.mutations import mutate
from tests.fuzz.readers import READERS, check

from fdch.machine import forget_peak_memory, peak_memory

CASES = 300
MOST = 2**30  # bytes of memory that all cases of a reader may take


@pytest.fixture(params=READERS)
def name(request):
    if not READERS[request.param].is_there:
        pytest.skip(f"{READERS[request.param].package} is not installed")
    return request.param


def warm(name):
    """Make what a reader needs, and let it import it, before time counts."""
    for sample in READERS[name].samples():
        check(name, sample)


def test_whole_samples_are_read(name):
    samples = READERS[name].samples()
    assert samples
    assert not check(name, samples[0])


def test_a_corpus_is_kept_whole_and_small(name):
    kept = read_corpus(name)
    assert kept, "make it: python -m tests.fuzz.corpus"
    assert len(kept) == len(set(kept))
    path = FOLDER / f"{name}.zip"
    assert path.stat().st_size < 3 * MAX_BYTES


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_kept_bytes_are_read_or_refused(name):
    warm(name)
    for content in read_corpus(name):
        with limit_seconds():
            check(name, content)


def test_a_corpus_is_written_the_same_again_and_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.fuzz.corpus.FOLDER", tmp_path)
    contents = [bytes([number]) * number for number in range(250)]
    assert write_corpus("a", contents) < 100
    written = (tmp_path / "a.zip").read_bytes()
    write_corpus("a", reversed(contents))
    assert (tmp_path / "a.zip").read_bytes() == written
    assert set(read_corpus("a")) < set(contents)


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_changed_samples_are_read_or_refused(name):
    rng = random.Random(zlib.crc32(name.encode()))
    warm(name)
    samples = READERS[name].samples() + read_corpus(name)
    forget_peak_memory()
    before = peak_memory() or 0
    refused = 0
    for _ in range(CASES):
        content = mutate(rng.choice(samples), rng, rng.choice(samples))
        with limit_seconds():
            refused += check(name, content)
    assert (peak_memory() or 0) - before < MOST


def test_a_reader_that_hangs_is_stopped():
    with pytest.raises(Hang, match="longer than"), limit_seconds(0.1):
        while True:
            time.sleep(1)
    with limit_seconds():  # and the next one has all its time
        time.sleep(0.2)
