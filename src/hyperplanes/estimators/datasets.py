"""Data sets beyond memory: Parquet or a Dask DataFrame, read a chunk at a time.

The files that a division leaves hold one part each, so that a worker needs memory for the rows of its part alone.
Parquet is read and written by pyarrow: `pip install "hyperplanes[parquet]"`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier

from hyperplanes.estimators.columns import (
    Categories,
    Columns,
    all_numbers,
    learn_categories,
    learn_columns,
    may_hold_text,
)
from hyperplanes.estimators.division import Division
from hyperplanes.estimators.label_counts import LabelCounts, add_up, count_labels
from hyperplanes.estimators.labels import class_weights
from hyperplanes.estimators.parts import StoredRows
from hyperplanes.estimators.progress import counter
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import (
    FEWEST_ROWS,
    column_attributes,
    merge_copies,
    read_numbers,
    weights_of,
)
from hyperplanes.files import temporary_folder
from hyperplanes.inference import Subdomains

Frame: TypeAlias = Any
"""A pandas data frame."""

CHUNK_ROWS = 2**16
"""Of Parquet that are read at once; a Dask DataFrame brings its own partitions."""
SAMPLE_ROWS = 100_000
"""Chosen at random to place cuts and to take medians of."""
ResponseOf: TypeAlias = Callable[[Any, int], Floats]
"""From a pandas series and the number of its first row to responses, checked."""


class Dataset(NamedTuple):
    """A table that is read a chunk at a time, as often as needed."""

    layout: Any
    """What has its ``columns`` and ``dtypes``."""
    n_rows: int | None
    """None where counting them would mean reading them."""
    read: Callable[[list[Any]], Iterator[Frame]]
    """Gives the chunks, in the order of the rows, of some columns."""

    @contextmanager
    def walk(self, names: Iterable[Any], doing: str, shown: bool) -> Iterator[Iterator[Frame]]:
        """Give the chunks that have rows, and show how far the walk is."""
        with counter(shown, f"rows {doing}", self.n_rows) as count:

            def chunks() -> Iterator[Frame]:
                for chunk in self.read(list(names)):
                    if len(chunk):
                        yield chunk
                        count(len(chunk))

            yield chunks()


class Sample(NamedTuple):
    """Rows with the least random keys, in their order: a sample without replacement that does not depend on chunks."""

    keys: Floats
    """(n,)."""
    rows: Floats
    """(n, q + 1): inputs and response."""

    def join(self, rng: np.random.Generator, rows: Floats) -> "Sample":
        """Consider more rows."""
        keys, rows = np.append(self.keys, rng.random(len(rows))), np.concatenate([self.rows, rows])
        kept = np.sort(np.argsort(keys, kind="stable")[:SAMPLE_ROWS])  # weights of rows add up in this order
        return Sample(keys[kept], rows[kept])


def open_dataset(source: Any) -> Dataset:
    """Open a file or folder of Parquet, or a Dask DataFrame."""
    if isinstance(source, str | PathLike):
        return _open_parquet(fspath(source))
    if hasattr(source, "partitions"):
        return _open_dask(source)
    kind = type(source).__name__
    raise TypeError(f"source must be a path of Parquet or a Dask DataFrame, got {kind}: fit takes tables in memory")


@contextmanager
def divided_dataset(
    estimator: BaseEstimator,
    source: Any,
    target: str,
    cut: Callable[[Floats], Subdomains],
    *,
    seed: int,
    shown: bool,
    folder: str | PathLike[str] | None,
) -> Iterator[Division]:
    """Divide the rows of a data set into a file for each part, which are there until the context ends.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose settings and tags apply; left as it is. Where it is a classifier, the target holds labels.
    source, target, folder
        As given to ``fit_dataset``.
    cut : callable
        Cuts inputs into boxes; it is given a sample of the rows, so that every box has rows.
    seed : int
        Of the sample.
    shown : bool
        Whether to show progress.
    """
    dataset, reader = open_dataset(source), clone(estimator)
    names = list(dataset.layout.columns)
    require_columns([target], names)
    if len(names) == 1:
        raise ValueError(f"the data set has no column beside {target!r}: there is nothing to learn from")
    categories, classes = _learn_texts(dataset, target, is_classifier(estimator), shown)
    weights = None if classes is None else class_weights(estimator.class_weight, classes.labels, classes.counts)
    readings = partial(
        _readings,
        target=target,
        response_of=_numbers_of if classes is None else classes.numbers_of,
        reader=reader,
        categories=categories,
    )
    with dataset.walk(names, "read", shown) as chunks:
        columns, sample = _survey(readings(chunks), categories, weights, seed)
    subdomains = cut(sample)
    with temporary_folder("hyperplanes-", folder) as stored:
        paths = [stored.resolve() / f"part-{k}" for k in range(subdomains.n_parts)]
        with dataset.walk(names, "divided", shown) as chunks:
            input_range = _store(readings(chunks), columns, subdomains, paths)
        parts = [StoredRows(path, sample.shape[1], weights) for path in paths]
        labels = None if classes is None else classes.labels
        yield Division(parts, subdomains, input_range, columns, column_attributes(reader), labels)


def write_predictions(
    source: Any,
    names: Sequence[str] | None,
    predict: Callable[[Frame], Mapping[str, NDArray[Any]]],
    kinds: Mapping[str, Any],
    out: str | PathLike[str],
    *,
    n_threads: int,
    shown: bool,
) -> int:
    """Write what is predicted of each row of a data set to a Parquet file, and return the number of rows.

    Parameters
    ----------
    source, out
        As given to ``predict_dataset``.
    names : sequence of str, optional
        Columns to predict from, by default all.
    predict : callable
        Predictions of a chunk: columns, by name.
    kinds : mapping
        The same names, and the types of what these columns hold.
    n_threads : int
        Chunks that are predicted side by side.
    shown : bool
        Whether to show progress.
    """
    arrow, parquet = _import_for_parquet("pyarrow", "pyarrow.parquet")
    dataset, path, n_rows = open_dataset(source), Path(out), 0
    names = list(dataset.layout.columns) if names is None else names
    require_columns(names, dataset.layout.columns)
    if path.exists():
        raise FileExistsError(f"{path} exists already: remove it, or write to another file")
    schema = arrow.schema([(name, arrow.from_numpy_dtype(kind)) for name, kind in kinds.items()])
    with temporary_folder(f"{path.name}-", path.parent) as unfinished:
        written = unfinished / path.name
        with parquet.ParquetWriter(written, schema) as writer, dataset.walk(names, "predicted", shown) as chunks:
            jobs = (joblib.delayed(predict)(chunk) for chunk in chunks)
            for found in joblib.Parallel(n_threads, require="sharedmem", return_as="generator")(jobs):
                rows = arrow.table(found, schema=schema)
                writer.write_table(rows)
                n_rows += len(rows)
        written.rename(path)
    return n_rows


def _open_parquet(path: str) -> Dataset:
    arrow, datasets = _import_for_parquet("pyarrow", "pyarrow.dataset")
    with _parquet_expected(arrow, path):
        dataset = datasets.dataset(path, format="parquet", partitioning="hive")
    files = list(dataset.get_fragments())
    if not files:
        raise ValueError(f"there is no Parquet file in {path}")
    schema = _common_schema(arrow, files, dataset.schema)

    def read(names: list[str]) -> Iterator[Frame]:
        for file in files:
            for group in file.split_by_row_group():  # pyarrow reads ahead, without a bound, within what it is to scan
                with _readable(arrow, group, schema, names):
                    for batch in group.to_batches(schema, columns=names, batch_size=CHUNK_ROWS):
                        yield batch.to_pandas()

    return Dataset(schema.empty_table().to_pandas(), dataset.count_rows(), read)


def _common_schema(arrow: Any, files: Sequence[Any], first: Any) -> Any:
    """Columns of all files in the order in which they are found, then those that names of folders hold.

    Where files differ, what pandas had stored as an index in one of them is no column.
    """
    fields: dict[str, Any] = {}
    indices: set[Any] = set()
    for file in files:
        with _parquet_expected(arrow, file.path):
            found = file.physical_schema
        described = (found.pandas_metadata or {}).get("index_columns", ())
        indices.update(name for name in described if isinstance(name, str))  # a range is no column either
        for field in found:
            known = fields.get(field.name, field)
            try:
                fields[field.name] = _common_field(arrow, known, field)
            except arrow.ArrowTypeError as error:
                raise ValueError(
                    f"column {field.name!r} holds {field.type} in {file.path} and {known.type} in files before it: "
                    "write them all with the same type"
                ) from error
    fields |= {field.name: field for field in first if field.name not in fields}
    if arrow.schema(fields.values()).equals(first):
        return first
    return arrow.schema(field for name, field in fields.items() if name not in indices)


def _common_field(arrow: Any, known: Any, other: Any) -> Any:
    """A field whose type takes the values of both."""
    types = [known.type, other.type]
    if types[0] == types[1]:
        return known
    if any(map(arrow.types.is_decimal, types)) and any(map(arrow.types.is_integer, types)):
        return known.with_type(arrow.float64())  # the decimal type that pyarrow takes has too few digits
    types = [
        kind.value_type if arrow.types.is_dictionary(kind) and arrow.types.is_string(kind.value_type) else kind
        for kind in types
    ]
    schemas = [arrow.schema([(known.name, kind)]) for kind in types]
    return arrow.unify_schemas(schemas, promote_options="permissive").field(0)


@contextmanager
def _readable(arrow: Any, group: Any, schema: Any, names: list[str]) -> Iterator[None]:
    """Name the column where values of a file do not fit the type that all files have in common."""
    try:
        yield
    except arrow.ArrowInvalid:
        for name in names:
            try:
                group.to_table(schema, columns=[name])
            except arrow.ArrowInvalid as error:
                kind = schema.field(name).type
                raise ValueError(f"column {name!r} of {group.path} cannot be read as {kind}: {error}") from error
        raise


@contextmanager
def _parquet_expected(arrow: Any, path: str) -> Iterator[None]:
    try:
        yield
    except arrow.ArrowInvalid as error:
        raise ValueError(
            f"{path} cannot be read as Parquet ({error}): of a folder, files whose names begin with . or _ are left out"
        ) from error


def _open_dask(frame: Any) -> Dataset:
    def read(names: list[Any]) -> Iterator[Frame]:
        return (frame[names].partitions[k].compute() for k in range(frame.npartitions))

    return Dataset(frame, None, read)


def _import_for_parquet(*names: str) -> list[Any]:
    try:
        import_module("pandas")
        return [import_module(name) for name in names]
    except ImportError as error:
        raise ImportError('Parquet needs pyarrow and pandas: pip install "hyperplanes[parquet]"') from error


def require_columns(names: Iterable[Any], known: Iterable[Any]) -> None:
    """Raise an error that names the first column that is missing, and one that may have been meant."""
    names, known = list(names), list(known)
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), [str(other) for other in known if other not in names], n=1)
            hint = f": did you mean {near[0]!r}?" if near else f", which has {', '.join(map(repr, known))}"
            raise ValueError(f"no column {name!r} in the data set{hint}")


def _learn_texts(dataset: Dataset, target: str, of_classes: bool, shown: bool) -> tuple[Categories, LabelCounts | None]:
    """Categories of columns of text, and classes if asked for; rows are read once more where there may be some."""
    inputs = dataset.layout.drop(columns=target)
    names = [*(inputs.columns if may_hold_text(inputs) else ()), *([target] if of_classes else ())]
    if not names:
        return (), None
    found: list[LabelCounts] = []
    n_rows = 0

    def tables(chunks: Iterator[Frame]) -> Iterator[tuple[Frame, NDArray[np.bool_]]]:
        nonlocal n_rows
        for chunk in chunks:
            if of_classes:
                found.append(count_labels(chunk[target], n_rows))
            n_rows += len(chunk)
            yield chunk.drop(columns=target, errors="ignore"), np.ones(len(chunk), dtype=bool)

    with dataset.walk(names, "seen", shown) as chunks:
        categories = learn_categories(tables(chunks))
    if not of_classes:
        return categories, None
    if n_rows < FEWEST_ROWS:
        raise _too_few(n_rows)
    return categories, add_up(found, target)


def _readings(
    chunks: Iterator[Frame], *, target: str, response_of: ResponseOf, reader: BaseEstimator, categories: Categories
) -> Iterator[tuple[Floats, Floats]]:
    """Inputs, NaN where they are missing, and responses of each chunk, checked."""
    n_rows = 0
    for chunk in chunks:
        response = response_of(chunk[target], n_rows)
        inputs = chunk.drop(columns=target)
        for name, texts in zip(inputs.columns, categories or len(inputs.columns) * (None,), strict=True):
            values = _floats(inputs[name]) if texts is None else None
            if values is not None:
                _refuse(name, values, np.isinf(values), n_rows)
        yield read_numbers(reader, inputs, response, categories, reset=n_rows == 0)
        n_rows += len(chunk)


def _numbers_of(column: Any, first_row: int) -> Floats:
    """Responses that are numbers."""
    response = _floats(column)
    if response is None:
        raise ValueError(f"column {column.name!r} must hold numbers, got values of type {column.dtype}")
    _refuse(column.name, response, ~np.isfinite(response), first_row)
    return response


def _floats(column: Any) -> Floats | None:
    """Numbers of a pandas series, NaN where they are missing; None for other types."""
    kind = column.dtype.kind
    if kind not in "biuf" and not (kind == "O" and all_numbers(column)):
        return None
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _refuse(name: Any, values: Floats, wrong: NDArray[np.bool_], first_row: int) -> None:
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ValueError(f"column {name!r} must hold finite numbers, got {values[k]} in row {first_row + k}")


def _too_few(n_rows: int) -> ValueError:
    return ValueError(f"a data set must have at least {FEWEST_ROWS} rows, got {n_rows}")


def _survey(
    readings: Iterator[tuple[Floats, Floats]], categories: Categories, class_weights: Floats | None, seed: int
) -> tuple[Columns, Floats]:
    """What is to be known of the columns, and the inputs of a sample of the rows."""
    rng = np.random.default_rng(seed)
    sample, missing = None, []
    for numbers, response in readings:
        rows = np.column_stack([numbers, response])
        missing.append(np.isnan(numbers).any(axis=0))
        sample = (sample or Sample(np.empty(0), rows[:0])).join(rng, rows)
    n_rows = 0 if sample is None else len(sample.keys)
    if sample is None or n_rows < FEWEST_ROWS:
        raise _too_few(n_rows)
    numbers, response = sample.rows[:, :-1], sample.rows[:, -1]
    weights = weights_of(response, class_weights)
    columns = learn_columns(numbers, weights, categories)._replace(has_missing=np.any(missing, axis=0))
    inputs, _, _ = merge_copies(np.column_stack([columns.fill(numbers), response]), weights)
    return columns, inputs


def _store(
    readings: Iterator[tuple[Floats, Floats]], columns: Columns, subdomains: Subdomains, paths: Sequence[Path]
) -> Floats:
    """Append each row to the file of its part, and return the range of each column."""
    ranges = []
    for numbers, response in readings:
        inputs = columns.fill(numbers)
        ranges.append([inputs.min(axis=0), inputs.max(axis=0)])
        rows, part_of = np.column_stack([inputs, response]), subdomains.part_of(inputs)
        for k in np.unique(part_of):
            with paths[k].open("ab") as file:
                file.write(rows[part_of == k].tobytes())
    lowest, highest = zip(*ranges, strict=True)
    return np.stack([np.min(lowest, axis=0), np.max(highest, axis=0)])
