"""Determinants of many sets at once, and the error for an A whose determinants are all zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.linalg.coordinates import Coordinates


def log_dets(columns: Callable[[Integers], Floats], bases: Integers) -> Floats:
    """Log |det| of bases, (count, r); ``columns(items)`` returns the items' columns, whitened."""
    r = bases.shape[1]
    result = np.empty(len(bases))
    step = max(1, 2**22 // r**2)
    for start in range(0, len(bases), step):
        chunk = bases[start : start + step]
        stack = np.moveaxis(columns(chunk.ravel()).reshape(r, -1, r), 1, 0)
        sizes = np.abs(stack).max(axis=1, keepdims=True)  # first, lest squares underflow
        stack = stack / np.where(sizes > 0, sizes, 1.0)
        lengths = np.linalg.norm(stack, axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            unit = stack / np.where(lengths > 0, lengths, 1.0)
            lengths = np.log(lengths) + np.log(sizes)
            logs = np.linalg.slogdet(unit)[1]
            # Dependent columns leave rounding noise where an exact zero should stand.
            tiny = np.linalg.svd(unit, compute_uv=False)[:, -1] < 4 * r * 2.2e-16
            logs[tiny] = -np.inf
            result[start : start + step] = logs + lengths[:, 0].sum(axis=1)
    return result


def minors(coordinates: Coordinates, sets: Integers) -> Floats:
    """Return det K_S for sets of one size, (count, k), where K is the kernel of the columns."""
    result = np.zeros(len(sets))
    step = max(1, 256 // max(1, sets.shape[1]))  # sets that share one small kernel
    for start in range(0, len(sets), step):
        chunk = sets[start : start + step]
        items, place = np.unique(chunk, return_inverse=True)
        place = place.reshape(chunk.shape)
        K = coordinates.gram.quadratic(coordinates.weighted(items))
        dets = np.linalg.det(K[place[:, :, None], place[:, None, :]])
        result[start : start + step] = np.clip(dets, 0.0, 1.0)
    return result


def dependent_rows(rank: int, r: int, weighted: bool, given: str) -> ValueError:
    """Return the error for r features of lower rank; ``given`` is the argument that held them."""
    features = "rows" if given == "A" else "columns"
    ways_out = ["give more items a positive weight"] if weighted else []
    if rank:
        to = "" if given == "X" else " to from_features"
        ways_out.append(f"pass rank={rank} (or less){to}")
        ways_out.append(f"pass jitter=1e-6{to} to add the paper's small noise")
    ways_out.append(f"drop {features} that depend on others")
    return ValueError(
        f"{given} has numerical rank {rank} but {r} {features}"
        f"{' after weighting' if weighted else ''}: these must be linearly independent. "
        f"Ways out: {'; '.join(ways_out)}"
    )
