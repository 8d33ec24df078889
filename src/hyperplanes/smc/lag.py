"""What the evidence lacks because the particles lag behind the exponent."""

from collections.abc import Sequence

import numpy as np

from hyperplanes.smc.weights import Floats


def measure_lag(before: Floats, after: Floats, weights: Floats) -> tuple[float, float]:
    """Estimate from the moves of one step what the log evidence lacks, and the variance of that.

    Moves that leave the target invariant do not change the mean of any function of particles that represent it. Where
    that of the log increments rises, the particles had missed a part of the target, and the evidence with them. If
    moves bring the particles nearer to it by a factor rho, a rise c made up for a part of a lag of c / (1 - rho), and
    rho c / (1 - rho) is left. The evidence lacks the mean of the two: a step weighs from an exponent where particles
    have just been moved to one where they have not yet. Where lags fade, log increments that were large or small
    become average as fast, so that rho is their correlation before and after the moves.

    Parameters
    ----------
    before, after : (n_particles,)
        Log increments over the step of the particles that are moved, before and after the moves. Particles of which one
        is not finite do not count.
    weights : (n_particles,)
        Normalised weights of these particles.
    """
    counts = np.isfinite(before) & np.isfinite(after) & (weights > 0)
    if not counts.any():
        return 0.0, 0.0
    shares = weights[counts] / weights[counts].sum()
    first, second = before[counts], after[counts]
    rise = float(shares @ (second - first))
    first, second = first - shares @ first, second - shares @ second
    variances = float(shares @ first**2), float(shares @ second**2)
    spread = np.sqrt(variances[0] * variances[1])
    rho = float(shares @ (first * second) / spread) if spread > 0 else 0.0
    if rho >= 1:  # nothing has moved
        return 0.0, 0.0
    persistence = 0.5 * (1 + rho) / (1 - rho)
    return persistence * rise, persistence**2 * variances[1] * (1 - rho**2) * float(shares @ shares)


def squared_bias(lags: Sequence[float], variances: Sequence[float]) -> float:
    """Estimate the squared bias of the log evidence from what it lacks by each step, and the variances of that.

    Particles come from lower exponents, where likelihoods are lower, and can only lag behind: the sum counts where it
    is positive, and its square by how much it exceeds its variance.
    """
    return max(max(sum(lags), 0.0) ** 2 - sum(variances), 0.0)
