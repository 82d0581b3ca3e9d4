"""A small writer of ONNX graphs: one call to a node."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import MissingExtra

# what ONNX Runtime has read for years
OPSET, IR_VERSION = 17, 8
OUTPUT = "outputs"
ROWS = "rows"  # the dimension that may be of any size


def load_onnx() -> Any:
    """Import onnx where it is installed."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise MissingExtra("exporting to ONNX", "onnx") from error
    return onnx


class Graph:
    """Nodes and constants as they are added; values go by their names."""

    def __init__(self, name: str) -> None:
        self._onnx, self._name = load_onnx(), name
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._taken = 0

    def input(self, name: str, dtype: Any, shape: Sequence[int | str]) -> str:
        """Declare an input; a dimension by name may be of any size."""
        helper = self._onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Keep an array in the graph."""
        name = self._new_name("constant")
        array: NDArray[Any] = np.ascontiguousarray(values, dtype=dtype)
        if np.ndim(values) == 0:
            array = array.reshape(())
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; return the output's name."""
        name = self._new_name(operator.lower())
        self._nodes.append(
            self._onnx.helper.make_node(operator, inputs, [name], **attributes)
        )
        return name

    def cast(self, value: str, dtype: Any) -> str:
        """Turn values into another kind of number."""
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", value, to=kind)

    def finish(self, output: str, width: int) -> bytes:
        """Return the checked graph's file: outputs, float32 (rows, width)."""
        helper = self._onnx.helper
        nodes = [*self._nodes, helper.make_node("Identity", [output], [OUTPUT])]
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(np.float32))
        graph = helper.make_graph(
            nodes,
            self._name,
            self._inputs,
            [helper.make_tensor_value_info(OUTPUT, kind, [ROWS, width])],
            self._constants,
        )
        model = helper.make_model(
            graph,
            producer_name="fdch",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        self._onnx.checker.check_model(model)
        return bytes(model.SerializeToString())

    def _new_name(self, kind: str) -> str:
        self._taken += 1
        return f"{kind}_{self._taken}"
