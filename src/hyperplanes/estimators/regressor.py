"""Regression with a Poisson process of hyperplanes."""

import time
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Literal, Self, TypeAlias, overload

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.datasets import divided_dataset, write_predictions
from hyperplanes.estimators.decomposition import DECOMPOSITIONS, DOMAINS, Decomposition
from hyperplanes.estimators.diagnostics import Diagnostics, diagnose, join_diagnostics, judge_time, warn
from hyperplanes.estimators.division import Division, divided_table
from hyperplanes.estimators.export import ExportMixin
from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.number import NumberOfHyperplanes, summarise_number
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats, Scaler
from hyperplanes.estimators.tables import Table, read_inputs, read_labelled_table, read_training_table
from hyperplanes.inference import SAMPLERS, Posterior, Settings, Subdomains, predicting_on
from hyperplanes.model import Prior

RandomState: TypeAlias = int | np.random.RandomState | None


class HyperplaneProcessRegressor(ExportMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Bayesian two-layer ReLU network whose hidden units are a Poisson process of hyperplanes.

    Annealed sequential Monte Carlo draws the posterior; predictions average over it. Inputs and response are scaled
    internally to mean 0 and standard deviation 1, and everything is reported in the units of the data.

    Parameters
    ----------
    n_hyperplanes : int or "auto", default="auto"
        Hidden units, of each part where there is a decomposition: 10 in 4 parts are 40 in all. "auto" infers their
        number from the data (``n_hyperplanes_``); for ``sampler="paper"``, which cannot, it stands for 10.
    n_particles : int, default=200
        Draws that stand for the posterior.
    n_steps : int, optional
        Annealing steps from prior to posterior. By default their number and length adapt to the data.
    budget : float, optional
        Seconds that ``fit`` should take: more or fewer steps than it would take by itself. A first fit of a size
        compiles for some of them, and very large budgets are not used up. The clock decides, so that the same seed
        does not give the same result.
    sampler : {"auto", "paper"}, default="auto"
        "auto" is the sampler that works best; "paper" is Algorithm 2 of the paper, for comparison.
    decomposition : {"intensity", "domain", "paper-intensity", "paper-domain"}, optional
        By default one process for all rows, moved as a whole. "intensity" is for many hyperplanes: the sum of processes
        on all rows, of which one after the other is moved; a round costs less than one of the whole. "domain" is for
        many rows: independent processes in disjoint boxes of inputs. It cuts the first column at a quantile, then each
        side at one of the column that is widest there, so that parts have about as many rows each where values differ.
        The paper's forms are the average of independent fits to all rows, and boxes of equal length along the first
        column.
    n_parts : int, default=4
        Parts where there is a decomposition; fewer boxes where they would have hardly any rows. Independent parts are
        fitted side by side, in threads or wherever ``joblib.parallel_config`` says.
    blend : float, default=0.0
        How far from a cut between two boxes predictions go over from one to the other, as a share, at most 0.5, of the
        narrower box. There the prediction is the mixture of both, so that it does not jump.
    n_jobs : int, optional, default=-1
        Threads; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed. The same seed gives the same result, where there is no ``budget``.
    progress : bool, default=False
        Whether to show a progress bar on stderr.
    prior : Prior, optional
        Prior in model units (scaled inputs and response). By default ``Prior()``, for ``sampler="paper"``
        ``paper_prior(n_columns)``. A prior whose reach is given, as the paper's, has inputs scaled to [-1, 1].
    memory_budget : float, default=1.0
        GiB that large temporary arrays may take. Fitting holds threads back to keep within it; prediction never needs
        less than 128 rows x ``n_particles``. On a CPU the result does not depend on it.
    device : str, optional
        "cpu", "gpu" or another kind of device that JAX knows, of which all share the particles, or one of them such as
        "gpu:1". By default the kind that JAX prefers. A fitted model predicts where there is no such device, too.

    Attributes
    ----------
    parts_ : tuple of Part
        The fit; one for each box of a decomposition of the domain.
    subdomains_ : Subdomains
        Which part a row belongs to.
    posterior_, input_scaler_, response_scaler_ : Posterior, Scaler, Scaler
        Of the fit, where it is a single part: particles in model units, and the maps between them and the user's.
    log_evidence_ : float
        Log marginal likelihood of the response in the user's units, the sum over boxes. With "paper-intensity" that
        of one of the fits.
    log_evidence_error_ : float
        Standard error of ``log_evidence_``, estimated from this one run. It is too small where few first particles
        have descendants (``diagnostics_.n_ancestors``).
    diagnostics_ : Diagnostics
        Numbers to judge the fit by, and ``messages`` in plain words: those that ``fit`` warns of, and lesser notes.
    n_hyperplanes_ : NumberOfHyperplanes
        Posterior of the number of hyperplanes: ``mean``, ``median``, ``low`` and ``high`` of the central 95%, and
        ``probabilities``. Hyperplanes beyond which there is no training row do not count.
    columns_ : Columns
        How the columns of the table became numbers.
    input_range_ : ndarray of shape (2, q)
        Smallest and largest value of each of these.
    n_features_in_ : int
        Columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if they had names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperplanes import HyperplaneProcessRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = np.abs(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> model = HyperplaneProcessRegressor(n_hyperplanes=2, n_particles=100, random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X, coverage=0.9).T
    >>> bool((low < high).all())
    True
    """

    parts_: tuple[Part, ...]
    subdomains_: Subdomains
    log_evidence_: float
    log_evidence_error_: float
    diagnostics_: Diagnostics
    n_hyperplanes_: NumberOfHyperplanes
    columns_: Columns
    input_range_: Floats

    def __init__(
        self,
        n_hyperplanes: int | str = "auto",
        n_particles: int = 200,
        n_steps: int | None = None,
        budget: float | None = None,
        sampler: str = "auto",
        decomposition: str | None = None,
        n_parts: int = 4,
        blend: float = 0.0,
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
        self.sampler = sampler
        self.decomposition = decomposition
        self.n_parts = n_parts
        self.blend = blend
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.prior = prior
        self.memory_budget = memory_budget
        self.device = device

    def fit(self, X: Table, y: Table, sample_weight: Table | None = None) -> Self:
        """Draw the posterior.

        An interrupted fit leaves the estimator as it was.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Numbers, at least 2 rows. Columns of a data frame that hold text or categories become columns of 0 and 1.
            Missing values become the median of their column, and the column is joined by one that marks them.
        y : array-like of shape (n,)
            Finite numbers.
        sample_weight : array-like of shape (n,), optional
            How often each row counts: a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.

        Warns
        -----
        HyperplanesWarning
            If the fit may not deserve trust; the message says why and what to do.
        """
        start = time.monotonic()
        settings, decomposition = self._inference_settings(), self._decomposition()
        table = read_training_table(self, X, y, sample_weight)
        self._fit(divided_table(table, decomposition.cut), decomposition, settings, start)
        return self

    def fit_dataset(self, source: Any, target: str, folder: str | PathLike[str] | None = None) -> Self:
        """Draw the posterior from a data set that need not fit into memory.

        Rows are read a chunk at a time and divided into a temporary file for each part; a worker loads the rows of its
        part alone, so that memory is bounded by the largest part. Boxes, and medians for missing values, come from
        100,000 rows chosen at random; where there are no more rows, the fit is that of `fit` with the same integer as
        ``random_state``, to the last bit.

        Parameters
        ----------
        source : path or Dask DataFrame
            A file or a folder of Parquet, or a Dask DataFrame whose partitions fit into memory. Needs
            ``decomposition``.
        target : str
            Column of the response; the others are inputs, as in `fit`.
        folder : path, optional
            Where the temporary files go, as large as the numbers of all rows; a folder that all workers share where
            they are not on this machine. By default the system's.

        Returns
        -------
        self
            The fitted estimator.

        Warns
        -----
        HyperplanesWarning
            As `fit` does.
        """
        start = time.monotonic()
        checked.one_of("decomposition", self.decomposition, tuple(DOMAINS))
        settings, decomposition = self._inference_settings(), self._decomposition()
        (seed,), shown = _draw_seeds(self.random_state, 1), decomposition.shown
        with divided_dataset(
            self, source, target, decomposition.cut, seed=seed, shown=shown, folder=folder
        ) as division:
            self._fit(division, decomposition, settings, start)
        return self

    def _fit(self, division: Division, decomposition: Decomposition, settings: Settings, start: float) -> None:
        if settings.budget is not None:
            left = settings.budget - (time.monotonic() - start)
            settings = replace(settings, budget=max(left, 0.01 * settings.budget))
        prior = checked.read_prior(self.prior, settings.sampler, division.input_range.shape[1])
        fitted, parts = decomposition.fit(division, prior, settings, partial(_draw_seeds, self.random_state))
        posteriors = [part.posterior for part in parts]
        joined = join_diagnostics([diagnose(part.posterior, part.summary) for part in fitted])
        diagnostics = judge_time(joined, time.monotonic() - start, self.budget)
        self._adopt(
            division.column_attributes
            | {
                "columns_": division.columns,
                "input_range_": division.input_range,
                "subdomains_": division.subdomains,
                "parts_": parts,
                "n_hyperplanes_": summarise_number(*posteriors),
                "log_evidence_": float(np.sum([part.log_evidence for part in parts])),
                "log_evidence_error_": float(np.linalg.norm([one.log_evidence_error for one in posteriors])),
                "diagnostics_": diagnostics,
            }
        )
        warn(diagnostics, stacklevel=3)

    def _decomposition(self) -> Decomposition:
        if self.decomposition is not None:
            checked.one_of("decomposition", self.decomposition, DECOMPOSITIONS)
        return Decomposition(
            kind=self.decomposition,
            n_parts=checked.positive_integer("n_parts", self.n_parts),
            blend=checked.share("blend", self.blend, most=0.5),
            n_jobs=self.n_jobs,
            shown=checked.flag("progress", self.progress),
        )

    @property
    def posterior_(self) -> Posterior:
        """Particles in model units, of a fit that is a single part."""
        return self._single_part().posterior

    @property
    def input_scaler_(self) -> Scaler:
        """Between the user's units of the inputs and the model's, of a fit that is a single part."""
        return self._single_part().input_scaler

    @property
    def response_scaler_(self) -> Scaler:
        """Between the user's units of the response and the model's, of a fit that is a single part."""
        return self._single_part().response_scaler

    def _single_part(self) -> Part:
        parts: tuple[Part, ...] = vars(self).get("parts_", ())
        if len(parts) != 1:
            found = f"a fit of {len(parts)} parts has a posterior and scalers for each: see parts_"
            raise AttributeError(found if parts else "not fitted yet")
        return parts[0]

    @overload
    def predict(self, X: Table, return_std: Literal[False] = False) -> Floats: ...

    @overload
    def predict(self, X: Table, return_std: Literal[True]) -> tuple[Floats, Floats]: ...

    def predict(self, X: Table, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Posterior mean of the response.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.
        return_std : bool, default=False
            Whether to return the standard deviation of a new response too.

        Returns
        -------
        mean : ndarray of shape (n,)
            Posterior mean.
        std : ndarray of shape (n,)
            Standard deviation of a new response, noise included. Only if ``return_std``.
        """
        inputs, max_bytes = self._inputs(X), self._max_bytes()
        mosaic = Mosaic(self.subdomains_, self.parts_)
        predict = mosaic.mean_and_std if return_std else mosaic.mean
        with predicting_on(self.device):
            return predict(inputs, max_bytes=max_bytes)

    def predict_interval(self, X: Table, coverage: float = 0.95, target: str = "response") -> Floats:
        """Central credible intervals.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.
        coverage : float, default=0.95
            Posterior probability that the interval holds the target.
        target : {"response", "mean"}, default="response"
            A new response, or the regression function itself.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper ends.
        """
        tails = checked.tails(coverage)
        target = checked.one_of("target", target, checked.TARGETS)
        inputs, max_bytes = self._inputs(X), self._max_bytes()
        mosaic = Mosaic(self.subdomains_, self.parts_)
        with predicting_on(self.device):
            return mosaic.quantiles(inputs, tails, target=target, max_bytes=max_bytes)

    def predict_dataset(self, source: Any, out: str | PathLike[str], coverage: float = 0.95) -> int:
        """Predict a data set that need not fit into memory, into a Parquet file.

        Parameters
        ----------
        source : path or Dask DataFrame
            As in `fit_dataset`. Columns that were not in training, such as the response, do not matter.
        out : path
            File to write, which must not exist: columns ``mean``, ``std``, ``low`` and ``high`` as `predict` and
            `predict_interval` give them, in the order of the rows. It appears when it is complete.
        coverage : float, default=0.95
            Posterior probability that a new response is between ``low`` and ``high``.

        Returns
        -------
        int
            Number of rows.
        """
        check_is_fitted(self)
        checked.tails(coverage)
        n_threads, shown = checked.n_threads(self.n_jobs), checked.flag("progress", self.progress)

        def predict(chunk: Table) -> Floats:
            return np.column_stack([*self.predict(chunk, return_std=True), self.predict_interval(chunk, coverage)])

        names = getattr(self, "feature_names_in_", None)
        return write_predictions(source, names, predict, out, n_threads=n_threads, shown=shown)

    def sample(self, X: Table, n_draws: int = 1, target: str = "response", random_state: RandomState = None) -> Floats:
        """Draw from the posterior predictive distribution.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.
        n_draws : int, default=1
            Draws of the whole vector; each takes one particle of every part.
        target : {"response", "mean"}, default="response"
            New responses, or the regression function itself.
        random_state : int, RandomState or None, default=None
            Seed of the draws; None takes the estimator's.

        Returns
        -------
        ndarray of shape (n, n_draws)
            One draw a column.
        """
        n_draws = checked.positive_integer("n_draws", n_draws)
        target = checked.one_of("target", target, checked.TARGETS)
        inputs, max_bytes = self._inputs(X), self._max_bytes()
        seeds = _draw_seeds(self.random_state if random_state is None else random_state, 1)
        rng = np.random.default_rng(seeds[0])
        mosaic = Mosaic(self.subdomains_, self.parts_)
        with predicting_on(self.device):
            return mosaic.draw(rng, inputs, n_draws, target=target, max_bytes=max_bytes)

    def log_predictive_density(self, X: Table, y: Table) -> Floats:
        """Log density of each response under the posterior predictive distribution, in the user's units.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Inputs.
        y : array-like of shape (n,)
            Responses.

        Returns
        -------
        ndarray of shape (n,)
            One value a row.
        """
        check_is_fitted(self)
        inputs, response = read_labelled_table(self, X, y, self.columns_)
        mosaic = Mosaic(self.subdomains_, self.parts_)
        with predicting_on(self.device):
            return mosaic.log_density(inputs, response, max_bytes=self._max_bytes())

    def _inference_settings(self) -> Settings:
        return Settings(
            sampler=checked.one_of("sampler", self.sampler, tuple(SAMPLERS)),
            n_hyperplanes=checked.read_n_hyperplanes(self.n_hyperplanes, self.sampler),
            n_particles=checked.integer("n_particles", self.n_particles),
            n_steps=None if self.n_steps is None else checked.integer("n_steps", self.n_steps),
            budget=None if self.budget is None else checked.seconds("budget", self.budget),
            device=checked.read_device(self.device),
            n_threads=checked.n_threads(self.n_jobs),
            memory_budget=self._max_bytes(),
        )

    def _check_settings(self) -> None:
        """Raise an error that names a setting that is wrong."""
        self._inference_settings()
        self._decomposition()
        checked.read_prior(self.prior, self.sampler, n_columns=1)
        check_random_state(self.random_state)

    def _max_bytes(self) -> int:
        return checked.n_bytes("memory_budget", self.memory_budget)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _inputs(self, X: Table) -> Floats:
        check_is_fitted(self)
        return read_inputs(self, X, self.columns_)

    def _adopt(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes at once, so that an interruption never leaves half of them."""
        kept = {name: value for name, value in vars(self).items() if name != "feature_names_in_"}
        self.__dict__ = kept | fitted


def _draw_seeds(random_state: RandomState, n_seeds: int) -> list[int]:
    seeds: list[int] = check_random_state(random_state).randint(2**32, size=n_seeds, dtype=np.uint32).tolist()
    return seeds
