"""Classification with Poisson processes of hyperplanes."""

import time
from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.checkpoints import Folder, open_checkpoints
from hyperplanes.estimators.division import divided_table
from hyperplanes.estimators.export import DrawsMixin
from hyperplanes.estimators.labels import Labels, class_weights, read_labels
from hyperplanes.estimators.onnx import Classes, OnnxExport, write_onnx
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.process import HyperplaneProcess, RandomState
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import Table, read_training_table
from hyperplanes.inference import predicting_on
from hyperplanes.model import Prior


class HyperplaneProcessClassifier(DrawsMixin, ClassifierMixin, HyperplaneProcess):  # type: ignore[misc]  # scikit-learn has no types
    """Bayesian two-layer ReLU network for classes, whose hidden units are a Poisson process of hyperplanes.

    Two classes have one network, of the log odds of the second; more have one each, and the probability of a class is
    proportional to the exponential of its network. Annealed sequential Monte Carlo draws the posterior.

    Parameters
    ----------
    n_hyperplanes : int or "auto", default="auto"
        Hidden units of each network, and of each part where there is a decomposition. "auto" infers their number.
    n_particles : int, default=200
        Draws that stand for the posterior.
    n_steps : int, optional
        Annealing steps from prior to posterior. By default their number and length adapt to the data.
    budget : float, optional
        Seconds that ``fit`` should take, as of the regressor.
    decomposition : {"intensity", "domain", "paper-domain"}, optional
        As of the regressor.
    n_parts : int, default=4
        Parts where there is a decomposition.
    blend : float, default=0.0
        How far from a cut between two boxes predictions go over from one to the other, as of the regressor.
    class_weight : dict or "balanced", optional
        How often rows of each class count, beside their ``sample_weight``: {label: weight}, or inversely to how
        frequent the class is in rows as they count. It changes the probabilities as if the rows had been there as
        often. No class can have weight 0: remove its rows.
    n_jobs : int, optional, default=-1
        Threads; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed. The same seed gives the same result, where there is no ``budget``.
    progress : bool, default=False
        Whether to show a progress bar on stderr.
    prior : Prior, optional
        Prior of each network, of scaled inputs and log odds. By default ``Prior()``.
    memory_budget : float, default=1.0
        GiB that large temporary arrays may take, as of the regressor.
    device : str, optional
        "cpu", "gpu" or another kind of device that JAX knows, as of the regressor.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    parts_, subdomains_, log_evidence_, log_evidence_error_, diagnostics_, n_hyperplanes_, columns_, input_range_
        As of the regressor. ``n_hyperplanes_`` counts those of all networks.
    n_features_in_ : int
        Columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they had names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperplanes import HyperplaneProcessClassifier
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = np.where(np.abs(X[:, 0]) < 0.5, "near", "far")
    >>> model = HyperplaneProcessClassifier(n_hyperplanes=2, n_particles=100, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [0.9]]).tolist()
    ['near', 'far']
    """

    sampler = "auto"
    classes_: Labels

    def __init__(
        self,
        n_hyperplanes: int | str = "auto",
        n_particles: int = 200,
        n_steps: int | None = None,
        budget: float | None = None,
        decomposition: str | None = None,
        n_parts: int = 4,
        blend: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        n_jobs: int | None = -1,
        random_state: RandomState = None,
        progress: bool = False,
        prior: Prior | None = None,
        memory_budget: float = 1.0,
        device: str | None = None,
    ) -> None:
        self.n_hyperplanes = n_hyperplanes
        self.n_particles = n_particles
        self.n_steps = n_steps
        self.budget = budget
        self.decomposition = decomposition
        self.n_parts = n_parts
        self.blend = blend
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.prior = prior
        self.memory_budget = memory_budget
        self.device = device

    def fit(self, X: Table, y: Table, sample_weight: Table | None = None, *, checkpoint: Folder | None = None) -> Self:
        """Draw the posterior.

        An interrupted fit leaves the estimator as it was.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            As of the regressor.
        y : array-like of shape (n,)
            Labels of at least two classes: text, numbers or truth values.
        sample_weight : array-like of shape (n,), optional
            How often each row counts: a weight of 2 is the same as the row twice.
        checkpoint : path, optional
            A folder that keeps how far the fit is, as of the regressor.

        Returns
        -------
        self
            The fitted estimator.

        Warns
        -----
        HyperplanesWarning
            If the fit may not deserve trust; the message says why and what to do.
        CheckpointWarning
            As of the regressor, which raises the same `CheckpointError` too.
        """
        start = time.monotonic()
        settings, decomposition = self._inference_settings(), self._decomposition()
        self._check_settings()
        labels = self._read_labels(y)
        check_consistent_length(X, labels)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        counted = weights > 0
        classes = np.unique(labels[counted])
        if len(classes) < 2:
            raise ValueError(f"y must have two classes or more in rows that count, got one class: {classes.tolist()}")
        numbers = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        counts = np.asarray(np.bincount(numbers[counted], weights=weights[counted]), dtype=np.float64)
        weights = weights * class_weights(self.class_weight, classes, counts)[numbers]
        table = read_training_table(self, X, numbers.astype(np.float64), weights)
        division = divided_table(table, decomposition.cut)._replace(classes=classes)
        self._fit(division, decomposition, settings, start, open_checkpoints(checkpoint, self))
        return self

    def predict(self, X: Table) -> Labels:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        found = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(found, axis=1)])

    def predict_proba(self, X: Table) -> Floats:
        """Posterior mean of the probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1; columns are in the order of ``classes_``.
        """
        inputs = self._inputs(X)
        with predicting_on(self.device):
            return self._mosaic().probabilities(inputs, len(self.classes_), max_bytes=self._max_bytes())

    def predict_log_proba(self, X: Table) -> Floats:
        """Logarithm of `predict_proba`."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))

    def decision_function(self, X: Table) -> Floats:
        """Log odds of the second of two classes, (n,); of each class against all others, (n, n_classes).

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.
        """
        shares = np.clip(self.predict_proba(X), np.finfo(np.float64).tiny, None)
        if len(self.classes_) == 2:
            return np.asarray(np.log(shares[:, 1]) - np.log(shares[:, 0]))
        others = np.clip(shares.sum(axis=1, keepdims=True) - shares, np.finfo(np.float64).tiny, None)
        return np.asarray(np.log(shares) - np.log(others))

    def predict_interval(self, X: Table, coverage: float = 0.95) -> Floats:
        """Central credible intervals of the probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.
        coverage : float, default=0.95
            Posterior probability that the interval holds the probability of the class.

        Returns
        -------
        ndarray of shape (n, n_classes, 2)
            Lower and upper ends.
        """
        tails, inputs = checked.tails(coverage), self._inputs(X)
        found = np.zeros((len(inputs), len(self.classes_), 2))
        with predicting_on(self.device):
            for rows, ballots in self._mosaic().ballots(inputs, max_bytes=self._max_bytes()):
                found[rows] = ballots.quantiles(tails)
        return found

    def sample(self, X: Table, n_draws: int = 1, target: str = "response", random_state: RandomState = None) -> Labels:
        """Draw from the posterior predictive distribution.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.
        n_draws : int, default=1
            Draws of the whole vector; each takes one particle of every part.
        target : {"response", "mean"}, default="response"
            New labels, or the probabilities of the classes.
        random_state : int, RandomState or None, default=None
            Seed of the draws; None takes the estimator's.

        Returns
        -------
        ndarray of shape (n, n_draws) or (n, n_draws, n_classes)
            Labels, or probabilities.
        """
        n_draws = checked.positive_integer("n_draws", n_draws)
        target = checked.one_of("target", target, checked.TARGETS)
        inputs, max_bytes = self._inputs(X), self._max_bytes()
        rng = np.random.default_rng(self._draw_seeds(random_state)(1)[0])

        def draw(part: Part, inputs: Floats) -> Floats:
            return part.draw_probabilities(rng, inputs, n_draws, max_bytes=max_bytes)

        with predicting_on(self.device):
            found = self._mosaic().draw(rng, inputs, n_draws, draw)
        if target == "mean":
            return found
        numbers = np.sum(np.cumsum(found, axis=2) < rng.uniform(size=(*found.shape[:2], 1)), axis=2)
        return np.asarray(self.classes_[np.minimum(numbers, len(self.classes_) - 1)])

    def log_predictive_density(self, X: Table, y: Table) -> Floats:
        """Log probability of each label under the posterior predictive distribution.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Inputs.
        y : array-like of shape (n,)
            Labels; those that were not in training have probability 0.

        Returns
        -------
        ndarray of shape (n,)
            One value a row.
        """
        check_is_fitted(self)
        labels = self._read_labels(y)
        check_consistent_length(X, labels)
        known = {label: number for number, label in enumerate(self.classes_.tolist())}
        numbers = np.array([known.get(label, -1) for label in labels.tolist()])
        return np.where(numbers < 0, -np.inf, self.predict_log_proba(X)[np.arange(len(labels)), numbers])

    def to_onnx(
        self,
        path: str | PathLike[str],
        *,
        n_particles: int | None = None,
        max_bytes: int | None = None,
        X: Table | None = None,
    ) -> OnnxExport:
        """Write the probabilities of the classes as an ONNX model, for any runtime.

        The model takes raw inputs, as that of the regressor. It gives ``probabilities`` (rows, n_classes), as
        `predict_proba`, and ``label`` (rows,), as `predict`. See docs/exports.md. Needs
        ``pip install "hyperplanes[onnx]"``.

        Parameters
        ----------
        path, n_particles, max_bytes, X
            As of the regressor.

        Returns
        -------
        OnnxExport
            Size of the file, particles that were kept, and what that cost: ``loss.probabilities`` is the root mean
            square of differences in probability, ``loss.labels`` the share of rows that get another label.
        """
        check_is_fitted(self)
        return write_onnx(self, path, Classes(self.classes_), n_particles=n_particles, max_bytes=max_bytes, X=X)

    def _prediction_kinds(self) -> dict[str, Any]:
        names = [f"{name}[{label}]" for label in self.classes_ for name in ("probability", "low", "high")]
        return {"class": np.array(self.classes_.tolist()).dtype, **dict.fromkeys(names, np.float64)}

    def _predictions(self, X: Table, coverage: float) -> dict[str, Labels]:
        shares = self.predict_proba(X)
        found = np.concatenate([shares[..., None], self.predict_interval(X, coverage)], axis=2)
        columns = (self.classes_[np.argmax(shares, axis=1)], *found.reshape(len(found), -1).T)
        return dict(zip(self._prediction_kinds(), columns, strict=True))

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.decomposition == "paper-intensity":
            raise ValueError("decomposition must not be 'paper-intensity', which averages responses, for classes")

    @staticmethod
    def _read_labels(y: Table) -> Labels:
        if y is None:
            raise ValueError("a classifier requires y to be passed, but the target y is None")
        if isinstance(y, list | tuple):
            y = np.array(y, dtype=object)  # NumPy would turn numbers among text, and NaN, into text
        labels = read_labels(column_or_1d(y, warn=True))
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        return labels
