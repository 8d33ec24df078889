"""Mean and quantiles of a new response, which is a mixture of Gaussians or t distributions, in a graph."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.onnx.graph import Graph, Name
from hyperplanes.estimators.onnx.noise import chance_and_density
from hyperplanes.estimators.onnx.parts import function_values, scaled_rows, weights_of_particles
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.thinning import Loss, loss_of_responses
from hyperplanes.model.likelihoods.varying import LARGEST_SPREAD
from hyperplanes.model.prediction import MOST_NEWTON_STEPS, QUANTILE_TOLERANCE, standard_quantile


@dataclass(frozen=True)
class Responses:
    """Posterior mean and quantiles of a new response."""

    levels: tuple[float, ...]
    """Of the quantiles."""

    names: ClassVar[tuple[str, ...]] = ("mean", "quantiles")
    description: ClassVar[str] = "Posterior mean and quantiles of a new response."
    lossless: ClassVar[Loss] = Loss(0.0, 0.0)

    def __post_init__(self) -> None:
        """Check the levels."""
        for level in self.levels:
            if not 0 < level < 1:
                raise ValueError(f"quantiles must be strictly between 0 and 1, got {level}")

    @property
    def properties(self) -> dict[str, str]:
        """What the file says of them."""
        return {"quantiles": ",".join(map(repr, self.levels))}

    def add(self, graph: Graph, numbers: Name, mosaic: Mosaic) -> None:
        """Add them to a graph."""
        mixture = _mixture(graph, numbers, mosaic)
        mean = graph.total(graph.apply("Mul", mixture.centres, mixture.weights), axis=1)
        graph.output(self.names[0], mean, np.float64, ["rows"])
        if self.levels:
            found = _quantiles(graph, mixture, self.levels)
            graph.output(self.names[1], found, np.float64, ["rows", len(self.levels)])

    def loss(self, thin: Mosaic, full: Mosaic, inputs: Floats, *, max_bytes: int) -> Loss:
        """How far those of two mosaics differ."""
        return loss_of_responses(thin, full, inputs, self.levels, max_bytes=max_bytes)


class _Mixture(NamedTuple):
    """`prediction.Mixture`, with rows before components."""

    centres: Name
    """(rows, components)."""
    scales: Name
    """(rows, components)."""
    degrees: Floats
    """(components,)."""
    weights: Name
    """(1, components) or (rows, components)."""


def _mixture(graph: Graph, numbers: Name, mosaic: Mosaic) -> _Mixture:
    centres, scales = zip(*(_centres_and_scales(graph, numbers, part) for part in mosaic.parts), strict=True)
    degrees = [
        np.full(len(part.posterior.log_weights), np.inf) if part.posterior.degrees is None else part.posterior.degrees
        for part in mosaic.parts
    ]
    weights = weights_of_particles(graph, numbers, mosaic)
    joined = [graph.apply("Concat", *each, axis=1) for each in (centres, scales, weights)]
    return _Mixture(joined[0], joined[1], np.concatenate(degrees), joined[2])


def _centres_and_scales(graph: Graph, numbers: Name, part: Part) -> tuple[Name, Name]:
    """Functions and scales of the noise (rows, n_particles) of a part, in the user's units."""
    rows, scaler, posterior = scaled_rows(graph, numbers, part), part.response_scaler, part.posterior
    stretched = graph.apply("Mul", function_values(graph, rows, posterior), graph.constant(scaler.scale_))
    centres = graph.apply("Add", stretched, graph.constant(scaler.center_))
    if posterior.spread is None:
        scales = graph.constant(scaler.scale_ * np.sqrt(posterior.noise_variance))
        return centres, graph.apply("Expand", scales, graph.apply("Shape", centres))
    bounds = graph.constant(-LARGEST_SPREAD), graph.constant(LARGEST_SPREAD)
    spread = graph.apply("Clip", function_values(graph, rows, posterior.spread), *bounds)
    return centres, graph.apply("Mul", graph.apply("Exp", spread), graph.constant(scaler.scale_))


def _quantiles(graph: Graph, mixture: _Mixture, levels: tuple[float, ...]) -> Name:
    """Quantiles (rows, levels) of mixtures by Newton steps inside a bracket, as `quantiles_of` finds them.

    Tensors are (rows, components, levels).
    """
    last, components = graph.constant(np.array([-1])), graph.constant(np.array([1]))
    names = (mixture.centres, mixture.scales, mixture.weights)
    centre, scale, weight = (graph.apply("Unsqueeze", name, last) for name in names)
    of_noise = np.column_stack([standard_quantile(level, mixture.degrees) for level in levels])
    own = graph.apply("Add", centre, graph.apply("Mul", scale, graph.constant(of_noise)))
    counts = graph.apply("Greater", weight, graph.constant(0.0))
    low, high = (
        graph.apply(f"Reduce{which}", graph.apply("Where", counts, own, graph.constant(far)), components, keepdims=0)
        for which, far in (("Min", np.inf), ("Max", -np.inf))
    )
    heights = graph.apply("Div", weight, scale)
    least = graph.apply("ReduceMin", mixture.scales, components, keepdims=1)
    tolerance = graph.apply("Mul", least, graph.constant(QUANTILE_TOLERANCE))

    def newton(inner: Graph, now: dict[str, Name]) -> tuple[dict[str, Name], Name]:
        distance = inner.apply("Sub", inner.apply("Unsqueeze", now["quantile"], inner.constant(np.array([1]))), centre)
        chances, densities = chance_and_density(inner, inner.apply("Div", distance, scale), mixture.degrees)
        chance = inner.total(inner.apply("Mul", weight, chances), axis=1)
        excess = inner.apply("Sub", chance, inner.constant(np.array(levels)))
        below = inner.apply("Less", excess, inner.constant(0.0))
        low = inner.apply("Where", below, now["quantile"], now["low"])
        high = inner.apply("Where", below, now["high"], now["quantile"])
        density = inner.total(inner.apply("Mul", heights, densities), axis=1)
        slope = inner.apply("Max", density, inner.constant(np.finfo(float).tiny))
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
