"""The sides of a method as ONNX graphs: image, text and, where there is one, pair."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from fdch.data.text_encoders import EncodedVocabulary
from fdch.errors import SettingError
from fdch.export.graph import ROWS, Graph
from fdch.export.hash_graphs import Dense, Function, fusion, outputs, text_input
from fdch.export.image_graphs import image_features
from fdch.methods._base import HashMethod, PairSum
from fdch.networks import image as image_networks
from fdch.networks._base import FeatureNetwork
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.pair import PairNetwork
from fdch.networks.text import TextNetwork
from fdch.training.closed_form import LinearMap
from fdch.training.inputs import READY, Inputs
from fdch.training.kernel_logistic import KernelHash
from fdch.training.median_hash import MedianHash

PIXELS, FEATURES = "pixels", "features"
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


def graphs(
    method: HashMethod, wanted: Sequence[str] = ("image", "text", "pair")
) -> dict[str, bytes]:
    """Write sides of a fitted method as ONNX files, as far as it has them.

    Raises:
        SettingError: The method's outputs are not those of functions known here.
    """
    inputs, functions = method.inputs, method.functions
    _require_exportable(method, functions)
    if isinstance(inputs.vocabulary, EncodedVocabulary):
        raise SettingError(
            f"the text encoder '{inputs.vocabulary.encoder.name}' cannot be exported. "
            "Train with text_features=words or words+static to export the run."
        )
    writer = _Sides(method, inputs)
    write = {"image": writer.image, "text": writer.text, "pair": writer.pair}
    return {side: write[side](functions[side]) for side in wanted if side in functions}


def _require_exportable(method: HashMethod, functions: Mapping[str, object]) -> None:
    known = bool(functions) and all(isinstance(f, EXPORTED) for f in functions.values())
    if not known:
        raise SettingError(
            f"'{method.name}' cannot be exported: its codes take more than one pass "
            "through a network or a map. All methods but LSSH and LCMH can be."
        )


class _Sides:
    def __init__(self, method: HashMethod, inputs: Inputs) -> None:
        self.name, self.bits, self.inputs = method.name, method.bits, inputs

    def image(self, function: object) -> bytes:
        graph = Graph(f"{self.name} image")
        return graph.finish(self._image(graph, function, self._seen(graph)), self.bits)

    def text(self, function: object) -> bytes:
        graph = Graph(f"{self.name} text")
        return graph.finish(self._text(graph, function), self.bits)

    def pair(self, function: object) -> bytes:
        graph = Graph(f"{self.name} pair")
        seen = self._seen(graph)
        if isinstance(function, PairNetwork):
            image = self._image(graph, function.image, seen)
            text = self._text(graph, function.text)
            found = fusion(graph, function.fusion, image, text)
        else:
            assert isinstance(function, PairSum)
            image = self._image(graph, function.image, seen)
            text = self._text(graph, function.text)
            threshold = graph.constant(np.atleast_1d(function.threshold), np.float32)
            found = graph.add("Sub", graph.add("Add", image, text), threshold)
        return graph.finish(found, self.bits)

    def _seen(self, graph: Graph) -> str:
        """Declare what an image side is given."""
        if self.inputs.image_network == READY:
            width = self.inputs.image_width
            return graph.input(FEATURES, np.float32, [ROWS, width])
        size = image_networks.describe(self.inputs.image_network).size
        return graph.input(PIXELS, np.uint8, [ROWS, size, size, 3])

    def _image(self, graph: Graph, function: object, seen: str) -> str:
        features = seen
        if isinstance(function, FineTunedNetwork):
            network, function = function.network, function.head
            features = image_features(graph, network, seen)
        elif self.inputs.image_network != READY:
            features = image_features(graph, self._frozen(), seen)
        return outputs(graph, cast(Function, function), Dense(features))

    def _text(self, graph: Graph, function: object) -> str:
        inputs = self.inputs
        rows = text_input(
            graph,
            inputs.vocabulary is not None,
            inputs.text_width,
            inputs.static_width,
        )
        return outputs(graph, cast(Function, function), rows)

    def _frozen(self) -> FeatureNetwork:
        weights = self.inputs.image_weights
        found = image_networks.load_frozen(
            self.inputs.image_network, Path(weights) if weights else None
        )
        return found.network
