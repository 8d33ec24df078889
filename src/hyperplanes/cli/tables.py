"""Tables in files: CSV and Parquet, read whole or a chunk at a time, and written complete or not at all."""

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from io import BytesIO
from os import path as names
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
import typer

from hyperplanes.estimators.datasets import CHUNK_ROWS, open_dataset
from hyperplanes.files import check_replaceable, replaced_file

Frame: TypeAlias = Any
"""A pandas data frame."""

PIPE = Path("-")
"""Stands for stdin or stdout."""
CSV, PARQUET = "csv", "parquet"
SUFFIXES = {".csv": CSV, ".tsv": CSV, ".txt": CSV, ".parquet": PARQUET, ".pq": PARQUET}
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How cells begin that a spreadsheet would run."""


class Source(NamedTuple):
    """A table in a file, and how to read it."""

    path: Path
    """Of a file, a folder of Parquet, or `PIPE`."""
    format: str
    """`CSV` or `PARQUET`."""
    separator: str
    """Between the cells of a line of CSV."""
    missing: tuple[str, ...]
    """Texts that stand for a missing value, beside the usual ones."""

    @classmethod
    def given(
        cls, path: Path, data_format: str | None, separator: str | None, missing: Iterable[str] | None
    ) -> "Source":
        """As the options of a command say."""
        return cls(path, format_of(path, data_format, "--format"), separator_of(path, separator), tuple(missing or ()))

    @property
    def name(self) -> str:
        """What to call it."""
        return "stdin" if self.path == PIPE else str(self.path)

    def read(self, text: Sequence[str] = ()) -> Frame:
        """The whole table; columns of CSV named in `text` are not taken for numbers."""
        return joined(list(self.chunks(text, chunk_rows=None)))

    def chunks(self, text: Sequence[str] = (), chunk_rows: int | None = CHUNK_ROWS) -> Iterator[Frame]:
        """The table, some rows at a time."""
        with _explained(self.name):
            yield from self._csv(text, chunk_rows) if self.format == CSV else self._parquet()

    def found(self) -> Path:
        """The path, where there is something."""
        if not self.path.exists():
            raise FileNotFoundError(f"there is no file {self.name}")
        return self.path

    def _csv(self, text: Sequence[str], chunk_rows: int | None) -> Iterator[Frame]:
        pandas = _pandas()
        file = sys.stdin.buffer if self.path == PIPE else self.found()
        read = partial(
            pandas.read_csv, file, sep=self.separator, encoding="utf-8-sig", index_col=False, skipinitialspace=True
        )
        if self.path.is_file():  # and can be read twice
            header = read(header=None, nrows=1, dtype=str, keep_default_na=False, on_bad_lines="skip")
            _refuse_copies(header.iloc[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            with read(
                na_values=list(self.missing),
                dtype=dict.fromkeys(text, str),
                low_memory=False,
                chunksize=chunk_rows or sys.maxsize,
            ) as reader:
                yield from reader

    def _parquet(self) -> Iterator[Frame]:
        if self.path == PIPE:
            yield _pandas().read_parquet(BytesIO(sys.stdin.buffer.read()))
            return
        dataset = open_dataset(self.found())
        empty = True
        for chunk in dataset.read(list(dataset.layout.columns)):
            empty = False
            yield chunk
        if empty:
            yield dataset.layout


def joined(frames: Sequence[Frame]) -> Frame:
    """Data frames one below the other."""
    return frames[0] if len(frames) == 1 else _pandas().concat(frames, ignore_index=True)


def format_of(path: Path, given: str | None, option: str) -> str:
    """The format that was asked for, or that the name of a file tells."""
    if given is not None:
        return given
    if path == PIPE:
        return CSV
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() in SUFFIXES]
    if suffixes:
        return SUFFIXES[suffixes[-1]]
    if path.is_dir():
        return PARQUET
    raise typer.BadParameter(f"the name {path.name!r} does not tell whether it is CSV or Parquet: say {option}")


def separator_of(path: Path, given: str | None) -> str:
    """What separates cells: what was asked for, a tab in .tsv, else a comma."""
    if given is not None and given != r"\t" and len(given) != 1:
        raise typer.BadParameter(f"--separator must be one character or \\t, got {given!r}")
    return "\t" if given == r"\t" or (given is None and ".tsv" in path.suffixes) else given or ","


def check_out(path: Path, force: bool, sources: Iterable[Path]) -> None:
    """Refuse now a place where nothing could be written after long work, or where something is that was not meant."""
    if path == PIPE:
        return
    try:
        if path.is_dir():
            raise typer.BadParameter(f"--out must be a file, got the folder {str(path)!r}")
        if not path.parent.is_dir():
            raise typer.BadParameter(f"the folder of --out does not exist: {str(path.parent)!r}")
        if path.exists() and any(source.exists() and names.samefile(path, source) for source in sources):
            raise typer.BadParameter("--out would replace what is read: choose another name")
        if path.exists() and not force:
            raise typer.BadParameter(f"{str(path)!r} exists already: choose another name, or add --force to replace it")
        check_replaceable(path)
    except OSError as error:
        raise typer.BadParameter(f"--out cannot be written: {error}") from None


def require_numbers(frame: Frame, columns: Iterable[str], source: Source, first_row: int = 0) -> None:
    """Raise an error that names the first cell that holds no finite number, where one is wanted."""
    pandas = _pandas()
    for name in columns:
        column = frame[name]
        numbers = pandas.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.isinf(numbers) | (np.isnan(numbers) & column.notna().to_numpy())
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"column {name!r} of {source.name} must hold finite numbers, got {str(column.iloc[at])!r} "
                f"in row {first_row + at + 1}"
            )


@contextmanager
def opened_out(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which appears when it is complete, or stdout."""
    with nullcontext(sys.stdout.buffer) if path == PIPE else replaced_file(path) as file:
        yield file
        file.flush()


def write_csv(file: BinaryIO, frames: Iterable[Frame], *, raw: bool) -> None:
    """Write data frames one below the other; text that a spreadsheet would run gets an apostrophe unless `raw`."""
    for number, frame in enumerate(frames):
        shown = frame if raw else without_formulas(frame)
        shown.to_csv(file, index=False, header=number == 0, lineterminator="\n", mode="wb", encoding="utf-8")


def without_formulas(frame: Frame) -> Frame:
    """Cells and names that begin like a formula, and are no numbers, with an apostrophe in front."""
    shown = frame.rename(columns=_harmless)
    for k, kind in enumerate(frame.dtypes):
        if kind.kind not in "biuf":
            shown.isetitem(k, frame.iloc[:, k].map(_harmless, na_action="ignore").astype(object))
    return shown


def _harmless(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip(" ").startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _refuse_copies(names: Iterable[str]) -> None:
    """Raise an error where a name occurs twice: pandas would give one of the columns another name."""
    for name, number in Counter(names).items():
        if name and number > 1:
            raise ValueError(f"the column {name!r} is there {number} times: rename all but one")


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError('tables need pandas and pyarrow: pip install "hyperplanes[parquet]"') from error


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Say which file could not be read, and why, in place of errors of the libraries that read it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not text in UTF-8 (byte {error.start}): convert it, or say --format") from error
    except Warning as error:  # of `_csv`
        raise ValueError(f"{name} cannot be read: a line has more cells than the header has names") from error
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:  # pandas and pyarrow: what they cannot read
        reason = " ".join(str(error).split())
        raise ValueError(f"{name} cannot be read: {reason}") from error
