"""Columns of the user as inputs of a graph, and the numbers that they become."""

from typing import NamedTuple

import numpy as np

from hyperplanes.estimators.columns import NEITHER, Columns
from hyperplanes.estimators.onnx.graph import INTERNAL, Graph, Name


class Inputs(NamedTuple):
    """What a graph is fed."""

    columns: Columns
    """How columns become numbers."""
    names: tuple[str, ...]
    """Of the columns; empty where they have none."""
    n_features: int
    """Columns of the user."""

    def check_names(self, outputs: tuple[str, ...]) -> None:
        """Columns that are fed one by one need names of their own."""
        if not self.columns.categories:
            return
        for name in self.names:
            if not name or name in outputs or name.startswith(INTERNAL) or self.names.count(name) > 1:
                raise ValueError(f"a column of the name {name!r} cannot be an input in ONNX: rename it before the fit")

    def numbers(self, graph: Graph) -> Name:
        """Columns (rows, q) of numbers without missing values; a table with text is fed a column at a time."""
        columns = self.columns
        if columns.categories:
            pieces = [_piece(graph, name, known) for name, known in zip(self.names, columns.categories, strict=True)]
            raw = graph.apply("Concat", *pieces, axis=1)
        else:
            raw = graph.input("X", np.float64, ["rows", self.n_features])
        missing = graph.apply("IsNaN", raw)
        filled = graph.apply("Where", missing, graph.constant(columns.medians), raw)
        if not columns.has_missing.any():
            return str(filled)
        marked = graph.apply("Gather", missing, graph.constant(np.flatnonzero(columns.has_missing)), axis=1)
        return str(graph.apply("Concat", filled, graph.cast(marked, np.float64), axis=1))


def _piece(graph: Graph, name: str, known: tuple[str, ...] | None) -> Name:
    if known is None:
        return graph.input(name, np.float64, ["rows", 1])
    texts = graph.input(name, str, ["rows", 1])
    if len(known) != 2:
        return graph.cast(_equal(graph, texts, known), np.float64)
    is_first, is_second = (_equal(graph, texts, (text,)) for text in known)
    other = graph.apply("Where", is_first, graph.constant(0.0), graph.constant(NEITHER))
    return str(graph.apply("Where", is_second, graph.constant(1.0), other))


def _equal(graph: Graph, texts: Name, known: tuple[str, ...]) -> Name:
    return str(graph.apply("Equal", texts, graph.constant(np.array([known], dtype=object))))
