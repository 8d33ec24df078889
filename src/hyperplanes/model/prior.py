"""The prior: a process of hyperplanes, Gaussian coefficients and an inverse gamma noise variance."""

from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jax.typing import DTypeLike
from numpy.typing import NDArray

from hyperplanes.process import from_white, normal_quantiles, uniforms

N_CANDIDATES = 16
TINY = 1e-300
MAY_BE_ZERO = ("coefficient_shape", "intercept_variance", "linear_variance", "reach")
USUAL_ATTENTION = 4
"""Columns that a hyperplane attends to on average where there are many."""
MOST_FEW, MOST_MANY = 0.5, 2.0
"""Of the share of hyperplanes that attend to a column: the largest first parameter, up to 16 columns, and the largest
second one, from there on."""
DEVIATIONS = 2.5
"""A hyperplane comes near the data where it is within as many standard deviations of their mean."""
FAR = 16.0
"""How far before the mean of the inputs the hyperplanes of a linear term lie. Inputs, which are compressed, come as far
500 standard deviations below their mean. Farther out, features would lose digits to rounding. Inputs of a prior whose
`reach` is given are in [-1, 1] and not compressed: beyond `FAR` the line ends there."""
LEAST_NOISE = 1e-10
"""sigma^2 below which the rounding of float32 features passes for noise, see `above_rounding`."""
LOG_VARIANCES = (-30.0, 230.0)
"""Bounds of log sigma^2, for the sake of draws that are next to impossible: below 1e-13 nothing can be told from
rounding, above 1e100 sums overflow."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Prior:
    """Hyperparameters, for standardised inputs and response, chosen by measurement: see docs/no-tuning.md.

    ``n ~ u / |u|`` with ``u ~ N(0, scales^2)``, ``mu ~ Uniform(lowest, 1) * support(n)``, ``w ~ N(mean, variance I)``,
    ``sigma^2 ~ IG(shape, scale)``. The number of hyperplanes is given, or Poisson with a gamma distributed intensity.
    """

    coefficient_mean: float = 0.0
    """mu_0 of the paper."""
    coefficient_variance: float | jax.Array = 10.0
    """sigma_0^2 of the paper; where `coefficient_shape` is positive, the scale of its own prior."""
    coefficient_shape: float = 0.5
    """Where positive, sigma_0^2 is unknown too: with an intensity of Lambda hyperplanes,
    Lambda sigma_0^2 ~ IG(coefficient_shape, coefficient_shape * coefficient_variance), so that the function varies as
    much whatever their number."""
    intercept_variance: float = 10.0
    """Of the intercept alone; 0 means that of the coefficients."""
    linear_variance: float | tuple[float, ...] = field(default=0.0, metadata={"static": True})
    """Of the slopes of a linear term, for standardised inputs; 0 means none. A prior that is laid out for some inputs
    has one for each column, see `lay_out_linear_term`. Programs are compiled for it: without a linear term they know
    nothing of one."""
    noise_shape: float = 1.0
    """a_0 of the paper."""
    noise_scale: float = 0.01
    """b_0 of the paper."""
    reach: float | jax.Array = 0.0
    """Largest offset l, the radius of a ball about the origin. 0 means hyperplanes that come near the data: the window
    is the ellipsoid of `DEVIATIONS` standard deviations about their mean."""
    lowest_offset: float = -1.0
    """Lowest offset in units of the largest: 0 for hyperplanes that face outward, -1 for those that face both ways."""
    number_mean: float = 20.0
    """Mean number of hyperplanes, where it is unknown."""
    number_shape: float = 1.0
    """Shape of the gamma distribution of the intensity; the smaller, the wider."""

    inattention: float = 0.003
    """Directions have components N(0, 1), before they are normalised, in columns that a hyperplane attends to, and
    components N(0, inattention^2) in the others. The share of hyperplanes that attend to a column has a beta
    distribution, see `_attention_shapes`: on average they attend to some `USUAL_ATTENTION` columns or half of them.
    Where this is 1, all columns are alike."""

    def check(self) -> None:
        """Raise an error that names what is wrong."""
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(f"prior.{setting.name} must be a number, got {value!r}")
            if not np.isfinite(float(value)):
                raise ValueError(f"prior.{setting.name} must be finite, got {value}")
            if setting.name in MAY_BE_ZERO and value < 0:
                raise ValueError(f"prior.{setting.name} must not be negative, got {value}")
            if setting.name not in (*MAY_BE_ZERO, "coefficient_mean", "lowest_offset") and value <= 0:
                raise ValueError(f"prior.{setting.name} must be positive, got {value}")
        if not -1 <= self.lowest_offset < 1:
            raise ValueError(f"prior.lowest_offset must be at least -1 and less than 1, got {self.lowest_offset}")
        if self.inattention > 1:
            raise ValueError(f"prior.inattention must be at most 1, got {self.inattention}")

    @property
    def is_plain(self) -> bool:
        """Whether coefficients have a known variance, the same for the intercept, and all columns are alike."""
        scales = self.coefficient_shape, self.intercept_variance, self.linear_variance, self.inattention
        return scales == (0, 0, 0, 1) and bool(self.reach)

    @property
    def n_permanent(self) -> int:
        """Number of permanent places, one for each column where there is a linear term: static in traced code."""
        return len(self.linear_variance) if isinstance(self.linear_variance, tuple) else 0

    def given(self, particle: "Particle") -> "Prior":
        """The prior once the variance of a particle's coefficients is known."""
        return replace(self, coefficient_variance=particle.coefficient_variance)

    def scales(self, attends: jax.Array) -> jax.Array:
        """Standard deviations of the components of directions."""
        return jnp.where(attends, 1.0, self.inattention)

    def log_number(self, largest: int) -> jax.Array:
        """Log probabilities of 0, 1, ..., `largest` hyperplanes, with the intensity integrated out."""
        n = jnp.arange(float(largest + 1))
        shape, share = self.number_shape, self.number_mean / (self.number_shape + self.number_mean)
        log_choices = gammaln(shape + n) - gammaln(n + 1) - gammaln(shape)
        return log_choices + n * jnp.log(share) + shape * jnp.log1p(-share)


def lay_out_linear_term(prior: Prior, n_columns: int) -> Prior:
    """The prior with a variance for the slope of each column, where there is a linear term.

    A hyperplane that all rows are beyond is linear: relu(x_k + `FAR`) = x_k + `FAR`. So a linear term is a permanent
    place for each column, before all other places, whose hyperplane never moves. Only its coefficient is unknown.
    """
    if isinstance(prior.linear_variance, tuple) or prior.linear_variance == 0:
        return prior
    return replace(prior, linear_variance=n_columns * (float(prior.linear_variance),))


def paper_prior(n_columns: int) -> Prior:
    """The paper's form, for inputs in [-1, 1]^p: hyperplanes that hit the ball around them and face outward."""
    return Prior(
        coefficient_variance=10.0,
        coefficient_shape=0.0,
        intercept_variance=0.0,
        reach=float(np.sqrt(n_columns)),
        lowest_offset=0.0,
        inattention=1.0,
    )


def spread_prior(prior: Prior) -> Prior:
    """Of the network of the log standard deviation of the noise, beside one of the response: see docs/noise.md.

    It has tails of its own: a log standard deviation hardly varies by more than a few units.
    """
    return replace(
        prior,
        coefficient_mean=0.0,
        coefficient_variance=1.0,
        coefficient_shape=3.0,
        intercept_variance=4.0,
        linear_variance=0.0,
        number_mean=5.0,
        number_shape=1.0,
    )


def above_rounding(prior: Prior, n_rows: float) -> Prior:
    """The prior with a scale of sigma^2 such that a perfect fit of `n_rows` rows shows `LEAST_NOISE` or more.

    A bound of sigma^2 itself would not be a prior: draws held within it have no density that weights could know of.
    Features of a linear term are as large as `FAR`, and so are their rounding errors.
    """
    least = LEAST_NOISE * (1 + FAR**2 if prior.n_permanent else 1)
    return replace(prior, noise_scale=max(prior.noise_scale, least * (prior.noise_shape + n_rows / 2)))


class Particle(NamedTuple):
    """One draw of everything that is unknown. Leading axes count particles."""

    normals: jax.Array
    """(..., m, p) unit vectors; zero for a place that no hyperplane takes."""
    offsets: jax.Array
    """(..., m) signed distances from the origin."""
    coefficients: jax.Array
    """(..., m + 1) output layer, intercept first, float64."""
    noise_variance: jax.Array
    """(...,) sigma^2, float64."""
    coefficient_variance: jax.Array
    """(...,) variance of the prior of the coefficients, float64."""
    intensity: jax.Array
    """(...,) expected number of hyperplanes, float64; their number where it is known."""
    attends: jax.Array
    """(..., m, p) whether each hyperplane attends to each column."""


OF_EACH_PLACE = ("normals", "offsets", "coefficients", "attends")
"""Fields of `Particle` with an entry for each place of a hyperplane."""


def is_present(normals: jax.Array) -> jax.Array:
    """Which places (..., m) are taken by a hyperplane."""
    return jnp.any(normals != 0, axis=-1)


def of_process(normals: jax.Array, prior: Prior) -> jax.Array:
    """Which places (m,) are taken by a hyperplane of the process: permanent ones are not."""
    present = is_present(normals)
    return present & (np.arange(len(normals)) >= prior.n_permanent) if prior.n_permanent else present


def with_places(particle: Particle, n_places: int) -> Particle:
    """Particles with places for `n_places` hyperplanes, of which the new ones are empty."""
    n_more, place = n_places - particle.offsets.shape[-1], particle.offsets.ndim - 1

    def pad(leaf: jax.Array) -> jax.Array:
        return jnp.pad(leaf, [(0, n_more if axis == place else 0) for axis in range(leaf.ndim)])

    return particle._replace(**{name: pad(getattr(particle, name)) for name in OF_EACH_PLACE})


def draw_prior(
    key: jax.Array,
    prior: Prior,
    n_places: int,
    n_columns: int,
    dtype: DTypeLike,
    *,
    unknown_number: bool = False,
) -> Particle:
    """Draw one particle from the prior.

    Parameters
    ----------
    key, prior, n_columns, dtype
        Random key, hyperparameters, number of inputs, type of the hyperplanes.
    n_places : int
        Places for hyperplanes, to which the permanent ones of a linear term are added.
    unknown_number : bool
        Whether the number of hyperplanes is random; otherwise every place is taken.
    """
    key_white, key_noise, key_scales, key_number, key_attends = jax.random.split(key, 5)
    n_white = n_places * (n_columns + 1)
    white = normal_quantiles(uniforms(key_white, (n_white + n_places + 1,)))
    draws = uniforms(key_attends, (n_places + 1, n_columns))
    few, many = _attention_shapes(n_columns)
    in_favour = 0.5 * normal_quantiles(draws[0]) ** 2  # a gamma of shape 1/2
    if few < MOST_FEW:
        in_favour = _draw_gammas(jax.random.fold_in(key_attends, 1), few, n_columns)
    against = _draw_gammas(jax.random.fold_in(key_attends, 0), many, n_columns)
    attends = draws[1:] < in_favour / (in_favour + against)
    white_planes = white[:n_white].reshape(n_places, n_columns + 1)
    planes = from_white(white_planes, prior.reach, prior.lowest_offset, prior.scales(attends))
    present = jnp.ones(n_places, dtype=bool)
    if unknown_number:
        log_totals = jax.lax.cumlogsumexp(prior.log_number(n_places))
        draws = uniforms(key_number, (n_places + 1,))
        number = jnp.searchsorted(log_totals, log_totals[-1] + jnp.log(draws[-1]))
        present = jnp.sum(draws[:-1] < draws[:-1, None], axis=1) < number  # any places, each set as likely
    intensity, variance = draw_scales(key_scales, None, present, jnp.array(1.0), prior, unknown_number)
    without_slopes = replace(prior, coefficient_variance=variance, linear_variance=0.0)
    spreads = jnp.sqrt(coefficient_variances(n_places, without_slopes))
    coefficients = prior.coefficient_mean + spreads * white[n_white:]
    particle = Particle(
        normals=jnp.where(present[:, None], planes.normals, 0).astype(dtype),
        offsets=jnp.where(present, planes.offsets, 0).astype(dtype),
        coefficients=jnp.where(jnp.append(True, present), coefficients, 0.0),
        noise_variance=draw_inverse_gamma(key_noise, prior.noise_shape, prior.noise_scale),
        coefficient_variance=variance,
        intensity=intensity,
        attends=attends,
    )
    if not prior.n_permanent:
        return particle
    key_slopes = jax.random.fold_in(key_number, 0)  # folded into `key` itself it is one of those that were split off
    return _with_linear_term(key_slopes, particle, prior)


def _draw_gammas(key: jax.Array, shape: float, number: int) -> jax.Array:
    return jax.vmap(lambda key: 1 / draw_inverse_gamma(key, shape, 1.0))(jax.random.split(key, number))


def _with_linear_term(key: jax.Array, particle: Particle, prior: Prior) -> Particle:
    """A particle with hyperplanes in permanent places, whose intercept is the level until then."""
    n = prior.n_permanent
    slopes = np.sqrt(np.array(prior.linear_variance)) * normal_quantiles(uniforms(key, (n,)))
    level, units = particle.coefficients[:1], particle.coefficients[1:]
    return particle._replace(
        normals=jnp.concatenate([jnp.eye(n, dtype=particle.normals.dtype), particle.normals]),
        offsets=jnp.concatenate([jnp.full(n, -FAR, dtype=particle.offsets.dtype), particle.offsets]),
        coefficients=jnp.concatenate([level - FAR * slopes.sum(), slopes, units]),
        attends=jnp.concatenate([jnp.zeros((n, n), dtype=bool), particle.attends]),
    )


def coefficient_variances(n_places: int, prior: Prior) -> jax.Array:
    """Variance of each coefficient, that of the level in place of the intercept first: (n_places + 1,)."""
    each = jnp.full(n_places + 1, prior.coefficient_variance)
    each = each.at[0].set(jnp.where(jnp.asarray(prior.intercept_variance) > 0, prior.intercept_variance, each[0]))
    return each.at[1 : prior.n_permanent + 1].set(jnp.array(prior.linear_variance)) if prior.n_permanent else each


def coefficient_means(n_places: int, prior: Prior) -> jax.Array | NDArray[np.float64] | float:
    """Mean of each coefficient, or of all of them; slopes of a linear term have mean 0."""
    if not prior.n_permanent:
        return prior.coefficient_mean
    place = np.arange(n_places + 1)
    each: jax.Array = prior.coefficient_mean * ((place == 0) | (place > prior.n_permanent)).astype(np.float64)
    return each


def levels(n_places: int, prior: Prior) -> NDArray[np.float64]:
    """What each coefficient adds to the level, intercept first: (n_places + 1,).

    The level is the value of intercept and linear term together where the inputs are zero. The prior of the intercept
    is that of the level. Were it of the intercept itself, slopes would be small, or the function far from zero.
    """
    each = np.zeros(n_places + 1)
    each[0], each[1 : prior.n_permanent + 1] = 1.0, FAR
    return each


def draw_scales(
    key: jax.Array,
    coefficients: jax.Array | None,
    present: jax.Array,
    intensity: jax.Array,
    prior: Prior,
    unknown_number: bool,
) -> tuple[jax.Array, jax.Array]:
    """Draw the total variance of the coefficients given the intensity, then the intensity given it and their number.

    Returns the intensity and the variance of one coefficient. Only coefficients of places that are `present` count,
    and the level where the intercept has no variance of its own; without coefficients it is a draw from the prior.
    """
    key_total, key_intensity = jax.random.split(key)
    counts, deviations = jnp.zeros(1, dtype=bool), jnp.zeros(1)
    if coefficients is not None:
        if prior.n_permanent:
            coefficients = coefficients.at[0].set(levels(len(present), prior) @ coefficients)
        counts = jnp.append(jnp.asarray(prior.intercept_variance) == 0, present)
        deviations = jnp.where(counts, coefficients - prior.coefficient_mean, 0.0)
    n_counted, squares = counts.sum(), deviations @ deviations
    known = jnp.asarray(prior.coefficient_shape) == 0
    shape = jnp.where(known, 1.0, prior.coefficient_shape)
    scale = shape * prior.coefficient_variance + 0.5 * intensity * squares
    total = draw_inverse_gamma(key_total, shape + 0.5 * n_counted, scale)
    number = present.sum()
    if unknown_number:
        half = jnp.where(known, 0.0, 0.5)
        rate = prior.number_shape / prior.number_mean + 1 + half * squares / total
        intensity = 1 / draw_inverse_gamma(key_intensity, prior.number_shape + number + half * n_counted, rate)
    else:
        intensity = jnp.maximum(number, 1).astype(float)
    return intensity, jnp.where(known, prior.coefficient_variance, total / intensity)


def attention(n_attending: jax.Array, n_others: jax.Array) -> jax.Array:
    """Probability that a hyperplane attends to each column (p,), to which `n_attending` of `n_others` others attend."""
    few, many = _attention_shapes(len(n_attending))
    return (few + n_attending) / (few + many + n_others)


def _attention_shapes(n_columns: int) -> tuple[float, float]:
    """Parameters (a, b) of the beta distribution of the share of hyperplanes that attend to a column.

    A hyperplane attends to nearly `USUAL_ATTENTION` of many columns on average. Beyond 16 of them a falls and b stays,
    as in the Indian buffet process: what one hyperplane attends to others are likely to, and the rest they leave alone.
    """
    few = min(MOST_FEW, MOST_MANY * USUAL_ATTENTION / n_columns)
    return few, few * max(1.0, n_columns / USUAL_ATTENTION)


def draw_attention(key: jax.Array, particle: Particle, prior: Prior) -> jax.Array:
    """Draw which columns each hyperplane attends to, given the hyperplanes: (m, p).

    The lengths that directions had before they were normalised are auxiliary variables.
    """
    key_lengths, key_attends = jax.random.split(key)
    normals, present = particle.normals.astype(float), of_process(particle.normals, prior)
    white = normal_quantiles(uniforms(key_lengths, normals.shape))
    shrunk = jnp.sum((normals / prior.scales(particle.attends)) ** 2, axis=1)
    lengths = jnp.sum(white**2, axis=1) / jnp.where(present, shrunk, 1.0)
    squares = lengths[:, None] * normals**2
    log_odds = jnp.log(prior.inattention) + 0.5 * squares * (1 / jnp.asarray(prior.inattention) ** 2 - 1)
    counted = jnp.where(present[:, None], particle.attends, False)

    def draw_one(n_attending: jax.Array, unit: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        draws, log_odds, old, is_there = unit
        share = attention(n_attending - old, present.sum() - is_there)
        new = is_there & (jnp.log(1 / draws - 1) < log_odds + jnp.log(share / (1 - share)))
        return n_attending - old + new, new

    units = (uniforms(key_attends, normals.shape), log_odds, counted, present)
    attends: jax.Array = jax.lax.scan(draw_one, counted.sum(axis=0), units)[1]
    return attends


def draw_inverse_gamma(key: jax.Array, shape: jax.Array | float, scale: jax.Array | float) -> jax.Array:
    """Draw from IG(shape, scale), held within `LOG_VARIANCES`.

    Marsaglia & Tsang's rejection for a gamma of shape + 1, with all its candidates drawn at once: each is accepted with
    probability 0.95 or more, so that none is only once in 10^20 draws. A loop until acceptance takes seconds to
    compile.
    """
    draws = uniforms(key, (2 * N_CANDIDATES + 1,))
    white, heights = normal_quantiles(draws[:N_CANDIDATES]), draws[N_CANDIDATES:-1]
    d = shape + 2 / 3
    cube = jnp.maximum(1 + white / (3 * jnp.sqrt(d)), 0) ** 3
    log_bound = 0.5 * white**2 + d * (1 - cube + jnp.log(jnp.maximum(cube, TINY)))
    accepted = (cube > 0) & (jnp.log(heights) < log_bound)
    log_gamma = jnp.log(d * cube[jnp.argmax(accepted)]) + jnp.log(draws[-1]) / shape
    return jnp.exp(jnp.clip(jnp.log(scale) - log_gamma, *LOG_VARIANCES))
