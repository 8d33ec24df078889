"""A report on a fit: one HTML page that needs nothing else."""

from hyperplanes.report.writing import write_report

__all__ = ["write_report"]
