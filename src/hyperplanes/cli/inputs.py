"""The columns of a table that a fitted model wants."""

from typing import Any, NamedTuple

from hyperplanes.cli.tables import Frame, Source, require_numbers
from hyperplanes.estimators.datasets import require_columns


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

    def inputs(self, frame: Frame, source: Source, first_row: int = 0) -> Any:
        """The inputs of a table, by name where they have names; an error names what is missing or no number."""
        if not self.names and len(frame.columns) != self.number:
            raise ValueError(
                f"the model was fitted to {self.number} columns without names, and {source.name} has "
                f"{len(frame.columns)}"
            )
        require_columns(list(self.names), frame.columns)
        inputs = frame[list(self.names or frame.columns)]
        require_numbers(inputs, [name for name in inputs.columns if name not in self.text], source, first_row)
        return inputs if self.names else inputs.to_numpy(dtype=float)
