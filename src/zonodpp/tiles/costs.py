"""The linear objective c that fixes a tiling: checked, and with its ties broken.

The costs c give one tile to each basis, and the tiles fill the zonotope without holes or overlaps,
if and only if no reduced cost of an item outside a basis is zero. Costs with ties (all zero, two
values, a row of A) give no tiling. To find all ties one would have to look at every basis, so a
small perturbation is added to all costs. It breaks ties, and costs without ties keep their tiles
except where a reduced cost is as small as the perturbation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats
from zonodpp.arguments import check_finite
from zonodpp.basis.columns import UnitColumns

# Relative to the largest cost. This is far above the rounding errors of reduced costs, about 1e-15,
# so that every computation finds an item on the same side of zero.
PERTURBATION = 1e-9
SHORTEST = 1e-200  # costs are divided by lengths; by smaller ones they would overflow
SEED = (0x7A6F6E6F, 0x64707021)  # any number: the same costs have the same tiling each time


def as_costs(c: ArrayLike, n: int) -> Floats:
    """Return a copy of the objective c as an array of n finite numbers."""
    costs = np.array(c, dtype=np.float64)
    if costs.shape != (n,):
        raise ValueError(f"c must have one entry for each of the {n} items, got {costs.shape}")
    check_finite(costs, "c")
    return costs


def unit_costs(c: Floats, columns: UnitColumns) -> Floats:
    """Return costs for unit columns, with ties broken: c_j y_j = (c_j / l_j) (l_j y_j).

    The tiling does not depend on the scale of c, which is brought to one.
    """
    exponent = np.frexp(np.abs(c).max())[1]
    noise = np.random.default_rng(SEED).standard_normal(c.size)
    costs: Floats = np.ldexp(c, -exponent) + PERTURBATION * noise
    return costs / np.maximum(columns.lengths[: c.size], SHORTEST)
