"""Log determinants of many bases at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zonodpp._types import Floats, Integers


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
