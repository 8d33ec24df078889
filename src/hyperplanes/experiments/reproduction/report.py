"""The report on a folder of cells: tables, figures and the document, from the files alone."""

import os
from pathlib import Path

from hyperplanes.experiments.reproduction.claims import claim_table, claims, repeats_table
from hyperplanes.experiments.reproduction.comparison import beside_paper, wilcoxon_table
from hyperplanes.experiments.reproduction.document import write_document
from hyperplanes.experiments.reproduction.effort import Effort
from hyperplanes.experiments.reproduction.figures import draw_figures
from hyperplanes.experiments.reproduction.markup import Table
from hyperplanes.experiments.reproduction.results import Results, read_results
from hyperplanes.experiments.reproduction.tables import all_methods, cpu_table, curve_table, worse_table

DIGITS_OF_MEASURED = 3
"""Decimals of abalone and wine, one more than in the paper."""


def write_report(folder: Path, document: Path, effort: Effort) -> None:
    """Write `tables` and `figures` into the folder, and the document.

    Parameters
    ----------
    folder : Path
        With the cells in `cells`.
    document : Path
        Markdown to write.
    effort : Effort
        That the cells must have been made with.
    """
    results = read_results(folder / "cells", effort)
    if not results.scores:
        raise FileNotFoundError(f"{folder / 'cells'} holds no cells to report on")
    figures = draw_figures(results, folder / "figures")
    tables = study_tables(results)
    verdicts = [claim_table(claims(results)), repeats_table(results), worse_table(results)]
    for table in [*verdicts, *(table for found in tables.values() for table in found)]:
        _write(folder / "tables" / f"{table.name}.md", table.as_markdown())
        _write(folder / "tables" / f"{table.name}.tex", table.as_latex())
    to_figures = Path(os.path.relpath(folder / "figures", document.parent)).as_posix()
    _write(document, write_document(results, verdicts, tables, figures, to_figures, effort))


def study_tables(results: Results) -> dict[str, list[Table]]:
    """Tables of each study that has cells."""
    found: dict[str, list[Table]] = {}
    for study in ("sim1", "sim3", "sim4", "abalone", "wine"):
        digits = DIGITS_OF_MEASURED if study in ("abalone", "wine") else None
        for data_set in results.data_sets(study):
            found[study] = [beside_paper(results, study, digits=digits), all_methods(results, study, data_set)]
    if results.data_sets("sim2"):
        metrics = ("test_rmse", "train_rmse", "test_lpd", "test_crps")
        found["sim2"] = [wilcoxon_table(results), *(curve_table(results, metric) for metric in metrics)]
    if results.data_sets("cpus"):
        found["cpus"] = [cpu_table(results)]
    return found


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
