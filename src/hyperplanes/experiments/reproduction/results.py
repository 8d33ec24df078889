"""Results: the scores in the cells of a folder, and what follows from them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import wilcoxon

from hyperplanes.experiments.cells import Cell, Content, read_cell
from hyperplanes.experiments.reproduction.effort import Effort
from hyperplanes.experiments.reproduction.studies import STUDIES

WHOLE = "whole"
UNKNOWN = "not noted"
"""The machine of cells that do not name it."""


class Key(NamedTuple):
    """What has repeats."""

    study: str
    """Name."""
    data_set: str
    """Name."""
    method: str
    """Name; that of a method stopped early ends in when, such as nn-100."""


class Conditions(NamedTuple):
    """Under which seconds were measured: those under others cannot be compared."""

    device: str
    """Kind that JAX ran on."""
    machine: str
    """Kinds of processors, and number of CPUs."""
    n_jobs: int
    """Threads."""

    @property
    def kind(self) -> tuple[str, str]:
        """Kinds of processors, whatever their number."""
        return self.device, self.machine.rpartition(", ")[0] or self.machine


class Summary(NamedTuple):
    """Of a score over repeats."""

    mean: float
    """Mean."""
    sd: float
    """Standard deviation over repeats, 0 of a single one."""
    n: int
    """Repeats."""


@dataclass(frozen=True)
class Results:
    """Scores by what they are of, repeat and name."""

    scores: Mapping[Key, Mapping[int, Mapping[str, float]]]
    """By name of the score."""
    conditions: Mapping[Key, Mapping[int, Conditions]]
    """Under which each was computed."""

    def methods(self, study: str, data_set: str) -> list[str]:
        """Those with cells, in the order of the study."""
        return [key.method for key in self.scores if key[:2] == (study, data_set)]

    def data_sets(self, study: str) -> list[str]:
        """Those with cells."""
        return list(dict.fromkeys(key.data_set for key in self.scores if key.study == study))

    def values(self, study: str, data_set: str, method: str, metric: str) -> dict[int, float]:
        """A score of every repeat that has it."""
        repeats = self.scores.get(Key(study, data_set, method), {})
        if metric == "job_ratio":
            return self._job_ratios(study, data_set, method)
        return {number: scores[metric] for number, scores in repeats.items() if metric in scores}

    def summary(self, study: str, data_set: str, method: str, metric: str) -> Summary | None:
        """Mean and standard deviation of a score, or None where there is no repeat."""
        return summarise(self.values(study, data_set, method, metric).values())

    def pairs(
        self, study: str, data_set: str, method: str, rival: str, metric: str = "test_rmse"
    ) -> list[tuple[float, float]]:
        """A score of two methods on the repeats that both have."""
        ours, theirs = (self.values(study, data_set, name, metric) for name in (method, rival))
        return [(ours[number], theirs[number]) for number in sorted(ours.keys() & theirs.keys())]

    def p_value(self, study: str, data_set: str, method: str, rival: str, *, least: int = 1) -> float | None:
        """Of Wilcoxon's signed-rank test that the method has smaller test errors; None of fewer than so many pairs."""
        pairs = self.pairs(study, data_set, method, rival)
        return signed_rank_p_value(pairs) if len(pairs) >= least else None

    def time_ratios(self, study: str, data_set: str, method: str, base: str) -> dict[int, float]:
        """Seconds of a method in units of those of another on the same repeat under the same conditions."""
        return self._ratios(Key(study, data_set, method), Key(study, data_set, base), "seconds")

    def speed_ups(self, study: str, data_set: str, slower: str, method: str) -> dict[int, float]:
        """How many times faster a method is than on another data set, whose number of threads may be another."""
        return self._ratios(Key(study, slower, method), Key(study, data_set, method), "seconds", any_n_jobs=True)

    def machines(self, study: str) -> Counter[Conditions]:
        """Under which conditions the cells of a study were computed, and how many under each."""
        return Counter(
            found
            for key, repeats in sorted(self.conditions.items())
            for found in repeats.values()
            if key.study == study
        )

    def _job_ratios(self, study: str, data_set: str, method: str) -> dict[int, float]:
        """Seconds of one job in units of those of the whole, by the same sampler."""
        return self._ratios(Key(study, data_set, method), Key(study, data_set, whole_of(method)), "job_seconds")

    def _ratios(self, key: Key, base: Key, metric: str, *, any_n_jobs: bool = False) -> dict[int, float]:
        times, bases = self.values(*key, metric), self.values(*base, metric)
        shared = sorted(times.keys() & bases.keys())
        pairs = {number: (self.conditions[key][number], self.conditions[base][number]) for number in shared}
        alike = [n for n, (one, other) in pairs.items() if one == other or (any_n_jobs and one.kind == other.kind)]
        return {number: times[number] / bases[number] for number in alike}


def whole_of(method: str) -> str:
    """The process of all hyperplanes, by the same sampler."""
    return f"{method.partition('-')[0]}-{WHOLE}"


def summarise(values: Iterable[float]) -> Summary | None:
    """Mean and standard deviation, or None of nothing."""
    numbers = np.fromiter(values, dtype=np.float64)
    if not len(numbers):
        return None
    return Summary(float(numbers.mean()), float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0, len(numbers))


def signed_rank_p_value(pairs: Iterable[tuple[float, float]]) -> float | None:
    """P-value of Wilcoxon's signed-rank test that the first of each pair is smaller, or None of no pairs."""
    differences = np.array([second - first for first, second in pairs])
    if not len(differences):
        return None
    if not differences.any():
        return 1.0
    return float(wilcoxon(np.sort(differences), alternative="greater").pvalue)


def read_results(folder: Path, effort: Effort) -> Results:
    """Read all cells of a folder, in the order of the studies; an error where one is not what it should be."""
    found: dict[Key, dict[int, Mapping[str, float]]] = {}
    conditions: dict[Key, dict[int, Conditions]] = {}
    for cell in sorted(_cells(folder), key=_place):
        content = read_cell(folder, cell, quick=effort.quick)
        for method, scores in _stopped_early(cell, content).items():
            key = Key(cell.study, cell.data_set, method)
            found.setdefault(key, {})[cell.repeat] = scores
            conditions.setdefault(key, {})[cell.repeat] = _conditions(content)
    return Results(found, conditions)


def _conditions(content: Content) -> Conditions:
    return Conditions(content["device"], content.get("machine", UNKNOWN), content["n_jobs"])


def _cells(folder: Path) -> list[Cell]:
    cells = []
    for file in folder.glob("*/*/*/*.json"):
        name, data_set, method = file.relative_to(folder).parts[:3]
        study = STUDIES.get(name)
        known = study is not None and data_set in study.data_sets and method in study.methods
        if not (known and file.stem.isdecimal()):
            raise ValueError(f"{file} is no cell of a study: move it out of the folder")
        cells.append(Cell(name, data_set, method, int(file.stem)))
    return cells


def _place(cell: Cell) -> tuple[int, list[int], int, int]:
    study = STUDIES[cell.study]
    numbers = [int(part) for part in "".join(c if c.isdecimal() else " " for c in cell.data_set).split()]
    return list(STUDIES).index(cell.study), numbers[::-1], list(study.methods).index(cell.method), cell.repeat


def _stopped_early(cell: Cell, content: Content) -> dict[str, Mapping[str, float]]:
    """The cell's own scores, and those of the same method stopped earlier."""
    path: Mapping[str, Mapping[str, float]] = content.get("path", {})
    own = {**content["scores"], **_of_details(content.get("details", {}))}
    return {**{f"{cell.method}-{when}": scores for when, scores in path.items()}, cell.method: own}


def _of_details(details: Mapping[str, Any]) -> dict[str, float]:
    """What ours and the paper's sampler say of their own fits: how many sets of hyperplanes differ, and messages."""
    found = {"n_distinct": float(details["n_distinct"])} if "n_distinct" in details else {}
    return found | ({"with_message": float(bool(details["messages"]))} if "messages" in details else {})
