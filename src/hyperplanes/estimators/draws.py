"""Draws of a fitted model for other tools: xarray trees as ArviZ reads them, and tidy data frames.

Other tools know draws that count alike, so that weighted particles are chosen at even steps through their weights.
"""

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.thinning import evenly_chosen
from hyperplanes.inference import Network, Posterior
from hyperplanes.inference.subdomains import Indices
from hyperplanes.model.prediction import draw_standard, log_standard_density, standard_variance

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
        """A field of each network of each part, (n_draws, ...)."""
        parts = zip(self.mosaic.parts, self.chosen, strict=True)
        return [getattr(each, name)[chosen] for part, chosen in parts for each in networks_of(part)]

    def total(self, of_networks: list[NDArray[Any]]) -> NDArray[Any]:
        """Sums over the parts of what `each` gave; (n_draws, n_networks, ...) where there are several networks."""
        several = np.stack(of_networks, axis=1)
        n_networks = len(networks_of(self.mosaic.parts[0]))
        sums = several.reshape(self.n_draws, -1, n_networks, *several.shape[2:]).sum(axis=1)
        return np.asarray(sums[:, 0] if n_networks == 1 else sums)

    def noise_std(self) -> Floats:
        """Standard deviation of the noise (n_draws, n_parts), in the user's units, of parts where it does not vary."""
        of_parts = [
            part.response_scaler.scale_ * noise_std(part.posterior)[chosen]
            for part, chosen in zip(self.mosaic.parts, self.chosen, strict=True)
            if part.posterior.spread is None
        ]
        return np.asarray(np.column_stack(of_parts) if of_parts else np.zeros((self.n_draws, 0)))

    def owners(self, rng: np.random.Generator, inputs: Floats) -> Iterator[tuple[int, Indices, Indices, Indices]]:
        """Each part with its rows, and which draws of which of these rows are its own: borders differ by draw."""
        subdomains = self.mosaic.subdomains
        borders = [subdomains.draw_borders(rng) for _ in range(self.n_draws)]
        for number, (rows, shares) in subdomains.members(inputs).items():
            belongs = np.ones((self.n_draws, len(rows)), dtype=bool)
            if (shares < 1).any():
                belongs = np.array([subdomains.part_of(inputs[rows], border) == number for border in borders])
            draw, row = np.nonzero(belongs)
            yield number, rows, draw, row

    def functions(self, rng: np.random.Generator, inputs: Floats, *, max_bytes: int) -> tuple[Floats, Floats, Floats]:
        """Means, scales and degrees of freedom of responses (n_draws, n), in user's units."""
        means, scales, degrees = np.empty((3, self.n_draws, len(inputs)))
        for number, rows, draw, row in self.owners(rng, inputs):
            mixture = self.mosaic.parts[number].mixture(inputs[rows], max_bytes=max_bytes)
            particle = self.chosen[number][draw]
            means[draw, rows[row]] = mixture.centres[particle, row]
            scales[draw, rows[row]] = mixture.scales[particle, row]
            degrees[draw, rows[row]] = mixture.degrees[particle, 0]
        return means, scales, degrees

    def probabilities(self, rng: np.random.Generator, inputs: Floats, n_classes: int, *, max_bytes: int) -> Floats:
        """Probabilities of the classes, (n_draws, n, n_classes)."""
        found = np.empty((self.n_draws, len(inputs), n_classes))
        for number, rows, draw, row in self.owners(rng, inputs):
            ballots = self.mosaic.parts[number].ballots(inputs[rows], max_bytes=max_bytes)
            found[draw, rows[row]] = ballots.probabilities[self.chosen[number][draw], :, row]
        return found


def networks_of(part: Part) -> tuple[Posterior | Network, ...]:
    """Networks of the response: one of a regression or of two classes, one for each of several classes."""
    return (part.posterior, *part.posterior.others)


def positions(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of labels among the classes; an error names those that are none of them."""
    numbers = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if unknown := sorted({str(label) for label in labels[classes[numbers] != labels]}):
        raise ValueError(f"y holds labels that were not in training: {', '.join(map(repr, unknown[:5]))}")
    return np.asarray(numbers)


def noise_std(posterior: Posterior) -> Floats:
    """Standard deviation of noise that does not vary, (n_particles,), in the units of the model."""
    factors = 1.0 if posterior.degrees is None else standard_variance(posterior.degrees)
    return np.asarray(np.sqrt(posterior.noise_variance * factors))


def tree_of(
    model: Any,
    draws: Draws,
    names: list[str],
    rng: np.random.Generator,
    inputs: Floats | None,
    response: NDArray[Any] | None,
    *,
    max_bytes: int,
) -> Any:
    """The draws of a fitted estimator as an xarray DataTree; see `DrawsMixin.to_arviz`.

    The response of a classifier are the numbers of the classes.
    """
    base, xarray = _import("arviz", "arviz_base"), _import("arviz", "xarray")
    of_parts = [] if len(draws.chosen) == 1 else ["part"]
    labels = getattr(model, "classes_", None)
    of_networks = [] if len(networks_of(model.parts_[0])) == 1 else ["network"]
    posterior: dict[str, Any] = {
        "n_hyperplanes": draws.total(draws.each("n_active")),
        "n_attending": draws.total([each.sum(axis=1) for each in draws.each("attends")]),
    }
    groups: dict[str, dict[str, Any]] = {
        "posterior": posterior,
        "sample_stats": {"particle": np.column_stack(draws.chosen) if of_parts else draws.chosen[0]},
    }
    dims: dict[str, list[str]] = {
        "n_hyperplanes": of_networks,
        "n_attending": [*of_networks, "column"],
        "particle": of_parts,
        "probability": ["row", "label"],
        "mean": ["row"],
        "noise_std": of_parts,
        "y": ["row"],
        "X": ["row", "column"],
    }
    constant_noise = labels is None and all(part.posterior.spread is None for part in model.parts_)
    if constant_noise:
        noise = draws.noise_std()
        posterior["noise_std"] = noise if of_parts else noise[:, 0]
    if inputs is not None and labels is not None:
        shares = draws.probabilities(rng, inputs, len(labels), max_bytes=max_bytes)
        posterior["probability"] = shares
        groups |= _of_labels(rng, shares, response)
    elif inputs is not None:
        means, scales, degrees = draws.functions(rng, inputs, max_bytes=max_bytes)
        posterior["mean"] = means
        if not constant_noise:
            posterior["noise_std"], dims["noise_std"] = scales * np.sqrt(standard_variance(degrees)), ["row"]
        groups |= _of_responses(rng, means, scales, degrees, response)
    for group, values in groups.items():
        groups[group] = {name: np.asarray(value)[None] for name, value in values.items()}
    if inputs is not None:
        groups["constant_data"] = {"X": inputs}
    if response is not None:
        groups["observed_data"] = {"y": response}
    about = {
        "inference_library": "hyperplanes",
        "inference_library_version": version("hyperplanes"),
        "log_evidence": model.log_evidence_,
        "log_evidence_error": model.log_evidence_error_,
    }
    coords = {"column": names}
    if labels is not None:
        coords |= {name: labels.tolist() for name in ["label", *of_networks]}
    tree = base.from_dict(groups, dims=dims, coords=coords, attrs={"/": about, "posterior": about})
    tree["hyperplanes"] = xarray.DataTree(_hyperplanes(xarray, draws, coords))
    tree["annealing"] = xarray.DataTree(_annealing(xarray, model.parts_))
    return tree


def _of_responses(
    rng: np.random.Generator, means: Floats, scales: Floats, degrees: Floats, response: Floats | None
) -> dict[str, dict[str, Any]]:
    """New responses, and the likelihood of those that are known."""
    found = {"posterior_predictive": {"y": means + scales * draw_standard(rng, degrees, means.shape)}}
    if response is not None:
        density = log_standard_density((response - means) / scales, degrees) - np.log(scales)
        found["log_likelihood"] = {"y": density}
    return found


def _of_labels(rng: np.random.Generator, shares: Floats, numbers: NDArray[np.intp] | None) -> dict[str, dict[str, Any]]:
    """Numbers of new classes, and the likelihood of those that are known."""
    drawn = np.sum(np.cumsum(shares[..., :-1], axis=2) < rng.uniform(size=(*shares.shape[:2], 1)), axis=2)
    found: dict[str, dict[str, Any]] = {"posterior_predictive": {"y": drawn}}
    if numbers is not None:
        own = shares[:, np.arange(len(numbers)), numbers]
        found["log_likelihood"] = {"y": np.log(np.maximum(own, np.finfo(np.float64).tiny))}
    return found


def _hyperplanes(xarray: Any, draws: Draws, coords: dict[str, Any]) -> Any:
    """Places of all networks of all parts one after the other, in model units."""
    normals, offsets, coefficients = (draws.each(name) for name in ("normals", "offsets", "coefficients"))
    places, n_parts = ("chain", "draw", "place"), len(draws.chosen)
    n_networks = len(offsets) // n_parts
    n_places = [each.shape[1] for each in offsets]
    intercepts = np.stack([each[:, 0] for each in coefficients], axis=1).reshape(1, -1, n_parts, n_networks)
    several = {"network": coords["network"]} if n_networks > 1 else {}
    network_of = np.repeat(np.tile(np.array(several.get("network", [""])), n_parts), n_places)
    return xarray.Dataset(
        {
            "normals": ((*places, "column"), np.concatenate(normals, axis=1)[None]),
            "offsets": (places, np.concatenate(offsets, axis=1)[None]),
            "coefficients": (places, np.concatenate([each[:, 1:] for each in coefficients], axis=1)[None]),
            "present": (places, np.concatenate([np.any(each != 0, axis=2) for each in normals], axis=1)[None]),
            "intercept": (
                ("chain", "draw", "part", *several),
                intercepts if several else intercepts[..., 0],
            ),
        },
        coords={
            "chain": [0],
            "draw": np.arange(draws.n_draws),
            "column": coords["column"],
            "part_of": ("place", np.repeat(np.repeat(np.arange(n_parts), n_networks), n_places)),
            **({"network_of": ("place", network_of)} if several else {}),
            **several,
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


def frame_of(mosaic: Mosaic, names: list[str], of: str, labels: NDArray[Any] | None) -> Frame:
    """A tidy data frame with a row for each particle, or for each hyperplane of each particle."""
    pandas = _import("parquet", "pandas")
    frames = []
    for number, part in enumerate(mosaic.parts):
        several = [_rows_of_particles(part, labels)] if of == "particles" else _rows_of_hyperplanes(part, names, labels)
        frames += [pandas.DataFrame({"part": number} | rows) for rows in several]
    return pandas.concat(frames, ignore_index=True)


def _rows_of_particles(part: Part, labels: NDArray[Any] | None) -> dict[str, Any]:
    posterior, networks = part.posterior, networks_of(part)
    constant_noise = labels is None and posterior.spread is None
    found = {
        "particle": np.arange(len(posterior.log_weights)),
        "weight": np.exp(posterior.log_weights),
        **({"noise_std": part.response_scaler.scale_ * noise_std(posterior)} if constant_noise else {}),
        "n_hyperplanes": posterior.n_active_in_all,
    }
    for each, label in zip(networks, [None] if labels is None or len(networks) == 1 else labels, strict=True):
        of_class = "" if label is None else f"[{label}]"
        found[f"intercept{of_class}"] = each.coefficients[:, 0]
        found[f"coefficient_std{of_class}"] = np.sqrt(each.coefficient_variance)
        found[f"intensity{of_class}"] = each.intensity
    return found


def _rows_of_hyperplanes(part: Part, names: list[str], labels: NDArray[Any] | None) -> Iterator[dict[str, Any]]:
    """Of each network; that of two classes is of the log odds of the second."""
    networks, log_weights = networks_of(part), part.posterior.log_weights
    for each, label in zip(networks, [None] if labels is None else labels[-len(networks) :], strict=True):
        particle, place = np.nonzero(np.any(each.normals != 0, axis=2))
        normals = each.normals[particle, place]
        yield {
            **({} if label is None else {"class": label}),
            "particle": particle,
            "weight": np.exp(log_weights[particle]),
            "hyperplane": place,
            "offset": each.offsets[particle, place],
            "coefficient": each.coefficients[particle, 1 + place],
            **{f"normal[{name}]": normals[:, k] for k, name in enumerate(names)},
        }


def _import(extra: str, name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f'this export needs {name}: pip install "hyperplanes[{extra}]"') from error
