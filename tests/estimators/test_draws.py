import sys
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

import hyperplanes
import small_fits
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


def test_noise_of_rows_has_its_tails_where_parts_differ():
    model = small_fits.with_noise(hyperplanes.load(FOLDER / "domain.safetensors"), ["varying", "student"])
    tree, (_, std) = model.to_arviz(ROWS, n_draws=20_000, random_state=0), model.predict(ROWS, return_std=True)
    means, noise = values(tree, "posterior", "mean"), values(tree, "posterior", "noise_std")
    np.testing.assert_allclose(np.sqrt(np.mean(noise**2, axis=0) + means.var(axis=0)), std, rtol=0.02)


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


@pytest.fixture(scope="module", params=["two classes", "three classes", "parts"])
def of_classes(request):
    """A classifier, rows and labels."""
    if request.param == "parts":
        model = small_fits.classes_of("domain")
        return small_fits.Fit(model, ROWS, np.resize(model.classes_, len(ROWS)))
    return (small_fits.two_classes if request.param == "two classes" else small_fits.three_classes)()


def test_groups_of_classes_are_those_that_the_data_allow(of_classes):
    model, X, y = of_classes
    alone = {"posterior", "sample_stats", "hyperplanes", "annealing"}
    assert set(model.to_arviz().children) == alone
    assert set(model.to_arviz(X).children) == alone | {"posterior_predictive", "constant_data"}
    tree = model.to_arviz(X, y)
    assert set(tree.children) == alone | {"posterior_predictive", "constant_data", "log_likelihood", "observed_data"}
    assert tree.attrs["log_evidence"] == model.log_evidence_
    assert tree["posterior"]["label"].to_numpy().tolist() == model.classes_.tolist()
    assert "noise_std" not in tree["posterior"]
    assert model.classes_[tree["observed_data"]["y"].to_numpy()].tolist() == np.asarray(y).tolist()


def test_many_draws_have_the_probabilities_of_the_weighted_particles(of_classes):
    model, X, y = of_classes
    tree = model.to_arviz(X[:10], y[:10], n_draws=20_000, random_state=0)
    expected = model.predict_proba(X[:10])
    np.testing.assert_allclose(values(tree, "posterior", "probability").mean(axis=0), expected, atol=0.02)
    drawn = values(tree, "posterior_predictive", "y")
    shares = np.stack([np.mean(drawn == k, axis=0) for k in range(len(model.classes_))], axis=1)
    np.testing.assert_allclose(shares, expected, atol=0.03)
    density = values(tree, "log_likelihood", "y")
    own = np.exp(model.log_predictive_density(X[:10], y[:10]))
    np.testing.assert_allclose(np.exp(density).mean(axis=0), own, atol=0.02)


def test_summaries_of_classes_work(of_classes):
    model, X, y = of_classes
    tree = model.to_arviz(X, y)
    table = stats.summary(tree, var_names=["n_hyperplanes"], round_to="none")
    assert float(table["mean"].astype(float).sum()) == pytest.approx(model.n_hyperplanes_.mean, rel=0.2)


@pytest.mark.parametrize("fit", [small_fits.two_classes, small_fits.three_classes])
def test_leave_one_out_of_classes_works(fit):
    model, X, y = fit()
    model = clone(model).set_params(n_particles=200).fit(X, y)
    loo = stats.loo(model.to_arviz(X, y))
    assert np.isfinite(loo.elpd)
    assert loo.elpd < model.log_predictive_density(X, y).sum()


def test_plots_of_arviz_work_for_classes(plots):
    tree = small_fits.three_classes().model.to_arviz(*small_fits.three_classes()[1:])
    assert plots.plot_forest(tree, var_names=["n_hyperplanes"], backend="matplotlib").viz is not None


def network_value(offsets, normals, coefficients, intercept, inputs):
    return intercept + np.maximum(normals @ inputs - offsets, 0) @ coefficients


def test_hyperplanes_of_classes_are_those_of_their_networks(of_classes):
    """The networks in the tree and in the frames, and those of the posterior, have the same values at a point."""
    model = of_classes.model
    tree, frame, particles = model.to_arviz(), model.to_frame("hyperplanes"), model.to_frame()
    planes, chosen = tree["hyperplanes"], tree["sample_stats"]["particle"].to_numpy()[0]
    number = len(model.parts_) - 1
    posterior = model.parts_[number].posterior
    networks = (posterior, *posterior.others)
    labels = model.classes_[-len(networks) :]
    particle = int(chosen.reshape(len(chosen), -1)[3, number])
    inputs = np.linspace(-1, 1, posterior.normals.shape[2])
    particles = particles[(particles["part"] == number) & (particles["particle"] == particle)]
    for network, label in zip(networks, labels, strict=True):
        fields = (network.offsets, network.normals, network.coefficients[:, 1:], network.coefficients[:, 0])
        expected = network_value(*(field[particle] for field in fields), inputs)
        rows = frame[(frame["part"] == number) & (frame["particle"] == particle) & (frame["class"] == label)]
        intercept = particles["intercept" if len(networks) == 1 else f"intercept[{label}]"].item()
        normals = rows.filter(like="normal[").to_numpy()
        found = network_value(rows["offset"], normals, rows["coefficient"], intercept, inputs)
        assert found == pytest.approx(expected, rel=1e-5)
        here = planes["part_of"].to_numpy() == number
        intercepts = planes["intercept"].to_numpy()[0, 3, number]
        if len(networks) > 1:
            here &= planes["network_of"].to_numpy() == label
            intercepts = intercepts[planes["network"].to_numpy().tolist().index(label)]
        offsets, normals, coefficients = (
            planes[name].to_numpy()[0, 3][here] for name in ("offsets", "normals", "coefficients")
        )
        assert network_value(offsets, normals, coefficients, intercepts, inputs) == pytest.approx(expected, rel=1e-5)


def test_numbers_of_hyperplanes_of_classes_add_up(of_classes):
    model = of_classes.model
    frame = model.to_frame()
    np.testing.assert_allclose(frame.groupby("part")["weight"].sum(), 1)
    assert (frame["weight"] * frame["n_hyperplanes"]).sum() == pytest.approx(model.n_hyperplanes_.mean, rel=1e-6)
    assert "noise_std" not in frame
    numbers = values(model.to_arviz(n_draws=2000), "posterior", "n_hyperplanes").reshape(2000, -1)
    assert numbers.shape[1] == (1 if len(model.classes_) == 2 else len(model.classes_))
    assert numbers.sum(axis=1).mean() == pytest.approx(model.n_hyperplanes_.mean, rel=0.01)
    columns = values(model.to_arviz(), "posterior", "n_attending")
    assert columns.shape[-1] == model.input_range_.shape[1]


def test_labels_that_were_not_in_training_are_refused():
    model, X, _ = small_fits.two_classes()
    with pytest.raises(ValueError, match="not in training: 'new'"):
        model.to_arviz(X[:2], ["_low", "new"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.to_arviz(X[:2], ["_low"])


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
