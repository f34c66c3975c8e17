"""Types that many files use, named once."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy.sparse import sparray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Subsets = NDArray[np.int32]  # one draw a row; 64-bit integers from 2**31 items on
Booleans = NDArray[np.bool_]
Signs = NDArray[np.int8]  # 1 and -1

# Checked matrices of floats, and whatever people pass for one: arrays, lists, tables, sparse.
Matrix: TypeAlias = "Floats | sparray"
MatrixLike: TypeAlias = "ArrayLike | sparray"
# Names of items: text, numbers, edges as tuples, whatever people use.
Labels: TypeAlias = Sequence[Any]
# Items by number or label, and one or many sets of them.
ItemsLike: TypeAlias = "ArrayLike | Iterable[Hashable]"
PathLike: TypeAlias = str | os.PathLike[str]
Rng: TypeAlias = np.random.Generator
# Whatever `np.random.default_rng` takes.
SeedLike: TypeAlias = (
    int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | Rng | None
)
