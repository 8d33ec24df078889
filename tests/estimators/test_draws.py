import sys
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp

import hyperplanes
from golden_models import FOLDER, PLAIN, response, table

stats = pytest.importorskip("arviz_stats")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning:arviz_stats")

ROWS = table(30, seed=6)


@pytest.fixture(scope="module")
def plots():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import matplotlib.style.core  # noqa: F401  # arviz-plots 0.8 takes for granted that it is imported
    return pytest.importorskip("arviz_plots")


@pytest.fixture(scope="module")
def tree(fitted, example):
    return fitted.to_arviz(example.X, example.y)


@pytest.fixture(scope="module", params=["plain", "domain"])
def model(request):
    return hyperplanes.load(FOLDER / f"{request.param}.safetensors")


def values(tree, group, name):
    """Without the chain."""
    return tree[group][name].to_numpy()[0]


def test_groups_are_those_that_the_data_allow(model):
    alone = {"posterior", "sample_stats", "hyperplanes", "annealing"}
    assert set(model.to_arviz().children) == alone
    assert set(model.to_arviz(ROWS).children) == alone | {"posterior_predictive", "constant_data"}
    everything = alone | {"posterior_predictive", "constant_data", "log_likelihood", "observed_data"}
    assert set(model.to_arviz(ROWS, response(ROWS)).children) == everything
    with pytest.raises(ValueError, match="y needs the X"):
        model.to_arviz(y=response(ROWS))


def test_the_evidence_is_among_the_attributes(model):
    tree = model.to_arviz()
    for attributes in (tree.attrs, tree["posterior"].attrs):
        assert attributes["log_evidence"] == model.log_evidence_
        assert attributes["log_evidence_error"] == model.log_evidence_error_


def test_many_draws_have_the_moments_of_the_weighted_particles(model):
    tree = model.to_arviz(ROWS, response(ROWS), n_draws=20_000, random_state=0)
    mean, std = model.predict(ROWS, return_std=True)
    np.testing.assert_allclose(values(tree, "posterior", "mean").mean(axis=0), mean, atol=0.02 * std.max())
    predicted = values(tree, "posterior_predictive", "y")
    np.testing.assert_allclose(predicted.mean(axis=0), mean, atol=0.04 * std.max())
    np.testing.assert_allclose(predicted.std(axis=0), std, rtol=0.05)


def test_the_likelihood_of_draws_averages_to_the_predictive_density(model):
    tree = model.to_arviz(ROWS, response(ROWS), n_draws=20_000, random_state=0)
    density = values(tree, "log_likelihood", "y")
    averaged = logsumexp(density, axis=0) - np.log(len(density))
    np.testing.assert_allclose(averaged, model.log_predictive_density(ROWS, response(ROWS)), atol=0.1)


def test_draws_count_alike_and_say_which_particle_they_are(model):
    tree = model.to_arviz(n_draws=1000)
    chosen = values(tree, "sample_stats", "particle").reshape(1000, -1)
    for part, particles in zip(model.parts_, chosen.T, strict=True):
        shares = np.bincount(particles, minlength=len(part.posterior.log_weights)) / 1000
        np.testing.assert_allclose(shares, np.exp(part.posterior.log_weights), atol=1e-3)


def test_noise_is_in_the_units_of_the_user(model):
    noise = values(model.to_arviz(n_draws=5000), "posterior", "noise_std").reshape(5000, -1)
    assert noise.shape[1] == len(model.parts_)
    worst = np.sqrt(np.mean(noise**2, axis=0)).max()
    assert worst == pytest.approx(model.diagnostics_.noise_std, rel=1e-2)


def test_columns_have_names(model, fitted):
    names = ["size", "age", "kind=a", "kind=b", "kind=c", "size missing"]
    tree = model.to_arviz(ROWS)
    assert tree["posterior"]["column"].to_numpy().tolist() == names
    assert tree["constant_data"]["X"].shape == (30, 6)
    assert fitted.to_arviz()["posterior"]["column"].to_numpy().tolist() == ["x0", "x1"]


def test_hyperplanes_and_annealing_are_there_in_full(model):
    tree = model.to_arviz()
    planes, annealing = tree["hyperplanes"], tree["annealing"]
    n_places = [part.posterior.offsets.shape[1] for part in model.parts_]
    assert planes["part_of"].to_numpy().tolist() == np.repeat(np.arange(len(n_places)), n_places).tolist()
    assert planes["normals"].shape == (1, 8 if len(n_places) > 1 else 12, sum(n_places), 6)
    first = model.parts_[0].posterior
    particle = values(tree, "sample_stats", "particle").reshape(len(planes["draw"]), -1)[:, 0]
    np.testing.assert_array_equal(planes["offsets"].to_numpy()[0, :, : n_places[0]], first.offsets[particle])
    exponents = annealing["exponent"].to_numpy()
    assert exponents.shape[0] == len(model.parts_)
    assert np.nanmax(exponents, axis=1).tolist() == [1.0] * len(model.parts_)


def test_the_same_seed_gives_the_same_noise(model):
    first, second, other = (
        values(model.to_arviz(ROWS, random_state=seed), "posterior_predictive", "y") for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_summaries_of_arviz_work(tree, fitted):
    table = stats.summary(tree, var_names=["noise_std", "n_hyperplanes"], round_to="none")
    assert float(table.loc["noise_std", "mean"]) == pytest.approx(fitted.diagnostics_.noise_std, rel=0.05)


def test_leave_one_out_of_arviz_works(tree, fitted, example):
    loo = stats.loo(tree)
    assert loo.elpd < fitted.log_predictive_density(example.X, example.y).sum()
    assert loo.elpd == pytest.approx(0.7 * len(example.y), rel=0.5)  # noise 0.1: -log(0.1 sqrt(2 pi e)) = 0.88 a row


def test_plots_of_arviz_work(tree, plots):
    for plot in (plots.plot_dist, plots.plot_forest):
        assert plot(tree, var_names=["noise_std"], backend="matplotlib").viz is not None
    assert plots.plot_ppc_dist(tree, backend="matplotlib").viz is not None


def test_a_tidy_frame_has_a_row_for_each_particle(model):
    frame = model.to_frame()
    assert len(frame) == sum(len(part.posterior.log_weights) for part in model.parts_)
    np.testing.assert_allclose(frame.groupby("part")["weight"].sum(), 1)
    count = (frame["weight"] * frame["n_hyperplanes"]).sum()
    assert count == pytest.approx(model.n_hyperplanes_.mean)


def test_a_tidy_frame_of_hyperplanes_holds_the_networks(model):
    frame = model.to_frame("hyperplanes")
    assert len(frame) == sum(part.posterior.n_hyperplanes.sum() for part in model.parts_)
    np.testing.assert_allclose((frame.filter(like="normal[") ** 2).sum(axis=1), 1, rtol=1e-5)
    part = model.parts_[-1]
    rows = frame[(frame["part"] == len(model.parts_) - 1) & (frame["particle"] == 3)]
    inputs = np.ones(part.posterior.normals.shape[2])
    features = np.maximum(rows.filter(like="normal[").to_numpy() @ inputs - rows["offset"], 0)
    intercept = model.to_frame().query(f"part == {len(model.parts_) - 1} and particle == 3")["intercept"].item()
    posterior = part.posterior
    planes = np.maximum(posterior.normals[3] @ inputs - posterior.offsets[3], 0)
    expected = posterior.coefficients[3, 0] + posterior.coefficients[3, 1:] @ planes
    assert intercept + features @ rows["coefficient"] == pytest.approx(expected, rel=1e-5)


def test_wrong_settings_are_named():
    model = hyperplanes.load(PLAIN)
    with pytest.raises(ValueError, match="of must be one of 'particles', 'hyperplanes'"):
        model.to_frame("rows")
    with pytest.raises(ValueError, match="n_draws must be at least 1"):
        model.to_arviz(n_draws=0)


@pytest.mark.parametrize(("module", "extra"), [("arviz_base", "arviz"), ("xarray", "arviz"), ("pandas", "parquet")])
def test_what_is_not_installed_is_named(module, extra, monkeypatch):
    model = hyperplanes.load(PLAIN)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'pip install "hyperplanes\[{extra}\]"'):
        model.to_frame() if module == "pandas" else model.to_arviz()
