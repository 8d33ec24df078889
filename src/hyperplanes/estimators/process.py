"""What all estimators share: settings, fitting, and attributes of the fit."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.checkpoints import Checkpoints, Folder, open_checkpoints
from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.datasets import divided_dataset, write_predictions
from hyperplanes.estimators.decomposition import DECOMPOSITIONS, DOMAINS, Decomposition
from hyperplanes.estimators.diagnostics import Diagnostics, diagnose, join_diagnostics, judge_time, warn
from hyperplanes.estimators.division import Division
from hyperplanes.estimators.family import Family
from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.number import NumberOfHyperplanes, summarise_number
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.saving import save
from hyperplanes.estimators.scaling import Floats, Scaler
from hyperplanes.estimators.tables import Table, read_inputs
from hyperplanes.files.container import File
from hyperplanes.inference import SAMPLERS, Posterior, Settings, Subdomains, error_of_sum
from hyperplanes.model import Prior

RandomState: TypeAlias = int | np.random.RandomState | None


class HyperplaneProcess(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the estimators."""

    n_hyperplanes: int | str
    n_particles: int
    n_steps: int | None
    budget: float | None
    sampler: str
    decomposition: str | None
    n_parts: int
    blend: float
    n_jobs: int | None
    random_state: RandomState
    progress: bool
    prior: Prior | None
    memory_budget: float
    device: str | None

    parts_: tuple[Part, ...]
    subdomains_: Subdomains
    log_evidence_: float
    log_evidence_error_: float
    diagnostics_: Diagnostics
    n_hyperplanes_: NumberOfHyperplanes
    columns_: Columns
    input_range_: Floats

    def fit_dataset(
        self, source: Any, target: str, folder: Folder | None = None, *, checkpoint: Folder | None = None
    ) -> Self:
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
            Column of the response, or of labels for a classifier; the others are inputs, as in `fit`.
        folder : path, optional
            Where the temporary files go, as large as the numbers of all rows; a folder that all workers share where
            they are not on this machine. By default the system's.
        checkpoint : path, optional
            A folder that keeps how far the fit is, as in `fit`; one that all workers share. Rows are read and divided
            anew after an interruption.

        Returns
        -------
        self
            The fitted estimator.

        Warns
        -----
        HyperplanesWarning, CheckpointWarning
            As `fit` does.
        """
        start = time.monotonic()
        checked.one_of("decomposition", self.decomposition, tuple(DOMAINS))
        settings, decomposition = self._inference_settings(), self._decomposition()
        checkpoints, shown = open_checkpoints(checkpoint, self), decomposition.shown
        (seed,) = self._draw_seeds(None if checkpoints is None else checkpoints.seed)(1)
        with divided_dataset(
            self, source, target, decomposition.cut, seed=seed, shown=shown, folder=folder
        ) as division:
            self._fit(division, decomposition, settings, start, checkpoints)
        return self

    def predict_dataset(self, source: Any, out: str | PathLike[str], coverage: float = 0.95) -> int:
        """Predict a data set that need not fit into memory, into a Parquet file.

        Parameters
        ----------
        source : path or Dask DataFrame
            As in `fit_dataset`. Columns that were not in training, such as the response, do not matter.
        out : path
            File to write, which must not exist. It has the rows in their order, and appears when it is complete.
            A regressor writes the columns ``mean``, ``std``, ``low`` and ``high``, as `predict` and
            `predict_interval` give them; a classifier ``class`` and, of each label such as setosa,
            ``probability[setosa]``, ``low[setosa]`` and ``high[setosa]``.
        coverage : float, default=0.95
            Posterior probability that a new response, or the probability of a class, is between ``low`` and ``high``.

        Returns
        -------
        int
            Number of rows.
        """
        check_is_fitted(self)
        checked.tails(coverage)
        n_threads, shown = checked.n_threads(self.n_jobs), checked.flag("progress", self.progress)
        names, kinds = getattr(self, "feature_names_in_", None), self._prediction_kinds()
        predict = partial(self._predictions, coverage=coverage)
        return write_predictions(source, names, predict, kinds, out, n_threads=n_threads, shown=shown)

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

    def report(
        self,
        file: File,
        X: Table,
        y: Table,
        X_test: Table | None = None,
        y_test: Table | None = None,
        *,
        title: str | None = None,
    ) -> None:
        """Write a report on the fit: one HTML page that needs nothing else, for any browser, offline too.

        It sums up the data, says in plain words whether the fit can be trusted, and shows how well it predicts, whether
        its probabilities can be taken at their word, which inputs matter and how. Needs
        ``pip install "hyperplanes[plot]"``.

        Parameters
        ----------
        file : path or binary file
            Best named ``*.html``. A file that exists is replaced.
        X, y : array-like or data frame of shape (n, p), array-like of shape (n,)
            The rows that were fitted.
        X_test, y_test : the same, optional
            Rows that were held out, by which predictions are judged. Without them those that were fitted serve, which
            flatters.
        title : str, optional
            Of the page.
        """
        from hyperplanes.report import write_report  # above this layer: see the exception in pyproject.toml

        write_report(self, file, X, y, X_test, y_test, title=title)

    def _fit(
        self,
        division: Division,
        decomposition: Decomposition,
        settings: Settings,
        start: float,
        checkpoints: Checkpoints | None,
    ) -> None:
        """Fit, and adopt what was found."""
        classes = {} if division.classes is None else {"classes_": division.classes}
        family = Family(self._noises(), n_classes=0 if division.classes is None else len(division.classes))
        if settings.budget is not None:
            left = settings.budget - (time.monotonic() - start)
            settings = replace(settings, budget=max(left, 0.01 * settings.budget))
        prior = checked.read_prior(self.prior, settings.sampler, division.input_range.shape[1])
        checkpoint_of, seed = None, None
        if checkpoints is not None:
            kept, seed = checkpoints.begin(division.facts()), checkpoints.seed
            checkpoint_of = None if kept is None else kept.of
        fitted, parts = decomposition.fit(division, prior, settings, family, self._draw_seeds(seed), checkpoint_of)
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
                "log_evidence_error_": error_of_sum(posteriors),
                "diagnostics_": diagnostics,
            }
            | classes
        )
        warn(diagnostics, stacklevel=3)

    def _noises(self) -> tuple[str, ...]:
        """Kinds of noise that numbers may have."""
        return ("constant",)

    @abstractmethod
    def _prediction_kinds(self) -> dict[str, Any]:
        """Names of the columns that a table of predictions has, and the types of what they hold."""

    @abstractmethod
    def _predictions(self, X: Table, coverage: float) -> dict[str, NDArray[Any]]:
        """These columns."""

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

    def _mosaic(self) -> Mosaic:
        return Mosaic(self.subdomains_, self.parts_)

    def _draw_seeds(self, random_state: RandomState = None) -> Callable[[int], list[int]]:
        """Draws of seeds from a random state, or from that of the estimator."""
        return partial(_draw_seeds, self.random_state if random_state is None else random_state)


def _draw_seeds(random_state: RandomState, n_seeds: int) -> list[int]:
    seeds: list[int] = check_random_state(random_state).randint(2**32, size=n_seeds, dtype=np.uint32).tolist()
    return seeds
