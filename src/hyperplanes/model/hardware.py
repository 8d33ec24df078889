"""What the programs run on, as far as their layout depends on it."""

from typing import Any

import jax


def on_cpu() -> bool:
    """Whether programs run on a CPU: on the device chosen with `jax.default_device`, or else on JAX's own choice."""
    config: Any = jax.config  # JAX declares no types for its settings
    chosen = config.jax_default_device
    return (jax.default_backend() if chosen is None else getattr(chosen, "platform", str(chosen))) == "cpu"
