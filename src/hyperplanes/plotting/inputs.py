"""The user's columns among the numbers that they became, and a model of these numbers."""

from copy import copy
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators import HyperplaneProcessClassifier, HyperplaneProcessRegressor
from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import read_inputs

Model: TypeAlias = HyperplaneProcessRegressor | HyperplaneProcessClassifier


class Column(NamedTuple):
    """A column of the user's table."""

    name: str
    """What the user calls it."""
    numbers: tuple[int, ...]
    """Positions of the columns of numbers that it became."""
    mark: tuple[int, ...]
    """Position of the one that marks missing values, if there is one."""
    categories: tuple[str, ...] | None
    """Of text; None for numbers."""

    @property
    def all_numbers(self) -> list[int]:
        """Positions of the numbers and of the mark."""
        return [*self.numbers, *self.mark]

    def with_value(self, rows: Floats, value: float) -> Floats:
        """Rows whose value in this column is another: a number, or the position of a category."""
        changed = rows.copy()
        changed[:, list(self.mark)] = 0.0
        changed[:, list(self.numbers)] = value if self.categories is None else self._spread(int(value))
        return changed

    def _spread(self, number: int) -> Floats:
        assert self.categories is not None
        known = np.eye(len(self.categories))[number]
        return np.asarray(known[1:] if len(known) == 2 else known)


class Numbers(NamedTuple):
    """A model, and rows, as numbers alone."""

    model: Model
    """The model of these numbers: it takes arrays without names, text or missing values."""
    rows: Floats
    """(n, q)."""
    columns: tuple[Column, ...]
    """Of the user."""

    def column(self, which: int | str) -> Column:
        """A column by its position or name."""
        names = [column.name for column in self.columns]
        if isinstance(which, str):
            if which not in names:
                raise ValueError(f"column must be one of {', '.join(map(repr, names))}, got {which!r}")
            which = names.index(which)
        if not -len(names) <= which < len(names):
            raise ValueError(f"column must be less than {len(names)}, got {which}")
        return self.columns[which]

    def some_rows(self, n_rows: int, seed: int) -> Floats:
        """At most as many rows, chosen at random."""
        return self.rows[chosen_rows(len(self.rows), n_rows, seed)]

    def draws(self, rows: Floats, n_draws: int, seed: int) -> Floats:
        """Draws (n, n_draws, n_outputs) of the function, or of the probabilities of the classes."""
        found = np.asarray(self.model.sample(rows, n_draws, target="mean", random_state=seed))
        return found[:, :, None] if found.ndim == 2 else found


def chosen_rows(n_rows: int, most: int, seed: int) -> NDArray[np.intp]:
    """Positions of at most so many rows, chosen at random, in order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


def numbers_of(model: Model, X: Any) -> Numbers:
    """A fitted model and a table as numbers."""
    rows = read_inputs(model, X, model.columns_)
    return Numbers(_of_numbers(model), rows, columns_of(model))


def columns_of(model: Model) -> tuple[Column, ...]:
    """The user's columns."""
    names, categories = column_names(model), model.columns_.categories
    n_plain = len(model.columns_.medians)
    marks = {int(k): n_plain + i for i, k in enumerate(np.flatnonzero(model.columns_.has_missing))}
    found, start = [], 0
    for name, known in zip(names, categories or len(names) * (None,), strict=True):
        width = 1 if known is None or len(known) == 2 else len(known)
        mark = (marks[start],) if start in marks else ()
        found.append(Column(name, tuple(range(start, start + width)), mark, known))
        start += width
    return tuple(found)


def column_names(model: Model) -> list[str]:
    """What the user calls the columns: x1, x2, ... where they have no names."""
    unnamed = [f"x{k + 1}" for k in range(model.n_features_in_)]
    return [str(name) for name in getattr(model, "feature_names_in_", unnamed)]


def _of_numbers(model: Model) -> Model:
    n_columns = model.input_range_.shape[1]
    plain = copy(model)
    if hasattr(plain, "feature_names_in_"):
        del plain.feature_names_in_
    plain.n_features_in_ = n_columns
    plain.columns_ = Columns((), np.zeros(n_columns), np.zeros(n_columns, dtype=bool))
    return plain
