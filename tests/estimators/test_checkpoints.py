import errno
import os
import random
import time
from itertools import count

import joblib
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperplanes import CheckpointError, CheckpointWarning, HyperplaneProcessRegressor, Prior, paper_prior, smc
from hyperplanes.estimators import checkpoints as folders
from hyperplanes.estimators.checkpoints import (
    RECORD,
    UNFINISHED,
    holds_checkpoints,
    open_checkpoints,
    remove_checkpoints,
)
from hyperplanes.files import replacement
from hyperplanes.inference import checkpoint as checkpoints
from killed_fits import KINDS, MOMENTS, Job, Nursery, contents, contents_of_file

pytestmark = pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")

SOME_KINDS = ["unknown number", "paper", "stages", "student", "three classes", "intensity", "domain", "data set"]
PART = "part-0-constant.safetensors"
N_KILLS = 200
MOST_IN_A_ROW = 6


class Stopped(BaseException):
    """As sudden as a kill, but it leaves the process alive."""


@pytest.fixture(scope="module")
def nursery():
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def _at_every_step(monkeypatch):
    """Checkpoints are written after every step."""
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)


@pytest.fixture
def stop_after(monkeypatch):
    """Have the fit stop after some writings of where it stands."""
    write = checkpoints.write_container

    def stop_after(n_writings):
        numbers = count(1)

        def writing(*what):
            write(*what)
            if next(numbers) == n_writings:
                raise Stopped

        monkeypatch.setattr(checkpoints, "write_container", writing)

    return stop_after


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The checkpoint of a fit that is done, and what its model file holds."""
    folder = tmp_path_factory.mktemp("finished") / "checkpoint"
    return folder, contents(fit_paper(folder))


def fit_paper(checkpoint, table=None, sample_weight=None, **more):
    table = KINDS["paper"].rows() if table is None else table
    return KINDS["paper"].model().set_params(**more).fit(*table, sample_weight, checkpoint=checkpoint)


@pytest.mark.usefixtures("_at_every_step")
@pytest.mark.parametrize("kind", SOME_KINDS)
def test_a_fit_that_is_stopped_again_and_again_ends_where_it_would_have(kind, tmp_path, stop_after):
    expected = contents(KINDS[kind].fit(tmp_path, None))
    for n_stops in count():
        stop_after(3)
        try:
            model = KINDS[kind].fit(tmp_path, tmp_path / "checkpoint")
            break
        except Stopped:
            assert n_stops < 100
    assert n_stops > 0
    assert contents(model) == expected


@pytest.mark.parametrize("kind", ["given number", "paper's domain", "two classes"])
def test_a_fit_that_is_killed_ends_where_it_would_have(kind, tmp_path, nursery, seed):
    expected = contents(KINDS[kind].fit(tmp_path, None))
    folder, out, chance = tmp_path / "checkpoint", tmp_path / "model", random.Random(seed)
    for _ in range(2):
        nursery.run(Job(kind, str(out), str(folder), slowness=0.1), seconds=chance.uniform(1, 8))
        out.unlink(missing_ok=True)
    assert nursery.run(Job(kind, str(out), str(folder))) == 0
    assert contents_of_file(out) == expected


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_fit_that_is_killed_while_it_writes_ends_where_it_would_have(moment, tmp_path, nursery, finished):
    folder, out = tmp_path / "checkpoint", tmp_path / "model"
    for writing in (1, 4):
        assert nursery.run(Job("paper", str(out), str(folder), moment=moment, write=writing)) == -9
        assert len(list(folder.glob(UNFINISHED))) == (moment != MOMENTS[-1])
    assert nursery.run(Job("paper", str(out), str(folder))) == 0
    assert contents_of_file(out) == finished[1]
    assert sorted(path.name for path in folder.iterdir()) == [RECORD, PART]


@pytest.mark.long
def test_no_kill_at_any_moment_changes_a_fit(tmp_path, nursery, seed):
    chance, out, n_killed, n_in_writings = random.Random(seed), tmp_path / "model", 0, 0
    expected, seconds = {}, {}
    for number in count():
        if number < len(KINDS):
            kind, start = list(KINDS)[number], time.monotonic()
            assert nursery.run(Job(kind, str(out))) == 0
            expected[kind], seconds[kind] = contents_of_file(out), time.monotonic() - start
        else:  # quick ones more often
            kind = chance.choices(list(KINDS), [1 / seconds[kind] ** 2 for kind in KINDS])[0]
        folder = tmp_path / f"checkpoint-{number}"
        for _ in range(chance.randint(1, MOST_IN_A_ROW)):
            job = Job(kind, str(out), str(folder), slowness=0.1)
            if chance.random() < 0.25:
                job = job._replace(moment=chance.choice(MOMENTS), write=chance.randint(1, 12))
            killed = nursery.run(job, seconds=chance.uniform(0.1, 1.0) * seconds[kind]) == -9
            n_killed += killed
            n_in_writings += killed and (any(folder.glob(UNFINISHED)) or job.moment == MOMENTS[-1])
        out.unlink(missing_ok=True)
        assert nursery.run(Job(kind, str(out), str(folder))) == 0
        assert contents_of_file(out) == expected[kind], (number, kind)
        print(f"{kind}: {n_killed} kills so far, {n_in_writings} while a file was written", flush=True)
        if n_killed >= N_KILLS and number >= len(KINDS):
            break
    print(
        f"{n_killed} kills, {n_in_writings} of them while a file was written: {number + 1} resumed fits, all identical"
    )


@pytest.mark.long
def test_worker_processes_keep_their_parts(tmp_path, stop_after):
    kind, folder = KINDS["paper's domain"], tmp_path / "checkpoint"
    expected = contents(kind.fit(tmp_path, None))
    with joblib.parallel_config(backend="loky"):
        assert contents(kind.fit(tmp_path, folder)) == expected
    assert len(list(folder.glob("part-*"))) == 2
    stop_after(1)
    assert contents(kind.fit(tmp_path, folder)) == expected


def test_a_fit_that_is_done_gives_its_result_at_once(finished, monkeypatch):
    folder, expected = finished
    monkeypatch.setattr(smc.annealing, "step", None)
    assert contents(fit_paper(folder)) == expected


@pytest.mark.parametrize("seed_of_others", [None, 5])
def test_without_a_seed_the_fit_goes_on_with_the_one_it_had(seed_of_others, tmp_path, stop_after, monkeypatch):
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)
    stop_after(4)
    with pytest.raises(Stopped):
        fit_paper(tmp_path / "one", random_state=None)
    seed = open_checkpoints(tmp_path / "one", KINDS["paper"].model().set_params(random_state=None)).seed
    if seed_of_others is not None:
        np.random.seed(seed_of_others)  # noqa: NPY002  # what random_state=None draws from
    found = fit_paper(tmp_path / "one", random_state=None)
    expected = fit_paper(None, random_state=seed)
    np.testing.assert_array_equal(found.posterior_.normals, expected.posterior_.normals)


def test_a_random_state_has_to_stand_where_it_stood(tmp_path):
    states = [np.random.RandomState(0), np.random.RandomState(0), np.random.RandomState(1)]
    models = [fit_paper(tmp_path / "one", random_state=state) for state in states[:2]]
    assert models[0].log_evidence_ == models[1].log_evidence_
    assert states[0].uniform() == states[1].uniform()
    with pytest.raises(CheckpointError, match=r"random_state 'RandomState [0-9a-f]+' then"):
        fit_paper(tmp_path / "one", random_state=states[2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_particles": 41}, "n_particles 40 then, 41 now"),
        ({"random_state": 4}, "random_state 3 then, 4 now"),
        ({"random_state": None}, "random_state 3 then, None now"),
        ({"n_steps": 13, "n_hyperplanes": 3}, "n_hyperplanes 2 then, 3 now; n_steps 12 then, 13 now"),
        ({"prior": paper_prior(2)}, r"prior None then, Prior\(.*noise_scale=.* now"),
        ({"decomposition": "domain", "n_parts": 2}, r"decomposition None then, 'domain' now; n_parts 4 then, 2 now\."),
    ],
)
def test_other_settings_are_refused_by_name(change, message, finished):
    with pytest.raises(CheckpointError, match=message):
        fit_paper(finished[0], **change)


def test_another_estimator_is_refused(finished):
    classes = KINDS["two classes"]
    with pytest.raises(CheckpointError, match="estimator 'HyperplaneProcessRegressor' then"):
        classes.fit(finished[0], finished[0])


def test_another_version_is_refused(finished, monkeypatch):
    monkeypatch.setattr("hyperplanes.estimators.checkpoints.library_versions", lambda: {"jax": "0.0"})
    with pytest.raises(CheckpointError, match=r"jax '.*' then, '0\.0' now"):
        fit_paper(finished[0])


def test_other_data_are_refused(finished):
    X, y = KINDS["paper"].rows()
    for table, weights, message in (
        ((X[1:], y[1:]), None, "rows 80 then, 79 now"),
        ((np.column_stack([X, y]), y), None, "columns 2 then, 3 now"),
        ((X, y), np.full(80, 2.0), "is of another fit: the data differ"),
    ):
        with pytest.raises(CheckpointError, match=message):
            fit_paper(finished[0], table, weights)


@settings(max_examples=25)
@given(row=st.integers(0, 79), column=st.integers(0, 2), value=st.floats(-1e3, 1e3))
def test_another_number_anywhere_is_refused(row, column, value, finished):
    rows = np.column_stack(KINDS["paper"].rows())
    if rows[row, column] == value:
        return
    rows[row, column] = value
    with pytest.raises(CheckpointError, match="the data differ"):
        fit_paper(finished[0], (rows[:, :-1], rows[:, -1]))


def test_settings_that_change_nothing_may_change(finished):
    folder, expected = finished
    model = fit_paper(folder, n_jobs=1, memory_budget=0.5, device="cpu", progress=True)
    assert contents(model.set_params(n_jobs=2, memory_budget=1.0, device=None, progress=False)) == expected


def test_the_order_of_rows_may_change(finished):
    folder, expected = finished
    X, y = KINDS["paper"].rows()
    assert contents(fit_paper(folder, (X[::-1], y[::-1]))) == expected


@settings(max_examples=40)
@given(name=st.sampled_from([RECORD, PART]), where=st.floats(0, 1), mask=st.integers(0, 255))
def test_a_damaged_checkpoint_is_noticed(name, where, mask, finished, tmp_path_factory):
    folder, _ = finished
    copied = tmp_path_factory.mktemp("damaged") / "checkpoint"
    copied.mkdir()
    for path in folder.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    whole = (copied / name).read_bytes()
    at = min(int(where * len(whole)), len(whole) - 1)
    header = whole[: 8 + int.from_bytes(whole[:8], "little")]
    assume(at < len(header.rstrip(b" ")) or at >= len(header))  # spaces at its end mean nothing
    damaged = whole[:at] if mask == 0 else whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :]
    (copied / name).write_bytes(damaged)
    with pytest.raises(CheckpointError, match=rf"{copied}.* Delete"):
        fit_paper(copied)


def test_after_the_damaged_file_is_deleted_the_fit_is_done_again(finished, tmp_path):
    folder, expected = finished
    for name in (RECORD, PART):
        (tmp_path / name).write_bytes((folder / name).read_bytes()[: -1 if name == PART else None])
    with pytest.raises(CheckpointError, match=f"{PART} cannot be used: the file is damaged.* Delete this file"):
        fit_paper(tmp_path)
    (tmp_path / PART).unlink()
    assert contents(fit_paper(tmp_path)) == expected


def test_a_model_in_place_of_a_checkpoint_is_refused(finished, tmp_path):
    folder, _ = finished
    (tmp_path / RECORD).write_bytes((folder / RECORD).read_bytes())
    fit_paper(None).save(tmp_path / PART)
    with pytest.raises(CheckpointError, match=f"{PART} cannot be used.* Delete this file"):
        fit_paper(tmp_path)
    (tmp_path / PART).replace(tmp_path / RECORD)
    with pytest.raises(CheckpointError, match=f"the checkpoint in {tmp_path} cannot be used.* Delete the folder"):
        fit_paper(tmp_path)


def test_checkpoints_of_two_fits_do_not_mix(finished, tmp_path):
    folder, _ = finished
    fit_paper(tmp_path, random_state=4)
    (tmp_path / PART).write_bytes((folder / PART).read_bytes())
    with pytest.raises(CheckpointError, match="it is of another fit"):
        fit_paper(tmp_path, random_state=4)


def test_the_checkpoint_of_another_device_is_refused(finished, tmp_path, monkeypatch):
    pack = checkpoints._pack
    monkeypatch.setattr(checkpoints, "_pack", lambda standing: pack(standing) | {"device": "gpu"})
    fit_paper(tmp_path)
    with pytest.raises(CheckpointError, match="it was computed on gpu, and cpu rounds otherwise"):
        fit_paper(tmp_path)


def test_a_folder_that_cannot_be_made_leaves_the_fit_unharmed(finished, tmp_path):
    (tmp_path / "file").touch()
    with pytest.warns(CheckpointWarning, match=r"cannot be used \(Not a directory\). The fit goes on unharmed"):
        model = fit_paper(tmp_path / "file" / "checkpoint")
    assert contents(model) == finished[1]


@pytest.mark.parametrize("random_state", [3, None])
def test_a_folder_that_cannot_be_entered_leaves_the_fit_unharmed(random_state, tmp_path, monkeypatch):
    def denied(*what):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(folders, "read_container", denied)
    with pytest.warns(CheckpointWarning, match=r"cannot be used \(Permission denied\)"):
        model = fit_paper(tmp_path, random_state=random_state)
    assert model.n_features_in_ == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_at_every_step")
@pytest.mark.parametrize("first", [1, 2, 5])
def test_a_full_disk_leaves_the_fit_unharmed(first, finished, tmp_path, monkeypatch):
    numbers, sync = count(1), os.fsync

    def full(handle):
        if next(numbers) >= first:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    monkeypatch.setattr(replacement, "_keep_the_name", lambda folder: None)
    monkeypatch.setattr(replacement.os, "fsync", full)
    with pytest.warns(CheckpointWarning, match="No space left on device") as warned:
        model = fit_paper(tmp_path)
    assert len([each for each in warned if each.category is CheckpointWarning]) == 1
    assert contents(model) == finished[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == [RECORD, PART][: 0 if first == 1 else first - 1]
    monkeypatch.undo()
    assert contents(fit_paper(tmp_path)) == finished[1]


def test_files_and_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="holds other things"):
        fit_paper(tmp_path)
    with pytest.raises(CheckpointError, match=r"is a folder, and .* is a file"):
        fit_paper(tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_only_what_a_fit_has_left_is_removed(tmp_path):
    fit_paper(tmp_path / "checkpoint")
    (tmp_path / "checkpoint" / f".{PART}.0.unfinished").touch()
    assert holds_checkpoints(tmp_path / "checkpoint")
    (tmp_path / "checkpoint" / "mine").touch()
    remove_checkpoints(tmp_path / "checkpoint")
    assert [path.name for path in (tmp_path / "checkpoint").iterdir()] == ["mine"]
    (tmp_path / "checkpoint" / "mine").unlink()
    remove_checkpoints(tmp_path / "checkpoint")
    assert not (tmp_path / "checkpoint").exists()
    remove_checkpoints(tmp_path / "checkpoint")


def test_a_pipeline_hands_the_checkpoint_on(tmp_path):
    X, y = KINDS["paper"].rows()
    model = make_pipeline(StandardScaler(), KINDS["paper"].model())
    model.fit(X, y, hyperplaneprocessregressor__checkpoint=tmp_path)
    assert (tmp_path / PART).exists()
    assert "checkpoint" not in HyperplaneProcessRegressor().get_params()


def test_a_prior_of_numbers_of_numpy_is_the_same_as_of_python(tmp_path):
    fit_paper(tmp_path, prior=paper_prior(2), n_particles=np.int64(40))
    fit_paper(tmp_path, prior=Prior(**{name: np.float64(value) for name, value in vars(paper_prior(2)).items()}))
