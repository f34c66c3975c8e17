"""Whether one zonotope contains another, exactly where that is possible.

W lies in Z if and only if it reaches no farther than Z along the normal of any facet of Z. Where Z
has too many facets, a linear program may prove it (Sadraddini and Tedrake 2019): there are C and c
with G_W = G_Z C and center_W - center_Z = G_Z c, and the absolute values in each row of [C, c] add
up to one at most. If there are none, W may still lie in Z. A direction in which W reaches farther
proves the opposite, whatever the number of facets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from zonodpp._imports import on_use
from zonodpp._types import Floats
from zonodpp.zonotope.arrangement import arrangement_of
from zonodpp.zonotope.facets import facet_normals, most_facets

_MOST_FACETS = 200_000  # of a zonotope whose facets are listed: about a second
_DIRECTIONS = 1_000  # random directions in which W may reach farther
_CLIMBS = 20  # steps from a direction to one in which W reaches relatively farther
_TOLERANCE = 1e-9  # of the reach of Z: by so much W may reach farther and count as contained
_ROUNDING = 1e-13  # rounding errors of a reach, relative to the sizes of the entries added up


@dataclass(frozen=True)
class Containment:
    """Whether a zonotope lies in another, and how that is known; true in conditions if it does.

    Attributes
    ----------
    contained : bool
        Whether containment was shown.
    exact : bool
        False if it was neither shown nor excluded: the linear program is sufficient, not necessary.
    method : {"facets", "direction", "linear program"}
        What decided.
    direction : (r,) array or None
        A direction in which the inner zonotope reaches farther, if one was found.

    See Also
    --------
    zonodpp.Zonotope.contains : Tells whether points or a zonotope lie in a zonotope.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> square = Zonotope.from_generators([[1, 0], [0, 1]])
    >>> answer = square.contains(Zonotope.from_generators([[1], [1]]))
    >>> bool(answer), answer.exact, answer.method
    (True, True, 'facets')
    """

    contained: bool
    exact: bool
    method: str
    direction: Floats | None = None

    def __bool__(self) -> bool:
        return self.contained


def containment(G: Floats, H: Floats, shift: Floats) -> Containment:
    """Tell whether {shift + H b : |b| <= 1} lies in {G b : |b| <= 1}."""
    found = arrangement_of(G)
    m, rank = found.vectors.shape
    if rank and most_facets(m, rank) > _MOST_FACETS:
        rng = np.random.default_rng(0)  # the same answer each time
        farther = _direction_outside(
            found.dual @ rng.standard_normal((rank, _DIRECTIONS)), G, H, shift
        )
        if farther is not None:
            return Containment(False, True, "direction", farther)
        shown = _is_expressed(G, H, shift)
        return Containment(shown, shown, "linear program")
    normals = facet_normals(G)
    farther = _farthest(normals, G, H, shift)
    return Containment(farther is None, True, "facets", farther)


def _farthest(normals: Floats, G: Floats, H: Floats, shift: Floats) -> Floats | None:
    """Return the row along which the inner zonotope reaches farther by most, if along any."""
    outer = np.abs(normals @ G).sum(axis=1)
    excess = np.abs(normals @ H).sum(axis=1) + np.abs(normals @ shift) - outer
    # Along normals at a right angle to a flat zonotope all reaches are rounding errors.
    size = np.abs(normals) @ np.abs(np.column_stack([G, H, shift])).sum(axis=1)
    excess -= np.maximum(_TOLERANCE * outer, _ROUNDING * size)
    worst = int(np.argmax(excess))
    if excess[worst] <= 0:
        return None
    side = 1.0 if normals[worst] @ shift >= 0 else -1.0
    return np.asarray(side * normals[worst])


def _direction_outside(directions: Floats, G: Floats, H: Floats, shift: Floats) -> Floats | None:
    """Look for a direction in which the inner zonotope reaches farther, from random ones.

    A step moves each direction towards the vertex of the inner zonotope, and away from that of the
    outer one: the gradient of the logarithm of the ratio of the reaches, in whitened coordinates.
    """
    gram = np.linalg.pinv(G @ G.T)
    for _ in range(_CLIMBS):
        d = directions.T
        found = _farthest(d, G, H, shift)
        if found is not None:
            return found
        inner, outer = np.abs(d @ H).sum(axis=1) + np.abs(d @ shift), np.abs(d @ G).sum(axis=1)
        climb = np.sign(d @ H) @ H.T + np.outer(np.sign(d @ shift), shift)
        slope = climb / np.maximum(inner, 1e-300)[:, None] - np.sign(d @ G) @ G.T / outer[:, None]
        scale = np.sqrt(np.einsum("ij,ij->i", d @ (G @ G.T), d))
        directions = (d / scale[:, None] + scale[:, None] * slope @ gram).T
    return None


def _is_expressed(G: Floats, H: Floats, shift: Floats) -> bool:
    """Find C with G C = [H, shift] whose rows have the smallest greatest sum of absolute values."""
    heights = np.abs(G).max(axis=1)
    scale = np.where(heights > 0, heights, 1.0)[:, None]
    wanted, outer = np.column_stack([H, shift]) / scale, G / scale
    wanted = wanted[:, np.abs(wanted).any(axis=0)]
    n, k = outer.shape[1], wanted.shape[1]
    if k == 0:
        return True
    # C = P - Q with P, Q >= 0, by columns; the last variable is the greatest sum.
    product = sp.kron(sp.eye_array(k), outer)
    equal = sp.hstack([product, -product, sp.csr_array((product.shape[0], 1))], format="csr")
    sums = sp.kron(np.ones((1, 2 * k)), sp.eye_array(n))
    at_most = sp.hstack([sums, -np.ones((n, 1))], format="csr")
    costs = np.append(np.zeros(2 * k * n), 1.0)
    result = on_use("scipy.optimize").linprog(
        costs, A_ub=at_most, b_ub=np.zeros(n), A_eq=equal, b_eq=wanted.T.ravel(), method="highs"
    )
    return bool(result.status == 0 and result.fun <= 1.0 + _TOLERANCE)
