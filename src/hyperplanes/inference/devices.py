"""Devices: CPUs and accelerators that programs run on."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax

from hyperplanes.model.hardware import default_device


def find_devices(name: str | None) -> tuple[jax.Device, ...]:
    """All devices of a kind, such as "gpu", or one of them, such as "gpu:1"; without a name see `default_device`.

    Raises
    ------
    ValueError
        If there is no such device here; the message says which there are.
    """
    kind, _, number = (name or default_device()).partition(":")
    try:
        of_kind = jax.local_devices(backend=kind)
        return (of_kind[range(len(of_kind)).index(int(number))],) if number else tuple(of_kind)
    except (RuntimeError, ValueError):
        known = ", ".join(f"{device.platform}:{device.id}" for device in jax.local_devices())
        raise ValueError(f"there is no device {name!r} here; JAX knows {known}") from None


@contextmanager
def computing_on(device: jax.Device) -> Iterator[None]:
    """Compute on a device, in float64 where asked for: a thread starts with JAX's defaults."""
    with jax.enable_x64(True), jax.default_device(device):
        yield


@contextmanager
def predicting_on(name: str | None) -> Iterator[None]:
    """Compute on a device if it is here: a model may have been fitted elsewhere."""
    try:
        device = find_devices(name)[0]
    except ValueError:
        device = jax.local_devices()[0]
    with jax.default_device(device):
        yield
