"""A small model to serve: FDCH on captions of scenes, trained in a second."""

from dataclasses import replace

import numpy as np

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import Sentences
from fdch.methods._base import HashMethod
from fdch.methods.fdch import FDCH

PAIRS, WIDTH, QUERIES = 512, 64, 256


def small_model(bits: int, seed: int = 0) -> tuple[HashMethod, list[str]]:
    """Train a model with the usual text network on ready image features.

    Returns:
        The method, and captions to search for.
    """
    scenes = PairedSet.read(f"scenes:{PAIRS}")
    rng = np.random.default_rng(seed)
    features = scenes.labels @ rng.standard_normal((scenes.labels.shape[1], WIDTH))
    pairs = replace(scenes, images=ImageFeatures(features.astype(np.float32)))
    method = FDCH(bits=bits, seed=seed, stage_one_epochs=2, stage_two_epochs=2)
    assert isinstance(scenes.texts, Sentences)
    texts = [str(text) for text in scenes.texts.values[:QUERIES]]
    return method.fit(pairs), texts
