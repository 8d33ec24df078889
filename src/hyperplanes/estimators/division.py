"""Division of training rows among the parts that are fitted to them."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.checkpoints import CHECKSUM, Facts
from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.parts import Rows, StoredRows
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import TrainingTable
from hyperplanes.inference import Subdomains


class Division(NamedTuple):
    """Training rows, those of each part apart, and what was learned on the way."""

    parts: Sequence[Rows | StoredRows]
    """Rows of each subdomain."""
    subdomains: Subdomains
    """Which part a row belongs to."""
    input_range: Floats
    """(2, q): smallest and largest value of each column."""
    columns: Columns
    """How the user's columns became numbers."""
    column_attributes: dict[str, Any]
    """``n_features_in_`` and, where the columns have names, ``feature_names_in_``."""
    classes: NDArray[Any] | None = None
    """Labels whose numbers the response holds, sorted; None where it is a number itself."""

    def facts(self) -> Facts:
        """What tells these rows from others."""
        checksum, n_rows = hashlib.sha256(), 0
        for part in self.parts:
            for rows in part.blocks():
                checksum.update(rows.data)
                n_rows += len(rows)
        columns = self.column_attributes["n_features_in_"]
        return {"rows": n_rows, "columns": columns, CHECKSUM: checksum.hexdigest()}


def divided_table(table: TrainingTable, cut: Callable[[Floats], Subdomains]) -> Division:
    """Divide rows in memory along the cuts made in them."""
    rows, subdomains = Rows(table.inputs, table.response, table.row_weights), cut(table.inputs)
    parts = [rows] if subdomains.n_parts == 1 else _split(rows, subdomains)
    input_range = np.stack([table.inputs.min(axis=0), table.inputs.max(axis=0)])
    return Division(parts, subdomains, input_range, table.columns, table.column_attributes)


def _split(rows: Rows, subdomains: Subdomains) -> list[Rows]:
    part_of = subdomains.part_of(rows.inputs)
    return [Rows(*(each[part_of == k] for each in rows)) for k in range(subdomains.n_parts)]
