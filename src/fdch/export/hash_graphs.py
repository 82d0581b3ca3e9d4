"""Hash functions as nodes: image features and texts to outputs, fusion of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.export.graph import ROWS, Graph
from fdch.export.image_graphs import linear
from fdch.networks.fusion import FusionNetwork
from fdch.networks.head import TINY, ImageHead, Standardization
from fdch.networks.text import STATIC_SCALE, TextNetwork
from fdch.training.closed_form import LinearMap
from fdch.training.kernel_logistic import KernelHash
from fdch.training.median_hash import MedianHash

WORDS, WEIGHTS, STATIC, VECTORS = "words", "weights", "static", "vectors"
Function = ImageHead | TextNetwork | LinearMap | MedianHash | KernelHash


@dataclass(frozen=True)
class Dense:
    """Rows with all their numbers, float32 (rows, width)."""

    name: str

    def product(self, graph: Graph, weight: NDArray[Any]) -> str:
        """Multiply the rows by a matrix, (width, outputs)."""
        rows = graph.cast(self.name, weight.dtype)
        return graph.add("MatMul", rows, graph.constant(weight))

    def squares(self, graph: Graph, dtype: Any) -> str:
        """Sum the squares of each row, (rows, 1)."""
        return _squares(graph, graph.cast(self.name, dtype))


@dataclass(frozen=True)
class Words:
    """Rows by the numbers of their words and the weights of these."""

    words: str  # columns that are not zero, int64 (rows, most words of a row)
    weights: str  # their values, float32 of the same shape; 0 where a row has fewer

    def product(self, graph: Graph, weight: NDArray[Any]) -> str:
        """Add up the rows of a matrix that belong to the words."""
        taken = graph.add("Gather", graph.constant(weight), self.words)
        middle = graph.constant([1], np.int64)
        weights = graph.cast(self.weights, weight.dtype)
        weights = graph.add("Unsqueeze", weights, middle)
        return graph.add("Squeeze", graph.add("MatMul", weights, taken), middle)

    def squares(self, graph: Graph, dtype: Any) -> str:
        """Sum the squares of each row, (rows, 1)."""
        return _squares(graph, graph.cast(self.weights, dtype))


@dataclass(frozen=True)
class WordsAndStatic:
    """Rows by their words and, in further columns, static features."""

    words: Words
    static: Dense  # the static features, float32 (rows, width)
    width: int  # their number

    def product(self, graph: Graph, weight: NDArray[Any]) -> str:
        """Multiply the rows by a matrix, (words + width, outputs)."""
        words = self.words.product(graph, weight[: -self.width])
        static = self.static.product(graph, weight[-self.width :])
        return graph.add("Add", words, static)

    def squares(self, graph: Graph, dtype: Any) -> str:
        """Sum the squares of each row, (rows, 1)."""
        parts = (part.squares(graph, dtype) for part in (self.words, self.static))
        return graph.add("Add", *parts)


Rows = Dense | Words | WordsAndStatic


def text_input(graph: Graph, takes_words: bool, width: int, static: int = 0) -> Rows:
    """Declare the inputs of a text side: words, with static features, or vectors."""
    if not takes_words:
        return Dense(graph.input(VECTORS, np.float32, [ROWS, width]))
    shape: Sequence[int | str] = [ROWS, "most"]
    words = Words(
        graph.input(WORDS, np.int64, shape), graph.input(WEIGHTS, np.float32, shape)
    )
    if not static:
        return words
    features = graph.input(STATIC, np.float32, [ROWS, static])
    return WordsAndStatic(words, Dense(features), static)


def outputs(graph: Graph, function: Function, rows: Rows) -> str:
    """Add a hash function; give the name of its outputs, float32 (rows, bits)."""
    if isinstance(function, ImageHead):
        assert isinstance(rows, Dense)
        return _head(graph, function, rows)
    if isinstance(function, TextNetwork):
        return _text_network(graph, function, rows)
    if isinstance(function, KernelHash):
        return graph.cast(_kernel(graph, function, rows), np.float32)
    linear_map, shift = (
        (function.linear, function.medians)
        if isinstance(function, MedianHash)
        else (function, np.zeros(1))
    )
    product = rows.product(graph, linear_map.W.astype(np.float64))
    threshold = graph.constant(linear_map.mean @ linear_map.W + shift, np.float64)
    return graph.cast(graph.add("Sub", product, threshold), np.float32)


def fusion(graph: Graph, network: FusionNetwork, image: str, text: str) -> str:
    """Add the network over both sides' outputs."""
    joined = graph.add("Tanh", graph.add("Add", image, text))
    hidden = graph.add("Relu", linear(graph, network.hidden, joined))
    return linear(graph, network.output, hidden)


def _head(graph: Graph, head: ImageHead, rows: Dense) -> str:
    seen = _standardize(graph, head.standardization, rows)
    if head.hidden is not None:
        seen = graph.add("Relu", linear(graph, head.hidden, seen))
    return linear(graph, head.output, seen)


def _standardize(graph: Graph, layer: Standardization, rows: Dense) -> str:
    mean, deviation = (
        graph.constant(part.detach().cpu().numpy())
        for part in (layer.mean, layer.deviation)
    )
    values = rows.name
    if layer.floor > 0:
        floor = graph.constant(float(layer.floor) + TINY, np.float32)
        values = graph.add("Add", graph.add("Relu", values), floor)
        values = graph.add("Sqrt", values)
    return graph.add("Div", graph.add("Sub", values, mean), deviation)


def _text_network(graph: Graph, network: TextNetwork, rows: Rows) -> str:
    layer, words = network.words, rows
    bias = graph.constant(layer.bias.detach().cpu().numpy())
    if network.static is not None:
        assert isinstance(rows, WordsAndStatic)
        words, static = rows.words, network.static
        seen = Dense(_standardize(graph, static.standardization, rows.static))
        weight = STATIC_SCALE * static.weight.detach().cpu().numpy()
        bias = graph.add("Add", seen.product(graph, weight), bias)
    product = words.product(graph, layer.weight.detach().cpu().numpy())
    hidden = graph.add("Relu", graph.add("Add", product, bias))
    return linear(graph, network.output, hidden)


def _kernel(graph: Graph, function: KernelHash, rows: Rows) -> str:
    """Add exp(-‖x - z‖²/σ²) W, in double precision as it was learned."""
    anchors = function.kernel.anchors.astype(np.float64)
    near = rows.product(graph, np.ascontiguousarray(-2 * anchors.T))
    squares = graph.constant((anchors**2).sum(axis=1))
    far = graph.add("Add", graph.add("Add", near, squares),
                    rows.squares(graph, np.float64))  # fmt: skip
    far = graph.add("Max", far, graph.constant(np.float64(0)))
    width = graph.constant(np.float64(-function.kernel.width))
    kernel = graph.add("Exp", graph.add("Div", far, width))
    return graph.add("MatMul", kernel, graph.constant(function.W, np.float64))


def _squares(graph: Graph, values: str) -> str:
    axes = graph.constant([1], np.int64)
    return graph.add("ReduceSum", graph.add("Mul", values, values), axes, keepdims=1)
