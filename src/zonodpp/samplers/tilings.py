"""A fresh tiling for a step of hit-and-run: random costs, and the tile of a basis for them."""

from __future__ import annotations

import numpy as np

from zonodpp._jit import forceinline
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns, tableau_entry


@forceinline
def draw_point(rng: np.random.Generator, reach: Floats, u: Floats) -> None:
    """Draw a uniform point of a tile."""
    for p in range(u.shape[0]):
        u[p] = rng.random() * reach[p]


@forceinline
def draw_costs(seed: float, c: Floats) -> None:
    """Fill c with numbers that follow from a seed between 0 and 1, by the hash of SplitMix64."""
    first = np.uint64(np.int64(seed * 2.0**53))
    for j in range(c.shape[0]):
        z = first + np.uint64(j + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        c[j] = np.float64(np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11)))


@forceinline
def price_basis(basis: Integers, T: Floats, c: Floats, multipliers: Floats) -> None:
    """Set the multipliers c_B T of a tile."""
    for i in range(multipliers.shape[0]):
        multipliers[i] = 0.0
    for p in range(multipliers.shape[0]):
        cost = c[basis[p]]
        for i in range(multipliers.shape[0]):
            multipliers[i] += cost * T[p, i]


@forceinline
def set_bounds(
    columns: UnitColumns,
    multipliers: Floats,
    c: Floats,
    basis: Integers,
    gap: Floats,
    side: Floats,
) -> None:
    """Set the bounds of a tile from its reduced costs c - c_B T E."""
    for j in range(c.shape[0]):
        reduced = c[j] - tableau_entry(columns, multipliers, j)
        gap[j] = abs(reduced)
        side[j] = 1.0 if reduced >= 0.0 else -1.0
    for p in range(basis.shape[0]):
        gap[basis[p]] = 0.0
        side[basis[p]] = 0.0
