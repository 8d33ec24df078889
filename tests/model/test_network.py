import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import closed_form
from closed_form import make_problem
from hyperplanes.model import Network, forward, from_network, to_network


@st.composite
def networks(draw: st.DrawFn) -> Network:
    n_columns, n_units = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    finite = st.floats(-10, 10, allow_subnormal=False)
    hidden = draw(arrays(float, (n_columns, n_units), elements=finite))
    lengths = np.linalg.norm(hidden, axis=0)
    hidden[0, lengths < 1e-3] = 0.3  # a unit without weights is no hyperplane
    biases, outputs = (draw(arrays(float, n_units, elements=finite)) for _ in range(2))
    return Network(hidden, biases, outputs, draw(finite))


def naive_forward(network: Network, inputs: np.ndarray) -> list[float]:
    """One row, one unit, one input at a time."""
    values = []
    for row in inputs:
        value = network.output_bias
        for unit, output in enumerate(network.output_weights):
            signal = network.hidden_biases[unit]
            for column, entry in enumerate(row):
                signal += entry * network.hidden_weights[column, unit]
            value += output * max(signal, 0.0)
        values.append(value)
    return values


@given(networks(), st.integers(0, 2**31))
def test_forward_is_the_plain_forward_pass(network, seed):
    inputs = np.random.default_rng(seed).uniform(-2, 2, size=(5, len(network.hidden_weights)))
    np.testing.assert_allclose(forward(network, inputs), naive_forward(network, inputs), rtol=1e-10, atol=1e-10)


@given(networks(), st.integers(0, 2**31))
def test_a_network_and_its_hyperplanes_are_the_same_function(network, seed):
    inputs = np.random.default_rng(seed).uniform(-2, 2, size=(5, len(network.hidden_weights)))
    normals, offsets, coefficients = from_network(network)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-12)
    values = closed_form.features(inputs, normals, offsets) @ coefficients
    np.testing.assert_allclose(values, forward(network, inputs), rtol=1e-10, atol=1e-10)


@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 5))
def test_export_and_import_give_the_particle_back(seed, n_columns, n_hyperplanes):
    problem = make_problem(seed, 3, n_columns, n_hyperplanes)
    network = to_network(problem.normals, problem.offsets, problem.coefficients)
    assert network.hidden_weights.shape == (n_columns, n_hyperplanes)
    expected = (problem.normals, problem.offsets, problem.coefficients)
    for actual, original in zip(from_network(network), expected, strict=True):
        np.testing.assert_allclose(actual, original, rtol=1e-12)


def test_a_particle_and_its_network_are_the_same_function(seed):
    problem = make_problem(seed, 20, 3, 4)
    network = to_network(problem.normals, problem.offsets, problem.coefficients)
    expected = closed_form.features(problem.inputs, problem.normals, problem.offsets) @ problem.coefficients
    np.testing.assert_allclose(forward(network, problem.inputs), expected, rtol=1e-12)


def test_a_network_loads_into_torch(seed):
    torch = pytest.importorskip("torch")
    problem = make_problem(seed, 20, 3, 4)
    network = to_network(problem.normals, problem.offsets, problem.coefficients)
    hidden, output = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
    hidden.load_state_dict(
        {"weight": torch.tensor(network.hidden_weights.T.copy()), "bias": torch.tensor(network.hidden_biases.copy())}
    )
    output.load_state_dict(
        {"weight": torch.tensor(network.output_weights[None]), "bias": torch.tensor([network.output_bias])}
    )
    model = torch.nn.Sequential(hidden, torch.nn.ReLU(), output)
    with torch.no_grad():
        values = model(torch.tensor(problem.inputs, dtype=torch.float32)).numpy()[:, 0]
    np.testing.assert_allclose(values, forward(network, problem.inputs), rtol=1e-5, atol=1e-5)


def test_a_unit_without_weights_is_an_error_that_names_it():
    network = Network(np.array([[1.0, 0.0, 2.0]]), np.zeros(3), np.ones(3), 0.5)
    with pytest.raises(ValueError, match=r"non-zero weight, got only zeros in units \[1\]"):
        from_network(network)
