"""Every reader of outside bytes, on whole samples and on some hundred changed ones."""

import random
import zlib

import pytest
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


def test_whole_samples_are_read(name):
    samples = READERS[name].samples()
    assert samples
    assert not check(name, samples[0])


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_changed_samples_are_read_or_refused(name):
    rng, samples = random.Random(zlib.crc32(name.encode())), READERS[name].samples()
    forget_peak_memory()
    before = peak_memory() or 0
    refused = 0
    for _ in range(CASES):
        content = mutate(rng.choice(samples), rng, rng.choice(samples))
        refused += check(name, content)
    assert (peak_memory() or 0) - before < MOST
