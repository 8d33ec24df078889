"""What programs run on."""

from typing import Any

import jax


def default_device() -> str:
    """Name of the device chosen with `jax.default_device`, such as "gpu:1", or of the kind that JAX prefers."""
    config: Any = jax.config  # JAX declares no types for its settings
    chosen = config.jax_default_device
    if chosen is None:
        return jax.default_backend()
    if isinstance(chosen, str):
        return chosen
    return f"{chosen.platform}:{jax.local_devices(backend=chosen.platform).index(chosen)}"


def on_cpu() -> bool:
    """Whether programs run on a CPU, for which their layout differs."""
    return default_device().startswith("cpu")
