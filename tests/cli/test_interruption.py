"""Ctrl-C, as real signals to real processes."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from golden_models import PLAIN
from killed_fits import contents_of_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there a process cannot be sent Ctrl-C alone")

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
MODULE, FUNCTION = PROJECT["scripts"]["hyperplanes"].split(":")
SCRIPT = f"import sys\nfrom {MODULE} import {FUNCTION}\nsys.exit({FUNCTION}())\n"
"""What an installer writes."""
FIT = ["fit", "rows.csv", "--target", "y", "--sampler", "paper", "--n-hyperplanes", "2", "--n-particles", "12"]
STUB = """
import sys, types
cli, files = types.ModuleType("hyperplanes.cli"), types.ModuleType("hyperplanes.files")
cli.main, files.remove_unfinished = lambda: work(), lambda: print("cleaned up", flush=True)
sys.modules |= {"hyperplanes": types.ModuleType("hyperplanes"), "hyperplanes.cli": cli, "hyperplanes.files": files}
"""
"""A library that is imported at once."""
AT_WORK = "import os; os.write(1, b'at work\\n')\n"
WORKS = {
    "in Python": AT_WORK + "while True: pass",
    "where exceptions are swallowed": (
        "import gc\ndef swallow(*arguments):\n for k in range(10**6): pass\ngc.callbacks.append(swallow)\n"
        + AT_WORK
        + "while True: gc.collect()"
    ),
    "where compiled code does not return": (
        "import ctypes, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
        + AT_WORK
        + "ctypes.CDLL(None).sleep(60)"
    ),
}


def start(program: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.Popen:
    command = [sys.executable, *options, "-c", program, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupt(process: subprocess.Popen) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that is interrupted now, which has to end soon."""
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, out, err


def wait_for_line(lines, text: str) -> None:
    assert any(text in line for line in lines), text


@pytest.mark.parametrize("work", WORKS)
def test_work_of_any_kind_ends_at_once(work):
    body = "".join(f" {line}\n" for line in WORKS[work].splitlines())
    process = start(f"{STUB}def work():\n{body}{SCRIPT}")
    wait_for_line(process.stdout, "at work")
    code, out, err = interrupt(process)
    assert (code, out, err) == (130, "cleaned up\n", "\ninterrupted\n")


@pytest.mark.parametrize("code", [0, 1])
def test_exit_codes_of_commands_are_kept(code):
    process = start(f"{STUB}def work(): return {code}\n{SCRIPT}")
    assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == code


def test_workers_end_with_the_program():
    body = " import multiprocessing, time\n worker = multiprocessing.Process(target=time.sleep, args=[60])\n"
    body += " worker.start()\n print('worker', worker.pid, flush=True)\n worker.join()\n"
    process = start(f"{STUB}def work():\n{body}if __name__ == '__main__':\n {SCRIPT.replace(chr(10), chr(10) + ' ')}")
    number = int(process.stdout.readline().split()[1])
    assert interrupt(process)[0] == 130
    for _ in range(100):
        if not os.path.exists(f"/proc/{number}") or "zombie" in Path(f"/proc/{number}/status").read_text():
            return
        time.sleep(0.1)
    raise AssertionError("the worker goes on")


def interrupt_import(module: str) -> None:
    process = start(SCRIPT, "fit", "rows.csv", "--target", "y", "--out", "m", options=("-X", "importtime"))
    wait_for_line(process.stderr, f" {module}\n")
    code, out, err = interrupt(process)
    assert (code, out) == (130, "")
    assert "\ninterrupted\n" in err  # not always at its end: the times of imports go there until the process is gone
    assert "Traceback" not in err


def test_imports_end_at_once(rows):
    rows.to_csv("rows.csv", index=False)
    interrupt_import("numpy")
    assert os.listdir() == ["rows.csv"]


@pytest.mark.long
@pytest.mark.parametrize("module", ["typing", "scipy.sparse", "sklearn.base", "jax._src.lib", "jax", "pandas", "typer"])
def test_imports_end_at_once_wherever_they_are(module, rows):
    rows.to_csv("rows.csv", index=False)
    interrupt_import(module)
    assert os.listdir() == ["rows.csv"]


def test_an_interrupted_fit_leaves_its_checkpoint_and_nothing_else(rows):
    rows.to_csv("rows.csv", index=False)
    fit = [*FIT, "--n-steps", "20000", "--seed", "1", "--checkpoint", "unfinished", "--out", "m"]
    process = start(SCRIPT, *fit)
    while not os.path.exists("unfinished/part-0-constant.safetensors"):
        assert process.poll() is None
        time.sleep(0.05)
    code, out, err = interrupt(process)
    assert (code, out) == (130, "")
    assert err.endswith("interrupted\n")
    assert sorted(os.listdir()) == ["rows.csv", "unfinished"]
    assert sorted(os.listdir("unfinished")) == ["checkpoint.safetensors", "part-0-constant.safetensors"]


@pytest.mark.long
def test_fits_at_any_moment_end_at_once_and_go_on_to_the_same_model(rows):
    """Compiling, computing and writing; a fit that is over before the signal comes is complete."""
    rows.to_csv("rows.csv", index=False)
    fit = [*FIT, "--n-steps", "300", "--seed", "1", "--checkpoint", "unfinished"]
    begin = time.monotonic()
    assert start(SCRIPT, *fit, "--out", "whole").wait() == 0
    seconds = time.monotonic() - begin
    codes = []
    for k in range(20):
        process = start(SCRIPT, *fit, "--out", "m")
        time.sleep(seconds * (k + 1) / 20)
        code, _, err = interrupt(process)
        codes.append(code)
        assert code in (0, 130), err
        assert "Traceback" not in err
        assert {name for name in os.listdir() if name not in ("m", "unfinished")} == {"rows.csv", "whole"}
        assert not list(Path().glob("unfinished/.*"))
        assert code == 130 or os.path.exists("m")
        if os.path.exists("m"):
            assert contents_of_file("m") == contents_of_file("whole")
            os.remove("m")
    assert codes.count(130) >= 10
    process = start(SCRIPT, *fit, "--out", "m")
    process.communicate()
    assert process.returncode == 0
    assert contents_of_file("m") == contents_of_file("whole")


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0, 3.0, 6.0])
def test_predictions_and_reports_end_at_once(seconds, rows):
    rows.to_csv("rows.csv", index=False)
    for arguments in (
        ["predict", str(PLAIN), "rows.csv", "--out", "out.csv"],
        ["report", str(PLAIN), "rows.csv", "--target", "y", "--out", "out.html"],
    ):
        process = start(SCRIPT, *arguments, options=("-X", "importtime"))
        wait_for_line(process.stderr, " hyperplanes.cli\n")
        time.sleep(seconds)
        code, _, err = interrupt(process)
        assert code in (0, 130)
        assert "Traceback" not in err
        assert os.listdir() == ["rows.csv"] or os.path.exists(arguments[-1])
        Path(arguments[-1]).unlink(missing_ok=True)
