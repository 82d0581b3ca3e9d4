"""A stand-in for a method that gives vectors: the tanh of its first outputs."""

from typing import Any

import numpy as np

WIDTH = 12


class GivesVectors:
    """What `fdch.retrieval.ordering.VectorModel` needs, to be put into a method."""

    vector_bytes = WIDTH
    image_outputs: Any
    text_outputs: Any
    pair_outputs: Any

    def image_vectors(self, images):
        return np.tanh(self.image_outputs(images)[:, :WIDTH])

    def text_vectors(self, texts):
        return np.tanh(self.text_outputs(texts)[:, :WIDTH])

    def pair_vectors(self, images, texts):
        return np.tanh(self.pair_outputs(images, texts)[:, :WIDTH])

    def pack_vectors(self, vectors):
        return np.rint(127 * vectors).astype(np.int8)

    def unpack_vectors(self, codes, packed):
        assert len(codes) == len(packed)
        return packed.astype(np.float32) / np.float32(127)


def give_vectors(monkeypatch, method):
    """Let a class of methods give vectors, also when one is opened from a run."""
    for name, value in vars(GivesVectors).items():
        if not name.startswith("__"):
            monkeypatch.setattr(method, name, value, raising=False)
