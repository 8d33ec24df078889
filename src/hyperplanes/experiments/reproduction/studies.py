"""The studies of the paper: their data, methods and repeats."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hyperplanes.experiments.cells import Cell
from hyperplanes.experiments.data_sets import DataSet, copies, load_abalone, load_red_wine, split_rows
from hyperplanes.experiments.forecasts import Rows
from hyperplanes.experiments.predictive import Floats
from hyperplanes.experiments.reproduction import methods as of
from hyperplanes.experiments.reproduction.effort import Effort
from hyperplanes.experiments.reproduction.methods import Method, Task
from hyperplanes.experiments.simulate import Simulation, simulate, split

N_ROWS = 5000
"""Of simulated data sets; a quarter is held out."""

CPUS = (1, 2, 4, 8, 16)
"""Of the study of running time."""

MakeTask = Callable[[str, int, Effort], Task]
"""From a data set, a repeat and an effort."""


@dataclass(frozen=True)
class Study:
    """Methods on data sets, several times."""

    name: str
    """On the command line."""
    title: str
    """In the document."""
    data_sets: Sequence[str]
    """Names."""
    methods: Mapping[str, Method]
    """By name."""
    make_task: MakeTask
    """Data of a data set and repeat, and what methods are told of them."""
    repeats: int
    """As a rule."""
    fewer: Mapping[str, int] = field(default_factory=dict)
    """Repeats of slow methods."""
    quick_data_sets: Sequence[str] = ()
    """Where not all of them are used in a quick version."""
    timed: bool = False
    """Whether seconds are of interest, so that nothing must compile, or run beside it, while the clock runs."""
    cpus: Mapping[str, int] = field(default_factory=dict)
    """Data set -> CPUs that the process is held to, where it is."""
    ours: str = "ours"
    """The method that others are compared with."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Method -> what tables call it, where its name does not say how large it is here."""

    def task(self, cell: Cell, effort: Effort, n_jobs: int) -> Task:
        """What the method of a cell has to do, with so many threads where the study does not say how many."""
        task = self.make_task(cell.data_set, cell.repeat, effort)
        return task._replace(n_jobs=self.cpus.get(cell.data_set, n_jobs), timed=self.timed)

    def cells(self, effort: Effort, repeats: int | None = None) -> list[Cell]:
        """All cells, the repeats of a method next to each other."""
        names = self.quick_data_sets if effort.quick and self.quick_data_sets else self.data_sets
        return [
            Cell(self.name, data_set, method, repeat)
            for data_set, method in product(names, self.methods)
            for repeat in range(1, (repeats or effort.repeats(self.fewer.get(method, self.repeats))) + 1)
        ]


def fresh_rows(task: Task) -> NDArray[np.bool_]:
    """Which test rows have no copy in training that a method could have memorised."""
    return ~copies(DataSet(task.test.X, task.test.y), DataSet(task.train.X, task.train.y))


def _rows(part: Simulation) -> Rows:
    return Rows(part.X, part.y, part.f)


def _simulated(*, touching: bool = False) -> MakeTask:
    """Data sets are named after columns and hyperplanes, such as p20m5."""

    def make(name: str, repeat: int, effort: Effort) -> Task:
        n_columns, n_hyperplanes = map(int, name.removeprefix("p").split("m"))
        sizes = {"n_rows": effort.rows(N_ROWS), "n_columns": n_columns, "n_hyperplanes": n_hyperplanes}
        train, test = split(simulate(repeat, touching=touching, **sizes), repeat)
        return Task(_rows(train), _rows(test), n_hyperplanes, repeat, effort)

    return make


def _measured(load: Callable[[], DataSet], n_hyperplanes: int = 5) -> MakeTask:
    """Inputs and response scaled to [0, 1]."""

    def make(name: str, repeat: int, effort: Effort) -> Task:
        X, y = (_to_unit(values) for values in load())
        parts = split_rows(DataSet(X, y), repeat)
        train, test = (Rows(part.X[: effort.rows(len(part.y))], part.y[: effort.rows(len(part.y))]) for part in parts)
        return Task(train, test, n_hyperplanes, repeat, effort)

    return make


def _to_unit(values: Floats) -> Floats:
    low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray((values - low) / (high - low))


def _measurements_of_abalone() -> DataSet:
    """Without the sexes, which the paper leaves out."""
    X, y = load_abalone()
    return DataSet(X[:, 3:], y)


def _of_twenty_columns(name: str, repeat: int, effort: Effort) -> Task:
    """The same data whatever the number of CPUs."""
    return _simulated()("p20m5", repeat, effort)


def _bootstrapped_trees(n_bootstraps: int) -> str:
    return f"XGBoost, {of.N_TREES} trees, {n_bootstraps} bootstraps"


SIZES = ((1000, 10), (1000, 50), (1000, 100))
"""Particles and steps of all studies that vary them."""
SLOW = {"bart": 20, "ngboost": 20, "gp": 20, "nn": 20, "nn-32": 20}


def _slow_sizes(*sizes: tuple[int, int], of_both: bool = False) -> dict[str, int]:
    """Ours with given particles and steps, which takes longer than its defaults; or the paper's sampler too."""
    return {f"{name}-L{L}-R{R}": 20 for name in ("ours", *("paper",) * of_both) for L, R in sizes}


def _real_study(name: str, title: str, load: Callable[[], DataSet], *sizes: tuple[int, int], gp: bool) -> Study:
    return Study(
        name,
        title,
        (name,),
        {
            **of.at_sizes(*sizes),
            "ours": of.hyperplanes(),
            **of.CLASSICAL_METHODS,
            "nn": of.network(),
            "nn-32": of.network(batch_size=32),
            "xgb": of.bootstrapped_trees(100),
            **of.FURTHER_METHODS,
            **(of.GAUSSIAN_PROCESS if gp else {}),
        },
        _measured(load),
        repeats=100,
        fewer={**SLOW, "xgb": 20, **_slow_sizes(*sizes, of_both=True)},
        labels={"xgb": _bootstrapped_trees(100)},
    )


COLUMNS = (5, 10, 20, 30, 40, 50, 100, 150, 200)
PLANES = (5, 10)

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            "sim1",
            "First simulation: two lines in the plane",
            ("p2m2",),
            {
                **of.at_sizes(*SIZES, (2000, 100)),
                "ours": of.hyperplanes(),
                "ours-told": of.told_hyperplanes,
                **of.CLASSICAL_METHODS,
                **of.FURTHER_METHODS,
            },
            _simulated(touching=True),
            repeats=100,
            fewer=SLOW,
        ),
        Study(
            "sim2",
            "Second simulation: more columns and hyperplanes",
            tuple(f"p{p}m{m}" for m, p in product(PLANES, COLUMNS)),
            {"paper-L1000-R100": of.paper_sampler(), "ours": of.hyperplanes(), **of.CLASSICAL_METHODS},
            _simulated(),
            repeats=20,
            quick_data_sets=("p5m5", "p20m10"),
        ),
        Study(
            "sim3",
            "Third simulation: decompositions of forty hyperplanes",
            ("p2m40",),
            {
                "paper-whole": of.in_parts(of.paper_sampler, None),
                "paper-decmp1": of.in_parts(of.paper_sampler, "paper-intensity"),
                "paper-decmp2": of.in_parts(of.paper_sampler, "paper-domain"),
                "ours-whole": of.in_parts(of.hyperplanes, None),
                "ours-decmp1": of.in_parts(of.hyperplanes, "intensity"),
                "ours-decmp2": of.in_parts(of.hyperplanes, "domain"),
                "ours-decmp1-paper": of.in_parts(of.hyperplanes, "paper-intensity"),
                "ours-decmp2-paper": of.in_parts(of.hyperplanes, "paper-domain"),
                **of.CLASSICAL_METHODS,
                **of.FURTHER_METHODS,
            },
            _simulated(),
            repeats=20,
            ours="ours-whole",
            timed=True,
            cpus={"p2m40": 1},
        ),
        Study(
            "sim4",
            "Fourth simulation: uncertainty",
            ("p2m2",),
            {
                "paper-L1000-R100": of.paper_sampler(),
                "ours": of.hyperplanes(),
                "ours-told": of.told_hyperplanes,
                "xgb": of.bootstrapped_trees(1000),
                "nn": of.bootstrapped_network(),
                **of.FURTHER_METHODS,
            },
            _simulated(touching=True),
            repeats=10,
            timed=True,
            labels={"xgb": _bootstrapped_trees(1000)},
        ),
        _real_study("abalone", "Abalones", _measurements_of_abalone, (500, 100), *SIZES, gp=False),
        _real_study("wine", "Red wines", load_red_wine, (100, 100), (500, 100), *SIZES, gp=True),
        Study(
            "cpus",
            "Running time with the number of CPUs",
            tuple(f"cpus{number}" for number in CPUS),
            {"paper-L1000-R100": of.paper_sampler(), "ours": of.hyperplanes()},
            _of_twenty_columns,
            repeats=5,
            quick_data_sets=("cpus1", "cpus2"),
            timed=True,
            cpus={f"cpus{number}": number for number in CPUS},
        ),
    )
}
"""By name, in the order of the paper."""
