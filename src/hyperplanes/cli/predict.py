"""`hyperplanes predict`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from hyperplanes.cli.console import say
from hyperplanes.cli.fit import DataArgument, ForceOption, FormatOption, MissingOption, SeparatorOption
from hyperplanes.cli.inputs import DoneOption, ModelArgument, ModelColumns, load_model, wrong_usage
from hyperplanes.cli.tables import (
    CSV,
    PARQUET,
    PIPE,
    Frame,
    Source,
    check_out,
    format_of,
    joined,
    opened_out,
    write_csv,
)
from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.estimators.datasets import open_dataset, require_columns
from hyperplanes.estimators.loading import Estimator
from hyperplanes.estimators.settings import tails
from hyperplanes.files import temporary_folder


def predict(
    model_file: ModelArgument,
    data: DataArgument,
    out: Annotated[Path, typer.Option(help="Table to write, .csv or .parquet; `-` is CSV on stdout.")] = PIPE,
    coverage: Annotated[float, typer.Option(help="Probability that the interval from low to high holds.")] = 0.95,
    target_of: Annotated[
        Literal["response", "mean"], typer.Option(help="What the interval is of: a new response, or its mean.")
    ] = "response",
    keep: Annotated[list[str] | None, typer.Option(help="A column of the data to copy beside. Repeatable.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Copy text to CSV as it is, even where it looks like a formula.")
    ] = False,
    data_format: FormatOption = None,
    separator: SeparatorOption = None,
    missing: MissingOption = None,
    force: ForceOption = False,
    as_json: DoneOption = False,
) -> None:
    """Predict the rows of a table.

    ```
    hyperplanes predict houses.safetensors new.csv
    hyperplanes predict houses.safetensors new.csv --keep id --coverage 0.9 --out predicted.csv
    cat new.csv | hyperplanes predict houses.safetensors - | head
    ```

    Writes the columns mean, std, low and high, one row for each row of the data: the mean, the standard deviation of a
    new response (not with --target-of mean), and both ends of the interval. A model of classes writes the most
    probable class, and probability, low and high of each: probability[setosa] and so on. Columns are found by name,
    others do not matter. Tables are read some rows at a time. In CSV, copied text that a spreadsheet would take for a
    formula gets an apostrophe in front.
    """
    source = Source.given(data, data_format, separator, missing)
    out_format = format_of(out, None, "--out with .csv or .parquet")
    if model_file == data == PIPE:
        raise typer.BadParameter("model and data cannot both come from stdin")
    if out == PIPE and as_json:
        raise typer.BadParameter("predictions on stdout leave no place for --json: write them to a file")
    check_out(out, force, [model_file, data])
    kept = list(keep or ())
    with wrong_usage():
        tails(coverage)
    model = load_model(model_file)
    with wrong_usage():
        if taken := set(kept) & set(model._prediction_kinds()):
            raise ValueError(f"--keep {min(taken)} would have the name of a prediction: rename that column")
    in_chunks = source.format == out_format == PARQUET and data != PIPE and target_of == "response" and not kept
    if in_chunks:
        n_rows = _predict_dataset(model, source, out, coverage)
    else:
        predictions = _Predictions(model, source, kept, coverage, target_of)
        with opened_out(out) as file:
            if out_format == CSV:
                write_csv(file, predictions.frames(), raw=raw)
            else:
                predictions.whole().to_parquet(file, index=False)
        n_rows = predictions.n_rows
    if as_json:
        done = {"out": str(out), "rows": n_rows, "coverage": coverage, "target_of": target_of}
        typer.echo(json.dumps(done, indent=2))
    elif out != PIPE:
        say(f"{n_rows:,} predictions written to {out}")


def _predict_dataset(model: Estimator, source: Source, out: Path, coverage: float) -> int:
    """Predictions of Parquet that need not fit into memory."""
    ModelColumns.of(model).require(open_dataset(source.found()).layout.columns)
    with temporary_folder(f".{out.name[:100]}-", out.parent) as folder:
        unfinished = folder / "predictions"
        n_rows = model.predict_dataset(source.found(), unfinished, coverage)
        unfinished.replace(out)
    return n_rows


class _Predictions:
    """Predictions of a table, some rows at a time."""

    def __init__(self, model: Estimator, source: Source, kept: list[str], coverage: float, target_of: str) -> None:
        self.n_rows = 0
        self._model, self._source, self._kept = model, source, kept
        self._coverage, self._target_of = coverage, target_of
        self._columns = ModelColumns.of(model)

    def frames(self) -> Iterator[Frame]:
        """Data frames of predictions, with the columns that are kept in front."""
        for chunk in self._source.chunks(text=[*self._columns.text, *self._kept]):
            with wrong_usage():
                require_columns(self._kept, chunk.columns)
            shown = chunk[self._kept].reset_index(drop=True)
            for name, values in self._predict(self._columns.inputs(chunk, self._source, self.n_rows)).items():
                shown[name] = values
            self.n_rows += len(chunk)
            yield shown

    def whole(self) -> Frame:
        """All of them."""
        return joined(list(self.frames()))

    def _predict(self, inputs: Any) -> dict[str, Any]:
        kinds = self._model._prediction_kinds()
        if self._target_of == "response" or not isinstance(self._model, HyperplaneProcessRegressor):
            return self._model._predictions(inputs, self._coverage) if len(inputs) else _nothing(kinds)
        del kinds["std"]
        if not len(inputs):
            return _nothing(kinds)
        ends = self._model.predict_interval(inputs, self._coverage, target="mean").T
        return dict(zip(kinds, (self._model.predict(inputs), *ends), strict=True))


def _nothing(kinds: dict[str, Any]) -> dict[str, Any]:
    return {name: np.empty(0, kind) for name, kind in kinds.items()}
