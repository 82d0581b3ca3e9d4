"""Write a run as ONNX files, one to each side, and a manifest on how to use them."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from fdch import __version__
from fdch.data.static_words import NAME, TOKENIZER, WEIGHTS
from fdch.data.text_encoders import EncodedVocabulary
from fdch.errors import RunError, SettingError
from fdch.export.graph import ROWS, Graph
from fdch.export.hash_graphs import Function, Rows, fusion, outputs, text_input
from fdch.export.image_graphs import image_features
from fdch.export.model import FORMAT, MANIFEST, SIDES
from fdch.files import make_folder, write_bytes, write_json
from fdch.methods._base import HashMethod, PairSum
from fdch.networks import image as image_networks
from fdch.networks.fusion import PairNetwork
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.text import TextNetwork
from fdch.runs.run import Run
from fdch.training.closed_form import LinearMap
from fdch.training.inputs import READY, Inputs
from fdch.training.shallow.kernel_logistic import KernelHash
from fdch.training.shallow.median_hash import MedianHash

CODES = (
    "a bit is 1 where its output is 0 or above; bits are packed eight to the byte, "
    "the first bit the highest of its byte (numpy.packbits)"
)
PICTURES = (
    "decode to RGB, turn by the EXIF orientation, scale the whole picture to "
    "size x size with a bicubic filter, give bytes as (rows, size, size, 3)"
)
TEXTS = (
    "casefold, then Unicode NFC; split at white space; a piece that is a known word "
    "counts as that word, another by its parts \\w+ that are known; each word once. "
    "words: numbers of the known words, weights: 1 for each; fill shorter rows up "
    "with word 0 of weight 0. "
)
WITHOUT_WORDS = "A text without a known word has no code"
STATIC_TEXTS = (
    "static: cut the text, casefolded and in NFC, into words [^\\W_]{1,100}; cut each "
    "word into pieces with the tokenizer of the package wordllama "
    f"({TOKENIZER.path}), without special tokens; take the mean of the pieces' rows in "
    f"{WEIGHTS.path} and divide it by its length. A text without any word, known or "
    "not, has no code"
)
EXPORTED = (
    ImageHead,
    TextNetwork,
    FineTunedNetwork,
    PairNetwork,
    PairSum,
    LinearMap,
    MedianHash,
    KernelHash,
)


def export_run(run: Run, out: Path, roles: Sequence[str] = SIDES) -> dict[str, Any]:
    """Write a run's sides as ONNX files into an empty folder, the manifest last."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(
            f"'{out}' is there and not an empty folder. Choose another folder."
        )
    found = graphs(run.method, roles)
    document = manifest(run, found)
    make_folder(out)
    for side, content in found.items():
        name = document["sides"][side]["file"]
        write_bytes(out / name, content)
    write_json(out / MANIFEST, document)
    return document


def manifest(run: Run, found: dict[str, bytes]) -> dict[str, Any]:
    """Describe the inputs and outputs of the graphs, for programs and for people."""
    method = run.method
    return {
        "format": FORMAT,
        "fdch": __version__,
        "method": run.name,
        "model": run.fingerprint,
        "bits": method.bits,
        "codes": CODES,
        "image": _image_input(method),
        "text": _text_input(method),
        "sides": {
            side: {
                "file": f"{side}.onnx",
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for side, content in found.items()
        },
    }


def _image_input(method: HashMethod) -> dict[str, Any]:
    inputs = method.inputs
    facts = {"network": inputs.image_network, "width": inputs.image_width}
    if inputs.size is None:
        return {"input": "features", **facts}
    return {"input": "pixels", "size": inputs.size, **facts, "preparation": PICTURES}


def _text_input(method: HashMethod) -> dict[str, Any]:
    inputs = method.inputs
    if inputs.vocabulary is None:
        return {"input": "vectors", "width": inputs.text_width}
    words = list(inputs.vocabulary.words)
    width = inputs.text_width
    facts = {"input": "words", "width": width, "words": words}
    if inputs.static_width:
        return {**facts, "preparation": TEXTS + STATIC_TEXTS, "static": NAME}
    return {**facts, "preparation": TEXTS + WITHOUT_WORDS}


def graphs(method: HashMethod, wanted: Sequence[str] = SIDES) -> dict[str, bytes]:
    """Convert the sides that a fitted method has to ONNX."""
    functions, vocabulary = method.functions, method.inputs.vocabulary
    if isinstance(vocabulary, EncodedVocabulary):
        raise SettingError(
            f"the text encoder '{vocabulary.encoder.name}' cannot be exported. "
            "Train with text_features=words or words+static to export the run."
        )
    if not functions or not all(isinstance(f, EXPORTED) for f in functions.values()):
        raise SettingError(
            f"'{method.name}' cannot be exported: its codes take more than one pass "
            "through a network or a map. All methods but LSSH and LCMH can be."
        )
    found = {}
    for side in (side for side in wanted if side in functions):
        graph = Graph(f"{method.name} {side}")
        values = _add_side(graph, method.inputs, functions[side], side)
        found[side] = graph.finish(values, method.bits)
    return found


def _add_side(graph: Graph, inputs: Inputs, function: object, side: str) -> str:
    if side == "text":
        return _add_text(graph, inputs, function)
    seen = _declare_images(graph, inputs)
    if side == "image":
        return _add_image(graph, inputs, function, seen)
    assert isinstance(function, PairNetwork | PairSum)
    image = _add_image(graph, inputs, function.image, seen)
    text = _add_text(graph, inputs, function.text)
    if isinstance(function, PairNetwork):
        return fusion(graph, function.fusion, image, text)
    threshold = graph.constant(np.atleast_1d(function.threshold), np.float32)
    return graph.add("Sub", graph.add("Add", image, text), threshold)


def _declare_images(graph: Graph, inputs: Inputs) -> str:
    if inputs.image_network == READY:
        return graph.input("features", np.float32, [ROWS, inputs.image_width])
    size = image_networks.describe(inputs.image_network).size
    return graph.input("pixels", np.uint8, [ROWS, size, size, 3])


def _add_image(graph: Graph, inputs: Inputs, function: object, seen: str) -> str:
    if isinstance(function, FineTunedNetwork):
        seen = image_features(graph, function.network, seen)
        function = function.head
    elif inputs.image_network != READY:
        weights = Path(inputs.image_weights) if inputs.image_weights else None
        frozen = image_networks.load_frozen(inputs.image_network, weights)
        seen = image_features(graph, frozen.network, seen)
    return outputs(graph, cast(Function, function), Rows(seen))


def _add_text(graph: Graph, inputs: Inputs, function: object) -> str:
    takes_words = inputs.vocabulary is not None
    rows = text_input(graph, takes_words, inputs.text_width, inputs.static_width)
    return outputs(graph, cast(Function, function), rows)
