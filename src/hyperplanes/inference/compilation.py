"""Compiled programs kept on disk, so that only the first fit of a shape on a machine compiles."""

import hashlib
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

import jax

SWITCH = "HYPERPLANES_CACHE"
"""Environment variable: a folder for compiled programs, or "off"."""
LEAST_SECONDS = 0.1


@cache
def keep_compiled_programs() -> None:
    """Turn JAX's persistent compilation cache on, unless the user has set one or switched ours off."""
    config: Any = jax.config  # JAX declares no types for its settings
    choice = os.environ.get(SWITCH, "")
    if choice.lower() == "off" or config.jax_compilation_cache_dir is not None:
        return
    folder = Path(choice) if choice else _user_cache() / "hyperplanes" / _machine()
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", LEAST_SECONDS)


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _machine() -> str:
    """Name that differs between kinds of processor: programs for one may not run on another that shares the folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        kind = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        kind = ""
    return hashlib.sha256(f"{platform.platform()} {platform.processor()} {kind}".encode()).hexdigest()[:16]
