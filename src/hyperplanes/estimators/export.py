"""Fitted estimators for other tools: ArviZ, data frames and, for regressors, ONNX."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.draws import FRAMES, Draws, Frame, frame_of, positions, tree_of
from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.onnx import OnnxExport, Responses, write_onnx
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import Table, read_labelled_table
from hyperplanes.inference import Subdomains, predicting_on


class DrawsMixin:
    """Draws of a fitted estimator, for tools that judge and picture draws."""

    columns_: Columns
    device: str | None
    n_features_in_: int
    parts_: tuple[Part, ...]
    random_state: Any
    subdomains_: Subdomains
    _inputs: Any
    _max_bytes: Any
    _read_labels: Any

    def to_arviz(
        self, X: Table | None = None, y: Table | None = None, *, n_draws: int | None = None, random_state: Any = None
    ) -> Any:
        """Draws from the posterior as an xarray DataTree, as ArviZ reads it.

        Groups are ``posterior`` (noise, numbers of hyperplanes, how many attend to each column, and the function, or
        the probabilities of the classes, at the rows of `X`), ``sample_stats``, ``hyperplanes`` (in model units; their
        order means nothing) and ``annealing``; with `X` ``posterior_predictive`` and ``constant_data``; with `y`
        ``log_likelihood`` and ``observed_data``. Labels of a classifier are there as their positions in ``classes_``.
        The evidence is among the attributes. See docs/exports.md. Needs ``pip install "hyperplanes[arviz]"``.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p), optional
            Inputs.
        y : array-like of shape (n,), optional
            Their responses or labels.
        n_draws : int, optional
            Draws, all of which count alike: particles at even steps through their weights. By default as many as there
            are particles.
        random_state : int, RandomState or None, default=None
            Seed of what is drawn for ``posterior_predictive``; None takes the estimator's.

        Returns
        -------
        xarray.DataTree
            With one chain.
        """
        check_is_fitted(self)
        if X is None and y is not None:
            raise ValueError("y needs the X that it belongs to")
        inputs = response = None
        if y is not None:
            inputs, response = self._read_observed(X, y)
        elif X is not None:
            inputs = self._inputs(X)
        number = None if n_draws is None else checked.positive_integer("n_draws", n_draws)
        seed = check_random_state(self.random_state if random_state is None else random_state).randint(2**31)
        draws = Draws.of(Mosaic(self.subdomains_, self.parts_), number)
        names, rng = self._column_names(), np.random.default_rng(seed)
        with predicting_on(self.device):
            return tree_of(self, draws, names, rng, inputs, response, max_bytes=self._max_bytes())

    def to_frame(self, of: str = "particles") -> Frame:
        """Draws from the posterior as a tidy pandas data frame.

        Parameters
        ----------
        of : {"particles", "hyperplanes"}, default="particles"
            A row for each particle, or for each hyperplane of each particle. These, and intercepts, are in model
            units: of scaled inputs and response.

        Returns
        -------
        DataFrame
            With the number of the part and of the particle, and its weight, in front. Of a classifier hyperplanes have
            the class whose network they belong to; that of two classes is of the log odds of the second.
        """
        check_is_fitted(self)
        checked.one_of("of", of, FRAMES)
        return frame_of(Mosaic(self.subdomains_, self.parts_), self._column_names(), of, self._classes())

    def _column_names(self) -> list[str]:
        unnamed = [f"x{k}" for k in range(self.n_features_in_)]
        return self.columns_.names([str(name) for name in getattr(self, "feature_names_in_", unnamed)])

    def _read_observed(self, X: Table, y: Table) -> tuple[Floats, NDArray[Any]]:
        """Inputs and responses; of a classifier the numbers of the classes."""
        classes = self._classes()
        if classes is None:
            return read_labelled_table(self, X, y, self.columns_)
        labels = self._read_labels(y)
        check_consistent_length(X, labels)
        return self._inputs(X), positions(classes, labels)

    def _classes(self) -> NDArray[Any] | None:
        return getattr(self, "classes_", None)


class ExportMixin(DrawsMixin):
    """What a fitted regressor can be turned into."""

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
        levels = tuple(float(level) for level in np.ravel(np.asarray(quantiles, dtype=np.float64)))
        return write_onnx(self, path, Responses(levels), n_particles=n_particles, max_bytes=max_bytes, X=X)
