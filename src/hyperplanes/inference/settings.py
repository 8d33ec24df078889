"""Settings of a fit."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """How to sample. What to sample is the prior's and the data's business."""

    n_hyperplanes: int | None
    """Number of hidden units m, None where it is unknown too."""
    n_parts: int = 1
    """Parts of equal size that hyperplanes are moved in, one after the other."""
    sampler: str = "auto"
    """A name in `SAMPLERS`."""
    n_particles: int = 200
    """Number of particles."""
    n_steps: int | None = None
    """Number of equidistant exponents, None for adaptive ones."""
    budget: float | None = None
    """Seconds that the fit should take, None for as long as it needs."""
    device: str | None = None
    """Devices that share the particles, see `devices.find_devices`. On CPUs it does not change the result."""
    n_threads: int = 1
    """Threads that share the particles on a CPU. It does not change the result."""
    memory_budget: int = 2**30
    """Bytes for features that a fit holds at once; on a CPU never less than one thread with one tile of particles, and
    without influence on the result."""

    def __post_init__(self) -> None:
        if self.n_hyperplanes is not None and self.n_hyperplanes < 1:
            raise ValueError(f"n_hyperplanes must be at least 1 or None, got {self.n_hyperplanes}")
        for name, least in (("n_parts", 1), ("n_particles", 2), ("n_threads", 1), ("memory_budget", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.n_parts > 1 and self.sampler == "paper":
            raise ValueError('sampler="paper" moves no parts of a sum: decomposition="paper-intensity" averages them')
        if self.n_parts > 1 and (self.n_hyperplanes or 0) % self.n_parts:
            raise ValueError(f"n_hyperplanes must be a multiple of n_parts={self.n_parts}, got {self.n_hyperplanes}")
        if self.n_steps is not None and self.n_steps < 1:
            raise ValueError(f"n_steps must be at least 1 or None, got {self.n_steps}")
        if self.budget is not None and (self.n_steps is not None or self.sampler == "paper"):
            raise ValueError('a budget needs steps that adapt to it: n_steps=None and sampler="auto"')

    def in_parts(self, n_parts: int) -> "Settings":
        """The same for a sum of parts, each with as many hyperplanes."""
        number = self.n_hyperplanes
        return replace(self, n_parts=n_parts, n_hyperplanes=None if number is None else n_parts * number)

    @property
    def grows(self) -> bool:
        """Whether rows may join one after the other: the exponents are our own, not those that were asked for."""
        return self.sampler != "paper" and self.n_steps is None
