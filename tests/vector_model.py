"""A stand-in for a method that gives vectors: the tanh of its first outputs."""

import numpy as np

from fdch.evaluation.ordering import QueryOrder
from fdch.training.ordering import Numbers, Ordering, to_numbers

WIDTH = 12
HALF_STEP = 1 / 15  # numbers from -15 to 15 stand for -1 to 1


class FirstOutputs(Ordering):
    """Orders by the first outputs of a method, kept in 4 bits each."""

    parts = (Numbers(WIDTH, 4),)

    def __init__(self, method):
        self.method = method

    def image_vectors(self, images):
        return self._store(self.method.image_outputs(images))

    def text_vectors(self, texts):
        return self._store(self.method.text_outputs(texts))

    def pair_vectors(self, images, texts):
        return self._store(self.method.pair_outputs(images, texts))

    def weigh_images(self, images):
        return self._weigh(np.tanh(self.method.image_outputs(images)[:, :WIDTH]))

    def weigh_texts(self, texts):
        return self._weigh(np.tanh(self.method.text_outputs(texts)[:, :WIDTH]))

    def weigh_items(self, codes, vectors):
        return self._weigh(vectors)

    def _store(self, outputs):
        return to_numbers(np.tanh(outputs[:, :WIDTH]), HALF_STEP, 4)

    def _weigh(self, values):
        bits = np.zeros((len(values), self.method.bits))
        return QueryOrder(np.concatenate([bits, values], axis=1).astype(np.float32))


def give_vectors(monkeypatch, method):
    """Let a class of methods give vectors, also when one is opened from a run."""
    monkeypatch.setattr(method, "ordering", property(FirstOutputs))
