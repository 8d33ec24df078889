"""Regression with a Poisson process of hyperplanes."""

import time
from typing import Any, Literal, Self, TypeAlias, overload

import jax
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.diagnostics import Diagnostics, FitSummary, diagnose, warn
from hyperplanes.estimators.number import NumberOfHyperplanes, summarise_number
from hyperplanes.estimators.progress import observer
from hyperplanes.estimators.scaling import Floats, Scaler, input_scaler, is_constant, range_scaler, response_scaler
from hyperplanes.estimators.tables import Table, read_inputs, read_labelled_table, read_training_table
from hyperplanes.inference import SAMPLERS, Posterior, Settings, fit
from hyperplanes.model import Prior, prediction

RandomState: TypeAlias = int | np.random.RandomState | None


class HyperplaneProcessRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Bayesian two-layer ReLU network whose hidden units are a Poisson process of hyperplanes.

    Annealed sequential Monte Carlo draws the posterior; predictions average over it. Inputs and response are scaled
    internally to mean 0 and standard deviation 1, and everything is reported in the units of the data.

    Parameters
    ----------
    n_hyperplanes : int or "auto", default="auto"
        Hidden units. "auto" infers their number from the data (``n_hyperplanes_``); for ``sampler="paper"``, which
        cannot, it stands for 10.
    n_particles : int, default=200
        Draws that stand for the posterior.
    n_steps : int, optional
        Annealing steps from prior to posterior. By default their number and length adapt to the data.
    budget : float, optional
        Seconds that ``fit`` should take: more or fewer steps than it would take by itself. A first fit of a size
        compiles for some of them. The clock decides, so that the same seed does not give the same result.
    sampler : {"auto", "paper"}, default="auto"
        "auto" is the sampler that works best; "paper" is Algorithm 2 of the paper, for comparison.
    n_jobs : int, optional, default=-1
        Threads; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed. The same seed gives the same result.
    progress : bool, default=False
        Whether to show a progress bar on stderr.
    prior : Prior, optional
        Prior in model units (scaled inputs and response). By default ``Prior()``, for ``sampler="paper"``
        ``paper_prior(n_columns)``. A prior whose reach is given, as the paper's, has inputs scaled to [-1, 1].
    memory_budget : float, default=1.0
        GiB that large temporary arrays may take. Fitting holds threads back to keep within it; prediction never needs
        less than 128 rows x ``n_particles``. On a CPU the result does not depend on it.

    Attributes
    ----------
    posterior_ : Posterior
        Particles in model units.
    log_evidence_ : float
        Log marginal likelihood of the response in the user's units.
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
    input_scaler_, response_scaler_ : Scaler
        Between the user's units and the model's.
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

    posterior_: Posterior
    log_evidence_: float
    log_evidence_error_: float
    diagnostics_: Diagnostics
    n_hyperplanes_: NumberOfHyperplanes
    columns_: Columns
    input_range_: Floats
    input_scaler_: Scaler
    response_scaler_: Scaler

    def __init__(
        self,
        n_hyperplanes: int | str = "auto",
        n_particles: int = 200,
        n_steps: int | None = None,
        budget: float | None = None,
        sampler: str = "auto",
        n_jobs: int | None = -1,
        random_state: RandomState = None,
        progress: bool = False,
        prior: Prior | None = None,
        memory_budget: float = 1.0,
    ) -> None:
        self.n_hyperplanes = n_hyperplanes
        self.n_particles = n_particles
        self.n_steps = n_steps
        self.budget = budget
        self.sampler = sampler
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.prior = prior
        self.memory_budget = memory_budget

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
        table = read_training_table(self, X, y, sample_weight)
        settings = self._inference_settings()
        prior = checked.read_prior(self.prior, settings.sampler, table.inputs.shape[1])
        inputs = input_scaler(table.inputs, table.row_weights) if prior.reach == 0 else range_scaler(table.inputs)
        response = response_scaler(table.response, table.row_weights)
        start = time.monotonic()
        with observer(checked.flag("progress", self.progress)) as observe:
            posterior = fit(
                jax.random.key(_draw_seed(self.random_state)),
                inputs.to_model(table.inputs),
                response.to_model(table.response),
                table.row_weights,
                prior=prior,
                settings=settings,
                observe=observe,
            )
        n_rows, scale = float(table.row_weights.sum()), float(response.scale_)
        summary = FitSummary(
            prior=prior,
            n_rows=max(1, round(n_rows)),
            response_scale=scale,
            constant_response=is_constant(table.response),
            number_given=settings.n_hyperplanes is not None,
            share_of_budget=(time.monotonic() - start) / (settings.budget or np.inf),
        )
        diagnostics = diagnose(posterior, summary)
        self._adopt(
            table.column_attributes
            | {
                "columns_": table.columns,
                "input_range_": np.stack([table.inputs.min(axis=0), table.inputs.max(axis=0)]),
                "n_hyperplanes_": summarise_number(posterior),
                "input_scaler_": inputs,
                "response_scaler_": response,
                "posterior_": posterior,
                "log_evidence_": posterior.log_evidence - n_rows * np.log(scale),
                "log_evidence_error_": posterior.log_evidence_error,
                "diagnostics_": diagnostics,
            }
        )
        warn(diagnostics, stacklevel=2)
        return self

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
        inputs = self._model_inputs(X)
        mean, variance = prediction.moments(
            self.posterior_, inputs, with_variance=return_std, max_bytes=self._max_bytes()
        )
        mean = self.response_scaler_.to_user(mean)
        if variance is None:
            return mean
        noise = np.exp(self.posterior_.log_weights) @ self.posterior_.noise_variance
        return mean, self.response_scaler_.scale_ * np.sqrt(variance + noise)

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
        inputs = self._model_inputs(X)
        ends = prediction.quantiles(self.posterior_, inputs, tails, target=target, max_bytes=self._max_bytes())
        return self.response_scaler_.to_user(ends)

    def sample(self, X: Table, n_draws: int = 1, target: str = "response", random_state: RandomState = None) -> Floats:
        """Draw from the posterior predictive distribution.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            New inputs.
        n_draws : int, default=1
            Draws of the whole vector; each takes one particle for all rows.
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
        inputs = self._model_inputs(X)
        rng = np.random.default_rng(_draw_seed(self.random_state if random_state is None else random_state))
        draws = prediction.draw(rng, self.posterior_, inputs, n_draws, target=target, max_bytes=self._max_bytes())
        return self.response_scaler_.to_user(draws)

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
        density = prediction.log_density(
            self.posterior_,
            self.input_scaler_.to_model(inputs),
            self.response_scaler_.to_model(response),
            max_bytes=self._max_bytes(),
        )
        return density - np.log(self.response_scaler_.scale_)

    def _inference_settings(self) -> Settings:
        return Settings(
            sampler=checked.one_of("sampler", self.sampler, tuple(SAMPLERS)),
            n_hyperplanes=checked.read_n_hyperplanes(self.n_hyperplanes, self.sampler),
            n_particles=checked.integer("n_particles", self.n_particles),
            n_steps=None if self.n_steps is None else checked.integer("n_steps", self.n_steps),
            budget=None if self.budget is None else checked.seconds("budget", self.budget),
            n_threads=checked.n_threads(self.n_jobs),
            memory_budget=self._max_bytes(),
        )

    def _max_bytes(self) -> int:
        return checked.n_bytes("memory_budget", self.memory_budget)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _model_inputs(self, X: Table) -> Floats:
        check_is_fitted(self)
        return self.input_scaler_.to_model(read_inputs(self, X, self.columns_))

    def _adopt(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes at once, so that an interruption never leaves half of them."""
        kept = {name: value for name, value in vars(self).items() if name != "feature_names_in_"}
        self.__dict__ = kept | fitted


def _draw_seed(random_state: RandomState) -> int:
    return int(check_random_state(random_state).randint(2**32, dtype=np.uint32))
