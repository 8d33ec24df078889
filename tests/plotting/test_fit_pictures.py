from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import cbook

import hyperplanes
import small_fits
from golden_models import FOLDER
from hyperplanes import Prior
from hyperplanes.model import draw_prior
from hyperplanes.plotting import (
    new_figure,
    plot_annealing,
    plot_fit,
    plot_hyperplanes,
    plot_number,
    plot_prior_and_posterior,
    plot_slice,
    plot_surface,
    unknowns_of,
)
from hyperplanes.plotting.canvas import LONGEST_NAME, plain
from hyperplanes.plotting.inference import prior_and_posterior
from hyperplanes.programs import QUICK_TO_COMPILE


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_bars_of_the_number_are_its_posterior(ax):
    model = small_fits.unknown_number().model
    assert plot_number(model, ax) is ax
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
    for number, probability in enumerate(model.n_hyperplanes_.probabilities):
        assert bars.get(number, 0.0) == pytest.approx(probability, abs=1e-6)


def test_the_annealing_trace_shows_four_shares_over_steps(ax):
    model = small_fits.plain().model
    plt.sca(ax)
    assert plot_annealing(model) is ax
    trace, n_particles = model.posterior_.trace, len(model.posterior_.log_weights)
    expected = [trace.exponent, trace.ess / n_particles, trace.acceptance, trace.n_ancestors / n_particles]
    for line, values in zip(ax.lines, expected, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(1)


def test_parts_are_chosen_by_number(ax):
    model = hyperplanes.load(FOLDER / "domain.safetensors")
    plot_annealing(model, ax, part=1)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.parts_[1].posterior.trace.exponent)
    with pytest.raises(ValueError, match="part must be from 0 to 1, got 2"):
        plot_annealing(model, ax, part=2)


@pytest.mark.parametrize("unknown", ["noise", "coefficients", "intensity"])
def test_densities_of_prior_and_posterior_have_mass_one(ax, unknown):
    model = small_fits.unknown_number().model
    assert unknown in unknowns_of(model)
    assert plot_prior_and_posterior(model, unknown, ax) is ax
    prior, posterior = ax.lines
    masses = [np.trapezoid(line.get_ydata(), np.log(line.get_xdata())) for line in (prior, posterior)]
    assert masses[1] == pytest.approx(1, abs=0.03)
    assert 0.9 < masses[0] < 1.01


def test_noise_is_drawn_in_units_of_the_response():
    model = small_fits.unknown_number().model
    draws = prior_and_posterior(model, "noise")
    assert np.sqrt(np.average(draws.posterior**2, weights=draws.weights)) == pytest.approx(
        model.diagnostics_.noise_std, rel=1e-6
    )


@partial(jax.jit, compiler_options=QUICK_TO_COMPILE)
def draw_priors(keys):
    return jax.vmap(lambda key: draw_prior(key, Prior(), 150, 1, jnp.float32, unknown_number=True))(keys)


@pytest.mark.parametrize("unknown", ["noise", "coefficients", "intensity"])
def test_draws_from_the_prior_are_those_of_the_model(unknown):
    drawn = prior_and_posterior(small_fits.unknown_number().model, unknown).prior
    scale = float(small_fits.unknown_number().model.response_scaler_.scale_) if unknown == "noise" else 1.0
    with jax.enable_x64(True):
        particles = draw_priors(jax.random.split(jax.random.key(0), 4000))
    expected = {
        "noise": scale * np.sqrt(particles.noise_variance),
        "coefficients": np.sqrt(particles.coefficient_variance),
        "intensity": np.asarray(particles.intensity),
    }[unknown]
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    np.testing.assert_allclose(np.quantile(drawn, levels), np.quantile(expected, levels), rtol=0.17)


def test_scales_that_are_known_or_vary_are_refused_with_the_reason(ax):
    with pytest.raises(ValueError, match="the number of hyperplanes was given"):
        plot_prior_and_posterior(small_fits.plain().model, "intensity", ax)
    with pytest.raises(ValueError, match="classes have no noise"):
        plot_prior_and_posterior(small_fits.two_classes().model, "noise", ax)
    with pytest.raises(ValueError, match="it varies"):
        plot_prior_and_posterior(small_fits.varying().model, ax=ax)
    with pytest.raises(ValueError, match="the prior fixes it"):
        plot_prior_and_posterior(hyperplanes.load(FOLDER / "paper.safetensors"), "coefficients", ax)
    with pytest.raises(ValueError, match="unknown must be one of 'noise', 'coefficients', 'intensity', got 'x'"):
        plot_prior_and_posterior(small_fits.plain().model, "x", ax)
    assert unknowns_of(small_fits.plain().model) == ("noise", "coefficients")


def test_surface_of_a_classifier_is_a_probability(ax):
    model = small_fits.two_classes().model
    plot_surface(model, ax, n_grid=6)
    plot_surface(model, ax, n_grid=6, label="_low")
    plot_surface(model, ax, n_grid=6, uncertainty=True, coverage=0.9)
    low, second, doubt = (np.asarray(ax.images[k].get_array()) for k in (1, 0, 2))
    if model.classes_[1] == "_low":
        np.testing.assert_allclose(low, second)
    else:
        np.testing.assert_allclose(low + second, 1)
    assert ax.images[0].get_clim() == (0, 1)
    assert (doubt > 0).any()
    assert (doubt <= 0.5).all()


def test_surface_of_several_classes_needs_one_of_them(ax):
    model = small_fits.three_classes().model
    with pytest.raises(ValueError, match="say which with label"):
        plot_surface(model, ax, n_grid=4)
    plot_surface(model, ax, n_grid=4, label=2)


def test_slice_of_a_classifier_is_a_probability_with_its_interval(ax):
    model, X, y = small_fits.two_classes()
    assert plot_slice(model, ax, at=0.1, data=(X, y), n_points=7, coverage=0.8) is ax
    assert ax.get_legend_handles_labels()[1] == ["80% band of the probability", "data near the cut", "predicted mean"]
    points = np.column_stack([ax.lines[0].get_xdata(), np.full(7, 0.1)])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.predict_proba(points)[:, 1])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    interval = model.predict_interval(points, 0.8)[:, 1]
    assert (band.min(), band.max()) == pytest.approx((interval.min(), interval.max()))
    near = np.abs(X[:, 1] - 0.1) <= np.ptp(X[:, 1]) / 40
    np.testing.assert_array_equal(ax.collections[1].get_offsets()[:, 1], (y == model.classes_[1])[near])
    assert ax.get_ylabel().startswith("probability of ")


def test_slice_of_several_classes_needs_one_of_them(ax):
    model = small_fits.three_classes().model
    with pytest.raises(ValueError, match="say which with label"):
        plot_slice(model, ax)
    plot_slice(model, ax, label=2, n_points=5)
    points = np.column_stack([ax.lines[0].get_xdata(), np.full(5, model.input_range_[:, 1].mean())])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.predict_proba(points)[:, 2])


def test_fit_of_classes_at_a_glance():
    figure = plot_fit(*small_fits.two_classes(), figure=new_figure())
    data, found, *_ = figure.axes
    y = small_fits.two_classes().y == small_fits.two_classes().model.classes_[1]
    np.testing.assert_array_equal(data.collections[0].get_array(), y)
    assert found.images[0].get_clim() == (0, 1)
    assert len(figure.axes) == 6
    with pytest.raises(ValueError, match="say which with label"):
        plot_fit(*small_fits.three_classes(), figure=new_figure())
    several = plot_fit(*small_fits.three_classes(), label=0, figure=new_figure())
    assert "probability of 0" in [axes.get_xlabel() for axes in several.axes]


def test_fit_of_text_is_refused_before_it_is_read():
    with pytest.raises(ValueError, match="model of 2 inputs, both of numbers, got one of 3"):
        plot_fit(*small_fits.plain())


def test_hyperplanes_of_all_classes_are_drawn(ax):
    plot_hyperplanes(small_fits.three_classes().model, ax, n_sets=10)
    three = len(ax.collections[0].get_segments())
    posterior = small_fits.three_classes().model.posterior_
    assert len(posterior.others) == 2
    assert three > 10 * posterior.normals.shape[1]


@given(st.text())
def test_names_are_never_formulas(name):
    shown = plain(name)
    assert not cbook.is_math_text(shown)
    assert len(shown.replace(r"\$", "$")) <= LONGEST_NAME
    assert shown.replace(r"\$", "$").isprintable()
