"""The sides of a method as ONNX graphs: image, text and, where there is one, pair."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from fdch.data.text_encoders import EncodedVocabulary
from fdch.errors import SettingError
from fdch.export.graph import ROWS, Graph
from fdch.export.hash_graphs import Function, Rows, fusion, outputs, text_input
from fdch.export.image_graphs import image_features
from fdch.export.model import SIDES
from fdch.methods._base import HashMethod, PairSum
from fdch.networks import image as image_networks
from fdch.networks.fusion import PairNetwork
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.text import TextNetwork
from fdch.training.closed_form import LinearMap
from fdch.training.inputs import READY, Inputs
from fdch.training.shallow.kernel_logistic import KernelHash
from fdch.training.shallow.median_hash import MedianHash

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


def graphs(method: HashMethod, wanted: Sequence[str] = SIDES) -> dict[str, bytes]:
    """Write sides of a fitted method as ONNX files, as far as it has them."""
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
