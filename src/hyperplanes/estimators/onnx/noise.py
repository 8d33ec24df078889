"""Distribution function and density of noise of scale 1: Student's t distribution, or the Gaussian.

Runtimes know erf in float32 alone, and nothing of t. With r = sqrt(1 + t^2 / nu), the probability beyond t >= 0 is

    r^(1 - nu) / (1 + t / 9) P(s),    s = 1 / (1 + w / 9),    w = 2 t / (1 + r),

where P is so smooth that a polynomial of degree 15, fitted for the degrees of freedom of each particle when the graph
is made, has a relative error below 1e-7 for any degrees of freedom, as far as the probability is above 1e-297. Of
Gaussian noise r is 1 and w is t, and r^-nu becomes exp(-t^2 / 2).
"""

import numpy as np
from numpy.polynomial.chebyshev import chebpts1
from numpy.polynomial.polynomial import polyvander
from scipy.special import stdtr

from hyperplanes.estimators.onnx.graph import Graph, Name
from hyperplanes.estimators.scaling import Floats
from hyperplanes.model.prediction import log_standard_density

DEGREE = 15
LENGTH = 9.0
FARTHEST = 37.0
"""Tails are fitted where they are above that of a Gaussian this far out: beyond, numbers underflow."""
GAUSSIAN = 1e30
"""Degrees of freedom that stand for infinitely many where others have fewer."""


def chance_and_density(graph: Graph, errors: Name, degrees: Floats) -> tuple[Name, Name]:
    """At errors (rows, components, levels), of components with these degrees of freedom (components,)."""
    distance, one = graph.apply("Abs", errors), graph.constant(1.0)
    if gaussian := bool(np.isinf(degrees).all()):
        degrees = degrees[:1]
    finite = np.minimum(degrees, GAUSSIAN)[:, None]
    height = graph.constant(np.exp(log_standard_density(np.zeros(1), degrees))[:, None])
    if gaussian:
        square = graph.apply("Mul", distance, distance)
        tail = bell = graph.apply("Exp", graph.apply("Mul", square, graph.constant(-0.5)))
        density, arc = graph.apply("Mul", bell, height), distance
    else:
        bell, root = _heavy_bell(graph, distance, finite)
        tail, density = graph.apply("Mul", bell, root), graph.apply("Div", graph.apply("Mul", bell, height), root)
        arc = graph.apply("Div", graph.apply("Add", distance, distance), graph.apply("Add", one, root))
    tail = graph.apply("Mul", graph.apply("Mul", tail, _shrunk(graph, distance)), _smooth(graph, arc, finite))
    negative = graph.apply("Less", errors, graph.constant(0.0))
    return graph.apply("Where", negative, tail, graph.apply("Sub", one, tail)), density


def _heavy_bell(graph: Graph, distance: Name, degrees: Floats) -> tuple[Name, Name]:
    """r^-nu and r."""
    one = graph.constant(1.0)
    ratio = graph.apply("Div", graph.apply("Mul", distance, distance), graph.constant(degrees))
    more = graph.apply("Add", one, ratio)
    rounded = graph.apply("Div", ratio, graph.apply("Sub", more, one))  # Kahan: the logarithm of 1 + ratio, precisely
    logarithm = graph.apply("Mul", graph.apply("Log", more), rounded)
    logarithm = graph.apply("Where", graph.apply("Equal", more, one), ratio, logarithm)
    bell = graph.apply("Exp", graph.apply("Mul", logarithm, graph.constant(-0.5 * degrees)))
    return bell, graph.apply("Sqrt", more)


def _shrunk(graph: Graph, distance: Name) -> Name:
    one = graph.constant(1.0)
    longer = graph.apply("Add", one, graph.apply("Mul", distance, graph.constant(1 / LENGTH)))
    return str(graph.apply("Div", one, longer))


def _smooth(graph: Graph, arc: Name, degrees: Floats) -> Name:
    """P of the docstring above."""
    least, (*lower, power) = _tail_polynomials(degrees)
    stretched = graph.apply("Mul", _shrunk(graph, arc), graph.constant(2 / (1 - least)))
    position = graph.apply("Sub", stretched, graph.constant((1 + least) / (1 - least)))
    found = graph.constant(power)
    for coefficient in reversed(lower):
        found = graph.apply("Add", graph.apply("Mul", found, position), graph.constant(coefficient))
    return found


def _tail_polynomials(degrees: Floats) -> tuple[Floats, Floats]:
    """Least s of P, (n, 1), and its coefficients (DEGREE + 1, n, 1) as a function of s mapped to [-1, 1]."""
    quarter = 0.25 / degrees
    least = 1 / (1 + np.sqrt(np.tanh(FARTHEST**2 * quarter) / quarter) / LENGTH)
    nodes = chebpts1(DEGREE + 1)
    s = least + (1 - least) * 0.5 * (1 + nodes)
    arc = LENGTH * (1 / s - 1)
    share = quarter * arc**2
    distance = arc / (1 - share)
    tails = np.exp(np.log(stdtr(degrees, -distance)) + 2 * (degrees - 1) * np.arctanh(share))
    values = tails * (1 + distance / LENGTH)
    return least, np.linalg.solve(polyvander(nodes, DEGREE), values.T)[..., None]
