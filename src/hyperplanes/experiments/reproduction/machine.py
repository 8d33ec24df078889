"""The machine that cells are computed on: what it is called, and holding this process to some of its CPUs."""

import os
import platform
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

import jax
import joblib

CAN_HOLD = hasattr(os, "sched_setaffinity")
"""Whether the system lets a process say which CPUs it runs on."""


def machine_name() -> str:
    """Kinds of its processors, and how many CPUs this process may use: seconds on another cannot be compared."""
    accelerators = sorted({device.device_kind for device in jax.devices() if device.platform != "cpu"})
    number = joblib.cpu_count()
    return ", ".join([*accelerators, _processor(), f"{number} {'CPU' if number == 1 else 'CPUs'}"])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def cpus_to_hold() -> int:
    """How many CPUs a process can be held to here: none where the system does not know of such a thing."""
    return int(joblib.cpu_count()) if CAN_HOLD else 0


@contextmanager
def held_to(n_cpus: int | None) -> Iterator[None]:
    """Let all threads of this process run on so many CPUs alone; None changes nothing.

    The number of threads that are asked for does not do it: XLA and BLAS keep pools of their own.
    """
    if n_cpus is None:
        yield
        return
    if n_cpus > cpus_to_hold():
        raise OSError(f"{n_cpus} CPUs are needed, and {cpus_to_hold()} are there that a process can be held to")
    before = os.sched_getaffinity(0)
    _hold_threads(set(sorted(before)[:n_cpus]))
    try:
        yield
    finally:
        _hold_threads(before)


def _hold_threads(cpus: Set[int]) -> None:
    """All threads that there are; later ones follow the thread that starts them."""
    for thread in Path("/proc/self/task").iterdir():
        try:
            os.sched_setaffinity(int(thread.name), cpus)
        except ProcessLookupError:  # it has ended
            continue
