"""What commands read: a fitted model, and the columns of a table that it wants."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from hyperplanes.cli.tables import PIPE, Frame, Source, require_numbers
from hyperplanes.estimators import load
from hyperplanes.estimators.datasets import require_columns
from hyperplanes.estimators.loading import Estimator
from hyperplanes.files import ModelFileError

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file; `-` is stdin.", show_default=False)]
DoneOption = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]


def load_model(path: Path) -> Estimator:
    """The model in a file or from stdin; an error names the file."""
    try:
        return load(sys.stdin.buffer if path == PIPE else path)
    except ModelFileError as error:
        raise ModelFileError(f"{'stdin' if path == PIPE else path}: {error}") from None


@contextmanager
def wrong_usage() -> Iterator[None]:
    """Errors in what the command line says."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from None


class ModelColumns(NamedTuple):
    """What a model knows of its columns."""

    names: tuple[str, ...]
    """Empty where it was fitted to an array."""
    text: tuple[str, ...]
    """Those that hold text."""
    number: int
    """How many there are."""

    @classmethod
    def of(cls, model: Any) -> "ModelColumns":
        """Those of a fitted estimator."""
        names = tuple(str(name) for name in getattr(model, "feature_names_in_", ()))
        categories = model.columns_.categories or (None,) * len(names)
        text = tuple(name for name, known in zip(names, categories, strict=True) if known is not None)
        return cls(names, text, model.n_features_in_)

    def require(self, known: Iterable[Any]) -> None:
        """Refuse a table that lacks some of them."""
        with wrong_usage():
            require_columns(self.names, known)

    def inputs(self, frame: Frame, source: Source, first_row: int = 0) -> Any:
        """The inputs of a table, by name where they have names; an error names what is missing or no number."""
        if not self.names and len(frame.columns) != self.number:
            raise ValueError(
                f"the model was fitted to {self.number} columns without names, and {source.name} has "
                f"{len(frame.columns)}"
            )
        self.require(frame.columns)
        inputs = frame[list(self.names or frame.columns)]
        require_numbers(inputs, [name for name in inputs.columns if name not in self.text], source, first_row)
        return inputs if self.names else inputs.to_numpy(dtype=float)
