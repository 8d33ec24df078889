"""Random numbers that depend on nothing but the test that asks for them."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a screen
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn skips a check without it
# Compiled programs are shared between test processes and runs, and the user's own are left alone.
os.environ.setdefault("HYPERPLANES_CACHE", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled"))

settings.register_profile("reproducible", derandomize=True, deadline=None)
settings.load_profile("reproducible")

MANY_PIECES = 20_000
"""Of memory that a process maps, a third of what Linux allows: the next module needs room too."""


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled_programs() -> Iterator[None]:
    """Every compiled program maps pieces of memory, of which Linux allows a process 65,530; then JAX crashes."""
    yield
    pieces = Path("/proc/self/maps")
    if not pieces.exists() or len(pieces.read_bytes().splitlines()) > MANY_PIECES:
        jax.clear_caches()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Derived from the id of the test: stable, and different for every test and parameter."""
    return zlib.crc32(request.node.nodeid.encode())


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture
def key(seed: int) -> jax.Array:
    return jax.random.key(seed)
