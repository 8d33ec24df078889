"""Fit: the one place where model, moves and SMC meet."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import jax
import numpy as np
from jax.typing import DTypeLike
from numpy.typing import ArrayLike

from hyperplanes import smc
from hyperplanes.inference.compilation import keep_compiled_programs
from hyperplanes.inference.posterior import Posterior, Progress, Trace
from hyperplanes.inference.samplers import SAMPLERS
from hyperplanes.inference.settings import Settings
from hyperplanes.inference.tiles import QUICK_TO_COMPILE, affordable_threads, map_particles, tile_size
from hyperplanes.model import Data, Particle, Prior, draw_prior, gaussian, make_data
from hyperplanes.moves import State, make_state

Observer = Callable[[Progress], None]


def fit(
    key: jax.Array,
    inputs: ArrayLike,
    response: ArrayLike,
    row_weights: ArrayLike | None = None,
    *,
    prior: Prior,
    settings: Settings,
    observe: Observer | None = None,
) -> Posterior:
    """Sample the posterior by annealed sequential Monte Carlo.

    Parameters
    ----------
    key : jax.Array
        Random key. The same key gives the same posterior.
    inputs : (n, p)
        Inputs, scaled to about [-1, 1].
    response : (n,)
        Response, standardised.
    row_weights : (n,), optional
        Relative precision of each row.
    prior : Prior
        Hyperparameters.
    settings : Settings
        How to sample.
    observe : callable, optional
        Called with a `Progress` after every step.
    """
    if settings.sampler not in SAMPLERS:
        raise ValueError(f"sampler must be one of {sorted(SAMPLERS)}, got {settings.sampler!r}")
    keep_compiled_programs()
    with jax.enable_x64(True):
        data = make_data(inputs, response, row_weights)
        prior = prior.resolved(data.n_columns)
        tile = tile_size(data, settings.n_hyperplanes, settings.n_particles, settings.memory_budget)
        settings = _within_budget(settings, data, tile)
        sampler = SAMPLERS[settings.sampler](data, prior, settings, tile)
        key_prior, key_anneal = jax.random.split(key)
        states = draw_states(key_prior, data, prior, settings, tile)
        steps: list[smc.Step] = []
        for last, step in sampler.anneal(key_anneal, states):
            population = last
            steps.append(step)
            if observe is not None:
                n_steps = sampler.schedule.n_steps
                observe(Progress(len(steps), n_steps, step.exponent, step.ess, step.acceptance, step.n_ancestors))
        return _posterior(population, steps, prior)


def _within_budget(settings: Settings, data: Data, tile: int) -> Settings:
    """Hold threads back where together they would exceed the memory budget."""
    n_threads, budget = settings.n_threads, settings.memory_budget
    return replace(settings, n_threads=affordable_threads(data, settings.n_hyperplanes, tile, n_threads, budget))


def draw_states(key: jax.Array, data: Data, prior: Prior, settings: Settings, tile: int) -> State:
    """Draw particles from the prior, with their cross products."""
    keys = jax.random.split(key, settings.n_particles)
    particles = _draw_particles(keys, prior, settings.n_hyperplanes, data.n_columns, data.inputs.dtype)
    states: State = map_particles(make_state, (particles,), (data,), tile=tile, n_threads=settings.n_threads)
    return states


@partial(jax.jit, static_argnums=(2, 3, 4), compiler_options=QUICK_TO_COMPILE)
def _draw_particles(keys: jax.Array, prior: Prior, n_hyperplanes: int, n_columns: int, dtype: DTypeLike) -> Particle:
    """Draw from the prior; it runs once, so that compiling quickly counts for more than running quickly."""
    return jax.vmap(lambda key: draw_prior(key, prior, n_hyperplanes, n_columns, dtype))(keys)


def _posterior(population: smc.Population, steps: Sequence[smc.Step], prior: Prior) -> Posterior:
    particle, products = population.particles
    trace = Trace(*(np.array([getattr(step, name) for step in steps]) for name in Trace._fields))
    return Posterior(
        normals=np.asarray(particle.normals),
        offsets=np.asarray(particle.offsets),
        coefficients=np.asarray(particle.coefficients),
        noise_variance=np.asarray(particle.noise_variance),
        log_weights=population.log_weights,
        log_evidence=population.log_evidence,
        log_evidence_error=float(np.sqrt(_evidence_variance(steps))),
        trace=trace,
        n_singular=int(gaussian.is_singular(products, particle.noise_variance, prior).sum()),
    )


def _evidence_variance(steps: Sequence[smc.Step]) -> float:
    """Variance of the log evidence; a generation ends with a resampling, the last one with the run."""
    weights, ancestors = [], []
    for step in steps[:-1]:
        if step.ancestors is not None:
            weights.append(step.weights)
            ancestors.append(step.ancestors)
    return smc.evidence_variance([*weights, steps[-1].weights], ancestors)
