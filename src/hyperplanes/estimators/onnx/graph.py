"""A computation as an ONNX graph, one operation at a time."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Name: TypeAlias = str
"""Of a tensor in the graph."""

OPSET = 19
"""The first that compares text; onnxruntime 1.15 and later run it."""
IR_VERSION = 9
INTERNAL = "h/"
"""How names in the graph begin that are no inputs or outputs of it."""


class Graph:
    """Operations so far, and the constants that they use."""

    def __init__(self, prefix: str = INTERNAL) -> None:
        self.onnx = import_onnx()
        self._prefix = prefix
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: Name, dtype: Any, shape: Sequence[int | str | None]) -> Name:
        """Something that is fed into the graph."""
        self._inputs.append(self._info(name, dtype, shape))
        return name

    def output(self, name: Name, value: Name, dtype: Any, shape: Sequence[int | str | None]) -> None:
        """Something that the graph gives, under a name of its own."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._info(name, dtype, shape))

    def constant(self, values: ArrayLike | NDArray[Any]) -> Name:
        """Numbers, or text, that never change."""
        name = f"{self._prefix}c{len(self._constants)}"
        self._constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def apply(self, operation: str, *values: Name, n_outputs: int = 1, **attributes: Any) -> Any:
        """The name of what an operation makes of others, or the names where there are several."""
        names = [f"{self._prefix}v{len(self._nodes)}_{k}" for k in range(n_outputs)]
        self._nodes.append(self.onnx.helper.make_node(operation, list(values), names, **attributes))
        return names[0] if n_outputs == 1 else names

    def cast(self, value: Name, dtype: Any) -> Name:
        """The same as another type."""
        name: Name = self.apply("Cast", value, to=self._type(dtype))
        return name

    def total(self, value: Name, axis: int) -> Name:
        """The sum over an axis."""
        name: Name = self.apply("ReduceSum", value, self.constant(np.array([axis])), keepdims=0)
        return name

    def repeat(self, most: int, start: dict[str, Name], body: Callable[["Graph", dict[str, Name]], Any]) -> list[Name]:
        """Repeat a body until it says that it is done, or as often as allowed.

        `body` gets a graph to add to and the values by name, and returns new values by name, and whether to go on.
        Values are (rows, columns) of float64, or of booleans where the name ends in ``?``.
        """
        prefix = f"{self._prefix}{len(self._nodes)}/"
        inner = Graph(prefix)
        inner.input(f"{prefix}step", np.int64, [])
        inner.input(f"{prefix}on", np.bool_, [])
        kinds = {name: np.bool_ if name.endswith("?") else np.float64 for name in start}
        values = {name: inner.input(f"{prefix}{name}", kinds[name], [None, None]) for name in start}
        after, go_on = body(inner, values)
        inner.output(f"{prefix}go_on", go_on, np.bool_, [])
        for name in start:
            inner.output(f"{prefix}next_{name}", after[name], kinds[name], [None, None])
        limit, on = self.constant(np.int64(most)), self.constant(np.bool_(True))
        found: list[Name] = self.apply(
            "Loop", limit, on, *start.values(), n_outputs=len(start), body=inner._graph("repeated")
        )
        return found

    def model(self, properties: dict[str, str], description: str) -> Any:
        """A model that runtimes can load, checked."""
        helper = self.onnx.helper
        model = helper.make_model(
            self._graph("hyperplanes"),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="hyperplanes",
            doc_string=description,
        )
        helper.set_model_props(model, properties)
        self.onnx.checker.check_model(model, full_check=True)
        return model

    def _graph(self, name: str) -> Any:
        return self.onnx.helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)

    def _info(self, name: Name, dtype: Any, shape: Sequence[int | str | None]) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, self._type(dtype), shape)

    def _type(self, dtype: Any) -> int:
        text = self.onnx.TensorProto.STRING
        kind: int = text if dtype is str else self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return kind


def import_onnx() -> Any:
    """The package, or an error that says how to get it."""
    try:
        for name in ("onnx.checker", "onnx.helper", "onnx.numpy_helper"):
            import_module(name)
        return import_module("onnx")
    except ImportError as error:
        raise ImportError('export to ONNX needs onnx: pip install "hyperplanes[onnx]"') from error
