"""Whatever a file or a command line holds: a result or a clear error, never a traceback, never NaN."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from golden_models import CLASSES, PLAIN
from hyperplanes import cli

cells = st.one_of(
    st.sampled_from(
        ["", "1", "-2.5", "1e308", "1e400", "inf", "nan", "NA", "a", "b", "=1", '"', "x y", "2020-01-01", "ä"]
    ),
    st.floats().map(repr),
    st.integers().map(str),
    st.text(max_size=5),
)
names = st.sampled_from(["size", "age", "kind", "y", "", "id", "y "]) | st.text(max_size=4)
words = st.sampled_from(
    "rows.csv - --target y --out m --json --format parquet csv --drop size --force --keep --coverage 0.5 -1 "
    "--n-particles 1e9 --separator ; --missing --target-of mean --seed --raw --blend --budget nan --jobs --device tpu "
    f"--classes --row-weights --test --title --no-progress ../.. /dev/null {PLAIN} {CLASSES}".split(" ")
) | st.text(max_size=3)
cheap = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@st.composite
def tables(draw):
    """Text that is more or less a table."""
    header = draw(st.permutations(["size", "age", "kind", "y"]) | st.lists(names, min_size=1, max_size=5))
    width = st.just(len(header)) | st.integers(0, 6)
    rows = draw(st.lists(width.flatmap(lambda n: st.lists(cells, min_size=n, max_size=n)), max_size=6))
    return "\n".join(",".join(row) for row in [header, *rows])


def write(text: str, path: str = "rows.csv") -> None:
    with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(text)


def ends_well(code: int, capsys) -> str:
    """Check the exit code and what was said; return what was printed."""
    printed = capsys.readouterr()
    assert code in (0, 1, 2)
    assert "Traceback" not in printed.err
    assert code == 0 or printed.err.strip()
    return printed.out


def check_predictions_of(model, text: str, capsys) -> None:
    write(text)
    code = cli.main(["predict", str(model), "rows.csv"])
    out = ends_well(code, capsys)
    if code == 0:
        numbers = pd.read_csv(io.StringIO(out)).drop(columns="class", errors="ignore")
        assert np.isfinite(numbers.to_numpy(dtype=float)).all()


def check_fit_of(options: list[str], text: str, fits, capsys) -> None:
    """What reaches the fit is sound; the fit itself is fuzzed in tests/estimators/test_any_table.py."""
    write(text)
    ends_well(cli.main(["fit", "rows.csv", "--target", "y", "--out", "m", "--force", *options]), capsys)
    for fit in fits:
        assert len(fit.X) == len(fit.y) >= 2
        assert not pd.isna(fit.y).any()
        assert options or np.isfinite(fit.y).all()
    fits.clear()


def check_report_of(model, text: str, capsys) -> None:
    """Model and numbers are real, and only pictures are left out."""
    write(text)
    code = cli.main(["report", str(model), "rows.csv", "--target", "y", "--out", "m.html", "--force"])
    ends_well(code, capsys)
    if code == 0:
        with open("m.html", encoding="utf-8") as page:
            assert re.search(r">\s*-?(nan|inf)%?\s*<", page.read()) is None


stored = st.sampled_from([PLAIN, CLASSES])
kinds = st.sampled_from([[], ["--classes"]])


@cheap
@given(model=stored, text=tables())
def test_any_table_is_predicted_or_refused(model, text, capsys):
    check_predictions_of(model, text, capsys)


@cheap
@given(options=kinds, text=tables() | st.text())
def test_any_table_is_fitted_or_refused(options, text, fits, capsys):
    check_fit_of(options, text, fits, capsys)


@cheap
@given(model=stored, text=tables() | st.text())
def test_any_table_is_reported_on_or_refused(model, text, pages, capsys):
    check_report_of(model, text, capsys)


@cheap
@given(command=st.sampled_from(["fit", "predict", "report"]), line=st.lists(words, max_size=8))
def test_any_command_line_is_obeyed_or_refused(command, line, rows, fits, pages, capsys, monkeypatch):
    rows.to_csv("rows.csv", index=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"size,y\n1,2\n")))
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO()))
    ends_well(cli.main([command, *line]), capsys)


@pytest.mark.long
@settings(cheap, max_examples=3000)
@given(model=stored, text=tables() | st.text())
def test_many_tables_are_predicted_or_refused(model, text, capsys):
    check_predictions_of(model, text, capsys)


@pytest.mark.long
@settings(cheap, max_examples=3000)
@given(options=kinds, text=tables() | st.text())
def test_many_tables_are_fitted_or_refused(options, text, fits, capsys):
    check_fit_of(options, text, fits, capsys)


@pytest.mark.long
@settings(cheap, max_examples=3000)
@given(model=stored, text=tables() | st.text())
def test_many_tables_are_reported_on_or_refused(model, text, pages, capsys):
    check_report_of(model, text, capsys)
