"""The facets of a zonotope in any dimension, as inequalities N x <= b.

The normal of a facet is at a right angle to r - 1 independent generators. There are at most
2 C(n, r-1) facets, and so many if any r of the n generators are independent.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats
from zonodpp.zonotope.arrangement import arrangement_of, rays
from zonodpp.zonotope.vertices import check_room, shown


class Facets(NamedTuple):
    """The inequalities N x <= b of a zonotope: ``N, b = zonotope.facets()`` unpacks them.

    Attributes
    ----------
    N : (m, r) array
        Normals of length one, as rows; the second half mirrors the first.
    b : (m,) array
        How far the zonotope reaches along each normal.

    See Also
    --------
    zonodpp.Zonotope.facets : Lists them.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> N, b = Zonotope.from_generators([[1, 0], [0, 2]], center=[3, 0]).facets()
    >>> bool((N @ [3.5, 1] <= b).all()), bool((N @ [4.5, 1] <= b).all())
    (True, False)
    """

    N: Floats
    b: Floats


def most_facets(m: int, rank: int) -> int:
    """Return the largest number of facets that m generators in so many dimensions have."""
    return 2 * comb(m, rank - 1)


def facet_normals(G: Floats) -> Floats:
    """Return one of each two opposite normals of {G b : |b| <= 1}, of length one, as rows.

    A flat zonotope has, besides those of its facets in its span, normals at a right angle to it.
    """
    found = arrangement_of(G)
    m, rank = found.vectors.shape
    normals = found.rest.T
    if rank:
        most = most_facets(m, rank)
        check_room(found, most, 32 * len(G), "facets", "support(d) and contains(x) need none")
        with shown(f"at most {most:,} facets", most) as grow:
            inner = rays(found.vectors, found.blur, np.zeros(m, np.bool_), grow)
        normals = np.concatenate([inner @ found.dual.T, normals])
    return np.asarray(normals / np.linalg.norm(normals, axis=1)[:, None])


def facets_of(G: Floats, center: Floats) -> Facets:
    """Return all facets of {center + G b : |b| <= 1}."""
    normals = facet_normals(G)
    reach, middle = np.abs(normals @ G).sum(axis=1), normals @ center
    return Facets(
        np.concatenate([normals, -normals]), np.concatenate([reach + middle, reach - middle])
    )
