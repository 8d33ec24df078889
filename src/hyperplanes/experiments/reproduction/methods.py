"""The methods of the studies: ours, the paper's sampler, the paper's rivals and some more."""

import time
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hyperplanes.estimators import HyperplaneProcessRegressor, HyperplanesWarning
from hyperplanes.experiments.forecasts import Forecast, Rows, forecast_of_model, forecast_of_predictive, judge
from hyperplanes.experiments.reproduction.effort import Effort
from hyperplanes.experiments.rivals import (
    CLASSICAL,
    MakeRegressor,
    Predictor,
    ReluNetwork,
    additive_trees,
    boosted_trees,
    bootstrapped,
    gaussian_process,
    natural_gradient_boosting,
)

N_PARTS = 4
"""Of the paper's decompositions."""
N_TREES = 40
"""Of XGBoost in the fourth study. The paper does not say; with more its time is further from the paper's."""
EPOCHS = tuple(range(100, 1001, 100))
"""After which the network is looked at."""


class Task(NamedTuple):
    """What a method has to do."""

    train: Rows
    """Rows to fit."""
    test: Rows
    """Rows held out."""
    n_hyperplanes: int
    """What the paper's sampler and the network are told."""
    seed: int
    """Of the method."""
    effort: Effort
    """How large everything is."""
    n_jobs: int = 1
    """Threads that it may use."""
    timed: bool = False
    """Whether its time is of interest, so that it must not compile while the clock runs."""


class Outcome(NamedTuple):
    """What a method did."""

    train: Forecast
    """Of the rows fitted."""
    test: Forecast
    """Of the rows held out."""
    seconds: float
    """To fit; with the predictions where they are part of it."""
    cpu_seconds: float
    """The same summed over threads of this process."""
    job_seconds: float | None = None
    """Of one of several independent jobs."""
    details: Mapping[str, Any] = MappingProxyType({})
    """What else it reports."""
    path: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    """Scores of the same method stopped earlier, by when."""


Method: TypeAlias = Callable[[Task], Outcome]


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start, self._cpu_start = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Seconds, and seconds of all threads."""
        return time.perf_counter() - self._start, time.process_time() - self._cpu_start


def hyperplanes(n_particles: int | None = None, n_steps: int | None = None, **settings: Any) -> Method:
    """Ours, with nothing told but the settings."""

    def run(task: Task) -> Outcome:
        sizes = _sizes(task.effort, n_particles, n_steps)
        options = {"random_state": task.seed, "n_jobs": task.n_jobs, **sizes, **settings}
        with warnings.catch_warnings(action="ignore", category=HyperplanesWarning):  # the cell keeps what they say
            if task.timed:
                HyperplaneProcessRegressor(**options, **_cut_short(options)).fit(task.train.X, task.train.y)
            model, clock = HyperplaneProcessRegressor(**options), Clock()
            model.fit(task.train.X, task.train.y)
            spent = clock.read()
        train, test = (forecast_of_model(model, rows, task.seed) for rows in (task.train, task.test))
        return Outcome(train, test, *spent, details=_details(model))

    return run


def _cut_short(options: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a fit short that only has to compile: where the number of hyperplanes is given, any fit does."""
    return {"budget": 1e-3} if "n_hyperplanes" in options and "n_steps" not in options else {}


def _sizes(effort: Effort, n_particles: int | None, n_steps: int | None) -> dict[str, int]:
    sizes = {}
    if n_particles is not None or effort.quick:
        sizes["n_particles"] = effort.particles(n_particles or 1000)
    if n_steps is not None or effort.quick:
        sizes["n_steps"] = effort.steps(n_steps or 100)
    return sizes


def _details(model: HyperplaneProcessRegressor) -> dict[str, Any]:
    number, diagnostics = model.n_hyperplanes_, model.diagnostics_
    return {
        "n_hyperplanes": [number.low, float(number.mean), number.high],
        "n_steps": diagnostics.n_steps,
        "n_distinct": diagnostics.n_distinct,
        "messages": list(diagnostics.messages),
    }


def paper_sampler(n_particles: int = 1000, n_steps: int = 100, **settings: Any) -> Method:
    """The paper's Algorithm 2, which is told the number of hyperplanes."""

    def run(task: Task) -> Outcome:
        told = {"sampler": "paper", "n_hyperplanes": task.n_hyperplanes, **settings}
        return hyperplanes(n_particles, n_steps, **told)(task)

    return run


def told_hyperplanes(task: Task) -> Outcome:
    """Ours, told the number of hyperplanes as the paper's sampler is."""
    return hyperplanes(n_hyperplanes=task.n_hyperplanes)(task)


def in_parts(method: Callable[..., Method], decomposition: str | None) -> Method:
    """The third study: a process of all hyperplanes, or parts with a share of them each."""

    def run(task: Task) -> Outcome:
        n_parts = 1 if decomposition is None else N_PARTS
        told = {"n_hyperplanes": task.n_hyperplanes // n_parts, "decomposition": decomposition, "n_parts": n_parts}
        outcome = method(**told)(task)
        n_independent = 1 if decomposition in (None, "intensity") else N_PARTS
        return outcome._replace(job_seconds=outcome.seconds / n_independent)

    return run


def regressor(make: MakeRegressor) -> Method:
    """A rival that predicts numbers."""

    def run(task: Task) -> Outcome:
        clock = Clock()
        model = make(task.seed).fit(task.train.X, task.train.y)
        spent = clock.read()
        train, test = (Forecast(np.asarray(model.predict(rows.X))) for rows in (task.train, task.test))
        return Outcome(train, test, *spent)

    return run


def predictor(choose: Callable[[Task], Predictor]) -> Method:
    """A rival that predicts distributions."""

    def run(task: Task) -> Outcome:
        n_train, new = len(task.train.y), np.concatenate([task.train.X, task.test.X])
        predict, clock = choose(task), Clock()
        found = predict(task.train.X, task.train.y, new, task.seed)
        spent = clock.read()
        train = forecast_of_predictive(found.of(slice(n_train)), task.train, task.seed)
        test = forecast_of_predictive(found.of(slice(n_train, None)), task.test, task.seed)
        return Outcome(train, test, *spent)

    return run


def network(batch_size: int | None = None) -> Method:
    """The paper's network, looked at every 100 epochs."""

    def run(task: Task) -> Outcome:
        epochs = {task.effort.epochs(look): look for look in EPOCHS}
        clock, path = Clock(), {}
        model = ReluNetwork(task.n_hyperplanes, epochs=max(epochs), batch_size=batch_size, seed=task.seed)
        for done in model.train(task.train.X, task.train.y, epochs):
            train, test = (Forecast(model.predict(rows.X)) for rows in (task.train, task.test))
            parts = {"train": judge(train, task.train), "test": judge(test, task.test)}
            path[str(epochs[done])] = {f"{part}_rmse": scores["rmse"] for part, scores in parts.items()}
        return Outcome(train, test, *clock.read(), path=path)

    return run


def bootstrapped_trees(n_bootstraps: int) -> Method:
    """XGBoost as in the fourth study."""
    return predictor(
        lambda task: bootstrapped(boosted_trees(N_TREES), task.effort.bootstraps(n_bootstraps), n_jobs=task.n_jobs)
    )


def bootstrapped_network(n_bootstraps: int = 100) -> Method:
    """The network as in the fourth study."""

    def choose(task: Task) -> Predictor:
        epochs = task.effort.epochs(EPOCHS[-1])
        return bootstrapped(
            lambda seed: ReluNetwork(task.n_hyperplanes, epochs=epochs, seed=seed),
            task.effort.bootstraps(n_bootstraps),
            n_jobs=task.n_jobs,
        )

    return predictor(choose)


def at_sizes(*sizes: tuple[int, int]) -> dict[str, Method]:
    """Ours and the paper's sampler with so many particles and steps."""
    found: dict[str, Method] = {}
    for name, method in {"paper": paper_sampler, "ours": hyperplanes}.items():
        found |= {f"{name}-L{L}-R{R}": method(n_particles=L, n_steps=R) for L, R in sizes}
    return found


CLASSICAL_METHODS: dict[str, Method] = {name: regressor(make) for name, make in CLASSICAL.items()}
FURTHER_METHODS: dict[str, Method] = {
    "bart": predictor(lambda task: additive_trees),
    "ngboost": predictor(lambda task: natural_gradient_boosting),
}
GAUSSIAN_PROCESS: dict[str, Method] = {"gp": predictor(lambda task: gaussian_process)}
