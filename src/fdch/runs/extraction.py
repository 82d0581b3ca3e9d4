"""Image features of many trainings, computed once and held in memory."""

from dataclasses import replace

import numpy as np

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, Pictures
from fdch.methods._base import HashMethod
from fdch.methods._state import inputs_to_arrays
from fdch.training.context import Context
from fdch.training.inputs import Inputs


def takes_features(method: HashMethod, pairs: PairedSet) -> bool:
    """Tell whether a method would turn the pictures into the usual features.

    With a network of its own choice, or one that it trains, it takes pictures.
    """
    return (
        isinstance(pairs.images, Pictures)
        and bool(pairs.images.present.all())
        and method.image_network == "auto"
        and not getattr(method, "finetune", False)
    )


def extract(pairs: PairedSet, context: Context) -> PairedSet:
    """Put the usual features in the place of all pictures."""
    values = Inputs.fit(pairs).images(pairs.images, context)
    return replace(pairs, images=ImageFeatures(np.asarray(values)))


def for_pictures(method: HashMethod, pairs: PairedSet, context: Context) -> HashMethod:
    """Give a method that learned from features the pictures' own input again.

    What it learned is the same; a run of it can then encode pictures.
    """
    if not takes_features(method, pairs):
        return method
    network = Inputs.fit(pairs).image_network
    inputs = replace(method.inputs, image_network=network)
    state = method.state() | inputs_to_arrays(inputs)
    return replace(method).restore(state, context)
