"""The demonstration: the paper's first simulation study, fitted by ours and by its rivals."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE
from rich.table import Table

from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.experiments.metrics import coverage, mean_width, rmse
from hyperplanes.experiments.rivals import RIVALS, Regressor, make_rival
from hyperplanes.experiments.simulate import Simulation, Split, simulate, split
from hyperplanes.files import replaced_file
from hyperplanes.plotting import check_picture_path, new_figure, plot_fit

OURS = "hyperplanes"
ORACLE = "noise oracle"
COVERAGE = 0.95
SEED = 5
"""Of the data set shown by default, picked for its picture: its two lines cross, and one is harder to find."""


class Score(NamedTuple):
    """One method's line of the table. None where a method has no such number."""

    name: str
    """Of the method."""
    train_rmse: float
    """Against the responses fitted."""
    test_rmse: float
    """Against the responses held out."""
    function_rmse: float
    """Against the true function at the rows held out."""
    response_coverage: float | None = None
    """Share of responses held out inside their 95% interval."""
    response_width: float | None = None
    """Mean width of those intervals."""
    function_coverage: float | None = None
    """Share of true function values inside the 95% interval of the function."""
    function_width: float | None = None
    """Mean width of those intervals."""
    seconds: float | None = None
    """To fit, with compilation."""


@dataclass(frozen=True)
class DemoResult:
    """What the demonstration found. `rich.print(result)` shows its table."""

    seed: int
    """Of the data, the split and the fits."""
    data: Split
    """The simulated rows, fitted and held out."""
    model: HyperplaneProcessRegressor
    """Ours, fitted."""
    scores: tuple[Score, ...]
    """The oracle, ours, then the rivals."""

    def as_dict(self) -> dict[str, Any]:
        """Return settings and scores ready for JSON."""
        return {
            "study": "first simulation study of the paper",
            "seed": self.seed,
            "n_train": len(self.data.train.y),
            "n_test": len(self.data.test.y),
            "n_columns": self.data.train.X.shape[1],
            "n_hyperplanes": len(self.data.train.offsets),
            "n_hyperplanes_found": self.model.n_hyperplanes_.mean,
            "noise": self.data.train.noise,
            "coverage": COVERAGE,
            "scores": [score._asdict() for score in self.scores],
        }

    def __rich__(self) -> Table:
        return score_table(self)


def run_demo(
    *,
    seed: int = SEED,
    n_rows: int = 5000,
    rivals: Sequence[str] = tuple(RIVALS),
    model: HyperplaneProcessRegressor | None = None,
    progress: bool = False,
    observe: Callable[[str], None] | None = None,
) -> DemoResult:
    """Simulate the paper's first study, fit ours and the rivals, and score them.

    Parameters
    ----------
    seed : int
        Of the data, the split and the fits.
    n_rows : int
        Rows to simulate; a quarter is held out.
    rivals : sequence of str
        Names in `hyperplanes.experiments.RIVALS`.
    model : HyperplaneProcessRegressor, optional
        Ours, not yet fitted. By default nothing is told, not even the number of hyperplanes, unlike in the paper.
    progress : bool
        Whether ours shows its progress bar.
    observe : callable, optional
        Called with the name of each method just before it is fitted.

    Returns
    -------
    DemoResult
    """
    if n_rows < 8:
        raise ValueError(f"n_rows must be at least 8 so that there is something to fit and to hold out, got {n_rows}")
    observe = observe or (lambda name: None)
    data = split(simulate(seed, n_rows=n_rows, touching=True), seed)
    if model is None:
        model = HyperplaneProcessRegressor(random_state=seed, progress=progress)
    observe(OURS)
    ours = _score_ours(model, data)
    others = []
    for name in rivals:
        observe(name)
        others.append(_score_rival(name, make_rival(name, seed), data))
    return DemoResult(seed, data, model, (_score_oracle(data), ours, *others))


def draw_demo(result: DemoResult, path: Path) -> None:
    """Write the picture of the demonstration: data, hyperplanes, surface and uncertainty."""
    check_picture_path(path)
    train = result.data.train
    figure = new_figure()
    plot_fit(result.model, train.X, train.y, truth=train, figure=figure)
    with replaced_file(path) as file:
        figure.savefig(file, format=path.suffix.lstrip("."))


def score_table(result: DemoResult) -> Table:
    """Return the scores as a table for rich, at most 80 characters wide."""
    train, test = result.data
    number = result.model.n_hyperplanes_
    table = Table(
        title=f"The paper's first study: {len(train.y)} rows to fit, {len(test.y)} held out, seed {result.seed}",
        caption="RMSE to f: against the true function, which the oracle knows.\n"
        "y in 95%, f in 95%: share of new responses and of true values covered.\n"
        f"Hyperplanes: {len(train.offsets)} in truth, {number.mean:.1f} found ({number.low} to {number.high}).",
        box=SIMPLE,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("method", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for score in result.scores:
        table.add_row(*_cells(score), style="bold" if score.name == OURS else None)
    return table


HEADINGS = (
    "train\nRMSE",
    "test\nRMSE",
    "RMSE\nto f",
    "y in\n95%",
    "width\nof y",
    "f in\n95%",
    "width\nof f",
    "fit in\nseconds",
)


def _cells(score: Score) -> list[str]:
    decimals = (4, 4, 4, 3, 4, 3, 4, 2)
    numbers = zip(score[1:], decimals, strict=True)
    return [score.name, *("" if number is None else f"{number:.{places}f}" for number, places in numbers)]


def _timed_fit(method: Regressor, train: Simulation) -> float:
    start = time.perf_counter()
    method.fit(train.X, train.y)
    return time.perf_counter() - start


def _score_rival(name: str, rival: Regressor, data: Split) -> Score:
    seconds = _timed_fit(rival, data.train)
    return Score(name, *_errors(rival.predict, data), seconds=seconds)


def _score_ours(model: HyperplaneProcessRegressor, data: Split) -> Score:
    seconds = _timed_fit(model, data.train)
    test = data.test
    response = model.predict_interval(test.X, coverage=COVERAGE)
    function = model.predict_interval(test.X, coverage=COVERAGE, target="mean")
    return Score(
        OURS,
        *_errors(model.predict, data),
        response_coverage=coverage(test.y, response),
        response_width=mean_width(response),
        function_coverage=coverage(test.f, function),
        function_width=mean_width(function),
        seconds=seconds,
    )


def _score_oracle(data: Split) -> Score:
    test = data.test
    half = 1.959964 * test.noise
    response = np.column_stack([test.f - half, test.f + half])
    return Score(
        ORACLE,
        *_errors(test.function, data),
        response_coverage=coverage(test.y, response),
        response_width=mean_width(response),
    )


def _errors(predict: Callable[[NDArray[np.float64]], NDArray[np.float64]], data: Split) -> tuple[float, float, float]:
    train, test = data
    held_out = predict(test.X)
    return rmse(train.y, predict(train.X)), rmse(test.y, held_out), rmse(test.f, held_out)
