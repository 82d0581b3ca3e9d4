"""Hash functions as nodes: image features and texts to outputs, fusion of both."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.export.graph import ROWS, Graph
from fdch.export.image_graphs import linear
from fdch.networks.fusion import FusionNetwork
from fdch.networks.head import TINY, ImageHead, Standardization
from fdch.networks.text import STATIC_SCALE, TextNetwork
from fdch.training.closed_form import LinearMap
from fdch.training.shallow.kernel_logistic import KernelHash
from fdch.training.shallow.median_hash import MedianHash

Function = ImageHead | TextNetwork | LinearMap | MedianHash | KernelHash


@dataclass(frozen=True)
class Rows:
    """Rows by all their numbers, or by their words and perhaps further columns."""

    dense: str = ""  # all columns, or those after the words, float32 (rows, width)
    words: str = ""  # columns that are not zero, int64 (rows, most words of a row)
    weights: str = ""  # their values, float32; 0 where a row has fewer words
    static: int = 0  # columns after the words

    def product(self, graph: Graph, weight: NDArray[Any]) -> str:
        """Multiply the rows by a matrix, (columns, outputs)."""
        if not self.words:
            rows = graph.cast(self.dense, weight.dtype)
            return graph.add("MatMul", rows, graph.constant(weight))
        known = len(weight) - self.static
        taken = graph.add("Gather", graph.constant(weight[:known]), self.words)
        middle = graph.constant([1], np.int64)
        weights = graph.cast(self.weights, weight.dtype)
        weights = graph.add("Unsqueeze", weights, middle)
        found = graph.add("Squeeze", graph.add("MatMul", weights, taken), middle)
        if not self.static:
            return found
        return graph.add("Add", found, Rows(self.dense).product(graph, weight[known:]))

    def squares(self, graph: Graph, dtype: Any) -> str:
        """Sum the squares of each row, (rows, 1)."""
        sums = []
        for name in filter(None, (self.weights, self.dense)):
            values = graph.cast(name, dtype)
            axes = graph.constant([1], np.int64)
            values = graph.add("Mul", values, values)
            sums.append(graph.add("ReduceSum", values, axes, keepdims=1))
        return sums[0] if len(sums) == 1 else graph.add("Add", *sums)


def text_input(graph: Graph, takes_words: bool, width: int, static: int = 0) -> Rows:
    """Declare the inputs of a text side: words, with static features, or vectors."""
    if not takes_words:
        return Rows(graph.input("vectors", np.float32, [ROWS, width]))
    words = graph.input("words", np.int64, [ROWS, "most"])
    weights = graph.input("weights", np.float32, [ROWS, "most"])
    features = graph.input("static", np.float32, [ROWS, static]) if static else ""
    return Rows(features, words, weights, static)


def outputs(graph: Graph, function: Function, rows: Rows) -> str:
    """Add a hash function; return the name of its outputs, float32 (rows, bits)."""
    if isinstance(function, ImageHead):
        seen = _standardize(graph, function.standardization, rows)
        if function.hidden is not None:
            seen = graph.add("Relu", linear(graph, function.hidden, seen))
        return linear(graph, function.output, seen)
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


def _standardize(graph: Graph, layer: Standardization, rows: Rows) -> str:
    mean, deviation = (
        graph.constant(part.detach().cpu().numpy())
        for part in (layer.mean, layer.deviation)
    )
    values = rows.dense
    if layer.floor > 0:
        floor = graph.constant(float(layer.floor) + TINY, np.float32)
        values = graph.add("Add", graph.add("Relu", values), floor)
        values = graph.add("Sqrt", values)
    return graph.add("Div", graph.add("Sub", values, mean), deviation)


def _text_network(graph: Graph, network: TextNetwork, rows: Rows) -> str:
    layer, words = network.words, rows
    bias = graph.constant(layer.bias.detach().cpu().numpy())
    if network.static is not None:
        words, static = replace(rows, dense="", static=0), network.static
        seen = Rows(_standardize(graph, static.standardization, rows))
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
    near = graph.add("Add", near, squares)
    far = graph.add("Add", near, rows.squares(graph, np.float64))
    far = graph.add("Max", far, graph.constant(np.float64(0)))
    width = graph.constant(np.float64(-function.kernel.width))
    kernel = graph.add("Exp", graph.add("Div", far, width))
    return graph.add("MatMul", kernel, graph.constant(function.W, np.float64))
