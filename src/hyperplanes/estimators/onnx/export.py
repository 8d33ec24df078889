"""The file: as many particles as it may hold, and what leaving others out costs."""

from bisect import bisect_right
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.onnx.columns import Inputs
from hyperplanes.estimators.onnx.graph import Graph, Name
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import Table
from hyperplanes.estimators.thinning import ClassLoss, Loss, thinned
from hyperplanes.files import replaced_file
from hyperplanes.inference import predicting_on

N_JUDGED = 1000
"""Rows that a loss is judged on, where none are given."""
MOST_BYTES = 2**31 - 1
"""That ONNX can hold in one file."""


class OnnxExport(NamedTuple):
    """What was written."""

    n_bytes: int
    """Size of the file."""
    n_particles: int
    """Particles of each part in it."""
    loss: Loss | ClassLoss
    """What thinning cost; zeros where all particles are in it."""


class Answers(Protocol):
    """What a graph says of each row."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of its outputs."""

    @property
    def description(self) -> str:
        """A sentence for the file."""

    @property
    def properties(self) -> dict[str, str]:
        """What the file says of them."""

    @property
    def lossless(self) -> Loss | ClassLoss:
        """The loss where nothing is left out."""

    def add(self, graph: Graph, numbers: Name, mosaic: Mosaic) -> None:
        """Add them to a graph."""

    def loss(self, thin: Mosaic, full: Mosaic, inputs: Floats, *, max_bytes: int) -> Loss | ClassLoss:
        """How far those of two mosaics differ."""


class Export(NamedTuple):
    """What goes into a graph."""

    inputs: Inputs
    """What it is fed."""
    mosaic: Mosaic
    """Parts, thinned or not."""
    answers: Answers
    """What it says."""

    def with_particles(self, n_particles: int) -> "Export":
        """The same with fewer particles."""
        parts = tuple(thinned(part, n_particles) for part in self.mosaic.parts)
        return self._replace(mosaic=self.mosaic._replace(parts=parts))

    def serialise(self) -> bytes:
        """The file."""
        graph = Graph()
        self.answers.add(graph, self.inputs.numbers(graph), self.mosaic)
        properties = self.answers.properties | {"columns": "\n".join(self.inputs.names)}
        data: bytes = graph.model(properties, self.answers.description).SerializeToString()
        return data


def write_onnx(
    model: Any,
    path: str | PathLike[str],
    answers: Answers,
    *,
    n_particles: int | None,
    max_bytes: int | None,
    X: Table | None,
) -> OnnxExport:
    """Write the graph of a fitted estimator to a file, thinned as asked; see `to_onnx` of the estimators."""
    names = tuple(map(str, getattr(model, "feature_names_in_", ())))
    inputs = Inputs(model.columns_, names, model.n_features_in_)
    inputs.check_names(answers.names)
    full = Export(inputs, Mosaic(model.subdomains_, model.parts_), answers)
    all_of_them = max(len(part.posterior.log_weights) for part in model.parts_)
    wanted = all_of_them if n_particles is None else checked.positive_integer("n_particles", n_particles)
    budget = MOST_BYTES if max_bytes is None else checked.positive_integer("max_bytes", max_bytes)
    rows = _rows_to_judge(model.input_range_) if X is None else model._inputs(X)
    number, data = _within(full, min(wanted, all_of_them), min(budget, MOST_BYTES))
    loss = answers.lossless
    if number < all_of_them:
        with predicting_on(model.device):
            thin = full.with_particles(number).mosaic
            loss = answers.loss(thin, full.mosaic, rows, max_bytes=model._max_bytes())
    with replaced_file(path) as file:
        file.write(data)
    return OnnxExport(len(data), number, loss)


def _rows_to_judge(input_range: Floats) -> Floats:
    low, high = input_range
    shares = np.random.default_rng(0).random((N_JUDGED, len(low)))
    return np.asarray((1 - shares) * low + shares * high)


def _within(export: Export, n_particles: int, budget: int) -> tuple[int, bytes]:
    """As many particles as asked for, or as the budget holds, and their file."""
    data = export.with_particles(n_particles).serialise()
    if len(data) > budget:
        n_particles = bisect_right(
            range(1, n_particles), budget, key=lambda number: len(export.with_particles(number).serialise())
        )
        data = export.with_particles(max(1, n_particles)).serialise()
    if n_particles == 0:
        raise ValueError(f"max_bytes must be at least {len(data)}, which one particle takes, got {budget}")
    return n_particles, data
