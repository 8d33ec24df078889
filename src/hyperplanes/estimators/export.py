"""Fitted estimators that leave Python: model files and ONNX."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

from sklearn.utils.validation import check_is_fitted

from hyperplanes.estimators.onnx_export import OnnxExport, write_onnx
from hyperplanes.estimators.saving import save
from hyperplanes.estimators.tables import Table
from hyperplanes.files.container import File
from hyperplanes.inference import predicting_on


class ExportMixin:
    """What every fitted estimator can be turned into."""

    device: str | None
    _inputs: Any
    _max_bytes: Any

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

    def to_onnx(
        self,
        path: str | PathLike[str],
        quantiles: Sequence[float] = (0.025, 0.5, 0.975),
        *,
        n_particles: int | None = None,
        max_bytes: int | None = None,
        X: Table | None = None,
    ) -> OnnxExport:
        """Write the posterior mean and quantiles of a new response as an ONNX model, for any runtime.

        The model takes raw inputs: a tensor ``X`` of float64, NaN where values are missing, or, where some columns
        hold text, a tensor of shape (rows, 1) for each column under its name. It gives ``mean`` (rows,) and
        ``quantiles`` (rows, n_quantiles). See docs/exports.md. Needs ``pip install "hyperplanes[onnx]"``.

        Parameters
        ----------
        path : path
            Best named ``*.onnx``. A file that exists is replaced.
        quantiles : sequence of float, default=(0.025, 0.5, 0.975)
            Probabilities; may be empty.
        n_particles : int, optional
            Most particles of each part to keep; by default all.
        max_bytes : int, optional
            Largest size of the file: as many particles are kept as it holds.
        X : array-like or data frame of shape (n, p), optional
            Rows at which the loss of keeping fewer particles is judged; by default random ones within the range of the
            training rows.

        Returns
        -------
        OnnxExport
            Size of the file, particles that were kept, and what that cost: ``loss.mean`` and ``loss.quantiles`` are
            root mean squares of differences as a share of the predictive standard deviation.
        """
        check_is_fitted(self)
        inputs = None if X is None else self._inputs(X)
        budgets = {"n_particles": n_particles, "max_bytes": max_bytes}
        with predicting_on(self.device):
            return write_onnx(self, path, quantiles, **budgets, inputs=inputs, memory=self._max_bytes())
