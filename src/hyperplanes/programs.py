"""How programs are compiled, and random keys from programs that compile in a moment.

A first fit spends more time on compiling than on sampling, and what it compiles beside the moves runs for microseconds.
By default each of JAX's own small programs takes a tenth of a second to compile.
"""

from functools import partial

import jax

OLD_EMITTERS = {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}
"""XLA's older way to write kernels for a CPU compiles in 60% of the time, and they run as fast; it went with 0.11."""
QUICK_TO_COMPILE = {"xla_backend_optimization_level": 0, **OLD_EMITTERS}
"""For programs that only copy, that do little, or that run once."""
COMPILER_OPTIONS = {"xla_backend_optimization_level": 1, **OLD_EMITTERS}
"""Compiles in two thirds of the time; the work is in matrix products, which run as fast."""


@partial(jax.jit, static_argnums=1, compiler_options=QUICK_TO_COMPILE)
def split(key: jax.Array, n: int = 2) -> tuple[jax.Array, ...]:
    """`jax.random.split` into a few keys."""
    return tuple(jax.random.split(key, n))


@partial(jax.jit, static_argnums=1, compiler_options=QUICK_TO_COMPILE)
def split_among(key: jax.Array, n: int) -> jax.Array:
    """`jax.random.split` into a key for each of many particles: (n,)."""
    return jax.random.split(key, n)


@partial(jax.jit, compiler_options=QUICK_TO_COMPILE)
def fold_in(key: jax.Array, number: int) -> jax.Array:
    """`jax.random.fold_in`."""
    return jax.random.fold_in(key, number)
