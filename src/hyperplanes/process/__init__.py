"""The Poisson hyperplane process: random hyperplanes, the windows that they hit, and how a process is taken apart.

Hyperplanes   `Hyperplanes`, `from_points`, `to_points`, `canonical`, `translate`, `signed_distances`, `sides`,
              `unit_vectors`, `to_numpy`
Windows       `Ball`, `Box`, `ConvexHull`, `hits`, `n_hits`
Measure       `measure`, `mean_absolute_component`
Process       `HyperplaneProcess`, `Realisations`, `draw_in_ball`
White noise   `from_white`, `to_white`, `support`, `uniforms`, `normal_quantiles`
Cells         `Shell`, `Sector`, `shells`, `sectors`, `lies_in`
Propositions  `superpose`, `thin`, `split` (1), `restrict` (2), `split_domain` (3)
"""

from hyperplanes.process.cells import Cell, Sector, Shell, lies_in, sectors, shells
from hyperplanes.process.decomposition import restrict, split, split_domain, superpose, thin
from hyperplanes.process.hyperplanes import (
    Hyperplanes,
    canonical,
    from_points,
    sides,
    signed_distances,
    to_numpy,
    to_points,
    translate,
    unit_vectors,
)
from hyperplanes.process.measure import mean_absolute_component, measure
from hyperplanes.process.poisson import HyperplaneProcess, Realisations, draw_in_ball
from hyperplanes.process.white import from_white, normal_quantiles, support, to_white, uniforms
from hyperplanes.process.windows import Ball, Box, ConvexHull, Window, hits, n_hits

__all__ = [
    "Ball",
    "Box",
    "Cell",
    "ConvexHull",
    "HyperplaneProcess",
    "Hyperplanes",
    "Realisations",
    "Sector",
    "Shell",
    "Window",
    "canonical",
    "draw_in_ball",
    "from_points",
    "from_white",
    "hits",
    "lies_in",
    "mean_absolute_component",
    "measure",
    "n_hits",
    "normal_quantiles",
    "restrict",
    "sectors",
    "shells",
    "sides",
    "signed_distances",
    "split",
    "split_domain",
    "superpose",
    "support",
    "thin",
    "to_numpy",
    "to_points",
    "to_white",
    "translate",
    "uniforms",
    "unit_vectors",
]
