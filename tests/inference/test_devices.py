"""Several devices, made of one CPU in a process of its own: their number is fixed when JAX starts."""

import json
import os
import subprocess
import sys

import jax
import pytest

from hyperplanes.inference.devices import find_devices, predicting_on

SEVERAL = """
import hashlib, json
import jax, numpy as np
from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.inference import tiles

used = set()
run_batch = tiles._run_batch
def recording(*arguments):
    done = run_batch(*arguments)
    used.update(device.id for leaf in jax.tree.leaves(done) for device in leaf.devices())
    return done
recording.lower = run_batch.lower  # for what is compiled ahead
tiles._run_batch = recording

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(200, 2))
y = np.maximum(X[:, 0], 0) + 0.1 * rng.normal(size=200)
found = {}
for name, device, n_jobs in (("all", None, 2), ("all, one thread", None, 1), ("cpu:1", "cpu:1", 2)):
    used.clear()
    options = {"n_particles": 60, "n_steps": 4, "random_state": 0}
    model = HyperplaneProcessRegressor(device=device, n_jobs=n_jobs, **options).fit(X, y)
    digest = hashlib.sha256(model.posterior_.normals.tobytes() + model.predict(X).tobytes()).hexdigest()
    found[name] = {"devices": sorted(used), "digest": digest, "evidence": model.log_evidence_}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def fits():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    environment = os.environ | {"XLA_FLAGS": flags}
    done = subprocess.run([sys.executable, "-c", SEVERAL], env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["all", "all, one thread"])
def test_particles_are_shared_out_to_all_devices_of_a_kind(fits, name):
    assert fits[name]["devices"] == [0, 1]


def test_one_device_can_be_chosen(fits):
    assert fits["cpu:1"]["devices"] == [1]


def test_the_result_does_not_depend_on_the_devices(fits):
    assert len({fit["digest"] for fit in fits.values()}) == 1
    assert len({fit["evidence"] for fit in fits.values()}) == 1


def test_a_device_that_the_user_chose_in_jax_is_respected():
    device = jax.local_devices()[0]
    with jax.default_device(device):
        assert find_devices(None) == (device,)


def test_predictions_run_where_the_device_of_the_fit_is_missing():
    with predicting_on("abacus"):
        assert jax.numpy.zeros(1).devices() == {jax.local_devices()[0]}


@pytest.mark.parametrize("name", ["abacus", "cpu:77", "cpu:first"])
def test_a_device_that_is_not_here_is_an_error_that_names_those_that_are(name):
    with pytest.raises(ValueError, match=f"there is no device '{name}' here; JAX knows cpu:0"):
        find_devices(name)
