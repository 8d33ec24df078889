"""A data set on disk gives the fit of the same table in memory, and predictions of it."""

import copy
import sys
from decimal import Decimal
from functools import partial

import dask
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.utils import compute_sample_weight

from hyperplanes import HyperplaneProcessClassifier, HyperplanesWarning, load
from hyperplanes.estimators import datasets
from hyperplanes.estimators.division import divided_table
from hyperplanes.estimators.tables import read_training_table
from hyperplanes.inference import balanced_subdomains, even_subdomains

N_ROWS = 240
CHUNK_ROWS = 100
IN_THREE = partial(balanced_subdomains, n_parts=3)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(datasets, "CHUNK_ROWS", CHUNK_ROWS)


@pytest.fixture(scope="module")
def table(make_rows):
    """One category and all missing numbers are in the last rows alone; text is constant in the first part."""
    rows = make_rows(N_ROWS)
    table = pd.DataFrame(rows.X, columns=["width", "height"])
    table["kind"] = np.where(table["width"] > 0, "red", "blue")
    table.loc[(table.index > N_ROWS - 20) & (table["width"] > 0), "kind"] = "green"
    table.loc[N_ROWS - 20 :, "height"] = np.nan
    table["price"] = rows.y
    return table


@pytest.fixture(scope="module")
def numbers(table):
    return table[["width", "price"]]


@pytest.fixture
def regressor(make_regressor):
    return make_regressor(decomposition="domain", n_parts=3, n_jobs=1)


@pytest.fixture(scope="module")
def in_memory(table, make_regressor):
    """Fitted; no test may change it."""
    regressor = make_regressor(decomposition="domain", n_parts=3, n_jobs=1)
    return regressor.fit(table.drop(columns="price"), table["price"])


@pytest.fixture
def stored(table, tmp_path):
    return store(table, tmp_path / "table.parquet")


def store(table, path):
    table.to_parquet(path, index=False)
    return path


def divide(regressor, source, *, cut=IN_THREE):
    """The division of a data set, with the rows of all parts loaded."""
    with datasets.divided_dataset(regressor, source, "price", cut, seed=0, shown=False, folder=None) as division:
        return division._replace(parts=[part.load() for part in division.parts])


def divide_in_memory(regressor, table, *, cut=IN_THREE):
    return divided_table(read_training_table(regressor, table.drop(columns="price"), table["price"], None), cut)


def assert_same(found, expected):
    """Of nested tuples, lists and dicts, to the last bit."""
    assert type(found) is type(expected)
    if isinstance(found, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), list(expected.values())
    if isinstance(found, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(found, expected)


def divide_labels_in_memory(classifier, table, *, cut=IN_THREE):
    classes, numbers = np.unique(table["price"].to_numpy(), return_inverse=True)
    weights = compute_sample_weight(classifier.class_weight, table["price"])
    division = divided_table(read_training_table(classifier, table.drop(columns="price"), numbers, weights), cut)
    return division._replace(classes=classes)


def assert_same_fit(found, expected):
    for name in ("parts_", "subdomains_", "columns_", "input_range_", "log_evidence_", "n_features_in_"):
        assert_same(getattr(found, name), getattr(expected, name))
    assert list(found.feature_names_in_) == list(expected.feature_names_in_)


def test_parquet_gives_the_fit_of_the_table_in_memory(stored, in_memory, regressor):
    assert len(in_memory.parts_) == 3
    assert np.isinf(in_memory.parts_[0].input_scaler.scale_).any()
    assert_same_fit(regressor.fit_dataset(stored, "price"), in_memory)


def test_a_dask_data_frame_gives_the_same_fit(table, in_memory, regressor):
    assert_same_fit(regressor.fit_dataset(dd.from_pandas(table, npartitions=4), "price"), in_memory)


@pytest.mark.parametrize("chunk_rows", [7, 10_000])
def test_chunks_do_not_matter(chunk_rows, table, stored, regressor, monkeypatch):
    monkeypatch.setattr(datasets, "CHUNK_ROWS", chunk_rows)
    assert_same(divide(regressor, stored), divide_in_memory(regressor, table))


def test_partitions_without_rows_do_not_matter(table, regressor):
    frame = dd.from_pandas(table, npartitions=5).map_partitions(lambda rows: rows[abs(rows.index - 100) > 60])
    assert (frame.map_partitions(len).compute() == 0).any()
    assert_same(divide(regressor, frame), divide_in_memory(regressor, table[abs(table.index - 100) > 60]))


def test_a_folder_of_files_gives_the_same(table, tmp_path, regressor):
    folder = tmp_path / "table"
    folder.mkdir()
    store(table[:130], folder / "a.parquet")
    store(table[130:], folder / "b.parquet")
    assert_same(divide(regressor, folder), divide_in_memory(regressor, table))


def test_names_of_folders_may_hold_a_column(table, tmp_path, regressor):
    table.to_parquet(tmp_path / "by-kind", partition_cols=["kind"], index=False)
    expected = divide_in_memory(regressor, table)
    found = divide(regressor, tmp_path / "by-kind")
    assert_same(found._replace(columns=None), expected._replace(columns=None))
    assert found.columns.categories == expected.columns.categories


@pytest.mark.parametrize("cut", [balanced_subdomains, even_subdomains])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_data_set_of_numbers(cut, copies, numbers, tmp_path, regressor):
    table, cut = pd.concat([numbers] * copies), partial(cut, n_parts=2)
    found = divide(regressor, store(table, tmp_path / "numbers.parquet"), cut=cut)
    assert_same(found, divide_in_memory(regressor, table, cut=cut))
    assert {copies} == {count for part in found.parts for count in part.row_weights}


def test_workers_do_not_matter(stored, in_memory, regressor):
    with joblib.parallel_config(backend="loky"):
        assert_same_fit(regressor.set_params(n_jobs=2).fit_dataset(stored, "price"), in_memory)


def test_objects_that_are_text_in_one_chunk_are_text_in_all(numbers, regressor):
    table = numbers.assign(code=np.array([None] * 100 + [1, 2] * 50 + ["a"] * 40, dtype=object))
    with dask.config.set({"dataframe.convert-string": False}):
        found = divide(regressor, dd.from_pandas(table, npartitions=3))
    assert found.columns.categories == (None, ("1", "2", "a", "missing"))
    assert_same(found, divide_in_memory(regressor, table))


def test_types_of_parquet_that_are_numbers(numbers, tmp_path, regressor):
    """Integers and truth values that are missing in some chunks; pandas changes the types of those columns."""
    count = pa.array([None if k % 11 == 0 else k % 7 for k in range(N_ROWS)])
    known = pa.array([None if k > N_ROWS - 3 else k % 2 == 0 for k in range(N_ROWS)])
    path = tmp_path / "types.parquet"
    pq.write_table(pa.table({**numbers, "count": count, "known": known}), path)
    found = divide(regressor, path)
    assert list(found.columns.has_missing) == [False, True, True]
    assert_same(found, divide_in_memory(regressor, pd.read_parquet(path)))


@pytest.fixture
def decimals(numbers):
    """Prices with two decimals, as input and as response, and the same as floats."""
    floats = numbers.round(2).assign(rent=[np.nan if k % 11 == 0 else k % 17 / 4 for k in range(N_ROWS)])
    return floats.map(lambda value: None if np.isnan(value) else Decimal(f"{value:.2f}")), floats


def test_decimal_numbers_are_numbers(decimals, tmp_path, regressor):
    exact, floats = decimals
    path, expected = store(exact, tmp_path / "exact.parquet"), divide_in_memory(regressor, floats)
    assert pa.types.is_decimal(pq.read_schema(path).field("price").type)
    assert_same(divide(regressor, path), expected)
    assert_same(divide_in_memory(regressor, exact), expected)
    with dask.config.set({"dataframe.convert-string": False}):
        assert_same(divide(regressor, dd.from_pandas(exact, npartitions=3)), expected)


def test_decimal_numbers_are_predicted_like_floats(decimals, in_memory, tmp_path):
    sizes, floats = ({"width": table["width"], "height": table["rent"], "kind": "red"} for table in decimals)
    path, out = store(pd.DataFrame(sizes), tmp_path / "exact.parquet"), tmp_path / "out.parquet"
    in_memory.predict_dataset(path, out)
    np.testing.assert_array_equal(pd.read_parquet(out)["mean"], in_memory.predict(pd.DataFrame(floats)))


def test_decimal_labels_are_numbers(table, bands, tmp_path, classifier):
    exact = table.assign(price=[Decimal(f"{band}.00") for band in bands])
    found = divide(classifier, store(exact, tmp_path / "exact.parquet"))
    expected = divide_labels_in_memory(classifier, table.assign(price=bands * 1.0))
    assert_same(found, expected)


@pytest.fixture
def store_all(tmp_path):
    """Store tables as files of one folder."""

    def store_all(*tables):
        folder = tmp_path / "several"
        folder.mkdir()
        for k, table in enumerate(tables):
            store(table, folder / f"{k}.parquet")
        return folder

    return store_all


@pytest.mark.parametrize("lacking", ["first", "second"])
def test_a_column_that_one_file_lacks_is_missing_there(lacking, table, store_all, regressor):
    halves = [table[:130], table[130:]]
    at = ["first", "second"].index(lacking)
    halves[at] = halves[at].drop(columns=["height", "kind"])
    expected = divide_in_memory(regressor, pd.concat(halves))  # columns in the order in which they are found
    assert sorted(expected.column_attributes["feature_names_in_"]) == ["height", "kind", "width"]
    assert "missing" in {text for texts in expected.columns.categories for text in texts or ()}
    assert_same(divide(regressor, store_all(*halves)), expected)


def test_integers_in_one_file_and_floats_in_another_are_numbers(numbers, store_all, regressor):
    whole = numbers.assign(count=np.arange(N_ROWS) % 7)
    halves = whole[130:].assign(count=whole["count"][130:] + 0.5)
    found = divide(regressor, store_all(whole[:130], halves))
    assert_same(found, divide_in_memory(regressor, pd.concat([whole[:130], halves])))


def test_text_that_is_missing_in_all_of_the_first_file_is_text(table, store_all, regressor):
    first = table[:130].assign(kind=None)
    folder = store_all(first, table[130:])
    assert pq.read_schema(folder / "0.parquet").field("kind").type == pa.null()
    found = divide(regressor, folder)
    assert found.columns.categories == (None, None, ("blue", "green", "missing", "red"))
    assert_same(found, divide_in_memory(regressor, pd.concat([first, table[130:]])))


def test_categories_in_one_file_and_text_in_another(table, store_all, regressor):
    folder = store_all(table[:130].astype({"kind": "category"}), table[130:])
    assert_same(divide(regressor, folder), divide_in_memory(regressor, table))


def test_decimals_in_one_file_and_integers_in_another(numbers, store_all, regressor):
    prices = numbers.assign(price=np.arange(N_ROWS) % 13)
    exact = prices[:130].assign(price=[Decimal(f"{price}.00") for price in prices["price"][:130]])
    assert_same(divide(regressor, store_all(exact, prices[130:])), divide_in_memory(regressor, prices * 1.0))


def test_an_index_of_one_file_is_no_column(table, tmp_path, regressor):
    table[:130].reset_index(drop=True).to_parquet(tmp_path / "0.parquet")
    table[130:].sample(frac=1, random_state=0).to_parquet(tmp_path / "1.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "1.parquet").names
    assert_same(divide(regressor, tmp_path), divide_in_memory(regressor, table))


def test_names_of_folders_hold_a_column_where_files_differ(table, tmp_path, regressor):
    for kind, rows in table.groupby("kind"):
        (tmp_path / f"kind={kind}").mkdir()
        lacking = rows.drop(columns="kind") if kind == "red" else rows.drop(columns=["kind", "height"])
        store(lacking, tmp_path / f"kind={kind}" / "rows.parquet")
    expected = table.assign(height=table["height"].where(table["kind"] == "red"))
    assert_same(divide(regressor, tmp_path), divide_in_memory(regressor, expected))


def test_files_whose_types_have_nothing_in_common_are_named(table, store_all, regressor):
    folder = store_all(table[:130], table[130:].assign(kind=1.5))
    with pytest.raises(ValueError, match=r"column 'kind' holds double in .*1\.parquet and .*string in files before it"):
        regressor.fit_dataset(folder, "price")


def test_integers_that_are_no_floats_are_named(numbers, store_all, regressor):
    folder = store_all(numbers.assign(number=2**60 + 1), numbers.assign(number=0.5))
    with pytest.raises(ValueError, match=r"column 'number' of .*0\.parquet cannot be read as double: Integer value"):
        regressor.fit_dataset(folder, "price")


def test_a_folder_without_files(tmp_path, regressor):
    with pytest.raises(ValueError, match="there is no Parquet file in "):
        regressor.fit_dataset(tmp_path, "price")


@pytest.mark.parametrize("name", ["a note.txt", "note.txt"], ids=["first", "last"])
def test_another_file_in_the_folder_is_named(name, table, tmp_path, regressor):
    store(table, tmp_path / "many rows.parquet")
    (tmp_path / name).write_text("Rows of last year, see the wiki.")
    with pytest.raises(ValueError, match=rf"(?s){name}.*files whose names begin with \. or _ are left out"):
        regressor.fit_dataset(tmp_path, "price")
    (tmp_path / name).rename(tmp_path / f"_{name}")
    assert_same(divide(regressor, tmp_path), divide_in_memory(regressor, table))


def test_the_response_alone_is_nothing_to_learn_from(table, tmp_path, regressor):
    with pytest.raises(ValueError, match="has no column beside 'price': there is nothing to learn from"):
        regressor.fit_dataset(store(table[["price"]], tmp_path / "alone.parquet"), "price")


@pytest.mark.parametrize("several", [[1, 2], {"a": 1}])
def test_lists_name_their_column(several, table, tmp_path, regressor, classifier):
    path = store(table.assign(several=N_ROWS * [several]), tmp_path / "lists.parquet")
    with pytest.raises(ValueError, match="column 'several' holds lists or records: give each of their entries"):
        regressor.fit_dataset(path, "price")
    with pytest.raises(ValueError, match="column 'several' must hold numbers, got values of type"):
        regressor.fit_dataset(store(table[["width"]].assign(several=N_ROWS * [several]), path), "several")
    with pytest.raises(ValueError, match="column 'several' must hold text, numbers or truth values, got unhashable"):
        classifier.fit_dataset(path, "several")


def test_cuts_and_medians_come_from_a_sample(table, stored, regressor, monkeypatch):
    whole = divide(regressor, stored)
    monkeypatch.setattr(datasets, "SAMPLE_ROWS", 120)
    found = divide(regressor, stored)
    monkeypatch.setattr(datasets, "CHUNK_ROWS", 33)
    assert_same(divide(regressor, stored), found)
    assert found.subdomains.thresholds[0] != whole.subdomains.thresholds[0]
    assert found.columns.medians[1] != whole.columns.medians[1]
    assert [len(part.response) for part in found.parts] == pytest.approx([80, 80, 80], abs=25)
    assert sum(len(part.response) for part in found.parts) == N_ROWS
    np.testing.assert_array_equal(found.input_range[:, 0], [table["width"].min(), table["width"].max()])


def test_a_sample_is_uniform(rng, monkeypatch):
    monkeypatch.setattr(datasets, "SAMPLE_ROWS", 50)
    counts = np.zeros(100)
    for _ in range(400):
        sample = datasets.Sample(np.empty(0), np.empty((0, 1)))
        for chunk in np.split(np.arange(100.0)[:, None], [10, 70]):
            sample = sample.join(rng, chunk)
        assert np.all(np.diff(sample.rows[:, 0]) > 0)  # sums of weights are those of the table in memory
        counts[sample.rows[:, 0].astype(int)] += 1
    assert counts.sum() == 400 * 50
    assert np.abs(counts - 200).max() < 5 * np.sqrt(400 * 0.25)


def test_temporary_files_are_removed(stored, tmp_path, regressor, monkeypatch):
    folder = tmp_path / "shared"
    folder.mkdir()
    seen = []
    monkeypatch.setattr(regressor, "_fit", lambda division, *rest: seen.extend(part.path for part in division.parts))
    regressor.fit_dataset(stored, "price", folder=folder)
    assert {path.parent.parent for path in seen} == {folder}
    assert not list(folder.iterdir())


def test_temporary_files_are_removed_after_an_error(stored, tmp_path, regressor):
    folder = tmp_path / "shared"
    folder.mkdir()
    with pytest.raises(TypeError, match="prior must be"):
        regressor.set_params(prior="flat").fit_dataset(stored, "price", folder=folder)
    assert not list(folder.iterdir())
    assert not hasattr(regressor, "parts_")


def test_the_warning_points_to_the_caller(table, tmp_path, regressor):
    path = store(table.assign(price=1.0), tmp_path / "constant.parquet")
    with pytest.warns(HyperplanesWarning, match="y is constant") as found:
        regressor.fit_dataset(path, "price")
    assert {warning.filename for warning in found} == {__file__}


@pytest.mark.parametrize("coverage", [0.95, 0.5])
def test_predictions_are_those_of_the_table_in_memory(coverage, table, stored, in_memory, tmp_path):
    out = tmp_path / "predictions.parquet"
    assert in_memory.predict_dataset(stored, out, coverage=coverage) == N_ROWS
    found, inputs = pd.read_parquet(out), table.drop(columns="price")
    assert list(found.columns) == ["mean", "std", "low", "high"]
    np.testing.assert_array_equal(found[["mean", "std"]], np.column_stack(in_memory.predict(inputs, return_std=True)))
    np.testing.assert_array_equal(found[["low", "high"]], in_memory.predict_interval(inputs, coverage))


def test_a_dask_data_frame_is_predicted_alike(table, stored, in_memory, tmp_path):
    frame = dd.from_pandas(table.drop(columns="price"), npartitions=3)
    in_memory.predict_dataset(frame, tmp_path / "dask.parquet")
    in_memory.predict_dataset(stored, tmp_path / "parquet.parquet")
    pd.testing.assert_frame_equal(*(pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("dask", "parquet")))


def test_threads_do_not_change_predictions(stored, in_memory, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CHUNK_ROWS", 9)
    in_memory.predict_dataset(stored, tmp_path / "one.parquet")
    monkeypatch.setattr(in_memory, "n_jobs", 2)
    in_memory.predict_dataset(stored, tmp_path / "two.parquet")
    pd.testing.assert_frame_equal(*(pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("one", "two")))


def test_columns_are_found_by_name(table, in_memory, tmp_path):
    shuffled = store(table[["price", "kind", "height", "width"]], tmp_path / "shuffled.parquet")
    in_memory.predict_dataset(shuffled, tmp_path / "out.parquet")
    expected = in_memory.predict(table.drop(columns="price"))
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "out.parquet")["mean"], expected)


def test_a_model_without_names_takes_all_columns(table, in_memory, tmp_path):
    nameless, inputs = copy.copy(in_memory), table.drop(columns="price")
    del nameless.feature_names_in_
    with pytest.warns(UserWarning, match="fitted without feature names"):
        nameless.predict_dataset(store(inputs, tmp_path / "new.parquet"), tmp_path / "out.parquet")
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "out.parquet")["mean"], in_memory.predict(inputs))


def test_an_existing_file_is_kept(stored, in_memory, tmp_path):
    out = tmp_path / "predictions.parquet"
    out.write_text("dear")
    with pytest.raises(FileExistsError, match="exists already"):
        in_memory.predict_dataset(stored, out)
    assert out.read_text() == "dear"


def test_a_failed_prediction_leaves_nothing(table, in_memory, tmp_path):
    broken = table.assign(width=table["width"].where(table.index < N_ROWS - 1, np.inf))
    path = store(broken, tmp_path / "broken.parquet")
    with pytest.raises(ValueError, match="contains infinity"):
        in_memory.predict_dataset(path, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == [path]


def test_progress_counts_rows_and_parts(stored, regressor, tmp_path, capsys):
    model = regressor.set_params(progress=True).fit_dataset(stored, "price")
    shown = capsys.readouterr().err
    for text in ("rows read", "rows divided", "240/240", "3/3"):
        assert text in shown
    model.predict_dataset(stored, tmp_path / "out.parquet")
    assert "rows predicted" in capsys.readouterr().err


def test_nothing_is_shown_unless_asked_for(stored, in_memory, tmp_path, capfd):
    in_memory.predict_dataset(stored, tmp_path / "out.parquet")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("target", "message"),
    [("prize", "no column 'prize' in the data set: did you mean 'price'?"), ("zzz", "which has 'width', 'height'")],
)
def test_an_unknown_column(target, message, stored, regressor):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        regressor.fit_dataset(stored, target)


def test_an_unknown_column_of_new_rows(table, in_memory, tmp_path):
    path = store(table.rename(columns={"width": "widht"}), tmp_path / "renamed.parquet")
    with pytest.raises(ValueError, match=r"no column 'width' in the data set: did you mean 'widht'\?"):
        in_memory.predict_dataset(path, tmp_path / "out.parquet")


@pytest.mark.parametrize("n_rows", [0, 1])
def test_too_few_rows(n_rows, table, tmp_path, regressor):
    path = store(table[:n_rows], tmp_path / "few.parquet")
    with pytest.raises(ValueError, match=f"a data set must have at least 2 rows, got {n_rows}"):
        regressor.fit_dataset(path, "price")


@pytest.mark.parametrize("name", ["width", "price"])
def test_infinite_numbers_name_their_column_and_row(name, table, tmp_path, regressor):
    broken = table.assign(**{name: table[name].where(table.index != 150, -np.inf)})
    path = store(broken, tmp_path / "broken.parquet")
    with pytest.raises(ValueError, match=f"column '{name}' must hold finite numbers, got -inf in row 150"):
        regressor.fit_dataset(path, "price")


def test_a_missing_response_names_its_column(table, tmp_path, regressor):
    whole = table.assign(price=pd.array([None, *range(N_ROWS - 1)], dtype="Int64"))
    with pytest.raises(ValueError, match="column 'price' must hold finite numbers, got nan in row 0"):
        regressor.fit_dataset(store(whole, tmp_path / "whole.parquet"), "price")


def test_text_in_the_response(stored, regressor):
    with pytest.raises(ValueError, match="column 'kind' must hold numbers, got values of type"):
        regressor.fit_dataset(stored, "kind")


def test_dates_name_their_column(table, tmp_path, regressor):
    dated = table.assign(day=pd.date_range("2020", periods=N_ROWS))
    with pytest.raises(ValueError, match=r"must hold numbers only, got type datetime64\[\w+\] in column 'day'"):
        regressor.fit_dataset(store(dated, tmp_path / "dated.parquet"), "price")


def test_too_many_texts(table, tmp_path, regressor):
    named = table.assign(name=[f"row {k}" for k in range(N_ROWS)])
    with pytest.raises(ValueError, match=r"column 'name' holds \d+ different texts, more than 100"):
        regressor.fit_dataset(store(named, tmp_path / "named.parquet"), "price")


def test_a_decomposition_is_needed(stored, make_regressor):
    with pytest.raises(ValueError, match="decomposition must be one of 'domain', 'paper-domain', got None"):
        make_regressor().fit_dataset(stored, "price")


@pytest.mark.parametrize("setting", [{"n_parts": 0}, {"n_particles": 1}, {"progress": "yes"}])
def test_wrong_settings_are_found_before_anything_is_read(setting, regressor):
    with pytest.raises(ValueError, match=next(iter(setting))):
        regressor.set_params(**setting).fit_dataset("nowhere.parquet", "price")


def test_a_table_in_memory_is_refused(table, regressor):
    with pytest.raises(
        TypeError, match="must be a path of Parquet or a Dask DataFrame, got DataFrame: fit takes tables"
    ):
        regressor.fit_dataset(table, "price")


def test_no_such_file(regressor):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        regressor.fit_dataset("nowhere.parquet", "price")


def test_without_pyarrow_the_error_says_what_to_install(stored, regressor, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    with pytest.raises(ImportError, match=r'pip install "hyperplanes\[parquet\]"'):
        regressor.fit_dataset(stored, "price")


BANDS = np.array(["low", "medium", "high"])


@pytest.fixture
def classifier():
    return make_classifier()


def make_classifier(**settings):
    tiny = {"n_hyperplanes": 2, "n_particles": 40, "random_state": 0, "n_jobs": 1, "n_steps": 8}
    return HyperplaneProcessClassifier(decomposition="domain", n_parts=3, **tiny, **settings)


@pytest.fixture(scope="module")
def bands(table):
    """Numbers of three classes, of which there is but one where the width is small."""
    return np.digitize(table["price"], [0.3, 1.0])


@pytest.fixture(scope="module")
def labelled(table, bands):
    return table.assign(price=BANDS[bands])


@pytest.fixture(scope="module")
def classes_in_memory(labelled):
    """Fitted; no test may change it."""
    with pytest.warns(HyperplanesWarning):  # so few steps
        model = make_classifier(class_weight="balanced").fit(labelled.drop(columns="price"), labelled["price"])
    return model


@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")
def test_classes_in_parquet_give_the_fit_of_the_table_in_memory(labelled, classes_in_memory, tmp_path):
    path, model = store(labelled, tmp_path / "labelled.parquet"), make_classifier(class_weight="balanced")
    assert set(divide(model, path).parts[0].response) == {1}  # of "high", "low", "medium"
    assert_same_fit(model.fit_dataset(path, "price"), classes_in_memory)
    assert model.classes_.tolist() == classes_in_memory.classes_.tolist() == ["high", "low", "medium"]
    model.save(tmp_path / "model.safetensors")
    assert_same_fit(load(tmp_path / "model.safetensors"), classes_in_memory)


@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")
def test_truth_values_of_a_dask_data_frame_give_the_fit_of_the_table_in_memory(table, bands, classifier):
    yes_or_no = table.assign(price=bands == 0)
    expected = make_classifier().fit(table.drop(columns="price"), yes_or_no["price"])
    assert_same_fit(classifier.fit_dataset(dd.from_pandas(yes_or_no, npartitions=4), "price"), expected)
    np.testing.assert_array_equal(classifier.classes_, [False, True])
    np.testing.assert_allclose(classifier.predict_proba(table[:5].drop(columns="price")).sum(axis=1), 1)


@pytest.mark.parametrize("class_weight", [None, "balanced", {7: 0.3, 8: 2.0, 9: 1.7}])
@pytest.mark.parametrize("kind", ["int8", "float32", "Int64", "category"])
def test_numbers_and_weights_of_classes(kind, class_weight, table, bands, tmp_path):
    numbered = table.assign(price=pd.Series(bands + 7).astype(kind))
    model, path = make_classifier(class_weight=class_weight), store(numbered, tmp_path / "numbered.parquet")
    expected = divide_labels_in_memory(model, numbered.assign(price=bands + 7))
    assert_same(divide(model, path)._replace(classes=None), expected._replace(classes=None))
    np.testing.assert_array_equal(divide(model, path).classes, [7, 8, 9])


def test_chunks_do_not_matter_for_classes(labelled, classifier, tmp_path, monkeypatch):
    path = store(labelled[["width", "height", "price"]], tmp_path / "labelled.parquet")
    whole = divide(classifier, path)
    monkeypatch.setattr(datasets, "CHUNK_ROWS", 7)
    assert_same(divide(classifier, path), whole)


@pytest.mark.parametrize("coverage", [0.95, 0.5])
def test_predictions_of_classes_are_those_of_the_table_in_memory(coverage, labelled, classes_in_memory, tmp_path):
    path, out = store(labelled, tmp_path / "labelled.parquet"), tmp_path / "predictions.parquet"
    assert classes_in_memory.predict_dataset(path, out, coverage=coverage) == N_ROWS
    found, inputs = pd.read_parquet(out), labelled.drop(columns="price")
    assert found["class"].tolist() == classes_in_memory.predict(inputs).tolist()
    shares, ends = classes_in_memory.predict_proba(inputs), classes_in_memory.predict_interval(inputs, coverage)
    expected = {"class": found["class"]}
    for k, label in enumerate(["high", "low", "medium"]):
        expected[f"probability[{label}]"] = shares[:, k]
        expected[f"low[{label}]"], expected[f"high[{label}]"] = ends[:, k].T
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected), check_exact=True)


def test_no_rows_have_no_classes(labelled, classes_in_memory, tmp_path):
    path, out = store(labelled[:0], tmp_path / "none.parquet"), tmp_path / "predictions.parquet"
    assert classes_in_memory.predict_dataset(path, out) == 0
    assert pq.read_schema(out).field("class").type == pa.string()


@pytest.mark.parametrize("label", [None, np.nan])
def test_a_missing_label_names_its_row(label, labelled, bands, classifier, tmp_path):
    labels = labelled["price"] if label is None else pd.Series(bands * 1.0)
    path = store(labelled.assign(price=labels.where(labelled.index != 150, label)), tmp_path / "broken.parquet")
    with pytest.raises(ValueError, match="column 'price' must hold labels, got none in row 150: remove such rows"):
        classifier.fit_dataset(path, "price")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (0.5, "numbers in column 'price' must be whole to be labels, got 0.5 in row 150"),
        (1e16, r"at most 2\*\*53 in size, got 1e\+16 in row 150 of column 'price'"),
        (np.inf, r"at most 2\*\*53 in size, got inf in row 150 of column 'price'"),
    ],
)
def test_labels_that_no_class_can_have(wrong, message, table, bands, classifier, tmp_path):
    path = store(table.assign(price=np.where(table.index == 150, wrong, bands)), tmp_path / "broken.parquet")
    with pytest.raises(ValueError, match=message):
        classifier.fit_dataset(path, "price")


@pytest.mark.parametrize("n_rows", [0, 1])
def test_too_few_labels(n_rows, labelled, classifier, tmp_path):
    path = store(labelled[:n_rows], tmp_path / "few.parquet")
    with pytest.raises(ValueError, match=f"a data set must have at least 2 rows, got {n_rows}"):
        classifier.fit_dataset(path, "price")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["low"] * N_ROWS, r"must hold two classes or more, got one class: \['low'\]"),
        (pd.date_range("2020", periods=N_ROWS), "must hold text, numbers or truth values, got values of"),
        (np.arange(N_ROWS), "holds more than 200 different labels"),
    ],
    ids=["one", "dates", "many"],
)
def test_columns_that_hold_no_classes(labels, message, table, classifier, tmp_path, monkeypatch):
    monkeypatch.setattr("hyperplanes.estimators.label_counts.MOST_CLASSES", 200)
    path = store(table.assign(price=labels), tmp_path / "broken.parquet")
    with pytest.raises(ValueError, match=f"column 'price' {message}"):
        classifier.fit_dataset(path, "price")


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [({"low": 0, "medium": 1, "high": 1}, "got 0 of class 'low': remove rows"), ({"low": 2, "tall": 1}, "not in")],
)
def test_weights_of_classes_that_are_wrong(class_weight, message, labelled, tmp_path):
    path = store(labelled, tmp_path / "labelled.parquet")
    with pytest.raises(ValueError, match=message):
        make_classifier(class_weight=class_weight).fit_dataset(path, "price")
