"""Particles of which some places are taken by hyperplanes, and their functions from the definition of the model."""

import jax.numpy as jnp
import numpy as np

import closed_form
from hyperplanes.inference import Posterior
from hyperplanes.model import Particle

N_PLACES = 5


def make_particles(rng: np.random.Generator, numbers: list[int]) -> Particle:
    """As many of five places are taken as `numbers` say, in any order, with two columns of inputs."""
    n_particles = len(numbers)
    taken = rng.permuted(np.arange(N_PLACES) < np.array(numbers)[:, None], axis=1)
    angles = rng.uniform(0, 2 * np.pi, size=taken.shape)
    return Particle(
        normals=jnp.asarray(np.stack([np.cos(angles), np.sin(angles)], axis=-1) * taken[..., None]),
        offsets=jnp.asarray(rng.uniform(-0.5, 0.5, size=taken.shape) * taken),
        coefficients=jnp.asarray(rng.normal(size=(n_particles, N_PLACES + 1)) * np.insert(taken, 0, True, axis=1)),
        noise_variance=jnp.asarray(rng.uniform(0.1, 1, size=n_particles)),
        coefficient_variance=jnp.asarray(rng.uniform(0.1, 1, size=n_particles)),
        intensity=jnp.asarray(rng.uniform(1, 9, size=n_particles)),
        attends=jnp.asarray(rng.uniform(size=(*taken.shape, 2)) < 0.5),
    )


def functions_of(particles: Particle | Posterior, inputs: np.ndarray) -> np.ndarray:
    """(n_particles, n)."""
    values = []
    for draw in zip(particles.normals, particles.offsets, particles.coefficients, strict=True):
        normals, offsets, coefficients = map(np.asarray, draw)
        values.append(closed_form.features(inputs, normals, offsets) @ coefficients)
    return np.array(values)
