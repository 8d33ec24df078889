"""The joint distribution of unknowns and response, for Geweke's test of a kernel.

At exponent phi the joint density is p(theta) prod_i N(y_i; f_i, sigma^2)^c_i with c_i = phi w_i. Integrating y out
leaves a factor sigma^(1 - c_i) for each row, so that sigma^2 ~ IG(a0 - sum(1 - c_i) / 2, b0) and
y_i ~ N(f_i, sigma^2 / c_i): exact draws are possible, and a kernel that leaves the target invariant leaves their
distribution as it is when it alternates with fresh draws of y. Draws are compared right after the kernel, with the y
that it was given.
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from hyperplanes.model import Data, Particle, Prior, draw_prior, is_present, make_data, paper_prior
from hyperplanes.moves import Move, make_state
from hyperplanes.programs import COMPILER_OPTIONS, QUICK_TO_COMPILE


@dataclass(frozen=True, eq=False)
class Case:
    """Rows and hyperparameters of a joint distribution."""

    inputs: np.ndarray
    row_weights: np.ndarray
    new_inputs: np.ndarray
    n_hyperplanes: int
    prior: Prior
    unknown_number: bool = False

    def make_rows(self, response: jax.Array, dtype: type = np.float64) -> Data:
        """Data without padding for a response that may be traced."""
        n_rows = len(self.inputs)
        data = make_data(self.inputs, np.arange(n_rows), self.row_weights, dtype=dtype)
        scales = data.inputs[0, -1, :n_rows]
        order = jnp.rint(data.response[0, :n_rows] / scales).astype(int)  # rows are shuffled
        return data._replace(inputs=data.inputs[..., :n_rows], response=(response[order] * scales).astype(dtype)[None])


PLAIN = paper_prior(2)
THREE_UNITS = Case(
    inputs=np.array([[-0.9, 0.2], [0.7, 0.8], [0.1, -0.6], [0.95, -0.3]]),
    row_weights=np.array([0.5, 2.0, 1.0, 3.0]),
    new_inputs=np.array([[0.8, 0.6], [-0.5, 0.3], [0.2, -0.9]]),
    n_hyperplanes=3,
    prior=replace(PLAIN, coefficient_mean=0.5, coefficient_variance=0.9, noise_shape=5.0, noise_scale=0.3, reach=0.9),
)
UNKNOWN_NUMBER = Case(
    inputs=THREE_UNITS.inputs,
    row_weights=THREE_UNITS.row_weights,
    new_inputs=THREE_UNITS.new_inputs,
    n_hyperplanes=4,
    prior=Prior(
        coefficient_mean=0.3,
        coefficient_variance=2.0,
        coefficient_shape=4.0,
        intercept_variance=0.7,
        noise_shape=5.0,
        noise_scale=0.3,
        reach=0.9,
        lowest_offset=-1.0,
        number_mean=1.5,
        number_shape=2.0,
        inattention=0.2,
    ),
    unknown_number=True,
)
"""Up to four hyperplanes, which face both ways and attend to some columns, with coefficients of unknown scale."""
LINEAR_TERM = replace(UNKNOWN_NUMBER, n_hyperplanes=3, prior=replace(UNKNOWN_NUMBER.prior, linear_variance=(0.6, 0.4)))
"""Up to three hyperplanes beside a slope for each column."""
LINEAR_TERM_WITH_ONE_SCALE = replace(
    LINEAR_TERM, prior=replace(LINEAR_TERM.prior, intercept_variance=0.0), n_hyperplanes=2, unknown_number=False
)
"""The level has the unknown variance of the coefficients."""
OFTEN_DEAD = Case(
    inputs=np.array([[-0.4], [0.75], [0.3]]),
    row_weights=np.array([2.0, 0.7, 1.2]),
    new_inputs=np.array([[0.9], [-0.5]]),
    n_hyperplanes=1,
    prior=replace(PLAIN, coefficient_mean=1.5, coefficient_variance=2.0, noise_shape=4.0, noise_scale=0.3, reach=1.0),
)
"""No row is beyond the one hyperplane in two draws of five."""


def function_values(particle: Particle, inputs: np.ndarray) -> jax.Array:
    """f at some rows, of one particle."""
    hidden = jnp.maximum(inputs @ particle.normals.T - particle.offsets, 0)
    return particle.coefficients[0] + hidden @ particle.coefficients[1:]


def draw_response(key: jax.Array, particle: Particle, exponent: jax.Array, case: Case) -> jax.Array:
    scales = jnp.sqrt(particle.noise_variance / (exponent * case.row_weights))
    return function_values(particle, case.inputs) + scales * jax.random.normal(key, scales.shape)


@partial(jax.jit, static_argnames=("n_draws", "case"), compiler_options=QUICK_TO_COMPILE)
def draw_prior_many(key: jax.Array, n_draws: int, case: Case) -> Particle:
    """Draws of the unknowns at an exponent before the data are seen."""
    n_columns = case.inputs.shape[1]

    def draw(key: jax.Array) -> Particle:
        return draw_prior(
            key, case.prior, case.n_hyperplanes, n_columns, np.float64, unknown_number=case.unknown_number
        )

    return jax.vmap(draw)(jax.random.split(key, n_draws))


@partial(jax.jit, static_argnames="case", compiler_options=QUICK_TO_COMPILE)
def draw_responses(keys: jax.Array, particles: Particle, exponent: float, case: Case) -> jax.Array:
    return jax.vmap(lambda key, particle: draw_response(key, particle, exponent, case))(keys, particles)


def draw_joint(seed: int, exponent: float, n_draws: int, case: Case) -> tuple[Particle, jax.Array]:
    """Exact draws of unknowns and responses."""
    key_particle, key_response = jax.random.split(jax.random.key(seed))
    shape = case.prior.noise_shape - 0.5 * np.sum(1 - exponent * case.row_weights)  # N(y | f, s)^c has mass s^((1-c)/2)
    noise = stats.invgamma(shape, scale=case.prior.noise_scale)
    noise_variance = jnp.asarray(noise.rvs(n_draws, random_state=np.random.default_rng(seed)))
    particles = draw_prior_many(key_particle, n_draws, case)._replace(noise_variance=noise_variance)
    return particles, draw_responses(jax.random.split(key_response, n_draws), particles, exponent, case)


@partial(jax.jit, static_argnames=("kernel", "case", "n_rounds"), compiler_options=COMPILER_OPTIONS)
def alternate(
    key: jax.Array,
    particles: Particle,
    responses: jax.Array,
    exponent: jax.Array,
    *,
    kernel: Move,
    case: Case,
    n_rounds: int,
) -> tuple[Particle, jax.Array, jax.Array]:
    """Rounds of (fresh response, kernel): the last particles and responses, and the share of accepted proposals."""

    def round_of_one(key: jax.Array, particle: Particle, response: jax.Array) -> tuple[Particle, jax.Array, jax.Array]:
        key_kernel, key_response = jax.random.split(key)
        fresh = draw_response(key_response, particle, exponent, case)
        response = jnp.where(exponent > 0, fresh, response)  # at exponent 0 any response will do
        data = case.make_rows(response)
        (particle, _), accepted = kernel(key_kernel, make_state(particle, data), exponent, data, case.prior)
        return particle, response, accepted

    def round_of_all(carry: tuple[Particle, jax.Array], key: jax.Array) -> tuple[tuple[Particle, jax.Array], jax.Array]:
        particles, responses, accepted = jax.vmap(round_of_one)(jax.random.split(key, len(carry[1])), *carry)
        return (particles, responses), accepted.mean()

    carry, accepted = jax.lax.scan(round_of_all, (particles, responses), jax.random.split(key, n_rounds))
    return *carry, accepted.mean()


@partial(jax.jit, static_argnames="case", compiler_options=QUICK_TO_COMPILE)
def summaries_of_unknowns(particles: Particle, case: Case) -> jax.Array:
    """Functions of the unknowns whose distributions are compared, (n_draws, n_functions)."""

    def of_one(particle: Particle) -> jax.Array:
        normals, offsets, coefficients, noise_variance, coefficient_variance, intensity, attends = particle
        seen = attends & is_present(normals)[:, None]
        first = case.prior.n_permanent
        scales = [
            jnp.log(coefficient_variance),
            jnp.log(intensity),
            is_present(normals).sum(),
            seen.sum(),
            seen[first, 0] & seen[-1, 0],
            jnp.sum(seen[:, 0]) * jnp.sum(seen[:, -1]),
            seen[first, 0] * jnp.abs(normals[first, 0]),
        ]
        new, log_noise = function_values(particle, case.new_inputs), jnp.log(noise_variance)
        pairs = [
            log_noise * coefficients[1],
            normals[first, 0] * coefficients[first + 1],
            offsets[first] * coefficients[first + 1],
            offsets[first] * coefficients[0],
            offsets[-1] * coefficients[-1],
            normals[-1, 0] * normals[-1, -1],
            normals[first, 0] * offsets[first],
            coefficients[0] * coefficients[-1],
            new[0] * new[1],
        ]
        numbers = jnp.stack([log_noise, *scales, *pairs])
        return jnp.concatenate([normals.ravel(), offsets, coefficients, numbers, new])

    return jax.vmap(of_one)(particles)


def summaries(particles: Particle, responses: jax.Array, case: Case) -> jax.Array:
    """As `summaries_of_unknowns`, with functions of the response."""
    return jnp.column_stack(
        [summaries_of_unknowns(particles, case), summaries_of_responses(particles, responses, case)]
    )


@partial(jax.jit, static_argnames="case", compiler_options=QUICK_TO_COMPILE)
def summaries_of_responses(particles: Particle, responses: jax.Array, case: Case) -> jax.Array:
    def of_one(particle: Particle, response: jax.Array) -> jax.Array:
        old = function_values(particle, case.inputs)
        errors = response - old
        noise = errors**2 / particle.noise_variance
        pairs = [errors @ old, jnp.log(errors @ errors), response[0] * response[-1], errors[0] * particle.offsets[0]]
        return jnp.concatenate([response, errors, noise, jnp.stack(pairs)])

    return jax.vmap(of_one)(particles, responses)
