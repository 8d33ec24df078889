"""A fit on a cluster: Dask workers in processes of their own, which may be killed."""

import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from distributed import Client, KilledWorker, LocalCluster

from hyperplanes import Prior
from hyperplanes.estimators.family import Family
from hyperplanes.estimators.parts import fit_parts
from hyperplanes.inference import Settings

N_ROWS = 240
N_PARTS = 4
N_WORKERS = 2


@pytest.fixture(scope="module")
def rows(make_rows):
    return make_rows(N_ROWS)


@pytest.fixture(scope="module")
def client():
    """Workers take seconds to import the library; one that is killed is replaced."""
    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def regressor(make_regressor):
    return make_regressor(decomposition="domain", n_parts=N_PARTS, n_jobs=1)


@pytest.fixture(scope="module")
def serial(rows, make_regressor):
    """Fitted; no test may change it."""
    return make_regressor(decomposition="domain", n_parts=N_PARTS, n_jobs=1).fit(rows.X, rows.y)


def assert_same_fit(first, second):
    for one, other in zip(first.parts_, second.parts_, strict=True):
        np.testing.assert_array_equal(one.posterior.normals, other.posterior.normals)
    assert first.log_evidence_ == second.log_evidence_


def kill_a_busy_worker(client, killed):
    """Wait for a worker to be in the middle of its work, and kill its process."""
    pids = client.run(os.getpid)
    while not (busy := [worker for worker, tasks in client.processing().items() if tasks]):
        time.sleep(0.02)
    time.sleep(0.5)
    os.kill(pids[busy[0]], signal.SIGKILL)
    killed.append(busy[0])


def set_allowed_failures(client, number):
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", number))


class Deadly:
    """Rows that kill the process that loads them, unless it is the one that made them."""

    def __init__(self):
        self.made_in = os.getpid()

    def load(self):
        assert os.getpid() != self.made_in
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_fit_on_a_cluster_is_the_same(client, rows, serial, regressor):
    with joblib.parallel_config(backend="dask"):
        assert_same_fit(regressor.fit(rows.X, rows.y), serial)


def test_a_killed_worker_does_not_lose_the_fit(client, rows, serial, regressor):
    killed = []
    killer = threading.Thread(target=kill_a_busy_worker, args=[client, killed])
    killer.start()
    with joblib.parallel_config(backend="dask"):
        model = regressor.fit(rows.X, rows.y)
    killer.join()
    assert len(killed) == 1
    assert_same_fit(model, serial)


def test_a_part_that_kills_every_worker_is_an_error(client):
    client.wait_for_workers(N_WORKERS)  # with one alone joblib would load the rows here
    set_allowed_failures(client, 0)
    settings = Settings(n_hyperplanes=2, n_particles=40)
    with joblib.parallel_config(backend="dask"), pytest.raises(KilledWorker, match="all those workers died"):
        list(fit_parts([1, 2], [Deadly(), Deadly()], Prior(), settings, Family(), 1))
    set_allowed_failures(client, 3)
