"""Parts in a graph: scaled inputs, functions of particles, and how likely a row is in each part."""

from typing import Any

import numpy as np

from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.onnx.graph import Graph, Name
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import FAR_AWAY
from hyperplanes.model.prediction import Functions


def scaled_rows(graph: Graph, numbers: Name, part: Part) -> Name:
    """Rows in the units of a part: `Scaler.to_model`, in the precision of its networks."""
    scaler, half = part.input_scaler, graph.constant(0.5)
    difference = graph.apply("Sub", graph.apply("Mul", numbers, half), graph.constant(0.5 * scaler.center_))
    scaled = graph.apply("Div", difference, graph.constant(0.5 * scaler.scale_))
    precision = part.posterior.normals.dtype
    if np.isinf(scaler.bend_):
        return graph.cast(graph.apply("Clip", scaled, *map(graph.constant, (-FAR_AWAY, FAR_AWAY))), precision)
    bend, one = graph.constant(float(scaler.bend_)), graph.constant(1.0)
    size = graph.apply("Clip", graph.apply("Div", graph.apply("Abs", scaled), bend), one, graph.constant(FAR_AWAY))
    grown = graph.apply("Mul", bend, graph.apply("Add", one, graph.apply("Log", size)))
    bent = graph.apply("Mul", graph.apply("Sign", scaled), grown)
    return graph.cast(graph.apply("Where", graph.apply("Greater", size, one), bent, scaled), precision)


def function_values(graph: Graph, rows: Name, functions: Functions) -> Name:
    """The functions of all particles at each row, (rows, n_particles), in the units of the model."""
    normals, offsets, coefficients = _without_empty_places(functions)
    n_particles, n_places, n_columns = normals.shape
    planes = graph.constant(np.ascontiguousarray(normals.reshape(-1, n_columns).T))
    beyond = graph.apply("Sub", graph.apply("MatMul", rows, planes), graph.constant(offsets.ravel()))
    shape = graph.constant(np.array([-1, n_particles, n_places]))
    features = graph.apply("Reshape", graph.apply("Relu", beyond), shape)
    weighed = graph.apply("Mul", features, graph.constant(coefficients[:, 1:].astype(normals.dtype)))
    intercepts = graph.constant(coefficients[:, 0].astype(normals.dtype))
    return graph.cast(graph.apply("Add", graph.total(weighed, axis=2), intercepts), np.float64)


def _without_empty_places(functions: Functions) -> tuple[Any, Any, Any]:
    """Normals, offsets and coefficients with as many places as the particle with most hyperplanes has."""
    present = np.any(functions.normals != 0, axis=2)
    order = np.argsort(~present, axis=1, kind="stable")[:, : max(1, int(present.sum(axis=1).max()))]
    particle = np.arange(len(order))[:, None]
    of_places = np.where(present[particle, order], functions.coefficients[particle, 1 + order], 0.0)
    coefficients = np.column_stack([functions.coefficients[:, 0], of_places])
    return functions.normals[particle, order], functions.offsets[particle, order], coefficients


def weights_of_particles(graph: Graph, numbers: Name, mosaic: Mosaic) -> list[Name]:
    """Weights of the particles of each part, (1, n_particles) where it is the only one, else (rows, n_particles)."""
    weights = [graph.constant(np.exp(part.posterior.log_weights)[None]) for part in mosaic.parts]
    if len(weights) == 1:
        return weights
    shares = _shares(graph, numbers, mosaic)
    return [graph.apply("Mul", shares[k], each) for k, each in enumerate(weights)]


def _shares(graph: Graph, numbers: Name, mosaic: Mosaic) -> dict[int, Name]:
    """How likely each row is in each subdomain, (rows, 1): `Subdomains.members`."""
    subdomains = mosaic.subdomains
    found: dict[int, Name] = {}
    waiting: list[tuple[int, Name | None]] = [(0, None)]
    while waiting:
        cut, share = waiting.pop()
        value = graph.apply("Gather", numbers, graph.constant(subdomains.columns[cut : cut + 1]), axis=1)
        beyond = _beyond(graph, value, float(subdomains.thresholds[cut]), float(subdomains.margins[cut]))
        below = graph.apply("Sub", graph.constant(1.0), beyond)
        for side, on_side in zip(subdomains.sides[cut].tolist(), (below, beyond), strict=True):
            there = on_side if share is None else graph.apply("Mul", share, on_side)
            if side < 0:
                found[~side] = there
            else:
                waiting.append((side, there))
    return found


def _beyond(graph: Graph, value: Name, threshold: float, margin: float) -> Name:
    if margin == 0:
        return graph.cast(graph.apply("Greater", value, graph.constant(threshold)), np.float64)
    distance = graph.apply("Sub", graph.apply("Mul", value, graph.constant(0.5)), graph.constant(0.5 * threshold))
    chance = graph.apply("Add", graph.apply("Div", distance, graph.constant(margin)), graph.constant(0.5))
    return str(graph.apply("Clip", chance, graph.constant(0.0), graph.constant(1.0)))
