"""`hyperplanes report`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperplanes.cli.console import say
from hyperplanes.cli.fit import DataArgument, ForceOption, FormatOption, MissingOption, SeparatorOption
from hyperplanes.cli.inputs import DoneOption, ModelArgument, ModelColumns, load_model, wrong_usage
from hyperplanes.cli.tables import PIPE, Source, check_out, opened_out, require_numbers
from hyperplanes.estimators import HyperplaneProcessClassifier
from hyperplanes.estimators.datasets import require_columns
from hyperplanes.report import write_report


def report(
    model_file: ModelArgument,
    data: DataArgument,
    target: Annotated[str, typer.Option(help="Column that was predicted.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Page to write, say fit.html; `-` is stdout.", show_default=False)],
    test: Annotated[
        Path | None, typer.Option(help="Rows that were held out, a table like the data, to judge predictions by.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    data_format: FormatOption = None,
    separator: SeparatorOption = None,
    missing: MissingOption = None,
    force: ForceOption = False,
    as_json: DoneOption = False,
) -> None:
    """Write a report on a fit: one page of HTML that needs nothing else.

    ```
    hyperplanes report houses.safetensors houses.csv --target price --out houses.html
    hyperplanes report houses.safetensors train.csv --target price --test new.csv --out houses.html
    ```

    The data are the rows that the model was fitted to. The page says whether the fit can be trusted, how well it
    predicts, whether its intervals hold what they promise, and which inputs matter and how. It opens in any browser,
    offline too.
    """
    tables = [data, *([] if test is None else [test])]
    if [model_file, *tables].count(PIPE) > 1:
        raise typer.BadParameter("only one of model, data and --test can come from stdin")
    if out == PIPE and as_json:
        raise typer.BadParameter("a page on stdout leaves no place for --json: write it to a file")
    sources = [Source.given(path, data_format, separator, missing) for path in tables]
    check_out(out, force, [model_file, *tables])
    model = load_model(model_file)
    rows = [part for source in sources for part in _read(model, source, target)]
    with opened_out(out) as file:
        write_report(model, file, *rows, title=title or f"Report on a fit of {target}")
    if as_json:
        done = {"out": str(out), "rows": len(rows[0]), "test_rows": len(rows[2]) if test is not None else None}
        typer.echo(json.dumps(done, indent=2))
    elif out != PIPE:
        say(f"report written to {out}")


def _read(model: Any, source: Source, target: str) -> tuple[Any, Any]:
    """Inputs, and responses or labels."""
    columns = ModelColumns.of(model)
    labels = model.classes_ if isinstance(model, HyperplaneProcessClassifier) else None
    of_text = labels is not None and labels.dtype.kind not in "biuf"
    frame = source.read(text=[*columns.text, *([target] if of_text else [])])
    with wrong_usage():
        require_columns([target], frame.columns)
        if target in columns.names:
            raise ValueError(f"{target!r} is an input of the model: --target is the column that was predicted")
    if not len(frame):
        raise ValueError(f"{source.name} has no rows")
    if frame[target].isna().any():
        row = int(frame[target].isna().to_numpy().argmax()) + 1
        raise ValueError(f"column {target!r} of {source.name} has no value in row {row}: remove such rows")
    inputs = columns.inputs(frame.drop(columns=[target]), source)
    if of_text:
        return inputs, frame[target].astype(str)
    require_numbers(frame, [target], source)
    return inputs, frame[target].astype(float)
