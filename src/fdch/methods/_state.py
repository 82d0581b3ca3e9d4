"""Inputs to and from plain arrays, so that a method's state is arrays alone."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.static_words import NAME, restore_vocabulary
from fdch.errors import DamagedRun, DataError
from fdch.training.inputs import Inputs

KEY = "inputs"


def inputs_to_arrays(inputs: Inputs) -> dict[str, NDArray[Any]]:
    """Give the inputs as one array of bytes that hold JSON."""
    words = None if inputs.vocabulary is None else list(inputs.vocabulary.words)
    facts = {
        "image_network": inputs.image_network,
        "image_width": inputs.image_width,
        "finetune": inputs.finetune,
        "words": words,
        "static": NAME if inputs.static_width else None,
        "text_width": inputs.text_width,
        "items": inputs.items,
    }
    text = json.dumps(facts, ensure_ascii=False)
    return {KEY: np.frombuffer(text.encode(), dtype=np.uint8)}


def inputs_from_arrays(state: Mapping[str, NDArray[Any]], image_weights: str) -> Inputs:
    """Read what `inputs_to_arrays` gave; a file of weights may have moved since."""
    try:
        facts = json.loads(state[KEY].tobytes())
        vocabulary = restore_vocabulary(
            facts["words"], facts.get("static"), facts["text_width"]
        )
        return Inputs(
            image_network=str(facts["image_network"]),
            image_width=int(facts["image_width"]),
            image_weights=image_weights,
            finetune=bool(facts["finetune"]),
            vocabulary=vocabulary,
            text_width=int(facts["text_width"]),
            items=int(facts["items"]),
        )
    except DataError:  # of the packaged embeddings, not of the state
        raise
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise DamagedRun(
            f"the saved state lacks a readable description of its inputs ({problem}). "
            "Train the run again."
        ) from problem
