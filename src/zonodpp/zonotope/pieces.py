"""What a zonotope is cut into: tiles, the pieces of a line, and the edges around it."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns
from zonodpp.tiles.tilings import tile_from_basis


class Tile(NamedTuple):
    """A tile, and a point in it: x = A_B u + the sum of the columns at their upper bound.

    Attributes
    ----------
    basis : (r,) array of int
        B, ascending.
    at_upper : (k,) array of int
        Items outside B that rest at 1; the others rest at 0.
    coordinates : (r,) array
        u in [0, 1]^r, in the order of the basis.

    See Also
    --------
    zonodpp.Zonotope.tile : The tile of a point.
    zonodpp.Zonotope.tiles : All tiles.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> Zonotope([[1, 2, 0], [0, 1, 2]], c=[1, 2, 4]).tile([1, 1]).basis
    array([1, 2])
    """

    basis: Integers
    at_upper: Integers
    coordinates: Floats


class Walk(NamedTuple):
    """All tiles along a line, from one end of the chord to the other.

    Attributes
    ----------
    breaks : (k + 1,) array
        Values of alpha, ascending: tile i holds x + alpha d from breaks[i] to breaks[i + 1].
    bases : (k, r) array of int
        Bases, each ascending.
    log_volumes : (k,) array
        Logarithms of ``|det A_B|``.

    See Also
    --------
    zonodpp.Zonotope.walk : The walk along a line.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> walk = Zonotope([[1, 2, 0], [0, 1, 2]], rng=0).walk([1, 1], [1, 0])
    >>> len(walk.breaks) == len(walk.bases) + 1
    True
    """

    breaks: Floats
    bases: Integers
    log_volumes: Floats


def all_tiles(columns: UnitColumns, costs: Floats) -> list[Tile]:
    """Return the tile of every basis, with its centre."""
    r = columns.rows.shape[0]
    found = []
    for basis in combinations(range(costs.size), r):
        try:
            tile = tile_from_basis(columns, np.array(basis), costs)
        except ArithmeticError:
            continue  # dependent columns: no tile
        found.append(Tile(np.array(basis), np.flatnonzero(tile.side < 0), np.full(r, 0.5)))
    return found


def plane_vertices(A: Floats) -> Floats:
    """Return the vertices of the zonotope of A, (2, n), counterclockwise from the lowest one.

    The edges of its right-hand side are the generators, turned upwards and sorted by their angle;
    parallel ones make one edge. The left-hand side mirrors it at the centre.
    """
    A = A[:, A.any(axis=0)]
    downwards = (A[1] < 0) | ((A[1] == 0) & (A[0] < 0))
    edges = np.where(downwards, -A, A).T
    x, y = (edges / np.abs(edges).max(axis=0)).T
    angles = np.arctan2(y, x)
    order = np.argsort(angles)
    apart = np.diff(angles[order]) > 8 * np.finfo(float).eps
    edges = np.add.reduceat(edges[order], np.concatenate([[0], np.flatnonzero(apart) + 1]))
    lowest = A[:, downwards].sum(axis=1)
    right = lowest + np.cumsum(edges, axis=0) - edges
    return np.concatenate([right, A.sum(axis=1) - right])


def rescaled(alphas: Floats, exponent: int) -> Floats:
    """Return values of alpha for d, given those for d / 2**exponent."""
    with np.errstate(over="ignore", under="ignore"):
        found = np.ldexp(alphas, -exponent)
        length = np.ldexp(np.abs(found).max(), exponent)
    if length != np.abs(alphas).max():
        raise ValueError(
            f"d is too {'short' if exponent < 0 else 'long'} for this zonotope: the ends of the "
            f"line, as multiples of d, are beyond floating-point numbers; divide d by 2**{exponent}"
        )
    return np.asarray(found)
