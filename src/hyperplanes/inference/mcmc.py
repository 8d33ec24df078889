"""Algorithm 1 of the paper: Markov chain Monte Carlo on the posterior itself."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from hyperplanes.inference.compilation import keep_compiled_programs
from hyperplanes.inference.samplers import paper_step
from hyperplanes.model import Data, Particle, Prior, draw_prior, gaussian, make_data
from hyperplanes.moves import State, make_state


class Chain(NamedTuple):
    """One chain, one entry an iteration."""

    particles: Particle
    """Draws; leaves have a leading axis of length n_iterations."""
    accepted: jax.Array
    """Whether the redrawn hyperplane was accepted, 0 or 1."""
    log_likelihood: jax.Array
    """Log likelihood of each draw, the usual trace to look at."""

    @property
    def acceptance(self) -> float:
        """Share of redrawn hyperplanes that were accepted."""
        return float(self.accepted.mean())


def run_chain(
    key: jax.Array,
    inputs: ArrayLike,
    response: ArrayLike,
    *,
    prior: Prior,
    n_hyperplanes: int,
    n_iterations: int,
    exponent: float = 1.0,
) -> Chain:
    """Run the paper's Metropolis-Hastings algorithm from a draw of the prior.

    Parameters
    ----------
    key : jax.Array
        Random key.
    inputs, response
        As for `fit`.
    prior : Prior
        Hyperparameters.
    n_hyperplanes, n_iterations : int
        Number of hidden units; length of the chain.
    exponent : float
        Of the likelihood; 1 for the posterior.
    """
    for name, value in (("n_hyperplanes", n_hyperplanes), ("n_iterations", n_iterations)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    prior.check()
    if not prior.is_plain:
        raise ValueError("run_chain needs a prior as plain as paper_prior(n_columns)")
    keep_compiled_programs()
    with jax.enable_x64(True):
        data = make_data(inputs, response)
        key_prior, key_chain = jax.random.split(key)
        start = draw_prior(key_prior, prior, n_hyperplanes, data.n_columns, data.inputs.dtype)
        keys = jax.random.split(key_chain, n_iterations)
        on_device = _run(keys, start, jnp.float64(exponent), data, prior)
        chain: Chain = jax.tree.map(np.asarray, on_device)
        return chain


@jax.jit
def _run(keys: jax.Array, start: Particle, exponent: jax.Array, data: Data, prior: Prior) -> Chain:
    def iterate(state: State, key: jax.Array) -> tuple[State, Chain]:
        state, accepted = paper_step(key, state, exponent, data, prior)
        particle, products = state
        fit = gaussian.log_likelihood(data, products, particle.coefficients, particle.noise_variance)
        return state, Chain(particle, accepted, fit)

    chain: Chain = jax.lax.scan(iterate, make_state(start, data), keys)[1]
    return chain
