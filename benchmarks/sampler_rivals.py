"""Rivals and yardsticks for `sampler.py`.

On the same posterior, which is the one that the estimator sets up: NumPyro's NUTS and BlackJAX's adaptive tempered SMC.
Both get a budget of wall-clock seconds, in which neither compilation nor prediction counts. Both sample (u, t) of every
unit and the log of the noise variance. NUTS has the coefficients integrated out: in the same time it ended as near or
nearer to the truth, on three data sets with 10 columns and 10 units and on one with 2 and 40. SMC has them as unknowns:
in batches a gradient then takes less than half the time, and on one data set with 10 and 10 it came nearer in less.

Other models: Bayesian deep ensembles, BART, bootstrapped XGBoost. A yardstick: our own moves started at the truth.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import blackjax
import jax
import jax.numpy as jnp
import joblib
import numpy as np
import stochtree
import xgboost
from blackjax.smc import adaptive_tempered, resampling
from blackjax.smc.tempered import TemperedSMCState
from blackjax.smc.tuning.from_kernel_info import update_scale_from_acceptance_rate
from blackjax.smc.tuning.from_particles import particles_stds
from numpyro.infer.hmc import HMCState, hmc

import deep_ensembles
from hyperplanes import Prior, paper_prior
from hyperplanes.estimators.scaling import Scaler, range_scaler, response_scaler
from hyperplanes.experiments.metrics import rmse
from hyperplanes.experiments.simulate import Simulation
from hyperplanes.inference import find_devices
from hyperplanes.inference.compilation import keep_compiled_programs
from hyperplanes.inference.tiles import map_particles, tile_size
from hyperplanes.model import Data, Particle, cross_products, gaussian, lift, make_data, prediction, relu_features
from hyperplanes.moves import collapsed_round, make_state
from hyperplanes.process import Hyperplanes, from_white
from predictions import TAILS, Floats, Prediction, from_draws

MAX_BYTES = 2**30
TINY = 1e-300


class Problem(NamedTuple):
    """The posterior that the estimator samples, and the way from and to the user's units."""

    data: Data
    """Scaled rows."""
    prior: Prior
    """The estimator's, resolved."""
    inputs: Scaler
    """Of the inputs."""
    response: Scaler
    """Of the response."""


class Draws(NamedTuple):
    """Weighted particles, as `hyperplanes.model.prediction` takes them."""

    normals: Any
    """(n_draws, m, p)."""
    offsets: Any
    """(n_draws, m)."""
    coefficients: Any
    """(n_draws, m + 1)."""
    noise_variance: Any
    """(n_draws,)."""
    log_weights: Any
    """(n_draws,), normalised."""
    degrees: None = None
    """Noise is Gaussian."""
    spread: None = None
    """Noise is the same everywhere."""


def make_draws(particles: Particle, log_weights: Floats) -> Draws:
    found = jax.tree.map(np.asarray, particles)
    return Draws(found.normals, found.offsets, found.coefficients, found.noise_variance, log_weights)


def equal_weights(particles: Particle) -> Draws:
    n = len(particles.offsets)
    return make_draws(particles, np.full(n, -np.log(n)))


def make_problem(train: Simulation) -> Problem:
    inputs, response = range_scaler(train.X), response_scaler(train.y, np.ones(len(train.y)))
    data = make_data(inputs.to_model(train.X), response.to_model(train.y))
    return Problem(data, paper_prior(data.n_columns), inputs, response)


def predict_mean(problem: Problem, test: Simulation, draws: Draws) -> Floats:
    rows = problem.inputs.to_model(test.X)
    return problem.response.to_user(prediction.mean(draws, rows, max_bytes=MAX_BYTES))


def predict(problem: Problem, test: Simulation, draws: Draws, **details: Any) -> Prediction:
    rows = problem.inputs.to_model(test.X)
    function, response = (
        problem.response.to_user(prediction.quantiles(draws, rows, TAILS, target=target, max_bytes=MAX_BYTES))
        for target in ("mean", "response")
    )
    return Prediction(predict_mean(problem, test, draws), function, response, details)


# The hyperplanes and the noise as unconstrained numbers.


class Position(NamedTuple):
    """Hyperplanes and noise."""

    white: jax.Array
    """(m, p + 1): u, then t, of every unit; normal u / |u|, offset reach * Phi(t)."""
    log_noise: jax.Array
    """Log of the noise variance."""

    def hyperplanes(self, prior: Prior) -> Hyperplanes:
        """Features are computed in float32, as ours are."""
        return from_white(self.white.astype(jnp.float32), prior.reach)


def draw_positions(key: jax.Array, n: int, train: Simulation, prior: Prior) -> Position:
    key_white, key_noise = jax.random.split(key)
    white = jax.random.normal(key_white, (n, len(train.offsets), train.X.shape[1] + 1))
    return Position(white, jnp.log(prior.noise_scale) - jax.random.loggamma(key_noise, prior.noise_shape, (n,)))


def log_prior(position: Position, prior: Prior) -> jax.Array:
    noise = prior.noise_shape * position.log_noise + prior.noise_scale * jnp.exp(-position.log_noise)
    return -0.5 * jnp.sum(position.white**2) - noise


# NUTS: four chains from the prior, a thread each, NumPyro's defaults but for the warm-up. 200 iterations of warm-up,
# because trees reach their largest size in it and 500 would take most of the budget. Draws are those after the warm-up,
# or the later half of a chain that is not twice as long. Chains whose log density stays far below the best one's are
# stuck, which a user would see and leave out; the details say what all chains together give.

N_CHAINS = 4
N_WARMUP = 200
N_KEPT = 250
"""Draws of one chain used in predictions, evenly spaced."""
STUCK = 20.0
"""Distance in mean log density from the best chain; with 10 columns and 10 units, single draws spread over about 20."""


def log_evidence(position: Position, data: Data, prior: Prior) -> jax.Array:
    """Log likelihood with the coefficients integrated out, made cheap to differentiate.

    With the coefficients' mean w and covariance C held fixed, the log likelihood at w less tr(C Z'Z) / (2 sigma^2) has
    the same gradient (envelope theorem), so that none has to pass through the factorisation.
    """
    products = cross_products(data, *position.hyperplanes(prior))
    noise_variance = jnp.exp(position.log_noise)
    fixed = jax.lax.stop_gradient((products, noise_variance))
    conditional = gaussian.condition(*fixed, 1.0, prior)
    mean, covariance = gaussian.conditional_mean(conditional), conditional.root.T @ conditional.root
    tangent = gaussian.log_likelihood(data, products, mean, noise_variance)
    tangent -= 0.5 * jnp.sum(covariance * products[:-1, :-1]) / noise_variance
    return tangent + jax.lax.stop_gradient(gaussian.log_evidence(data, *fixed, 1.0, prior) - tangent)


def potential(data: Data, prior: Prior) -> Callable[[Position], jax.Array]:
    return lambda position: -log_prior(position, prior) - log_evidence(position, data, prior)


start_nuts, iterate_nuts = hmc(potential_fn_gen=potential)


@jax.jit
def _iterate(state: HMCState, data: Data, prior: Prior) -> HMCState:
    return iterate_nuts(state, (data, prior))


@jax.jit
def _complete(keys: jax.Array, positions: Position, data: Data, prior: Prior) -> Particle:
    """Draw the coefficients of every position."""

    def one(keyed: tuple[jax.Array, Position]) -> Particle:
        key, position = keyed
        planes, noise_variance = position.hyperplanes(prior), jnp.exp(position.log_noise)
        conditional = gaussian.condition(cross_products(data, *planes), noise_variance, 1.0, prior)
        return _particle(planes, gaussian.draw_coefficients(key, conditional), noise_variance, prior)

    particles: Particle = jax.lax.map(one, (keys, positions))
    return particles


class Chain(NamedTuple):
    """A chain of NUTS, one entry an iteration."""

    seconds: Floats
    """When the draw was there."""
    log_density: Floats
    """Of the draw."""
    positions: Position
    """The draws."""

    def kept(self, seconds: float) -> "Chain":
        """What counts after so many seconds."""
        n = int(np.searchsorted(self.seconds, seconds, side="right"))
        first = min(N_WARMUP, n // 2)
        rows = np.linspace(first, n - 1, min(N_KEPT, n - first)).astype(int)
        kept: Chain = jax.tree.map(lambda leaf: leaf[rows], self)
        return kept


def not_stuck(chains: list[Chain]) -> list[Chain]:
    levels = [chain.log_density.mean() for chain in chains]
    return [chain for chain, level in zip(chains, levels, strict=True) if level >= max(levels) - STUCK]


def run_nuts(state: HMCState, problem: Problem, budget: float) -> Chain:
    begin, seconds, states = time.perf_counter(), [0.0], [state]
    with jax.enable_x64(True):  # a thread starts with JAX's defaults
        while seconds[-1] < budget:
            states.append(jax.block_until_ready(_iterate(states[-1], problem.data, problem.prior)))
            seconds.append(time.perf_counter() - begin)
    positions = jax.tree.map(lambda *leaves: np.stack(leaves), *[state.z for state in states])
    return Chain(np.array(seconds), -np.array([float(state.potential_energy) for state in states]), positions)


def nuts(train: Simulation, test: Simulation, seed: int, budget: float) -> Prediction:
    keep_compiled_programs()
    with jax.enable_x64(True):
        problem = make_problem(train)
        known = (problem.data, problem.prior)
        key_start, key_draws, *keys = jax.random.split(jax.random.key(seed), N_CHAINS + 2)
        starts = draw_positions(key_start, N_CHAINS, train, problem.prior)
        states = [
            start_nuts(jax.tree.map(lambda leaf, i=i: leaf[i], starts), N_WARMUP, model_args=known, rng_key=key)
            for i, key in enumerate(keys)
        ]
        jax.block_until_ready(_iterate(_iterate(states[0], *known), *known))  # compiles, perhaps for both
        with ThreadPoolExecutor(N_CHAINS) as threads:
            chains = list(threads.map(lambda state: run_nuts(state, problem, budget), states))

        def pool(chosen: list[Chain]) -> Draws:
            positions = jax.tree.map(lambda *leaves: np.concatenate(leaves), *[chain.positions for chain in chosen])
            return equal_weights(_complete(jax.random.split(key_draws, len(positions.log_noise)), positions, *known))

        used = float(max(chain.seconds[-1] for chain in chains))
        stages = {used / 2**k: [chain.kept(used / 2**k) for chain in chains] for k in range(6, -1, -1)}
        path = [(seconds, predict_mean(problem, test, pool(not_stuck(stage)))) for seconds, stage in stages.items()]
        final = stages[used]
        details = {
            "seconds": used,
            "n_iterations": [len(chain.seconds) - 1 for chain in chains],
            "n_chains_kept": len(not_stuck(final)),
            "rmse_to_truth_all_chains": rmse(test.f, predict_mean(problem, test, pool(final))),
        }
        return predict(problem, test, pool(not_stuck(final)), **details)._replace(path=tuple(path))


# BlackJAX's adaptive tempered SMC. Moves are one HMC trajectory for each exponent, its step sizes tuned to accept 0.65
# and its scales taken from the particles, as BlackJAX's tuning functions do. Runs with 2, 4, 8, ... leapfrog steps are
# made while the next is expected to end within the budget; each is timed alone, and the last that did counts.

N_PARTICLES = 200
TARGET_ESS = 0.7
TARGET_ACCEPTANCE = 0.65
FIRST_STEP_SIZE = 0.2
BATCH = 8
"""Particles whose features stay in the cache together."""


class Unknowns(NamedTuple):
    """Everything that is unknown."""

    position: Position
    """Hyperplanes and noise."""
    white_coefficients: jax.Array
    """(m + 1,): standard normal in the prior."""

    def particle(self, prior: Prior) -> Particle:
        """In the units of the model."""
        coefficients = prior.coefficient_mean + jnp.sqrt(prior.coefficient_variance) * self.white_coefficients
        return _particle(self.position.hyperplanes(prior), coefficients, jnp.exp(self.position.log_noise), prior)


def log_prior_of_all(unknowns: Unknowns, prior: Prior) -> jax.Array:
    return log_prior(unknowns.position, prior) - 0.5 * jnp.sum(unknowns.white_coefficients**2)


def log_likelihood(unknowns: Unknowns, data: Data, prior: Prior) -> jax.Array:
    particle = unknowns.particle(prior)
    features = relu_features(lift(particle.normals, particle.offsets), data.inputs)
    output = particle.coefficients.astype(jnp.float32)
    function = output[0] * data.inputs[:, -1] + jnp.einsum("j,bjn->bn", output[1:], features)
    error = jnp.sum((data.response - function).astype(jnp.float64) ** 2)
    return -0.5 * (data.n_rows * jnp.log(2 * np.pi * particle.noise_variance) + error / particle.noise_variance)


@jax.jit
def _temper(
    key: jax.Array, state: TemperedSMCState, step_sizes: jax.Array, n_leapfrogs: jax.Array, data: Data, prior: Prior
) -> tuple[TemperedSMCState, jax.Array]:
    kernel = adaptive_tempered.build_kernel(
        partial(log_prior_of_all, prior=prior),
        partial(log_likelihood, data=data, prior=prior),
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        resampling.systematic,
        TARGET_ESS,
        batch_size=BATCH,
    )
    parameters = {
        "step_size": step_sizes,
        "inverse_mass_matrix": particles_stds(state.particles)[None] ** 2,
        "num_integration_steps": n_leapfrogs[None],
    }
    state, info = kernel(key, state, 1, parameters)
    accepted = info.update_info.acceptance_rate.mean(axis=1)
    return state, update_scale_from_acceptance_rate(step_sizes, accepted, TARGET_ACCEPTANCE)


class Run(NamedTuple):
    """A run of tempered SMC."""

    seconds: float
    """That it took."""
    n_steps: int
    """Exponents."""
    state: TemperedSMCState
    """The last."""


def run_smc(key: jax.Array, start: TemperedSMCState, n_leapfrogs: int, problem: Problem, most_steps: float) -> Run:
    begin, n_steps = time.perf_counter(), 0
    state, step_sizes = start, jnp.full(N_PARTICLES, FIRST_STEP_SIZE)
    while state.tempering_param < 1 and n_steps < most_steps:
        step = (state, step_sizes, jnp.array(n_leapfrogs), problem.data, problem.prior)
        state, step_sizes = jax.block_until_ready(_temper(jax.random.fold_in(key, n_steps), *step))
        n_steps += 1
    return Run(time.perf_counter() - begin, n_steps, state)


def tempered_smc(train: Simulation, test: Simulation, seed: int, budget: float) -> Prediction:
    keep_compiled_programs()
    with jax.enable_x64(True):
        problem = make_problem(train)
        key_position, key_coefficients, key = jax.random.split(jax.random.key(seed), 3)
        positions = draw_positions(key_position, N_PARTICLES, train, problem.prior)
        coefficients = jax.random.normal(key_coefficients, (N_PARTICLES, len(train.offsets) + 1))
        start = adaptive_tempered.init(Unknowns(positions, coefficients))._replace(tempering_param=jnp.float64(0))
        run_smc(key, start, 1, problem, most_steps=2)  # compiles, the second step once more
        path, n_leapfrogs = list[tuple[float, Floats]](), 2
        while not path or 2 * path[-1][0] <= budget:
            run = run_smc(key, start, n_leapfrogs, problem, most_steps=np.inf)
            if path and run.seconds > budget:
                break
            particles = jax.vmap(lambda unknowns: unknowns.particle(problem.prior))(run.state.particles)
            weights = np.maximum(np.asarray(run.state.weights), TINY)
            draws = make_draws(particles, np.log(weights))
            path.append((run.seconds, predict_mean(problem, test, draws)))
            details = {"seconds": run.seconds, "n_steps": run.n_steps, "n_leapfrogs": n_leapfrogs}
            n_leapfrogs *= 2
        return predict(problem, test, draws, **details)._replace(path=tuple(path))


# A yardstick: chains of our own moves, started at the truth.

N_TRUE_CHAINS = 16
N_ROUNDS = 600
N_BURN_IN = 100
THINNING = 10


def chain_from_truth(train: Simulation, test: Simulation, seed: int) -> Prediction:
    """What the posterior around the truth says. Its seconds, which include compilation, are not to be compared."""
    keep_compiled_programs()
    with jax.enable_x64(True):
        problem = make_problem(train)
        one = make_state(true_particle(train, problem), problem.data)
        states = jax.tree.map(lambda leaf: jnp.repeat(jnp.asarray(leaf)[None], N_TRUE_CHAINS, axis=0), one)
        shared = (jnp.float64(1), problem.data, problem.prior)
        tile = tile_size(problem.data, len(train.offsets), N_TRUE_CHAINS, MAX_BYTES)
        kept = []
        for number in range(N_ROUNDS):
            keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), number), N_TRUE_CHAINS)
            options = {"tile": tile, "n_threads": joblib.cpu_count(), "devices": find_devices(None)}
            states, _ = map_particles(collapsed_round, (keys, states), shared, **options)
            if number >= N_BURN_IN and number % THINNING == 0:
                kept.append(jax.tree.map(np.asarray, states.particle))
        particles = jax.tree.map(lambda *leaves: np.concatenate(leaves), *kept)
        return predict(problem, test, equal_weights(particles))


def true_particle(train: Simulation, problem: Problem) -> Particle:
    """The truth in the units of the model: x = center + scale * x', so that <x, n> - mu = length (<x', n'> - mu')."""
    stretched = train.normals * problem.inputs.scale_
    lengths = np.linalg.norm(stretched, axis=1)
    offsets = (train.offsets - train.normals @ problem.inputs.center_) / lengths
    coefficients = np.append(train.coefficients[0] - problem.response.center_, train.coefficients[1:] * lengths)
    inside = np.clip(offsets, 1e-6, problem.prior.reach * (1 - 1e-6))  # scaling may push an offset over the edge
    planes = Hyperplanes(jnp.asarray(stretched / lengths[:, None], jnp.float32), jnp.asarray(inside, jnp.float32))
    noise_variance = jnp.asarray((train.noise / problem.response.scale_) ** 2)
    return _particle(planes, jnp.asarray(coefficients / problem.response.scale_), noise_variance, problem.prior)


def _particle(planes: Hyperplanes, coefficients: jax.Array, noise_variance: jax.Array, prior: Prior) -> Particle:
    """A particle of a plain prior, whose scales are known."""
    scales = jnp.asarray(prior.coefficient_variance, float), jnp.asarray(float(len(planes.offsets)))
    return Particle(*planes, coefficients, noise_variance, *scales, jnp.zeros(planes.normals.shape, dtype=bool))


# Other models.


def bde(train: Simulation, test: Simulation, seed: int) -> Prediction:
    """Bayesian deep ensembles."""
    mean, deviation, seconds = deep_ensembles.draw(train.X, train.y, test.X, seed)
    noise = np.random.default_rng(seed).standard_normal(mean.shape)
    return from_draws(mean, mean + deviation * noise, seconds=seconds)


def bart(train: Simulation, test: Simulation, seed: int) -> Prediction:
    """Stochtree with its priors and 200 trees: two chains warm-started by growing from the root, as its authors advise.

    Each drops 250 draws and keeps 500.
    """
    n_chains, n_dropped, n_kept = 2, 250, 500
    general = {"random_seed": seed, "num_chains": n_chains, "num_threads": joblib.cpu_count()}
    lengths = {"num_gfr": 10, "num_burnin": 0, "num_mcmc": n_dropped + n_kept}
    model = stochtree.BARTModel()
    model.sample(train.X, train.y, X_test=test.X, general_params=general, **lengths)
    kept = np.tile(np.arange(n_dropped + n_kept) >= n_dropped, n_chains)
    functions, variances = model.y_hat_test.T[kept], model.global_var_samples[kept]
    noise = np.random.default_rng(seed).standard_normal(functions.shape)
    return from_draws(functions, functions + np.sqrt(variances)[:, None] * noise)


def bootstrapped_xgboost(train: Simulation, test: Simulation, seed: int, n_bootstraps: int = 1000) -> Prediction:
    """1000 bootstrap fits of 40 trees on one thread; the response's interval adds resampled residuals."""
    rng = np.random.default_rng(seed)
    predictions, residuals = [], []
    for _ in range(n_bootstraps):
        rows = rng.integers(len(train.y), size=len(train.y))
        left_out = np.setdiff1d(np.arange(len(train.y)), rows)[:50]
        model = xgboost.XGBRegressor(n_estimators=40, n_jobs=1).fit(train.X[rows], train.y[rows])
        predictions.append(model.predict(test.X))
        residuals.append(train.y[left_out] - model.predict(train.X[left_out]))
    draws = np.array(predictions)
    return from_draws(draws, draws + rng.choice(np.concatenate(residuals), size=draws.shape))
