"""The command line: `hyperplanes fit`, `predict`, `report`, `demo` and `reproduce`, one module each."""

from hyperplanes.cli.program import app, main

__all__ = ["app", "main"]
