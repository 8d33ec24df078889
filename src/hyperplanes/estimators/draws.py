"""Draws of a fitted model for other tools: xarray trees as ArviZ reads them, and tidy data frames.

Other tools know draws that count alike, so that weighted particles are chosen at even steps through their weights.
"""

from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.thinning import evenly_chosen
from hyperplanes.inference import Posterior
from hyperplanes.model.prediction import draw_standard, log_standard_density

Frame = Any
"""A pandas data frame."""
FRAMES = ("particles", "hyperplanes")


class Draws(NamedTuple):
    """Draws of a model that count alike."""

    mosaic: Mosaic
    """The model."""
    chosen: tuple[NDArray[np.intp], ...]
    """(n_draws,) particles of each part that make up each draw."""

    @classmethod
    def of(cls, mosaic: Mosaic, n_draws: int | None) -> "Draws":
        """As many draws as asked for, by default as there are particles."""
        number = max(len(part.posterior.log_weights) for part in mosaic.parts) if n_draws is None else n_draws
        return cls(mosaic, tuple(evenly_chosen(part.posterior.log_weights, number) for part in mosaic.parts))

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.chosen[0])

    def each(self, name: str) -> list[NDArray[Any]]:
        """A field of the posterior of each part, (n_draws, ...)."""
        parts = zip(self.mosaic.parts, self.chosen, strict=True)
        return [getattr(part.posterior, name)[chosen] for part, chosen in parts]

    def noise_std(self) -> Floats:
        """Standard deviation of the noise (n_draws, n_parts), in the user's units, of parts where it does not vary."""
        of_parts = [
            part.response_scaler.scale_ * noise_std(part.posterior)[chosen]
            for part, chosen in zip(self.mosaic.parts, self.chosen, strict=True)
            if part.posterior.spread is None
        ]
        return np.asarray(np.column_stack(of_parts) if of_parts else np.zeros((self.n_draws, 0)))

    def functions(self, rng: np.random.Generator, inputs: Floats, *, max_bytes: int) -> tuple[Floats, Floats, Floats]:
        """Means, scales and degrees of freedom of responses (n_draws, n), in user's units; borders differ by draw."""
        subdomains = self.mosaic.subdomains
        borders = [subdomains.draw_borders(rng) for _ in range(self.n_draws)]
        means, scales, degrees = np.empty((3, self.n_draws, len(inputs)))
        for number, (rows, shares) in subdomains.members(inputs).items():
            mixture = self.mosaic.parts[number].mixture(inputs[rows], max_bytes=max_bytes)
            belongs = np.ones((self.n_draws, len(rows)), dtype=bool)
            if (shares < 1).any():
                belongs = np.array([subdomains.part_of(inputs[rows], border) == number for border in borders])
            draw, row = np.nonzero(belongs)
            particle = self.chosen[number][draw]
            means[draw, rows[row]] = mixture.centres[particle, row]
            scales[draw, rows[row]] = mixture.scales[particle, row]
            degrees[draw, rows[row]] = mixture.degrees[particle, 0]
        return means, scales, degrees


def noise_std(posterior: Posterior) -> Floats:
    """Standard deviation of noise that does not vary, (n_particles,), in the units of the model."""
    factors = 1.0 if posterior.degrees is None else posterior.degrees / (posterior.degrees - 2)
    return np.asarray(np.sqrt(posterior.noise_variance * factors))


def tree_of(
    model: Any,
    draws: Draws,
    names: list[str],
    rng: np.random.Generator,
    inputs: Floats | None,
    response: Floats | None,
    *,
    max_bytes: int,
) -> Any:
    """The draws of a fitted estimator as an xarray DataTree; see `ExportMixin.to_arviz`."""
    base, xarray = _import("arviz", "arviz_base"), _import("arviz", "xarray")
    n_parts = len(draws.chosen)
    noise, n_constant = draws.noise_std(), sum(part.posterior.spread is None for part in model.parts_)
    attends = sum(each.sum(axis=1) for each in draws.each("attends"))
    groups: dict[str, dict[str, Any]] = {
        "posterior": {
            "n_hyperplanes": np.sum(draws.each("n_active"), axis=0),
            "n_attending": attends,
        },
        "sample_stats": {"particle": draws.chosen[0] if n_parts == 1 else np.column_stack(draws.chosen)},
    }
    if n_constant == n_parts:
        groups["posterior"]["noise_std"] = noise[:, 0] if n_parts == 1 else noise
    if inputs is not None:
        means, scales, degrees = draws.functions(rng, inputs, max_bytes=max_bytes)
        groups["posterior"]["mean"] = means
        if n_constant < n_parts:
            groups["posterior"]["noise_std"] = scales
        groups["posterior_predictive"] = {"y": means + scales * draw_standard(rng, degrees, means.shape)}
        groups["constant_data"] = {"X": inputs}
        if response is not None:
            density = log_standard_density((response - means) / scales, degrees) - np.log(scales)
            groups["log_likelihood"] = {"y": density}
            groups["observed_data"] = {"y": response}
    for group, values in groups.items():
        if "data" not in group:
            groups[group] = {name: np.asarray(value)[None] for name, value in values.items()}
    of_parts = [] if n_parts == 1 else ["part"]
    about = {
        "inference_library": "hyperplanes",
        "inference_library_version": version("hyperplanes"),
        "log_evidence": model.log_evidence_,
        "log_evidence_error": model.log_evidence_error_,
    }
    tree = base.from_dict(
        groups,
        dims={
            "noise_std": of_parts if n_constant == n_parts else ["row"],
            "particle": of_parts,
            "n_attending": ["column"],
            "mean": ["row"],
            "y": ["row"],
            "X": ["row", "column"],
        },
        coords={"column": names},
        attrs={"/": about, "posterior": about},
    )
    tree["hyperplanes"] = xarray.DataTree(_hyperplanes(xarray, draws, names))
    tree["annealing"] = xarray.DataTree(_annealing(xarray, model.parts_))
    return tree


def _hyperplanes(xarray: Any, draws: Draws, names: list[str]) -> Any:
    """Places of all parts one after the other, in model units."""
    normals, offsets, coefficients = (draws.each(name) for name in ("normals", "offsets", "coefficients"))
    places = ("chain", "draw", "place")
    part_of = np.repeat(np.arange(len(offsets)), [each.shape[1] for each in offsets])
    return xarray.Dataset(
        {
            "normals": ((*places, "column"), np.concatenate(normals, axis=1)[None]),
            "offsets": (places, np.concatenate(offsets, axis=1)[None]),
            "coefficients": (places, np.concatenate([each[:, 1:] for each in coefficients], axis=1)[None]),
            "present": (places, np.concatenate([np.any(each != 0, axis=2) for each in normals], axis=1)[None]),
            "intercept": (("chain", "draw", "part"), np.stack([each[:, 0] for each in coefficients], axis=1)[None]),
        },
        coords={
            "chain": [0],
            "draw": np.arange(draws.n_draws),
            "column": names,
            "part_of": ("place", part_of),
        },
    )


def _annealing(xarray: Any, parts: tuple[Part, ...]) -> Any:
    """The trace of each part, NaN after its last step."""
    traces = [part.posterior.trace for part in parts]
    n_steps = max(len(trace.exponent) for trace in traces)
    fields = {name: np.full((len(traces), n_steps), np.nan) for name in traces[0]._fields}
    for k, trace in enumerate(traces):
        for name, values in trace._asdict().items():
            fields[name][k, : len(values)] = values
    return xarray.Dataset({name: (("part", "step"), values) for name, values in fields.items()})


def frame_of(mosaic: Mosaic, names: list[str], of: str) -> Frame:
    """A tidy data frame with a row for each particle, or for each hyperplane of each particle."""
    pandas = _import("parquet", "pandas")
    rows = _rows_of_particles if of == "particles" else _rows_of_hyperplanes
    frames = [pandas.DataFrame({"part": number} | rows(part, names)) for number, part in enumerate(mosaic.parts)]
    return pandas.concat(frames, ignore_index=True)


def _rows_of_particles(part: Part, names: list[str]) -> dict[str, Any]:
    posterior = part.posterior
    return {
        "particle": np.arange(len(posterior.log_weights)),
        "weight": np.exp(posterior.log_weights),
        **({} if posterior.spread is not None else {"noise_std": part.response_scaler.scale_ * noise_std(posterior)}),
        "n_hyperplanes": posterior.n_active,
        "intercept": posterior.coefficients[:, 0],
        "coefficient_std": np.sqrt(posterior.coefficient_variance),
        "intensity": posterior.intensity,
    }


def _rows_of_hyperplanes(part: Part, names: list[str]) -> dict[str, Any]:
    posterior = part.posterior
    particle, place = np.nonzero(np.any(posterior.normals != 0, axis=2))
    normals = posterior.normals[particle, place]
    return {
        "particle": particle,
        "weight": np.exp(posterior.log_weights[particle]),
        "hyperplane": place,
        "offset": posterior.offsets[particle, place],
        "coefficient": posterior.coefficients[particle, 1 + place],
        **{f"normal[{name}]": normals[:, k] for k, name in enumerate(names)},
    }


def _import(extra: str, name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f'this export needs {name}: pip install "hyperplanes[{extra}]"') from error
