"""Regression with a Poisson process of hyperplanes."""

import time
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.checkpoints import Folder, open_checkpoints
from hyperplanes.estimators.division import divided_table
from hyperplanes.estimators.export import ExportMixin
from hyperplanes.estimators.family import NOISES, LogEvidences
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.process import HyperplaneProcess, RandomState
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import Table, read_labelled_table, read_training_table
from hyperplanes.inference import predicting_on
from hyperplanes.model import Prior


class HyperplaneProcessRegressor(ExportMixin, RegressorMixin, HyperplaneProcess):  # type: ignore[misc]  # scikit-learn has no types
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
        ``Prior(linear_variance=1)`` adds a linear term, not for ``decomposition="intensity"``.
    memory_budget : float, default=1.0
        GiB that large temporary arrays may take. Fitting holds threads back to keep within it; prediction never needs
        less than 128 rows x ``n_particles``. On a CPU the result does not depend on it.
    device : str, optional
        "cpu", "gpu" or another kind of device that JAX knows, of which all share the particles, or one of them such as
        "gpu:1". By default the kind that JAX prefers. A fitted model predicts where there is no such device, too.
    noise : {"constant", "varying", "student", "auto"}, default="constant"
        "constant" is Gaussian with the same variance everywhere. "varying" is Gaussian with a standard deviation that
        depends on the inputs through a process of hyperplanes of its own (a given ``n_hyperplanes`` is their number
        too; where it is "auto", the prior expects fewer of them; their coefficients have a prior of their own).
        "student" has heavy tails, with degrees of freedom that are inferred. "auto" fits each and takes the one with
        the largest evidence (see ``log_evidences_``), another than "constant" only where it is above by 0.02 nats a row
        and by twice the error of the difference.

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
        Root mean squared error of ``log_evidence_``, estimated from this one run. It knows nothing of what no particle
        has found.
    noise_ : str
        Kind of noise of the fit.
    log_evidences_ : tuple of dict
        Log evidence and its error of each kind of noise that was tried, for each of ``parts_``.
    diagnostics_ : Diagnostics
        Numbers to judge the fit by, and ``messages`` in plain words: those that ``fit`` warns of, and lesser notes.
    n_hyperplanes_ : NumberOfHyperplanes
        Posterior of the number of hyperplanes: ``mean``, ``median``, ``low`` and ``high`` of the central 95%, and
        ``probabilities``. Hyperplanes beyond which there is no training row do not count, nor those of a linear term.
    columns_ : Columns
        How the columns of the table became numbers.
    input_range_ : ndarray of shape (2, q)
        Smallest and largest value of each of these.
    n_features_in_ : int
        Columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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
        noise: str = "constant",
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
        self.noise = noise

    def fit(self, X: Table, y: Table, sample_weight: Table | None = None, *, checkpoint: Folder | None = None) -> Self:
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
        checkpoint : path, optional
            A folder that keeps how far the fit is, written every few seconds. After a crash the same call goes on from
            there and ends in the same posterior, bit for bit; once the fit is done, it gives the result at once. A
            folder of other data or settings is refused. Delete it when you have saved the model. See
            docs/checkpoints.md.

        Returns
        -------
        self
            The fitted estimator.

        Warns
        -----
        HyperplanesWarning
            If the fit may not deserve trust; the message says why and what to do.
        CheckpointWarning
            If the checkpoint cannot be written; the fit goes on without.

        Raises
        ------
        CheckpointError
            If the checkpoint is of other data or settings, or damaged; the message says what to do.
        """
        start = time.monotonic()
        settings, decomposition = self._inference_settings(), self._decomposition()
        table = read_training_table(self, X, y, sample_weight)
        division, checkpoints = divided_table(table, decomposition.cut), open_checkpoints(checkpoint, self)
        self._fit(division, decomposition, settings, start, checkpoints)
        return self

    def _noises(self) -> tuple[str, ...]:
        noise = checked.one_of("noise", self.noise, (*NOISES, "auto"))
        if noise != "constant" and (self.sampler == "paper" or self.decomposition == "paper-intensity"):
            raise ValueError(f"noise must be 'constant' for the paper's sampler and 'paper-intensity', got {noise!r}")
        return tuple(NOISES) if noise == "auto" else (noise,)

    def _check_settings(self) -> None:
        super()._check_settings()
        self._noises()

    def _prediction_kinds(self) -> dict[str, Any]:
        return dict.fromkeys(("mean", "std", "low", "high"), np.float64)

    def _predictions(self, X: Table, coverage: float) -> dict[str, NDArray[Any]]:
        columns = (*self.predict(X, return_std=True), *self.predict_interval(X, coverage).T)
        return dict(zip(self._prediction_kinds(), columns, strict=True))

    @property
    def noise_(self) -> str:
        """Kind of noise of the fit: "constant", "varying" or "student"; "several" where its parts differ."""
        check_is_fitted(self)
        kinds = {part.summary.likelihood for part in self.parts_}
        return kinds.pop() if len(kinds) == 1 else "several"

    @property
    def log_evidences_(self) -> tuple[LogEvidences, ...]:
        """Of each of ``parts_``: {kind of noise: (log evidence, its error)}, in the user's units.

        All kinds with ``noise="auto"``, otherwise the one that was fitted. Those of a part compare with each other.
        """
        check_is_fitted(self)
        return tuple(part.log_evidences for part in self.parts_)

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
        mosaic = self._mosaic()
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
        mosaic = self._mosaic()
        with predicting_on(self.device):
            return mosaic.quantiles(inputs, tails, target=target, max_bytes=max_bytes)

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
        rng = np.random.default_rng(self._draw_seeds(random_state)(1)[0])
        mosaic = self._mosaic()

        def draw(part: Part, inputs: Floats) -> Floats:
            return part.draw(rng, inputs, n_draws, target=target, max_bytes=max_bytes)

        with predicting_on(self.device):
            return mosaic.draw(rng, inputs, n_draws, draw)

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
        mosaic = self._mosaic()
        with predicting_on(self.device):
            return mosaic.log_density(inputs, response, max_bytes=self._max_bytes())

    def cumulative_probability(self, X: Table, y: Table) -> Floats:
        """Probability that a new response is at most each response: the probability integral transform.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Inputs.
        y : array-like of shape (n,)
            Responses.

        Returns
        -------
        ndarray of shape (n,)
            Between 0 and 1; evenly spread over rows that were held out where the model is calibrated.
        """
        check_is_fitted(self)
        inputs, response = read_labelled_table(self, X, y, self.columns_)
        mosaic = self._mosaic()
        with predicting_on(self.device):
            return mosaic.cumulative_probability(inputs, response, max_bytes=self._max_bytes())
