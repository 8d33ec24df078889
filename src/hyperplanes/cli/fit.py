"""`hyperplanes fit`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hyperplanes.cli.console import say, watched
from hyperplanes.cli.inputs import wrong_usage
from hyperplanes.cli.summary import print_summary, summary_of
from hyperplanes.cli.tables import (
    PARQUET,
    PIPE,
    Frame,
    Source,
    check_out,
    opened_out,
    require_numbers,
)
from hyperplanes.estimators import HyperplaneProcessClassifier, HyperplaneProcessRegressor
from hyperplanes.estimators.checkpoints import holds_checkpoints, remove_checkpoints
from hyperplanes.estimators.columns import text_columns
from hyperplanes.estimators.datasets import open_dataset, require_columns
from hyperplanes.estimators.decomposition import DOMAINS
from hyperplanes.estimators.loading import Estimator
from hyperplanes.estimators.tables import FEWEST_ROWS
from hyperplanes.inference import find_devices

DEFAULTS = HyperplaneProcessRegressor().get_params()
TABLE, EFFORT, MODEL = "The table", "How much effort", "The model"

DataArgument = Annotated[Path, typer.Argument(help="CSV or Parquet; `-` is CSV from stdin.", show_default=False)]
FormatOption = Annotated[
    Literal["csv", "parquet"] | None,
    typer.Option("--format", help="Of the data, where its name does not tell.", rich_help_panel=TABLE),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(help="Between cells of CSV; by default a comma, a tab for .tsv.", rich_help_panel=TABLE),
]
MissingOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A text that stands for missing values, beside NA, NaN, null and nothing. Repeatable.",
        rich_help_panel=TABLE,
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")]


def fit(
    data: DataArgument,
    target: Annotated[str, typer.Option(help="Column to predict; the others are inputs.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="Model file to write, say model.safetensors; `-` is stdout.", show_default=False)
    ],
    drop: Annotated[
        list[str] | None,
        typer.Option(help="A column that is no input, such as an identifier. Repeatable.", rich_help_panel=TABLE),
    ] = None,
    row_weights: Annotated[
        str | None, typer.Option(help="Column that says how often each row counts.", rich_help_panel=TABLE)
    ] = None,
    data_format: FormatOption = None,
    separator: SeparatorOption = None,
    missing: MissingOption = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Seconds that the fit should take; by default as long as it needs.", rich_help_panel=EFFORT),
    ] = DEFAULTS["budget"],
    n_particles: Annotated[
        int, typer.Option(help="Draws that stand for the posterior.", rich_help_panel=EFFORT)
    ] = DEFAULTS["n_particles"],
    n_steps: Annotated[
        int | None, typer.Option(help="Annealing steps; by default as many as needed.", rich_help_panel=EFFORT)
    ] = DEFAULTS["n_steps"],
    jobs: Annotated[int, typer.Option(help="Threads; -1 uses all cores.", rich_help_panel=EFFORT)] = DEFAULTS["n_jobs"],
    device: Annotated[
        str | None,
        typer.Option(help="cpu, gpu or one such as gpu:1; by default the best there is.", rich_help_panel=EFFORT),
    ] = DEFAULTS["device"],
    memory_budget: Annotated[
        float, typer.Option(help="GiB that large arrays may take.", rich_help_panel=EFFORT)
    ] = DEFAULTS["memory_budget"],
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps how far a long fit is: the same command goes on from there. Removed at the end.",
            rich_help_panel=EFFORT,
        ),
    ] = None,
    n_hyperplanes: Annotated[
        str, typer.Option(help="Hidden units, a number or auto.", rich_help_panel=MODEL)
    ] = DEFAULTS["n_hyperplanes"],
    decomposition: Annotated[
        Literal["intensity", "domain", "paper-intensity", "paper-domain"] | None,
        typer.Option(help="Fit in parts: domain for many rows, intensity for many hyperplanes.", rich_help_panel=MODEL),
    ] = DEFAULTS["decomposition"],
    n_parts: Annotated[int, typer.Option(help="Parts, with a decomposition.", rich_help_panel=MODEL)] = DEFAULTS[
        "n_parts"
    ],
    blend: Annotated[
        float, typer.Option(help="How far parts go over into each other, 0 to 0.5.", rich_help_panel=MODEL)
    ] = DEFAULTS["blend"],
    classes: Annotated[
        bool, typer.Option("--classes", help="The target is a class: learn probabilities.", rich_help_panel=MODEL)
    ] = False,
    class_weight: Annotated[
        Literal["balanced"] | None,
        typer.Option(
            help="With --classes: rows count inversely to how frequent their class is.", rich_help_panel=MODEL
        ),
    ] = None,
    noise: Annotated[
        Literal["constant", "varying", "student", "auto"],
        typer.Option(help="The same everywhere, or not, or with outliers; auto tries all.", rich_help_panel=MODEL),
    ] = DEFAULTS["noise"],
    sampler: Annotated[
        Literal["auto", "paper"], typer.Option(help="paper is for comparison.", rich_help_panel=MODEL)
    ] = DEFAULTS["sampler"],
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="For the same result again.", rich_help_panel=MODEL)
    ] = None,
    force: ForceOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    progress: Annotated[bool | None, typer.Option(help="Show progress; by default on a terminal.")] = None,
) -> None:
    """Fit a model to a table, and write it to a model file.

    ```
    hyperplanes fit houses.csv --target price --out houses.safetensors
    hyperplanes fit houses.csv --target price --drop id --budget 60 --seed 0 --out houses.safetensors
    zcat houses.csv.gz | hyperplanes fit - --target price --json --out houses.safetensors
    hyperplanes fit flowers.csv --target species --classes --out flowers.safetensors
    hyperplanes fit folder/of/parquet --target price --decomposition domain --n-parts 50 --out big.safetensors
    hyperplanes fit houses.csv --target price --checkpoint unfinished --out houses.safetensors
    ```

    Numbers, text and missing values are taken as they are; text becomes categories. Nothing has to be set. The summary
    says what was found and whether it can be trusted. Parquet with a decomposition of the domain need not fit into
    memory (unless --drop or --row-weights is given).
    """
    source = Source.given(data, data_format, separator, missing)
    _check_roles(target, drop or [], row_weights)
    if out == PIPE and (as_json or sys.stdout.isatty()):
        raise typer.BadParameter("a model on stdout leaves no place for --json, and cannot be shown: write to a file")
    check_out(out, force, [data])
    settings: dict[str, Any] = {
        "n_hyperplanes": int(n_hyperplanes) if n_hyperplanes.isdecimal() else n_hyperplanes,
        "n_particles": n_particles,
        "n_steps": n_steps,
        "budget": budget,
        "decomposition": decomposition,
        "n_parts": n_parts,
        "blend": blend,
        "n_jobs": jobs,
        "random_state": seed,
        "progress": watched() if progress is None else progress,
        "memory_budget": memory_budget,
        "device": device,
    }
    if classes and (sampler, noise) != (DEFAULTS["sampler"], DEFAULTS["noise"]):
        raise typer.BadParameter("--sampler and --noise are of numbers, not of --classes")
    if class_weight is not None and not classes:
        raise typer.BadParameter("--class-weight is of --classes, not of numbers")
    model: Estimator = (
        HyperplaneProcessClassifier(class_weight=class_weight, **settings)
        if classes
        else HyperplaneProcessRegressor(sampler=sampler, noise=noise, **settings)
    )
    with wrong_usage():
        model._check_settings()
        find_devices(device)
    if checkpoint is not None:
        _check_checkpoint(checkpoint, out)
    start = time.monotonic()
    in_chunks = source.format == PARQUET and data != PIPE and not (drop or row_weights)
    if in_chunks and decomposition in DOMAINS:
        known = open_dataset(source.found()).layout.columns
        with wrong_usage():
            require_columns([target], known)
        model.fit_dataset(data, target, checkpoint=checkpoint)
    else:
        _fit_table(model, source, target, tuple(drop or ()), row_weights, checkpoint)
    seconds = time.monotonic() - start
    with opened_out(out) as file:
        model.save(file)
    if checkpoint is not None:
        remove_checkpoints(checkpoint)
    summary = summary_of(model, target, None if out == PIPE else out, seconds)
    print_summary(summary, as_json, to_stderr=out == PIPE)


@contextmanager
def _hint(what: str) -> Iterator[None]:
    """Add to the message of an error what may help."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}; {what}") from None


def _check_roles(target: str, drop: list[str], row_weights: str | None) -> None:
    """Refuse a column that would be several things."""
    given = [("--target", target), *(("--drop", name) for name in dict.fromkeys(drop)), ("--row-weights", row_weights)]
    for (option, name), (other, same) in combinations(given, 2):
        if name == same:
            raise typer.BadParameter(f"{option} and {other} are both {name!r}: a column can be one of them")


def _check_checkpoint(checkpoint: Path, out: Path) -> None:
    if checkpoint.absolute() == out.absolute():
        raise typer.BadParameter(f"--checkpoint and --out are both {out}: a checkpoint is a folder, a model a file")
    if holds_checkpoints(checkpoint):
        say(f"going on from the checkpoint in {checkpoint}")


def _fit_table(
    model: Estimator,
    source: Source,
    target: str,
    drop: tuple[str, ...],
    row_weights: str | None,
    checkpoint: Path | None,
) -> None:
    frame = source.read()
    others = [target, *drop, *([] if row_weights is None else [row_weights])]
    with wrong_usage():
        _require(others, frame, source)
    inputs = frame.drop(columns=others)
    if not len(inputs.columns):
        raise ValueError(
            f"{source.name} has no column beside {', '.join(map(repr, others))}: there is nothing to learn from"
        )
    if len(frame) < FEWEST_ROWS:
        raise ValueError(f"{source.name} has {len(frame)} rows, and a fit needs at least {FEWEST_ROWS}")
    of_classes = isinstance(model, HyperplaneProcessClassifier)
    numeric = [name for k, name in enumerate(inputs.columns) if k not in text_columns(inputs)]
    require_numbers(frame, [*others[1 + len(drop) :], *numeric], source)
    if not of_classes:
        with _hint("--classes learns classes"):
            require_numbers(frame, [target], source)
    for name in (target, row_weights):
        if name is not None and frame[name].isna().any():
            row = int(frame[name].isna().to_numpy().argmax()) + 1
            raise ValueError(f"column {name!r} of {source.name} has no value in row {row}: remove such rows")
    if of_classes:
        _refuse(frame[target], _has_fraction, source, "is no class but a number with a fraction: leave --classes away")
    if row_weights is not None:
        _refuse(frame[row_weights], _is_negative, source, "is negative: weights say how often a row counts")
    weights = None if row_weights is None else frame[row_weights].to_numpy(dtype=float)
    response = frame[target].to_numpy() if of_classes else frame[target].to_numpy(dtype=float)
    response = response.astype(str) if response.dtype == object else response
    model.fit(inputs, response, sample_weight=weights, checkpoint=checkpoint)


def _refuse(column: Any, is_wrong: Callable[[Any], bool], source: Source, why: str) -> None:
    """Raise an error that names the first cell which is wrong."""
    for row, value in enumerate(column.tolist(), start=1):
        if is_wrong(value):
            raise ValueError(f"row {row} of column {column.name!r} of {source.name}: {value!r} {why}")


def _has_fraction(value: Any) -> bool:
    return isinstance(value, float) and value % 1 > 0


def _is_negative(value: Any) -> bool:
    return float(value) < 0


def _require(names: list[str], frame: Frame, source: Source) -> None:
    """Say which column is missing; a table of one column was likely separated by something else."""
    if len(frame.columns) == 1 and source.format != PARQUET:
        (header,) = map(str, frame.columns)
        for separator in (";", "\t", "|", ","):
            if separator in header:
                shown = r"\t" if separator == "\t" else separator
                raise ValueError(f"{source.name} seems to be separated otherwise: try --separator '{shown}'")
    require_columns(names, frame.columns)
