"""Methods without networks on real photos and tags, where they are at hand."""

import numpy as np
import pytest

from fdch import methods
from fdch.data.pairs import PairedSet
from fdch.evaluation.health import code_health
from fdch.methods._deep import DeepMethod
from fdch.runs.preparation import extract
from fdch.training.context import PLAIN

PAIRS = 500
SHALLOW = [
    name for name in methods.names() if not issubclass(methods.load(name), DeepMethod)
]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def photos(mirflickr):
    pairs = PairedSet.read(f"mirflickr25k:{mirflickr}")
    rows = np.random.default_rng(0).choice(len(pairs), PAIRS, replace=False)
    return extract(pairs[np.sort(rows)], PLAIN)


@pytest.mark.parametrize("name", SHALLOW)
def test_no_bit_is_constant_on_photos_learned_from(name, photos):
    method = methods.load(name)(bits=64).fit(photos)
    assert not code_health(method.encode_images(photos.images)).constant_bits
    assert not code_health(method.encode_texts(photos.texts)).constant_bits
