"""Probabilities of classes, and the most probable one, in a graph."""

from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.onnx.graph import Graph, Name
from hyperplanes.estimators.onnx.parts import function_values, scaled_rows, weights_of_particles
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.thinning import ClassLoss, loss_of_classes
from hyperplanes.model.prediction import Functions

NUMBERS = "?bhilqBHILQefd"
"""Types of labels other than text that ONNX knows, as NumPy codes them."""


@dataclass(frozen=True)
class Classes:
    """Posterior mean of the probability of each class, and the label of the most probable one."""

    labels: NDArray[Any]
    """Of the classes."""

    names: ClassVar[tuple[str, ...]] = ("probabilities", "label")
    description: ClassVar[str] = "Posterior mean of the probability of each class, and the most probable one."
    lossless: ClassVar[ClassLoss] = ClassLoss(0.0, 0.0)

    def __post_init__(self) -> None:
        """Check the labels."""
        if not self._are_text and self.labels.dtype.char not in NUMBERS:
            raise ValueError(f"labels of type {self.labels.dtype} cannot be in ONNX: fit to text or numbers")

    @property
    def _are_text(self) -> bool:
        return all(isinstance(label, str) for label in self.labels.tolist())

    @property
    def properties(self) -> dict[str, str]:
        """What the file says of them."""
        return {"classes": "\n".join(map(str, self.labels.tolist()))}

    def add(self, graph: Graph, numbers: Name, mosaic: Mosaic) -> None:
        """Add them to a graph."""
        weights = weights_of_particles(graph, numbers, mosaic)
        last, sums = graph.constant(np.array([-1])), []
        for part, of_part in zip(mosaic.parts, weights, strict=True):
            ballots = _ballots(graph, scaled_rows(graph, numbers, part), part, len(self.labels))
            weighed = graph.apply("Mul", ballots, graph.apply("Unsqueeze", of_part, last))
            sums.append(graph.total(weighed, axis=1))
        found = reduce(lambda one, other: graph.apply("Add", one, other), sums)
        found = graph.apply("Div", found, graph.apply("ReduceSum", found, last, keepdims=1))
        number = graph.apply("ArgMax", found, axis=1, keepdims=0)
        labels = self.labels.astype(object) if self._are_text else self.labels
        label = graph.apply("Gather", graph.constant(labels), number)
        graph.output(self.names[0], found, np.float64, ["rows", len(labels)])
        graph.output(self.names[1], label, str if self._are_text else labels.dtype, ["rows"])

    def loss(self, thin: Mosaic, full: Mosaic, inputs: Floats, *, max_bytes: int) -> ClassLoss:
        """How far those of two mosaics differ."""
        return loss_of_classes(thin, full, inputs, len(self.labels), max_bytes=max_bytes)


def _ballots(graph: Graph, rows: Name, part: Part, n_classes: int) -> Name:
    """Probabilities (rows, n_particles, n_classes), as `classes.ballots`; the first class may have no network."""
    posterior, last = part.posterior, graph.constant(np.array([-1]))
    networks: tuple[Functions, ...] = (posterior, *posterior.others)
    values = [graph.apply("Unsqueeze", function_values(graph, rows, each), last) for each in networks]
    if len(networks) < n_classes:
        values.insert(0, graph.apply("Sub", values[0], values[0]))
    return str(graph.apply("Softmax", graph.apply("Concat", *values, axis=2), axis=2))
