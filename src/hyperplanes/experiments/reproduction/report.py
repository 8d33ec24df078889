"""Report."""

from pathlib import Path

from hyperplanes.experiments.reproduction.effort import Effort


def write_report(folder: Path, document: Path, effort: Effort) -> None:
    """Write nothing yet."""
