"""Export to ONNX: the predictive mean and quantiles of a fitted model as a graph that needs none of this library.

The graph takes what the user has, in the user's units: scaling, filling in of missing values and categories are inside.
Inputs are scaled in float64, because float32 would cancel where values are large and differ little; the two-layer
networks of all particles are evaluated together, in the float32 of `predict`; the rest is float64 again.
"""

from bisect import bisect_right
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.onnx_graph import INTERNAL, Graph, Name
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import FAR_AWAY, Floats, Scaler
from hyperplanes.estimators.thinning import Loss, loss_of, thinned
from hyperplanes.files import replaced_file
from hyperplanes.inference import Posterior, Subdomains
from hyperplanes.model.prediction import MOST_NEWTON_STEPS, QUANTILE_TOLERANCE

OUTPUTS = ("mean", "quantiles")
N_JUDGED = 1000
"""Rows that a loss is judged on, where none are given."""
MOST_BYTES = 2**31 - 1
"""That ONNX can hold in one file."""
TAIL = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
)  # fmt: skip
"""erfc(z) = t exp(-z^2 + P(t)), t = 1 / (1 + z / 2), z >= 0: relative error below 1.2e-7 (Numerical Recipes, erfcc).
Runtimes know erf in float32 alone, whose error in the tails is far larger."""


class OnnxExport(NamedTuple):
    """What was written."""

    n_bytes: int
    """Size of the file."""
    n_particles: int
    """Particles of each part in it."""
    loss: Loss
    """What thinning cost; zeros where all particles are in it."""


class Export(NamedTuple):
    """What goes into a graph."""

    mosaic: Mosaic
    """Parts, thinned or not."""
    columns: Columns
    """How columns become numbers."""
    names: tuple[str, ...]
    """Of the columns; empty where they have none."""
    n_features: int
    """Columns of the user."""
    levels: tuple[float, ...]
    """Of the quantiles."""


def write_onnx(
    model: Any,
    path: str | PathLike[str],
    quantiles: Any,
    *,
    n_particles: int | None,
    max_bytes: int | None,
    inputs: Floats | None,
    memory: int,
) -> OnnxExport:
    """Write the graph of a fitted estimator to a file, thinned as asked; see `ExportMixin.to_onnx`."""
    levels = _read_levels(quantiles)
    full = Export(
        Mosaic(model.subdomains_, model.parts_),
        model.columns_,
        tuple(map(str, getattr(model, "feature_names_in_", ()))),
        model.n_features_in_,
        levels,
    )
    _check_names(full)
    all_of_them = max(len(part.posterior.log_weights) for part in model.parts_)
    wanted = all_of_them if n_particles is None else checked.positive_integer("n_particles", n_particles)
    budget = MOST_BYTES if max_bytes is None else checked.positive_integer("max_bytes", max_bytes)
    number, data = _within(full, min(wanted, all_of_them), min(budget, MOST_BYTES))
    loss = Loss(0.0, 0.0)
    if number < all_of_them:
        rows = _rows_to_judge(model.input_range_) if inputs is None else inputs
        loss = loss_of(_with_particles(full, number).mosaic, full.mosaic, rows, levels, max_bytes=memory)
    with replaced_file(path) as file:
        file.write(data)
    return OnnxExport(len(data), number, loss)


def _check_names(export: Export) -> None:
    """Columns that are fed one by one need names of their own."""
    if not export.columns.categories:
        return
    for name in export.names:
        if not name or name in OUTPUTS or name.startswith(INTERNAL) or export.names.count(name) > 1:
            raise ValueError(f"a column of the name {name!r} cannot be an input in ONNX: rename it before the fit")


def _read_levels(quantiles: Any) -> tuple[float, ...]:
    levels = tuple(float(level) for level in np.ravel(np.asarray(quantiles, dtype=np.float64)))
    for level in levels:
        if not 0 < level < 1:
            raise ValueError(f"quantiles must be strictly between 0 and 1, got {level}")
    return levels


def _rows_to_judge(input_range: Floats) -> Floats:
    low, high = input_range
    shares = np.random.default_rng(0).random((N_JUDGED, len(low)))
    return np.asarray((1 - shares) * low + shares * high)


def _within(export: Export, n_particles: int, budget: int) -> tuple[int, bytes]:
    """As many particles as asked for, or as the budget holds, and their file."""
    data = _serialise(_with_particles(export, n_particles))
    if len(data) > budget:
        n_particles = bisect_right(
            range(1, n_particles), budget, key=lambda number: len(_serialise(_with_particles(export, number)))
        )
        data = _serialise(_with_particles(export, max(1, n_particles)))
    if n_particles == 0:
        raise ValueError(f"max_bytes must be at least {len(data)}, which one particle takes, got {budget}")
    return n_particles, data


def _with_particles(export: Export, n_particles: int) -> Export:
    parts = tuple(thinned(part, n_particles) for part in export.mosaic.parts)
    return export._replace(mosaic=export.mosaic._replace(parts=parts))


def _serialise(export: Export) -> bytes:
    graph = Graph()
    numbers = _numbers(graph, export)
    values, scales, weights = _mixture(graph, numbers, export.mosaic)
    mean = graph.total(graph.apply("Mul", values, weights), axis=1)
    graph.output(OUTPUTS[0], mean, np.float64, ["rows"])
    if export.levels:
        found = _quantiles(graph, values, scales, weights, export.levels)
        graph.output(OUTPUTS[1], found, np.float64, ["rows", len(export.levels)])
    properties = {"quantiles": ",".join(map(repr, export.levels)), "columns": "\n".join(export.names)}
    data: bytes = graph.model(properties, "Posterior mean and quantiles of a new response.").SerializeToString()
    return data


def _numbers(graph: Graph, export: Export) -> Name:
    """Columns (rows, q) of numbers without missing values; a table with text is fed a column at a time."""
    columns = export.columns
    if columns.categories:
        pieces = [_piece(graph, name, known) for name, known in zip(export.names, columns.categories, strict=True)]
        raw = graph.apply("Concat", *pieces, axis=1)
    else:
        raw = graph.input("X", np.float64, ["rows", export.n_features])
    missing = graph.apply("IsNaN", raw)
    filled = graph.apply("Where", missing, graph.constant(columns.medians), raw)
    if not columns.has_missing.any():
        return str(filled)
    marked = graph.apply("Gather", missing, graph.constant(np.flatnonzero(columns.has_missing)), axis=1)
    return str(graph.apply("Concat", filled, graph.cast(marked, np.float64), axis=1))


def _piece(graph: Graph, name: str, known: tuple[str, ...] | None) -> Name:
    if known is None:
        return graph.input(name, np.float64, ["rows", 1])
    texts = graph.input(name, str, ["rows", 1])
    same = graph.apply(
        "Equal", texts, graph.constant(np.array([known[1:] if len(known) == 2 else known], dtype=object))
    )
    return graph.cast(same, np.float64)


def _mixture(graph: Graph, numbers: Name, mosaic: Mosaic) -> tuple[Name, Name, Name]:
    """Means (rows, components), scales (components,) and weights, (rows, components) or (components,), of Gaussians."""
    values = [_values(graph, numbers, part) for part in mosaic.parts]
    scales = [part.response_scaler.scale_ * np.sqrt(part.posterior.noise_variance) for part in mosaic.parts]
    weights = [np.exp(part.posterior.log_weights) for part in mosaic.parts]
    all_scales = graph.constant(np.concatenate(scales))
    if len(mosaic.parts) == 1:
        return values[0], all_scales, graph.constant(weights[0])
    shares = _shares(graph, numbers, mosaic.subdomains)
    weighed = [graph.apply("Mul", shares[k], graph.constant(each)) for k, each in enumerate(weights)]
    return graph.apply("Concat", *values, axis=1), all_scales, graph.apply("Concat", *weighed, axis=1)


def _values(graph: Graph, numbers: Name, part: Part) -> Name:
    """The functions of all particles at each row, (rows, n_particles), in the user's units."""
    normals, offsets, coefficients = _without_empty_places(part.posterior)
    n_particles, n_places, n_columns = normals.shape
    rows = graph.cast(_scaled(graph, numbers, part.input_scaler), normals.dtype)
    planes = graph.constant(np.ascontiguousarray(normals.reshape(-1, n_columns).T))
    beyond = graph.apply("Sub", graph.apply("MatMul", rows, planes), graph.constant(offsets.ravel()))
    shape = graph.constant(np.array([-1, n_particles, n_places]))
    features = graph.apply("Reshape", graph.apply("Relu", beyond), shape)
    weighed = graph.apply("Mul", features, graph.constant(coefficients[:, 1:].astype(normals.dtype)))
    intercepts = graph.constant(coefficients[:, 0].astype(normals.dtype))
    values = graph.cast(graph.apply("Add", graph.total(weighed, axis=2), intercepts), np.float64)
    scaler = part.response_scaler
    stretched = graph.apply("Mul", values, graph.constant(scaler.scale_))
    return str(graph.apply("Add", stretched, graph.constant(scaler.center_)))


def _without_empty_places(posterior: Posterior) -> tuple[Any, Any, Any]:
    """Normals, offsets and coefficients with as many places as the particle with most hyperplanes has."""
    present = np.any(posterior.normals != 0, axis=2)
    order = np.argsort(~present, axis=1, kind="stable")[:, : max(1, int(present.sum(axis=1).max()))]
    particle = np.arange(len(order))[:, None]
    of_places = np.where(present[particle, order], posterior.coefficients[particle, 1 + order], 0.0)
    coefficients = np.column_stack([posterior.coefficients[:, 0], of_places])
    return posterior.normals[particle, order], posterior.offsets[particle, order], coefficients


def _scaled(graph: Graph, numbers: Name, scaler: Scaler) -> Name:
    """`Scaler.to_model`."""
    half = graph.constant(0.5)
    difference = graph.apply("Sub", graph.apply("Mul", numbers, half), graph.constant(0.5 * scaler.center_))
    scaled = graph.apply("Div", difference, graph.constant(0.5 * scaler.scale_))
    if np.isinf(scaler.bend_):
        return str(graph.apply("Clip", scaled, graph.constant(-FAR_AWAY), graph.constant(FAR_AWAY)))
    bend, one = graph.constant(float(scaler.bend_)), graph.constant(1.0)
    size = graph.apply("Clip", graph.apply("Div", graph.apply("Abs", scaled), bend), one, graph.constant(FAR_AWAY))
    grown = graph.apply("Mul", bend, graph.apply("Add", one, graph.apply("Log", size)))
    bent = graph.apply("Mul", graph.apply("Sign", scaled), grown)
    return str(graph.apply("Where", graph.apply("Greater", size, one), bent, scaled))


def _shares(graph: Graph, numbers: Name, subdomains: Subdomains) -> dict[int, Name]:
    """How likely each row is in each subdomain, (rows, 1): `Subdomains.members`."""
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


def _quantiles(graph: Graph, values: Name, scales: Name, weights: Name, levels: tuple[float, ...]) -> Name:
    """Quantiles (rows, levels) of mixtures of Gaussians by Newton steps inside a bracket, as `quantiles_of` finds them.

    Tensors are (rows, components, levels).
    """
    last = graph.constant(np.array([-1]))
    value, scale, weight = (graph.apply("Unsqueeze", name, last) for name in (values, scales, weights))
    own = graph.apply("Add", value, graph.apply("Mul", scale, graph.constant(ndtri(levels))))
    counts = graph.apply("Greater", weight, graph.constant(0.0))
    components = graph.constant(np.array([1]))
    low, high = (
        graph.apply(f"Reduce{which}", graph.apply("Where", counts, own, graph.constant(far)), components, keepdims=0)
        for which, far in (("Min", np.inf), ("Max", -np.inf))
    )
    density = graph.apply("Mul", graph.apply("Div", weight, scale), graph.constant(1 / np.sqrt(2 * np.pi)))
    tolerance = graph.apply("Mul", graph.apply("ReduceMin", scales, keepdims=0), graph.constant(QUANTILE_TOLERANCE))

    def newton(inner: Graph, now: dict[str, Name]) -> tuple[dict[str, Name], Name]:
        distance = inner.apply("Sub", inner.apply("Unsqueeze", now["quantile"], inner.constant(np.array([1]))), value)
        standard = inner.apply("Div", distance, scale)
        chance = inner.total(inner.apply("Mul", weight, _normal_distribution(inner, standard)), axis=1)
        excess = inner.apply("Sub", chance, inner.constant(np.array(levels)))
        below = inner.apply("Less", excess, inner.constant(0.0))
        low = inner.apply("Where", below, now["quantile"], now["low"])
        high = inner.apply("Where", below, now["high"], now["quantile"])
        bell = inner.apply("Exp", inner.apply("Mul", inner.apply("Mul", standard, standard), inner.constant(-0.5)))
        slope = inner.apply(
            "Max", inner.total(inner.apply("Mul", density, bell), axis=1), inner.constant(np.finfo(float).tiny)
        )
        guess = inner.apply("Sub", now["quantile"], inner.apply("Div", excess, slope))
        inside = inner.apply("And", inner.apply("GreaterOrEqual", guess, low), inner.apply("LessOrEqual", guess, high))
        half = inner.constant(0.5)
        middle = inner.apply("Add", inner.apply("Mul", low, half), inner.apply("Mul", high, half))
        step = inner.apply("Sub", inner.apply("Where", inside, guess, middle), now["quantile"])
        step = inner.apply("Where", now["done?"], inner.constant(0.0), step)
        small = inner.apply("LessOrEqual", inner.apply("Abs", step), tolerance)
        done = inner.apply("Or", now["done?"], small)
        waiting = inner.apply("ReduceSum", inner.cast(inner.apply("Not", done), np.float64), keepdims=0)
        after = {"quantile": inner.apply("Add", now["quantile"], step), "low": low, "high": high, "done?": done}
        return after, inner.apply("Greater", waiting, inner.constant(0.0))

    start = graph.total(graph.apply("Mul", weight, own), axis=1)
    undone = graph.apply("Less", start, graph.constant(-np.inf))
    states = {"quantile": start, "low": low, "high": high, "done?": undone}
    return graph.repeat(MOST_NEWTON_STEPS, states, newton)[0]


def _normal_distribution(graph: Graph, standard: Name) -> Name:
    """The standard normal distribution function."""
    distance = graph.apply("Mul", graph.apply("Abs", standard), graph.constant(np.sqrt(0.5)))
    one, half = graph.constant(1.0), graph.constant(0.5)
    t = graph.apply("Div", one, graph.apply("Add", one, graph.apply("Mul", half, distance)))
    power = graph.constant(TAIL[-1])
    for coefficient in reversed(TAIL[:-1]):
        power = graph.apply("Add", graph.apply("Mul", power, t), graph.constant(coefficient))
    exponent = graph.apply("Sub", power, graph.apply("Mul", distance, distance))
    tail = graph.apply("Mul", half, graph.apply("Mul", t, graph.apply("Exp", exponent)))
    negative = graph.apply("Less", standard, graph.constant(0.0))
    return str(graph.apply("Where", negative, tail, graph.apply("Sub", one, tail)))
