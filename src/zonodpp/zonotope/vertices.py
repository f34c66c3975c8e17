"""The vertices of a zonotope in any dimension: one for each cell of the arrangement of generators.

At the vertex that is farthest in a direction d, the coefficient of generator g_j has the sign of
g_j'd. There are at most 2 sum_{i<r} C(n-1, i) of them, and so many if any r of the n generators are
independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import comb

import numpy as np

from zonodpp._arguments import physical_memory
from zonodpp._imports import on_use
from zonodpp._types import Floats, Rng
from zonodpp.io.stderr import Stderr, is_watched
from zonodpp.zonotope.arrangement import Arrangement, arrangement_of
from zonodpp.zonotope.cells import cells

_SHARE = 0.5  # of the memory of this machine that vertices or facets may take
_TRIED = 100  # bases that are looked at to see whether generators are in general position
_DIRECTIONS = 20  # random directions for each vertex that is asked for
_AT_ONCE = 2**22  # entries of a block of products: 32 MiB
_WAY_OUT = "vertices(at_most=1000) lists prominent ones"
_SHORT = 0.5  # seconds; shorter work shows no bar


def all_vertices(G: Floats) -> Floats:
    """Return all vertices of {G b : |b| <= 1} as rows, each once."""
    found = arrangement_of(G)
    m, rank = found.vectors.shape
    if rank == 0:
        return np.zeros((1, len(G)))
    most = most_vertices(m, rank)
    # A vertex and its opposite share the signs and the point of a cell; arrays are copied to grow.
    bytes_each = 8 * len(G) + (m + 8 * rank + 8)
    check_room(found, most, bytes_each, "vertices", _WAY_OUT)
    keys = np.asarray(np.random.default_rng(0).integers(-(2**62), 2**62, size=m), np.int64)
    with shown(f"at most {most:,} vertices", most) as grow:
        signs = cells(found.vectors, found.blur, keys, _guard(grow, bytes_each)).signs
    half = np.empty((len(signs), len(G)))
    merged, step = found.merged(G), max(1, _AT_ONCE // m)
    for start in range(0, len(signs), step):
        half[start : start + step] = signs[start : start + step] @ merged
    return np.concatenate([half, -half])


def most_vertices(m: int, rank: int) -> int:
    """Return the largest number of vertices that m generators in so many dimensions have."""
    return 2 * sum(comb(m - 1, i) for i in range(rank))


def check_room(found: Arrangement, most: int, bytes_each: int, things: str, way_out: str) -> None:
    """Raise an error if generators in general position have more of these than memory holds.

    Others may have far fewer: their number is found as they are listed.
    """
    if most * bytes_each <= _SHARE * physical_memory():
        return
    rng = np.random.default_rng(0)
    m, rank = found.vectors.shape
    tried = np.array([rng.choice(m, rank, replace=False) for _ in range(_TRIED)])
    if (np.linalg.svd(found.vectors[tried], compute_uv=False)[:, -1] > 1e-9).all():
        raise _too_many(f"{float(most):.3g} {things}", way_out)


def _guard(grow: Callable[[int], None], bytes_each: int) -> Callable[[int], None]:
    """Return ``grow`` with a check that memory holds so many pairs of vertices."""
    most = _SHARE * physical_memory() / (2 * bytes_each)

    def checked(count: int) -> None:
        if count > most:
            raise _too_many(f"more than {2 * count:,} vertices", _WAY_OUT)
        grow(2 * count)

    return checked


def _too_many(number: str, way_out: str) -> ValueError:
    return ValueError(
        f"this zonotope has {number}, more than half of the memory of this machine holds; "
        f"{way_out}, and reduce(order) makes a zonotope with fewer generators"
    )


@contextmanager
def shown(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar to a person who is watching, if the work is not short."""
    if not is_watched():
        yield lambda count: None
        return
    bar = on_use("tqdm.auto").tqdm(
        total=total, desc=what, delay=_SHORT, leave=False, dynamic_ncols=True, file=Stderr()
    )
    try:
        yield lambda count: bar.update(count - bar.n)
    finally:
        bar.close()


def prominent_vertices(G: Floats, at_most: int, rng: Rng) -> Floats:
    """Return the vertices that are met most often as the farthest ones in random directions.

    Directions are isotropic after whitening, and come with their opposites.
    """
    found = arrangement_of(G)
    m, rank = found.vectors.shape
    if rank == 0:
        return np.zeros((1, len(G)))
    step = max(1, _AT_ONCE // m)
    counts: dict[bytes, int] = {}
    for start in range(0, _DIRECTIONS * at_most, step):
        size = min(step, _DIRECTIONS * at_most - start)
        upper = rng.standard_normal((size, rank)) @ found.vectors.T > 0
        upper ^= upper[:, :1] ^ True  # of a vertex and its opposite, that with a plus in front
        for row in np.packbits(upper, axis=1):
            key = row.tobytes()
            counts[key] = counts.get(key, 0) + 1
    keys = sorted(counts, key=lambda key: -counts[key])[: (at_most + 1) // 2]
    packed = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)
    signs = np.unpackbits(packed, axis=1, count=m).astype(np.int8) * 2 - 1
    half = signs @ found.merged(G)
    return np.stack([half, -half], axis=1).reshape(-1, len(G))[:at_most]


def polygon(A: Floats) -> Floats:
    """Return the vertices of A[0,1]^n in the plane, counterclockwise from the lowest one."""
    # The edges of the right-hand side are the generators, turned upwards and sorted by their
    # angle; parallel ones make one edge. The left-hand side mirrors it at the centre.
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
