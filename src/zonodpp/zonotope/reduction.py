"""Order reduction: a zonotope with few generators around a zonotope, or within it.

`search` is our own. Around a zonotope it makes candidates: the longest generators, whitened, with a
parallelotope around the rest; what is left when others absorb the cheapest generators; for small
orders a parallelotope alone. The first two are tightened (`zonodpp.zonotope.templates`), and the
smallest one is the result.
Within a zonotope, generators are added up with signs, by groups.

The other methods are those of the field: each keeps some generators and puts a box around the rest.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from zonodpp._types import Floats
from zonodpp.zonotope.arrangement import arrangement_of
from zonodpp.zonotope.enclosure import parallelotope
from zonodpp.zonotope.templates import eliminated, tightened, weighted_bases
from zonodpp.zonotope.volume import VolumeEstimate, estimate_volume, exact_volume

SEARCH = "search"
_SEED = 0  # of searches: the same zonotope is reduced to the same one each time
_FEW = 20_000  # subsets of r generators of which candidates are compared by the exact volume
_DRAWS = 500  # behind the volume of a candidate, else
# What is added to half-widths, relative: far above rounding errors, and far below what matters.
_MARGIN = 1e-12
_ALONE = 3  # the order from which on a parallelotope alone is never the smallest
# Within a zonotope: rounds of new groups, at most; the rise of the log volume that is worth another
# one; first sums that are tried for a parallelotope, and for more, where a round takes longer.
_TURNS, _RISE = 30, 1e-6
_STARTS, _STARTS_OF_MORE = 20, 2


class VolumeRatio(NamedTuple):
    """A ratio of volumes to the power 1/r, and its standard error; the two unpack.

    Attributes
    ----------
    value, stderr : float
        The ratio, and its standard error: 0 where both volumes are exact.

    See Also
    --------
    zonodpp.Zonotope.reduce : Makes zonotopes that have such a ratio.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> Zonotope.from_generators([[1, 0], [0, 1]]).reduce(1).ratio()
    VolumeRatio(value=1.0, stderr=0.0)
    """

    value: float
    stderr: float


def ratio_of(volume: VolumeEstimate, other: VolumeEstimate, r: int) -> VolumeRatio:
    """Return the ratio of two volumes, estimated independently, to the power 1/r."""
    value = math.exp((volume.log_value - other.log_value) / r)
    return VolumeRatio(value, value * math.hypot(volume.relative, other.relative) / r)


def reduced_generators(G: Floats, order: float, method: str, inner: bool) -> Floats:
    """Return at most order * r generators of a zonotope around that of G, or within it.

    Zero and parallel generators are merged first. A flat zonotope is reduced in its span.
    """
    found = arrangement_of(G)
    rank, size = found.vectors.shape[1], int(order * found.vectors.shape[1])
    merged = np.ascontiguousarray(found.merged(G).T)
    margin = 1.0 - _MARGIN if inner else 1.0 + _MARGIN
    if merged.shape[1] <= size:
        return G if merged.shape[1] == G.shape[1] else merged * margin
    span = np.linalg.svd(merged)[0][:, :rank] if rank < len(G) else np.eye(rank)
    inside = np.ascontiguousarray(span.T @ merged)
    if inner:
        return np.asarray(span @ within(inside, size) * margin)
    reduced = search(inside, size) if method == SEARCH else METHODS[method](inside, size)
    return np.asarray(span @ reduced * margin)


def search(G: Floats, size: int) -> Floats:
    """Return generators of small volume, by our own search."""
    rng = np.random.default_rng(_SEED)
    r = len(G)
    U, sizes, V = np.linalg.svd(G, full_matrices=False)
    candidates = []
    if size < _ALONE * r:
        candidates.append(parallelotope(V, rng))
    if size > r:
        kept, rest = _parted(V, size, np.linalg.norm(V, axis=0))
        templates = [eliminated(V, size), np.column_stack([kept, parallelotope(rest, rng)])]
        candidates += [tightened(V, template) for template in templates]
    best = candidates[0] if len(candidates) == 1 else min(candidates, key=_log_volume)
    return np.asarray((U * sizes) @ best)


def _log_volume(H: Floats) -> float:
    if math.comb(H.shape[1], len(H)) <= _FEW:
        return exact_volume(H).log_value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a rough estimate is enough to choose by
        return estimate_volume(H, draws=_DRAWS, rng=_SEED).log_value


def _parted(G: Floats, size: int, keys: Floats) -> tuple[Floats, Floats]:
    """Return the columns with the largest keys, r fewer than ``size``, and the others."""
    order = np.argsort(-keys, kind="stable")
    count = size - len(G)
    return G[:, order[:count]], G[:, order[count:]]


def _box(G: Floats) -> Floats:
    return np.diag(np.abs(G).sum(axis=1))


def girard(G: Floats, size: int) -> Floats:
    """Put a box around the generators that are almost parallel to axes (Girard 2005)."""
    kept, rest = _parted(G, size, np.abs(G).sum(axis=0) - np.abs(G).max(axis=0))
    return np.column_stack([kept, _box(rest)])


def combastel(G: Floats, size: int) -> Floats:
    """Put a box around the shortest generators (Combastel 2003)."""
    kept, rest = _parted(G, size, np.linalg.norm(G, axis=0))
    return np.column_stack([kept, _box(rest)])


def pca(G: Floats, size: int) -> Floats:
    """Put a box along the principal axes around the rest (Kopetzki, Schuermann, Althoff 2017)."""
    kept, rest = _parted(G, size, np.abs(G).sum(axis=0) - np.abs(G).max(axis=0))
    axes = np.linalg.svd(rest)[0]
    return np.column_stack([kept, axes @ _box(axes.T @ rest)])


def scott(G: Floats, size: int) -> Floats:
    """Let a basis absorb the other generators one by one (Scott et al. 2016)."""
    r = len(G)
    order = scipy.linalg.qr(G, mode="r", pivoting=True)[1]
    basis, others = G[:, order[:r]].copy(), G[:, order[r:]]
    while r + others.shape[1] > size:
        shares = np.abs(np.linalg.solve(basis, others))
        growth = np.prod(1.0 + shares, axis=0) - 1.0 - shares.sum(axis=0)
        least = int(np.argmin(growth))
        basis *= 1.0 + shares[:, least]
        others = np.delete(others, least, axis=1)
    return np.column_stack([basis, others])


METHODS: dict[str, Callable[[Floats, int], Floats]] = {
    "girard": girard,
    "combastel": combastel,
    "pca": pca,
    "scott": scott,
}


def within(G: Floats, size: int) -> Floats:
    """Return ``size`` sums of generators with signs, which span a zonotope within that of G.

    Each generator goes to the sum in which it adds most volume, to first order; sums and slopes are
    computed anew until the volume no longer rises. The best of several first sums is taken.
    """
    U, sizes, V = np.linalg.svd(G, full_matrices=False)
    rng = np.random.default_rng(_SEED)
    best, largest = V[:, :0], -np.inf
    for start in range(_STARTS if size == len(V) else _STARTS_OF_MORE):
        factors = np.ones(V.shape[1]) if start == 0 else rng.standard_exponential(V.shape[1])
        order = scipy.linalg.qr(V * factors, mode="r", pivoting=True)[1]
        lengths = np.linalg.norm(V, axis=0) * factors
        others = order[len(V) :]
        order[len(V) :] = others[np.argsort(-lengths[others])]
        sums, log_volume = _grown(V, V[:, order[:size]])
        if log_volume > largest:
            best, largest = sums, log_volume
    return np.asarray((U * sizes) @ best)


def _grown(V: Floats, sums: Floats) -> tuple[Floats, float]:
    """Return sums of columns with signs, from first ones, and the log volume of what they span."""
    best, largest = sums, -np.inf
    for _ in range(_TURNS):
        slopes = _slopes(sums) @ V
        group = np.abs(slopes).argmax(axis=0)
        signs = np.sign(slopes[group, np.arange(V.shape[1])])
        sums = np.zeros_like(sums)
        np.add.at(sums.T, group, (V * signs).T)
        if np.linalg.matrix_rank(sums) < len(sums):
            break
        log_volume = _log_volume(sums)
        if log_volume <= largest + _RISE:
            break
        best, largest = sums, log_volume
    return best, largest


def _slopes(H: Floats) -> Floats:
    """Return the gradient of the log volume along each column, as rows."""
    bases, shares = weighted_bases(H)
    kept = shares > 0
    inverses = np.linalg.inv(H.T[bases[kept]].transpose(0, 2, 1))
    slopes = np.zeros(H.shape[::-1])
    np.add.at(slopes, bases[kept], inverses * shares[kept, None, None])
    return slopes
