"""The command line: `hyperplanes fit`, `predict` and `demo`, one module each."""

from hyperplanes.cli.program import app, main

__all__ = ["app", "main"]
