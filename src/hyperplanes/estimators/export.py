"""Fitted estimators that leave Python: model files."""

from hyperplanes.estimators.saving import save
from hyperplanes.files.container import File


class ExportMixin:
    """What every fitted estimator can be turned into."""

    def save(self, file: File) -> None:
        """Write the fitted model to a file that `hyperplanes.load` reads, for ever and from anybody.

        The file holds arrays and JSON, nothing that could be executed. It is written beside `file` and renamed, so
        that it is complete or not there. See docs/format.md.

        Parameters
        ----------
        file : path or binary file
            Best named ``*.safetensors``. A file that exists is replaced.
        """
        save(self, file)
