"""What the evidence lacks because the particles lag behind the exponent."""

from collections.abc import Sequence

import numpy as np

from hyperplanes.smc.weights import Floats

LARGEST = 1e100
"""Log increments whose squares are still numbers."""


def measure_lag(before: Floats, after: Floats, weights: Floats, n_taken: int) -> tuple[float, float]:
    """Estimate from the moves of one step what the log evidence lacks, and the variance of that.

    Moves that leave the target invariant do not change the mean of any function of particles that represent it. Where
    that of the log increments rises, the particles had missed a part of the target, and the evidence with them: half of
    the rise in this step, which began after other moves and ended before these, and all of it in those steps before in
    which it had been missing already. If a share rho of a lag outlasts the moves of a step, that is rho^k of it for k
    steps. Lags fade like deviations of single particles, so that rho is the correlation of the log increments before
    and after the moves.

    Parameters
    ----------
    before, after : (n_particles,)
        Log increments over the step of the particles that are moved, before and after the moves. Particles of which one
        is not a number, or larger than `LARGEST`, do not count.
    weights : (n_particles,)
        Normalised weights of these particles. Where one has nearly all the weight its luck counts as lag: resample
        first.
    n_taken : int
        Steps taken before.
    """
    counts = (np.abs(before) < LARGEST) & (np.abs(after) < LARGEST) & (weights > 0)
    if not counts.any():
        return 0.0, 0.0
    shares = weights[counts] / weights[counts].sum()
    first, second = before[counts], after[counts]
    rise = float(shares @ (second - first))
    first, second = first - shares @ first, second - shares @ second
    variances = float(shares @ first**2), float(shares @ second**2)
    spread = np.sqrt(variances[0] * variances[1])
    rho = float(shares @ (first * second) / spread) if spread > 0 else 0.0
    n_missing = 0.5 + float(np.sum(rho ** np.arange(1, n_taken + 1)))
    return n_missing * rise, n_missing**2 * variances[1] * max(1 - rho**2, 0.0) * float(shares @ shares)


def squared_bias(lags: Sequence[float], variances: Sequence[float]) -> float:
    """Estimate the squared bias of the log evidence from what it lacks by each step, and the variances of that.

    Particles come from lower exponents, where likelihoods are lower, and can only lag behind: the sum counts where it
    is positive, and its square by how much it exceeds its variance.
    """
    return max(max(sum(lags), 0.0) ** 2 - sum(variances), 0.0)
