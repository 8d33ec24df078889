"""Which cells a command asks for."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hyperplanes.experiments.cells import Cell, take_shard
from hyperplanes.experiments.reproduction.effort import FULL, Effort
from hyperplanes.experiments.reproduction.studies import STUDIES

ALL = "all"


@dataclass(frozen=True)
class Plan:
    """A choice among all cells."""

    name: str
    """Of a study, or "all"."""
    effort: Effort = FULL
    """How large everything is."""
    repeats: int | None = None
    """In place of those of the studies."""
    methods: Sequence[str] = ()
    """Those alone, where there are any."""
    data_sets: Sequence[str] = ()
    """Those alone, where there are any."""
    shard: str = "1/1"
    """A share of the cells that are left."""


def plan_cells(plan: Plan) -> list[Cell]:
    """List the cells in the order of the paper."""
    if plan.name not in (ALL, *STUDIES):
        raise ValueError(f"study must be one of {', '.join([*STUDIES, ALL])}, got {plan.name!r}")
    studies = list(STUDIES.values()) if plan.name == ALL else [STUDIES[plan.name]]
    _check_names("method", plan.methods, {name for study in studies for name in study.methods})
    cells = [cell for study in studies for cell in study.cells(plan.effort, plan.repeats)]
    _check_names("data set", plan.data_sets, {cell.data_set for cell in cells})
    chosen = [
        cell
        for cell in cells
        if (not plan.methods or cell.method in plan.methods) and (not plan.data_sets or cell.data_set in plan.data_sets)
    ]
    return take_shard(chosen, plan.shard)


def _check_names(kind: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{kind} must be one of {', '.join(sorted(known))}, got {name!r}")
