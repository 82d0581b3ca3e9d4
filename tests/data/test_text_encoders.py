"""Features of text encoders beside the words, computed once for each text."""

import numpy as np
import pytest

from fdch import TextEncoder
from fdch.data.text_encoders import TEXTS_AT_A_TIME, EncodedVocabulary
from fdch.data.texts import Sentences
from fdch.errors import SettingError
from fdch.progress import Update


class Lengths:
    """Encodes texts as their length and 1; remembers what it was given."""

    def __init__(self):
        self.seen, self.devices = [], []

    def __call__(self, device):
        self.devices.append(device)
        return self.encode

    def encode(self, texts):
        self.seen += texts
        return [[len(text), 1] for text in texts]


@pytest.fixture
def lengths(request):
    load = Lengths()
    return load, TextEncoder("lengths", 2, request.node.name, load)


def test_features_stand_beside_the_words(lengths):
    vocabulary = EncodedVocabulary(("dog", "sea"), lengths[1], "cpu")
    found = vocabulary.vectors(Sentences(["a dog", None, "xx", "?!", "a dog"]))
    assert found.toarray().tolist() == [
        [1, 0, 5, 1],
        [0, 0, 0, 0],
        [0, 0, 2, 1],
        [0, 0, 0, 0],
        [1, 0, 5, 1],
    ]
    assert (vocabulary.width, vocabulary.static_width) == (4, 2)
    assert lengths[0].seen == ["a dog", "xx"]
    assert lengths[0].devices == ["cpu"]
    assert vocabulary.reads("xx") and not vocabulary.reads("?!")


def test_texts_are_encoded_once_unless_they_must_not_be_kept(lengths):
    vocabulary = EncodedVocabulary(("dog",), lengths[1])
    first = vocabulary.vectors(Sentences(["secret"]), remember=False)
    assert (first.toarray() == [[0, 6, 1]]).all()
    vocabulary.vectors(Sentences(["secret", "dog"]))
    again = vocabulary.vectors(Sentences(["dog", "secret"]))
    assert lengths[0].seen == ["secret", "secret", "dog"]
    assert again.toarray().tolist() == [[1, 3, 1], [0, 6, 1]]


def test_features_of_another_revision_are_not_taken(lengths):
    load, encoder = lengths
    EncodedVocabulary((), encoder).vectors(Sentences(["dog"]))
    other = TextEncoder("lengths", 2, "another", load)
    EncodedVocabulary((), other).vectors(Sentences(["dog"]))
    assert load.seen == ["dog", "dog"]
    assert other.fingerprint != encoder.fingerprint


def test_many_texts_go_in_parts_and_report_progress(lengths):
    updates: list[Update] = []
    vocabulary = EncodedVocabulary((), lengths[1], "cpu", updates.append)
    texts = [f"text {row}" for row in range(TEXTS_AT_A_TIME + 9)]
    found = vocabulary.vectors(Sentences(texts)).toarray()
    assert found[:, 0].tolist() == [len(text) for text in texts]
    assert [update.done for update in updates] == [TEXTS_AT_A_TIME, len(texts)]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1.0, 2.0, 3.0]], r"shape \(1, 3\); expected \(1, 2\)"),
        ([[np.nan, 1.0]], "infinite values or no numbers"),
    ],
)
def test_unfit_features_are_refused(features, message):
    encoder = TextEncoder("unfit", 2, message, lambda device: lambda texts: features)
    with pytest.raises(SettingError, match=f"'unfit' returned .*{message}"):
        encoder.encode(["a"])


def test_features_may_be_a_tensor_as_a_module_returns_it():
    torch = pytest.importorskip("torch")
    learned = torch.ones(1, 2, dtype=torch.bfloat16, requires_grad=True)
    encoder = TextEncoder("module", 2, "1", lambda device: lambda texts: learned)
    assert encoder.encode(["a"]).tolist() == [[1, 1]]
