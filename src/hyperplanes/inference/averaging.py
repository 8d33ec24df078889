"""Averages of independent fits to the same rows, which is how the paper puts the parts of an intensity together."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from hyperplanes import smc
from hyperplanes.inference.posterior import Floats, Posterior, error_of_sum
from hyperplanes.model import Prior
from hyperplanes.model.prediction import function_values

PLANES = ("normals", "offsets", "attends")


def average(
    key: jax.Array,
    posteriors: Sequence[Posterior],
    inputs: ArrayLike,
    response: ArrayLike,
    row_weights: ArrayLike,
    *,
    prior: Prior,
    max_bytes: int,
) -> Posterior:
    """Draws of the mean of functions that are drawn from one posterior each.

    The mean of K networks is a network with the units of all, and coefficients divided by K. Its noise is drawn anew,
    given how far it is from the response. The evidence is that of one part, estimated from all; the trace is that of
    the first.

    Parameters
    ----------
    key : jax.Array
        Random key.
    posteriors : sequence of Posterior
        Of the same rows, with as many particles each.
    inputs, response, row_weights
        These rows, in model units.
    prior : Prior
        Of the noise.
    max_bytes : int
        For functions of all particles at some of the rows.
    """
    key_noise, *keys = jax.random.split(key, len(posteriors) + 1)
    equal = [_with_equal_weights(one, each) for one, each in zip(keys, posteriors, strict=True)]
    output = np.stack([each.coefficients[:, 0] for each in equal]).mean(axis=0)
    units = np.concatenate([each.coefficients[:, 1:] for each in equal], axis=1) / len(equal)
    planes: dict[str, Any] = {name: np.concatenate([getattr(each, name) for each in equal], axis=1) for name in PLANES}
    averaged = equal[0]._replace(
        **planes,
        coefficients=np.column_stack([output, units]),
        coefficient_variance=np.mean([each.coefficient_variance for each in equal], axis=0) / len(equal) ** 2,
        intensity=np.sum([each.intensity for each in equal], axis=0),
        n_active=np.sum([each.n_active for each in equal], axis=0),
        n_permanent=sum(each.n_permanent for each in equal),
        n_singular=sum(each.n_singular for each in equal),
        log_evidence=float(logsumexp([each.log_evidence for each in equal]) - np.log(len(equal))),
        log_evidence_error=error_of_sum(equal) / len(equal),
        log_evidence_bias=float(np.mean([each.log_evidence_bias for each in equal])),
    )
    errors = _squared_errors(averaged, inputs, response, row_weights, max_bytes)
    shape = prior.noise_shape + 0.5 * float(np.sum(row_weights))
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_noise)).ravel().tolist())
    return averaged._replace(noise_variance=(prior.noise_scale + 0.5 * errors) / rng.gamma(shape, size=len(errors)))


def _with_equal_weights(key: jax.Array, posterior: Posterior) -> Posterior:
    key_choice, key_order = jax.random.split(key)
    chosen = smc.resample(key_choice, posterior.log_weights, "systematic")
    chosen = np.asarray(jax.random.permutation(key_order, chosen))  # or those of one family would stay together
    n_particles = len(chosen)
    of_particles: dict[str, Any] = {
        name: each[chosen] for name, each in posterior._asdict().items() if isinstance(each, np.ndarray)
    }
    return posterior._replace(**of_particles)._replace(log_weights=np.full(n_particles, -np.log(n_particles)))


def _squared_errors(
    posterior: Posterior, inputs: ArrayLike, response: ArrayLike, row_weights: ArrayLike, max_bytes: int
) -> Floats:
    """Weighted sums of squares of each particle's residuals."""
    observed, weights = np.asarray(response), np.asarray(row_weights)
    sums, start = np.zeros(len(posterior.log_weights)), 0
    for values in function_values(posterior, inputs, max_bytes):
        rows = slice(start, start + values.shape[1])
        sums += (observed[rows] - values) ** 2 @ weights[rows]
        start = rows.stop
    return sums
