"""The columns of A as compiled code reads them: dense or sparse, one type for both."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._types import Floats, Integers


class Columns(NamedTuple):
    """Column j of A: ``dense[j]``, or the entries ``indptr[j]:indptr[j + 1]`` of a sparse A.

    The representation that is not used has zero length. All arrays are read-only and contiguous,
    so that kernels are compiled for one signature.
    """

    dense: Floats
    indptr: Integers
    indices: Integers
    data: Floats


def frozen(array: NDArray[Any], dtype: type = np.float64) -> NDArray[Any]:
    """Return a read-only, C-contiguous view (a copy only if the layout or type differs)."""
    view: NDArray[Any] = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def refreeze(value: Any) -> None:
    """Make all arrays of a sampler read-only again, which they no longer are once unpickled.

    Kernels are compiled for read-only arrays; others would cost a second compilation.
    """
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple):
        for part in value:
            refreeze(part)
    elif is_dataclass(value):
        for part in fields(value):
            refreeze(getattr(value, part.name))


def columns_of(A: Any) -> Columns:
    """Lay out A, an (r, n) array or scipy.sparse matrix, by columns."""
    if sp.issparse(A):
        csc = A.tocsc()
        indptr, indices = frozen(csc.indptr, np.int64), frozen(csc.indices, np.int64)
        return Columns(frozen(np.empty((0, A.shape[0]))), indptr, indices, frozen(csc.data))
    none = frozen(np.empty(0), np.int64)
    return Columns(frozen(A.T), none, none, frozen(np.empty(0)))
