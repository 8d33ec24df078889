"""What `hyperplanes fit` says of a fit."""

import json
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from hyperplanes.cli.console import say
from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.estimators.loading import Estimator
from hyperplanes.estimators.numerals import readable


def summary_of(model: Estimator, target: str, out: Path | None, seconds: float) -> dict[str, Any]:
    """All that is said of a fit; `out` is the model file, if it is one."""
    number, diagnostics = model.n_hyperplanes_, model.diagnostics_
    return {
        "model": None if out is None else str(out),
        "target": target,
        "rows": sum(part.summary.n_rows for part in model.parts_),
        "columns": [str(name) for name in model.feature_names_in_],
        "parts": len(model.parts_),
        "seconds": round(seconds, 3),
        "n_hyperplanes": {"mean": number.mean, "median": number.median, "low": number.low, "high": number.high},
        **(
            {"noise": model.noise_, "noise_std": diagnostics.noise_std, **_kinds_of_noise(model)}
            if isinstance(model, HyperplaneProcessRegressor)
            else {"classes": model.classes_.tolist()}
        ),
        "log_evidence": model.log_evidence_,
        "log_evidence_error": model.log_evidence_error_,
        "diagnostics": {name: getattr(diagnostics, name) for name in diagnostics._fields},
    }


def _kinds_of_noise(model: HyperplaneProcessRegressor) -> dict[str, Any]:
    """Log evidences of all kinds, of each part, where they were compared."""
    if model.noise != "auto":
        return {}
    parts = [
        {name: {"log_evidence": value, "log_evidence_error": error} for name, (value, error) in part.items()}
        for part in model.log_evidences_
    ]
    return {"log_evidences": parts}


def print_summary(summary: dict[str, Any], as_json: bool, to_stderr: bool) -> None:
    """As JSON, or as a few lines for people."""
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
        return
    number = summary["n_hyperplanes"]
    lines = {
        "rows, columns": f"{summary['rows']:,.0f}, {len(summary['columns'])}",
        "hyperplanes": f"{readable(number['mean'], 3)} ({number['low']} to {number['high']})",
        "log evidence": _evidence(summary),
        "seconds": readable(summary["seconds"], 3),
    }
    if "classes" in summary:
        lines["classes"] = ", ".join(map(str, summary["classes"]))
    else:
        lines["noise"] = (
            f"{readable(summary['noise_std'])}, as a standard deviation of {summary['target']}; {summary['noise']}"
        )
    for part, kinds in enumerate(summary.get("log_evidences", ())):
        of_part = f" of part {part}" if summary["parts"] > 1 else ""
        lines[f"evidence by noise{of_part}"] = ", ".join(f"{name} {_evidence(found)}" for name, found in kinds.items())
    table = Table(show_header=False, box=None)
    for name, value in lines.items():
        table.add_row(name, value)
    Console(stderr=to_stderr, highlight=False).print(table)
    for note in summary["diagnostics"]["notes"]:
        say(f"note: {note}")
    if summary["model"]:
        say(f"model written to {summary['model']}")


def _evidence(found: dict[str, Any]) -> str:
    return f"{readable(found['log_evidence'], 6)} ± {readable(found['log_evidence_error'], 2)}"
