"""An evaluation to make pages from, without training or scoring anything slow."""

from dataclasses import replace

import numpy as np
import pytest

from fdch.codes import binarize
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import Sentences
from fdch.evaluation import Protocol, score_galleries
from fdch.methods.fdch import FDCH
from fdch.runs.encoding import EncodedPairs
from fdch.runs.method_scores import Evaluation
from fdch.runs.run import Run

HOSTILE = "<script>alert('x')</script> & \"quoted\""


def encoded(pairs, bits, random):
    """Codes that follow the labels, with some bits turned."""
    directions = np.random.default_rng(7).normal(size=(pairs.labels.shape[1], bits))

    def codes(noise):
        outputs = pairs.labels @ directions + noise * random.normal(size=(1, bits))
        return binarize(outputs + noise * random.normal(size=outputs.shape))

    everything = np.ones(len(pairs), dtype=bool)
    return EncodedPairs(codes(1.0), codes(1.5), codes(0.5), everything, everything)


def evaluated(pairs, bits=16, galleries=("modality", "unified")):
    random = np.random.default_rng(0)
    query, database = pairs[:20], pairs[20:]
    protocol = Protocol(pairs.fingerprint, "given", len(query), len(database), 30)
    queries, held = encoded(query, bits, random), encoded(database, bits, random)
    scores = score_galleries(
        "fdch",
        queries.with_labels(query.labels),
        held.with_labels(database.labels),
        protocol,
        galleries=galleries,
    )
    return Evaluation(scores, query, database, queries, held)


@pytest.fixture(scope="session")
def pairs():
    """Generated pictures, one of them with a hostile name, text and label."""
    scenes = PairedSet.read("scenes:80")
    assert isinstance(scenes.texts, Sentences)
    texts, ids = scenes.texts.values.copy(), scenes.ids.copy()
    texts[:20] = ids[0] = HOSTILE
    names = (HOSTILE, *scenes.label_names[1:])
    return replace(scenes, ids=ids, texts=Sentences(texts), label_names=names)


@pytest.fixture(scope="session")
def evaluation(pairs):
    return evaluated(pairs)


@pytest.fixture(scope="session")
def on_features(pairs):
    values = np.ones((len(pairs), 3), dtype=np.float32)
    return evaluated(replace(pairs, images=ImageFeatures(values)))


@pytest.fixture(scope="session")
def on_one_gallery(pairs):
    return evaluated(pairs, galleries=("unified",))


@pytest.fixture(scope="session")
def run(pairs, tmp_path_factory):
    """A run as far as a page knows it."""
    method = FDCH(bits=16, learning_rate=0.5)
    settings = {"bits": 16, "seed": 0, "learning_rate": 0.5, "image_network": "auto"}
    defaults = {
        name: getattr(FDCH, name) for name in vars(method) if name not in settings
    }
    data = {
        "source": HOSTILE,
        "name": "scenes",
        "fingerprint": pairs.fingerprint,
        "pairs": len(pairs),
        "skipped": 2,
    }
    facts = {
        "method": "fdch",
        "settings": defaults | settings,
        "fingerprint": "f" * 32,
        "data": data,
        "labels": list(pairs.label_names),
        "split": "5" * 32,
        "train": 30,
        "validation": 3,
        "seconds": 1.5,
        "versions": {"fdch": "1.0", "python": "3.11"},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "fdch.report.evaluation_page.lacks_known_words", lambda *_: np.ones(3, bool)
        )
        yield Run(tmp_path_factory.mktemp("run"), method, facts)


@pytest.fixture(scope="session")
def hostile():
    return HOSTILE
