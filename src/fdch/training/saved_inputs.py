"""The inputs of a method as an array of its state, and back under checks."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.extensions import FOLDER, find_folder
from fdch.data.static_words import NAME, StaticVocabulary, restore_vocabulary
from fdch.data.text_encoders import EncodedVocabulary
from fdch.data.texts import Vocabulary
from fdch.errors import DamagedRun, DataError, FdchError
from fdch.training.context import PLAIN, Context
from fdch.training.inputs import Inputs, encode_vocabulary

KEY = "inputs"
MAX_NAME = 4096  # of a network or an encoder, which may be a path


def inputs_to_arrays(inputs: Inputs) -> dict[str, NDArray[Any]]:
    """Return the inputs as one array of bytes that hold JSON."""
    words = None if inputs.vocabulary is None else list(inputs.vocabulary.words)
    facts = {
        "image_network": inputs.image_network,
        "image_width": inputs.image_width,
        "finetune": inputs.finetune,
        "words": words,
        "static": NAME if type(inputs.vocabulary) is StaticVocabulary else None,
        "text_width": inputs.text_width,
        "items": inputs.items,
    }
    if inputs.image_fingerprint:
        facts["image_fingerprint"] = inputs.image_fingerprint
    if isinstance(inputs.vocabulary, EncodedVocabulary):
        encoder = inputs.vocabulary.encoder
        facts["text_encoder"] = encoder.name, encoder.fingerprint
    text = json.dumps(facts, ensure_ascii=False)
    return {KEY: np.frombuffer(text.encode(), dtype=np.uint8)}


def inputs_from_arrays(
    state: Mapping[str, NDArray[Any]], image_weights: str, context: Context = PLAIN
) -> Inputs:
    """Read what `inputs_to_arrays` gave; a file of weights may have moved since."""
    try:
        facts = json.loads(state[KEY].tobytes())
        name = str(facts["image_network"])[:MAX_NAME]
        if name.startswith(FOLDER):
            find_folder(name)  # refuses one that is not there
        return Inputs(
            image_network=name,
            image_width=int(facts["image_width"]),
            image_weights=image_weights,
            finetune=bool(facts["finetune"]),
            vocabulary=_restore_vocabulary(facts, context),
            text_width=int(facts["text_width"]),
            items=int(facts["items"]),
            image_fingerprint=str(facts.get("image_fingerprint", "")),
        )
    except FdchError:  # of what the state names, not of the state
        raise
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise DamagedRun(
            f"the saved state lacks a readable description of its inputs ({problem}). "
            "Train the run again."
        ) from problem


def _restore_vocabulary(facts: dict[str, Any], context: Context) -> Vocabulary | None:
    words, width = facts["words"], facts["text_width"]
    if "text_encoder" not in facts:
        return restore_vocabulary(words, facts.get("static"), width)
    name, expected = facts["text_encoder"]
    found = encode_vocabulary(tuple(map(str, words)), str(name)[:MAX_NAME], context)
    if found.encoder.fingerprint != expected or found.width != width:
        raise DataError(
            f"the text encoder '{name}' is not the one that this model was trained "
            "with: its files, its revision or its width have changed. Restore it, or "
            "train the model again."
        )
    return found
