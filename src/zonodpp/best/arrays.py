"""Arrays of any library that follows the array API standard, and the few steps it leaves open.

No library is imported here: an array that is passed shows that its library is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from zonodpp._arguments import as_reals
from zonodpp._imports import on_use
from zonodpp._types import Floats, MatrixLike

# An array of NumPy, PyTorch, CuPy, JAX, ...: these types have no common base.
Array: TypeAlias = Any
_HALF = ("float16", "bfloat16")  # not in the standard; computed in float32


def is_foreign(X: object) -> bool:
    """Tell whether X is an array of another library than NumPy.

    Examples
    --------
    >>> from zonodpp.best.arrays import is_foreign
    >>> is_foreign([[1.0, 2.0]])
    False
    """
    if isinstance(X, np.ndarray | np.generic | list | tuple | range):
        return False
    return bool(on_use("array_api_compat").is_array_api_obj(X))


def namespace_of(X: Array) -> ModuleType:
    """Return the module of functions of the array API standard for X."""
    if isinstance(X, np.ndarray):
        return np
    found: ModuleType = on_use("array_api_compat").array_namespace(X)
    return found


def dtype_name(X: Array) -> str:
    """Return the name of the type of the entries, such as "float32"."""
    return str(X.dtype).rpartition(".")[2]


def eps_of(X: Array) -> float:
    """Return the distance from 1 to the next number of the type of X."""
    return float(namespace_of(X).finfo(X.dtype).eps)


def indices_like(X: Array, numbers: Sequence[int]) -> Array:
    """Return whole numbers as an array on the device of X."""
    if isinstance(X, np.ndarray):
        return np.asarray(numbers, dtype=np.int64)
    xp = namespace_of(X)
    return xp.asarray(list(numbers), dtype=xp.int64, device=X.device)


def rows_at(X: Any, found: Array) -> Any:
    """Return rows of an array, or of a sparse one of SciPy."""
    return X[found] if hasattr(X, "tocsr") else namespace_of(X).take(X, found, axis=0)


def real_array(X: Array, name: str) -> Array:
    """Return X as floating-point numbers with which to compute, on its device.

    float32 and float64 stay what they are, and are not copied. Half precision becomes float32;
    integers become float64 in NumPy and float32 elsewhere. Tensors are detached from gradients.
    """
    if not is_foreign(X):
        return _real_numpy(X, name)
    if getattr(X, "requires_grad", False):
        X = X.detach()
    xp = namespace_of(X)
    real = dtype_name(X) in _HALF or xp.isdtype(X.dtype, ("real floating", "integral", "bool"))
    if not real:
        raise TypeError(f"{name} must hold real numbers, got entries of type {X.dtype}")
    if dtype_name(X) in ("float32", "float64"):
        return X
    return xp.astype(X, xp.float32)


def _real_numpy(X: MatrixLike, name: str) -> Array:
    found = as_reals(X, name, dtype=None)
    if found.dtype == np.float16:
        return found.astype(np.float32)
    if found.dtype not in (np.float32, np.float64) or not found.dtype.isnative:
        with np.errstate(over="ignore"):  # numbers of a wider type become infinite
            return found.astype(np.float64)
    strided = found.ndim > 1 and not (found.flags.c_contiguous or found.T.flags.c_contiguous)
    return np.ascontiguousarray(found) if strided else found


def on_host(X: Array) -> Floats:
    """Return an array of any library as float64 of NumPy."""
    for move in ("get", "cpu"):  # CuPy, PyTorch
        if not isinstance(X, np.ndarray) and hasattr(X, move):
            X = getattr(X, move)()
    return np.asarray(X, dtype=np.float64)


def put(X: Array, items: Array, value: Any) -> Array:
    """Return X with another value at some places of its first axis; X may have been changed."""
    where = items if X.ndim == 1 else (items, ...)
    try:
        X[where] = value
    except TypeError:  # JAX: arrays never change
        return X.at[where].set(value)
    except IndexError:  # the standard itself knows no assignment to several places
        for number in range(items.shape[0]):
            X[int(items[number])] = value[number] if hasattr(value, "shape") else value
    return X


def largest(X: Array, count: int) -> tuple[Array, float]:
    """Return the places of the ``count`` largest entries, ascending, and the next largest entry.

    There must be more entries than that.
    """
    xp = namespace_of(X)
    n = X.shape[0]
    if hasattr(X, "topk"):  # PyTorch
        values, found = X.topk(count + 1)
        return xp.sort(found[:count]), float(values[count])
    if hasattr(xp, "argpartition"):
        found = xp.argpartition(X, n - count - 1)
        return xp.sort(found[n - count :]), float(X[found[n - count - 1]])
    found = xp.argsort(X)
    return xp.sort(found[n - count :]), float(X[found[n - count - 1]])
