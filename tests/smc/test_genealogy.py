import jax
import numpy as np
import pytest
from targets import CountTarget, GaussianTarget

from hyperplanes import smc


def history_of(steps: list[smc.Step]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    resampled = [step for step in steps[:-1] if step.ancestors is not None]
    return [step.weights for step in [*resampled, steps[-1]]], [step.ancestors for step in resampled]


def random_history(rng: np.random.Generator, n_particles: int, n_generations: int):
    weights = [rng.dirichlet(np.full(n_particles, 2.0)) for _ in range(n_generations)]
    ancestors = [rng.choice(n_particles, size=n_particles, p=before) for before in weights[:-1]]
    return weights, ancestors


def inverse_ess(weights: np.ndarray) -> float:
    return float((weights**2).sum())


def families(weights: np.ndarray, ancestors: list[np.ndarray]) -> float:
    """Squared total weight of every family, summed: a loop over particles and generations."""
    totals: dict[int, float] = {}
    for index, weight in enumerate(weights):
        for generation in reversed(ancestors):
            index = int(generation[index])
        totals[index] = totals.get(index, 0.0) + weight
    return sum(total**2 for total in totals.values())


def test_one_generation_has_the_variance_of_a_mean_of_independent_weights(rng):
    weights = rng.dirichlet(np.full(40, 0.8))
    assert smc.evidence_variance([weights], []) == pytest.approx(inverse_ess(weights) - 1 / 40)


def test_without_memory_the_variances_of_the_generations_add_up(rng):
    weights, ancestors = random_history(rng, 30, 5)
    expected = sum(inverse_ess(each) - 1 / 30 for each in weights)
    assert smc.evidence_variance(weights, ancestors, min_families=31) == pytest.approx(expected)


def test_with_full_memory_it_is_the_genealogical_estimator(rng):
    """With offspring exactly in proportion to the weights, so that resampling adds no noise of its own."""
    n_particles, weights, ancestors = 32, [], []
    for _ in range(3):
        survivors = rng.permutation(n_particles)[: n_particles // 2]
        ancestors.append(rng.permutation(np.repeat(survivors, 2)))
        weights.append(np.bincount(ancestors[-1], minlength=n_particles) / n_particles)
    weights.append(rng.dirichlet(np.full(n_particles, 2.0)))
    expected = families(weights[-1], ancestors) - 1 / n_particles
    assert smc.evidence_variance(weights, ancestors, min_families=1) == pytest.approx(expected)


def test_a_generation_is_remembered_while_enough_families_live(rng):
    """Three generations; of the first only one family is left at the end, of the second many."""
    ancestors = [np.repeat([4, 9], [16, 14]), np.minimum(np.arange(30), 15)]  # the 16 survivors descend from 4
    weights = [np.bincount(parents, minlength=30) / 30 for parents in ancestors] + [rng.dirichlet(np.full(30, 2.0))]
    first, second = (inverse_ess(each) - 1 / 30 for each in weights[:2])
    third = families(weights[2], ancestors[1:]) - inverse_ess(weights[1])
    assert smc.evidence_variance(weights, ancestors, min_families=10) == pytest.approx(first + second + third)


def test_resampling_equal_weights_adds_no_variance(rng):
    """Families die out by chance alone, and the evidence has no error at all."""
    equal = np.full(200, 1 / 200)
    found = []
    for _ in range(20):
        ancestors = [rng.choice(200, size=200) for _ in range(5)]
        found.append(smc.evidence_variance([equal] * 6, ancestors))
    assert np.mean(found) < 1 / 200


def test_equal_weights_that_were_never_resampled_have_no_variance():
    assert smc.evidence_variance([np.full(25, 1 / 25)], []) == pytest.approx(0.0, abs=1e-15)


def test_variance_is_never_negative(rng):
    for _ in range(50):
        weights, ancestors = random_history(rng, 25, 6)
        weights[-1] = np.full(25, 1 / 25)
        assert smc.evidence_variance(weights, ancestors, min_families=int(rng.integers(1, 26))) >= 0


REGIMES = {
    "independent moves": (GaussianTarget(memory=0.0), 8, 150),
    "slow moves": (GaussianTarget(memory=0.9), 8, 150),
    "hardly any move": (GaussianTarget(memory=0.99), 8, 300),
    "many steps": (GaussianTarget(memory=0.5), 30, 300),
    "many slow steps": (GaussianTarget(memory=0.97), 30, 300),
    "random walk": (CountTarget(), 8, 150),
}
"""A target, the number of steps and that of particles."""


@pytest.mark.parametrize("scheme", ["multinomial", "systematic"])
@pytest.mark.parametrize("regime", REGIMES)
def test_reported_error_is_the_spread_over_runs_within_a_factor_of_two(regime, scheme, seed):
    target, n_steps, n_particles = REGIMES[regime]
    found, variances = [], []
    resample_below = 1.0 if scheme == "multinomial" else 0.5
    for repeat in range(80):
        particles = target.draw_prior(np.random.default_rng(seed + repeat), n_particles)
        options = {"schedule": smc.FixedSchedule(n_steps), "scheme": scheme, "resample_below": resample_below}
        taken = list(
            smc.anneal(jax.random.key(seed + repeat), smc.begin(particles), target.path, target.move, **options)
        )
        found.append(taken[-1][0].log_evidence)
        variances.append(smc.evidence_variance(*history_of([info for _, info in taken])))
    ratio = np.sqrt(np.mean(variances)) / np.std(found)
    assert 0.5 < ratio < 2
