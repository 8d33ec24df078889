"""Fit: the one place where model, moves and SMC meet."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from numpy.typing import ArrayLike

from hyperplanes import smc
from hyperplanes.inference.checkpoint import Checkpoint, Standing
from hyperplanes.inference.compilation import keep_compiled_programs
from hyperplanes.inference.compound import compound_sampler
from hyperplanes.inference.devices import computing_on, find_devices
from hyperplanes.inference.posterior import Network, Posterior, Progress, Trace
from hyperplanes.inference.samplers import SAMPLERS, Sampler, compile_round_ahead
from hyperplanes.inference.settings import Settings
from hyperplanes.inference.stages import Stage, stages, with_products
from hyperplanes.model import Data, Particle, Prior, draw_prior, gaussian, is_present, make_data, spread_prior
from hyperplanes.model.data import Floats, weighted_covariance
from hyperplanes.model.hardware import default_device
from hyperplanes.model.likelihoods import Likelihood, Unknowns, draw_unknowns
from hyperplanes.model.prior import DEVIATIONS, above_rounding, lay_out_linear_term
from hyperplanes.moves import State
from hyperplanes.programs import QUICK_TO_COMPILE, split, split_among

Observer = Callable[[Progress], None]

FIRST_PLACES = 16
"""For hyperplanes whose number is unknown; `samplers.with_room` adds more where they are needed."""
SMALLEST_SPREAD = 1e-6
"""Along any axis, as a share of the largest: the inputs may lie in a plane."""


def fit(
    key: jax.Array,
    inputs: ArrayLike,
    response: ArrayLike,
    row_weights: ArrayLike | None = None,
    *,
    prior: Prior,
    settings: Settings,
    likelihood: Likelihood | None = None,
    observe: Observer | None = None,
    checkpoint: Checkpoint | None = None,
) -> Posterior:
    """Sample the posterior by annealed sequential Monte Carlo.

    Parameters
    ----------
    key : jax.Array
        Random key. The same key gives the same posterior.
    inputs : (n, p)
        Inputs, scaled to a size of about 1.
    response : (n,)
        Response, standardised; or the number of its class.
    row_weights : (n,), optional
        How often each row counts.
    prior : Prior
        Hyperparameters.
    settings : Settings
        How to sample.
    likelihood : Likelihood, optional
        By default Gaussian noise with the same variance everywhere.
    observe : callable, optional
        Called with a `Progress` after every step.
    checkpoint : Checkpoint, optional
        Keeps where the annealing stands, and where it goes on from. It does not change the posterior.
    """
    if settings.sampler not in SAMPLERS:
        raise ValueError(f"sampler must be one of {sorted(SAMPLERS)}, got {settings.sampler!r}")
    if settings.n_hyperplanes is None and settings.sampler == "paper":
        raise ValueError('sampler="paper" needs a number of hyperplanes, got n_hyperplanes=None')
    if settings.sampler == "paper" and not prior.is_plain:
        raise ValueError('sampler="paper" needs a prior as plain as paper_prior(n_columns)')
    if settings.sampler == "paper" and likelihood is not None:
        raise ValueError('sampler="paper" knows Gaussian noise with the same variance everywhere, and no other')
    if settings.n_parts > 1 and prior.linear_variance != 0:
        raise ValueError(
            "prior.linear_variance must be 0 where hyperplanes are moved in parts (n_parts > 1), "
            f'got {prior.linear_variance}: leave decomposition="intensity" out'
        )
    start = time.monotonic()
    keep_compiled_programs()
    rows = np.asarray(inputs, dtype=np.float64)
    weights = np.ones(len(rows)) if row_weights is None else np.asarray(row_weights, dtype=np.float64)
    center, prior = lay_out(rows, weights, prior)
    prior = above_rounding(prior, float(weights.sum()))
    settings = replace(settings, device=settings.device or default_device())
    device = find_devices(settings.device)[0]
    with computing_on(device):
        data = make_data(rows - center, response, weights)
        key_prior, key_anneal = split(key)
        all_stages = stages(data, settings)
        if likelihood is None and settings.sampler == "auto" and checkpoint is None:  # which may go on from elsewhere
            compile_round_ahead(*_shapes_of_states(key_prior, data, prior, settings), all_stages[0], prior, settings)
        first = smc.begin(draw_states(key_prior, all_stages[0].rows, prior, settings, likelihood))
        at = Standing(first, device.platform)
        if checkpoint is not None:
            at = checkpoint.resume(at)
        start -= at.seconds
        while at.stage < len(all_stages):
            stage = all_stages[at.stage]
            if settings.budget is not None:
                left = settings.budget - (time.monotonic() - start)
                stage = timed(
                    all_stages[at.stage :], max(left, 0.01 * settings.budget), at.hurry, at.population.exponent
                )
            sampler = make_sampler(stage, prior, settings, likelihood)
            for population, step in sampler.anneal(key_anneal, at.population, len(at.steps)):
                step = step._replace(exponent=stage.share(step.exponent))
                at = at.after(population, step, sampler.schedule.hurry, time.monotonic() - start)
                if observe is not None:
                    seen = step.exponent, step.ess, step.acceptance, step.n_ancestors
                    observe(Progress(len(at.steps), sampler.schedule.n_steps, *seen))
                if checkpoint is not None:
                    checkpoint.keep(at, at_once=at.stage == len(all_stages))
        return _posterior(at.population, at.steps, center, data, prior, settings)


def make_sampler(stage: Stage, prior: Prior, settings: Settings, likelihood: Likelihood | None) -> Sampler:
    """The sampler of a likelihood."""
    if likelihood is not None:
        return compound_sampler(stage, prior, settings, likelihood)
    return SAMPLERS[settings.sampler](stage, prior, settings)


def timed(left: Sequence[Stage], seconds: float, hurry: float, exponent: float = 0.0) -> Stage:
    """The first of some stages, of which an exponent has been reached, with its share of the seconds that are left."""
    costs = [stage.cost for stage in left]
    costs[0] *= 1 - left[0].progress(exponent)
    return left[0]._replace(seconds=seconds * costs[0] / sum(costs), hurry=hurry)


def lay_out(inputs: Floats, row_weights: Floats, prior: Prior) -> tuple[Floats, Prior]:
    """Centre of the window, and the prior with its reach: hyperplanes that hit a ball or come near the data.

    A linear term gets a slope for each column.
    """
    prior.check()
    prior = lay_out_linear_term(prior, inputs.shape[1])
    if prior.reach > 0:
        return np.zeros(inputs.shape[1]), prior
    variances, axes = np.linalg.eigh(weighted_covariance(inputs, row_weights))
    least = SMALLEST_SPREAD * max(np.sqrt(np.abs(variances).max()), SMALLEST_SPREAD)
    spreads = np.sqrt(np.maximum(variances, least**2))
    return row_weights @ inputs / row_weights.sum(), replace(prior, reach=DEVIATIONS * spreads[:, None] * axes.T)


def draw_states(
    key: jax.Array, data: Data, prior: Prior, settings: Settings, likelihood: Likelihood | None = None
) -> State | Unknowns:
    """Draw particles from the prior, with their cross products where coefficients are integrated out."""
    keys = split_among(key, settings.n_particles)
    drawn = _draw(keys, prior, *_places(data, settings), likelihood)
    return drawn if isinstance(drawn, Unknowns) else with_products(State(drawn, jnp.zeros(())), data, settings)


def _shapes_of_states(key: jax.Array, data: Data, prior: Prior, settings: Settings) -> tuple[Any, State]:
    """Shapes of keys and of states, one of each for every particle, without drawing any."""
    keys: Any = jax.eval_shape(split_among, key, settings.n_particles)
    drawn: Any = jax.eval_shape(_draw, keys, prior, *_places(data, settings), None)
    n_particles, n_places = drawn.offsets.shape
    products: Any = jax.eval_shape(lambda: jnp.zeros((n_particles, n_places + 2, n_places + 2)))
    return keys, State(drawn, products)


def _places(data: Data, settings: Settings) -> tuple[int, int, DTypeLike, bool]:
    """Places for hyperplanes, their columns and type, and whether any number of places may be taken."""
    n_places = settings.n_hyperplanes or first_places(settings.n_parts)
    return n_places, data.n_columns, data.inputs.dtype, settings.n_hyperplanes is None


@partial(jax.jit, static_argnums=(2, 3, 4, 5, 6), compiler_options=QUICK_TO_COMPILE)
def _draw(
    keys: jax.Array,
    prior: Prior,
    n_places: int,
    n_columns: int,
    dtype: DTypeLike,
    unknown_number: bool,
    likelihood: Likelihood | None,
) -> Particle | Unknowns:
    """Draw from the prior; it runs once, so that compiling quickly counts for more than running quickly."""
    shapes = n_places, n_columns, dtype

    def draw(key: jax.Array) -> Particle | Unknowns:
        if likelihood is None:
            return draw_prior(key, prior, *shapes, unknown_number=unknown_number)
        return draw_unknowns(key, likelihood, prior, *shapes, unknown_number=unknown_number)

    return jax.vmap(draw)(keys)


def without_empty_places(particle: Particle) -> Particle:
    """Hyperplanes in the first places, and as many places as the most that a particle has, at least one.

    They keep their order, so that those of a linear term stay the first.
    """
    present = np.asarray(particle.normals).any(axis=-1)
    n_places = max(1, int(present.sum(axis=1).max()))
    taken: Particle = _take_places(particle, np.argsort(~present, axis=1, kind="stable")[:, :n_places])
    return taken


@partial(jax.jit, compiler_options=QUICK_TO_COMPILE)
def _take_places(particle: Particle, order: jax.Array) -> Particle:
    """Each particle with some of its places (n_particles, k)."""
    units = jnp.take_along_axis(particle.coefficients[:, 1:], order, axis=1)
    attends = particle.attends & is_present(particle.normals)[:, :, None]
    return particle._replace(
        normals=jnp.take_along_axis(particle.normals, order[:, :, None], axis=1),
        offsets=jnp.take_along_axis(particle.offsets, order, axis=1),
        coefficients=jnp.column_stack([particle.coefficients[:, 0], units]),
        attends=jnp.take_along_axis(attends, order[:, :, None], axis=1),
    )


@partial(jax.jit, compiler_options=QUICK_TO_COMPILE)
def _from_origin(particle: Particle, center: Floats) -> jax.Array:
    """Offsets of hyperplanes that were laid out around a centre."""
    return particle.offsets + particle.normals @ center.astype(particle.normals.dtype)


def first_places(n_parts: int) -> int:
    """Places for hyperplanes whose number is unknown, the same for all parts."""
    return -(-FIRST_PLACES // n_parts) * n_parts


def _log_start(prior: Prior, settings: Settings) -> float:
    """Log of the prior mass of the numbers of hyperplanes that there are places for."""
    if settings.n_hyperplanes is not None:
        return 0.0
    return float(jax.nn.logsumexp(prior.log_number(first_places(settings.n_parts))))


def _posterior(
    population: smc.Population,
    steps: Sequence[smc.Step],
    center: Floats,
    data: Data,
    prior: Prior,
    settings: Settings,
) -> Posterior:
    states, log_evidence = population.particles, population.log_evidence
    bias = float(np.sqrt(smc.squared_bias([step.lag for step in steps], [step.lag_variance for step in steps])))
    n_singular, degrees, spread = 0, None, None
    if isinstance(states, State):
        outputs = [states]
        scales = states.particle.noise_variance, states.particle.coefficient_variance
        n_singular = int(gaussian.is_singular(states.products, *scales, prior).sum())
    else:
        n_outputs = states.outputs.noise_variance.shape[1]
        networks = [jax.tree.map(lambda leaf, k=k: leaf[:, k], states.outputs) for k in range(n_outputs)]
        outputs = [with_products(State(network, jnp.zeros(())), data, settings) for network in networks]
        if np.isfinite(states.degrees).all():
            degrees = np.asarray(states.degrees)
        if states.spread is not None:
            of_spread = spread_prior(prior)
            spread = _network(with_products(State(states.spread, jnp.zeros(())), data, settings), center, of_spread)
            log_evidence += _log_start(of_spread, settings)
    first, *others = (_network(output, center, prior) for output in outputs)
    return Posterior(
        **first._asdict(),
        noise_variance=np.asarray(outputs[0].particle.noise_variance),
        log_weights=population.log_weights,
        log_evidence=log_evidence + len(outputs) * _log_start(prior, settings),
        log_evidence_error=float(np.hypot(np.sqrt(_evidence_variance(steps)), bias)),
        log_evidence_bias=bias,
        trace=Trace(*(np.array([getattr(step, name) for step in steps]) for name in Trace._fields)),
        n_singular=n_singular,
        degrees=degrees,
        spread=spread,
        others=tuple(others),
    )


def _network(state: State, center: Floats, prior: Prior) -> Network:
    """Draws in the units of the model."""
    particle, products = without_empty_places(state.particle), state.products
    return Network(
        normals=np.asarray(particle.normals),
        offsets=np.asarray(_from_origin(particle, center)),
        coefficients=np.asarray(particle.coefficients),
        coefficient_variance=np.asarray(particle.coefficient_variance),
        intensity=np.asarray(particle.intensity),
        attends=np.asarray(particle.attends),
        n_active=np.asarray(np.sum(np.diagonal(products, axis1=1, axis2=2)[:, prior.n_permanent + 1 : -1] > 0, axis=1)),
        n_permanent=prior.n_permanent,
    )


def _evidence_variance(steps: Sequence[smc.Step]) -> float:
    """Variance of the log evidence; a generation ends with a resampling, the last one with the run."""
    weights, ancestors = [], []
    for step in steps[:-1]:
        if step.ancestors is not None:
            weights.append(step.weights)
            ancestors.append(step.ancestors)
    return smc.evidence_variance([*weights, steps[-1].weights], ancestors)
