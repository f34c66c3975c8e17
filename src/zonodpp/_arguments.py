"""What people pass in, checked once at the boundary and turned into plain arrays."""

from __future__ import annotations

import numbers
import operator
import os
import sys
import zlib
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, SupportsIndex, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._types import Floats, Integers, ItemsLike, Labels, Matrix, MatrixLike, Rng, SeedLike

_SHOWN = 200  # characters of a text in an error
_REAL = (numbers.Real, Decimal, np.bool_, type(None))  # types of entries that are numbers
_MISSING = ("NAType",)  # the missing value of pandas, which is not imported for it
_CATEGORIES = ("category", "dictionary")  # types of columns of categories: pandas, Arrow


def listed(names: Sequence[object], most: int = 8) -> str:
    """Return names with commas between them; of many names the first ones and the number of all.

    Examples
    --------
    >>> from zonodpp._arguments import listed
    >>> listed("abc"), listed("abcdef", most=2)
    ('a, b, c', 'a, b, ... (6 in all)')
    """
    shown = ", ".join(map(str, names[:most]))
    return f"{shown}, ... ({len(names)} in all)" if len(names) > most else shown


def in_one_line(found: object) -> str:
    r"""Return what was found as one line of text, and of a long text the beginning.

    Examples
    --------
    >>> from zonodpp._arguments import in_one_line
    >>> in_one_line("two\nlines"), len(in_one_line("x" * 1000))
    ('two lines', 200)
    """
    text = " ".join(str(found).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def is_dataframe(X: object) -> TypeGuard[Any]:
    """Tell whether X is a pandas DataFrame, without importing pandas."""
    return type(X).__name__ == "DataFrame" and hasattr(X, "iloc")


def table_labels(table: object, axis: str) -> Labels | None:
    """Return the names that a DataFrame has for its "index" or its "columns", else None."""
    return list(getattr(table, axis)) if is_dataframe(table) else None


def as_reals(
    X: Any,
    name: str,
    shape: tuple[int | None, ...] | None = None,
    expected: str = "",
    *,
    finite: bool = False,
    dtype: type | None = np.float64,
) -> NDArray[Any]:
    """Return real numbers as an array: every array, table column and weight passes here.

    Masked entries, complex numbers, text, dates and durations are refused; None and the missing
    values of pandas become NaN.

    Parameters
    ----------
    X : array_like, DataFrame or column of a table
        What was passed.
    name : str
        What to call it in an error.
    shape : tuple of int or None, optional
        Its shape; None stands for any length.
    expected : str, optional
        The shape in words.
    finite : bool, default False
        Whether NaN and infinity are refused as well.
    dtype : type, optional
        The type to return. None: the type that the numbers have.

    Examples
    --------
    >>> from zonodpp._arguments import as_reals
    >>> as_reals([1, True, 0.5], "x")
    array([1. , 1. , 0.5])
    >>> as_reals(["1", "2"], "x")
    Traceback (most recent call last):
    TypeError: x must hold real numbers, got entries of type <U1
    """
    if has_masked(X):
        raise ValueError(f"{name} has masked entries; fill or drop them first")
    if is_dataframe(X):
        _need_numeric(X, name)
    try:
        array = np.asarray(X)
    except Exception as error:  # arrays of other libraries refuse in many ways
        ragged = "inhomogeneous" in str(error)
        unequal = "its parts differ in length; pass parts of one length, or one at a time"
        why = unequal if ragged else in_one_line(error)
        raise TypeError(f"{name} must hold real numbers: {why}") from None
    kind = "" if X is array else str(getattr(X, "dtype", getattr(X, "type", "")))
    if array.dtype.kind not in "biufO" or kind.startswith(_CATEGORIES):
        found = kind if kind.startswith(_CATEGORIES) else array.dtype
        raise TypeError(f"{name} must hold real numbers, got entries of type {in_one_line(found)}")
    if array.dtype.kind == "O":
        array = _as_numbers(array, name)
    if shape is not None and not _fits(array.shape, shape):
        raise ValueError(f"{name} must have {expected}, got shape {array.shape}")
    if dtype is not None:
        with np.errstate(over="ignore"):  # numbers of a wider type become infinite
            array = np.asarray(array, dtype=dtype)
    if finite:
        check_finite(array, name)
    return array


def has_masked(X: object) -> bool:
    """Tell whether an array, or an array within lists, has masked entries."""
    parts: list[object] = [X]
    while parts:  # level by level, as whole lists are looked at faster than their entries
        kinds = set(map(type, parts))
        if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
            masked = (part for part in parts if isinstance(part, np.ma.MaskedArray))
            if any(map(np.ma.is_masked, masked)):
                return True
        if not any(issubclass(kind, list | tuple) for kind in kinds):
            return False
        parts = list(chain.from_iterable(part for part in parts if isinstance(part, list | tuple)))
    return False


def _need_numeric(table: Any, name: str) -> None:
    """Raise an error that names the columns of a DataFrame that hold no numbers."""
    text = [
        str(column)
        for place, (column, kind) in enumerate(table.dtypes.items())
        if kind.kind not in "biuf"
        and not (str(kind) == "object" and _are_real(table.iloc[:, place]))
    ]
    if text:
        found = f"columns that are not numeric: {listed(text)}"
        raise TypeError(f"{name} has {found}; drop or encode them first")


def _are_real(entries: Iterable[object]) -> bool:
    return all(map(_is_real, set(map(type, entries))))


def _is_real(kind: type) -> bool:
    return issubclass(kind, _REAL) and not issubclass(kind, np.timedelta64)


def _as_numbers(array: NDArray[Any], name: str) -> Floats:
    """Return Python objects as numbers; a missing one becomes NaN."""
    entries = array.ravel().tolist()
    for kind in set(map(type, entries)):
        if not (_is_real(kind) or kind.__name__ in _MISSING):
            raise TypeError(
                f"{name} must hold real numbers, got an entry of type {kind.__name__}; entries of "
                "this argument must be neither strings nor other objects, but numbers"
            )
    missing = [entry is None or type(entry).__name__ in _MISSING for entry in entries]
    try:
        found = [np.nan if no else float(x) for x, no in zip(entries, missing, strict=True)]
    except (OverflowError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers that floats can hold: {error}") from None
    return np.array(found, dtype=np.float64).reshape(array.shape)


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    pairs = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(of is None or of == length for length, of in pairs)


def as_matrix(X: MatrixLike, name: str) -> Matrix:
    """Return X as a float64 array, or as a sparse float64 CSC array if it is scipy.sparse.

    An array that already is float64 is not copied.
    """
    # Nothing is sparse before SciPy is imported; importing it here would delay every start.
    sp = sys.modules.get("scipy.sparse")
    sparse = sp is not None and sp.issparse(X)
    matrix: Any = X if sparse else as_reals(X, name)
    if matrix.ndim != 2:
        advice = "a single row is [values], a single column values[:, None]"
        raise ValueError(f"{name} must be a 2-d array, got {matrix.ndim} dimension(s); {advice}")
    if 0 in matrix.shape:
        raise ValueError(f"{name} is empty: its shape is {matrix.shape}")
    if sp is not None and sparse:
        matrix = sp.csc_array(matrix, copy=True)
        matrix.data = as_reals(matrix.data, name)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def check_finite(matrix: Matrix, name: str) -> None:
    """Raise with the place of the first NaN or infinity, if there is one."""
    values: Floats = matrix if isinstance(matrix, np.ndarray) else matrix.data
    finite = np.isfinite(values)
    if not finite.all():
        if not np.ndim(finite):
            raise ValueError(f"{name} must be finite, got {values}")
        bad = np.nonzero(~finite)
        places = bad if isinstance(matrix, np.ndarray) else [k[bad] for k in matrix.tocoo().coords]
        first = ", ".join(str(index[0]) for index in places)
        found = f"NaN or infinity in {len(bad[0])} of its entries, the first at [{first}]"
        raise ValueError(f"{name} has {found} (counted from 0); impute or drop them first")


def as_column(values: ArrayLike, n: int, name: str) -> Floats:
    """Return n finite numbers, one for each item."""
    expected = f"one entry for each of the {n} items"
    return as_reals(values, name, (n,), expected, finite=True)


def as_scores(values: ArrayLike, n: int, name: str, hint: str = "") -> Floats:
    """Return n non-negative numbers, one for each item; ``hint`` says what to do with others."""
    scores = as_column(values, n, name)
    if (scores < 0).any():
        first = int(np.argmax(scores < 0))
        raise ValueError(f"{name} must not be negative; {name}[{first}] = {scores[first]:g}{hint}")
    return scores


def as_weights(weights: ArrayLike | None, n: int) -> Floats | None:
    """Return item weights q as an array of n non-negative numbers, not all zero."""
    if weights is None:
        return None
    q = as_scores(weights, n, "weights").copy()
    if not q.any():
        raise ValueError("weights are all zero: no item could ever be picked")
    q.flags.writeable = False
    return q


def as_items(S: ItemsLike, n: int, name: str, *, filled: bool = False) -> Integers:
    """Return item indices as an integer array, checked to lie in 0..n-1 without repeats.

    If ``filled``, sets may be filled up with -1 to the size of the largest.
    """
    if has_masked(S):
        raise ValueError(f"{name} has masked entries; leave them out")
    expected = "item numbers (integers from 0)"
    try:
        items = np.atleast_1d(np.asarray(sorted(S) if isinstance(S, set | frozenset) else S))
    except ValueError:
        otherwise = "fill smaller sets up with -1" if filled else "or pass one set"
        raise ValueError(f"{name} must hold sets of the same size; {otherwise}") from None
    except (TypeError, OverflowError):
        raise TypeError(f"{name} must hold {expected}, got {in_one_line(repr(S))}") from None
    if items.size == 0:
        return np.zeros(items.shape, dtype=np.int64)
    if items.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold {expected}, got {items.dtype} entries")
    if items.min() < -int(filled) or items.max() >= n:
        found = f"values from {items.min()} to {items.max()}"
        raise ValueError(f"{name} must hold item numbers from 0 to {n - 1}, got {found}")
    ordered = np.sort(items, axis=-1)
    if ((ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)).any():
        raise ValueError(f"{name} holds the same item twice")
    return items.astype(np.int64)


def as_labels(labels: Iterable[Any], n: int, name: str) -> list[Any]:
    """Return the names of n items as a list."""
    if not isinstance(labels, Iterable):
        raise TypeError(f"{name} must be one for each of the {n} items, got {in_one_line(labels)}")
    if has_masked(labels):
        raise ValueError(f"{name} has masked entries; give each item one")
    found = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(found) != n:
        raise ValueError(f"{name} must be one for each of the {n} items, got {len(found)}")
    return found


def as_count(value: SupportsIndex, name: str, least: int, most: int = 2**63 - 1) -> int:
    """Return a whole number from ``least`` to ``most``, by default the largest int64."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {in_one_line(repr(value))}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    if number > most:
        raise ValueError(f"{name} must be at most {most:,}, got a number above that")
    return number


def as_positive(value: float, name: str, *, or_zero: bool = False) -> float:
    """Return a finite number above zero or, with ``or_zero``, a number that is not negative."""
    try:
        # Arrays of one entry, complex numbers, and durations of NumPy have a value as a float too.
        if isinstance(value, str | bool) or has_masked(value):
            raise TypeError
        if isinstance(value, np.ndarray | np.generic) and (
            value.ndim or value.dtype.kind not in "iuf"
        ):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be a number, got {in_one_line(repr(value))}") from None
    if not (np.isfinite(number) and (number > 0 or (or_zero and number == 0))):
        expected = "finite number, zero or more" if or_zero else "positive finite number"
        raise ValueError(f"{name} must be a {expected}, got {number:g}")
    return number


def spawn(rng: SeedLike, count: int = 1, *, purpose: str = "") -> list[Rng]:
    """Return new generators, independent of the stream that ``rng`` itself yields.

    A user who made data with ``default_rng(0)`` and passes ``rng=0`` must not get the numbers of
    the data again. Another purpose gives other generators, so that the same seed may be passed to
    each of several functions.
    """
    try:
        if isinstance(rng, int):  # the same children as below, made faster
            keys = (np.random.SeedSequence(rng, spawn_key=(k,)) for k in range(count))
            children = list(map(np.random.default_rng, keys))
        else:
            children = _children(np.random.default_rng(rng), count)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "rng must be a seed, that is a whole number from 0 or a list of them, or a numpy "
            f"Generator; got {in_one_line(repr(rng))}"
        ) from None
    if not purpose:
        return children
    number = zlib.crc32(purpose.encode())
    seeds = [child.integers(2**63, size=2).tolist() for child in children]
    return [np.random.default_rng([*seed, number]) for seed in seeds]


def _children(rng: Rng, count: int) -> list[Rng]:
    try:
        return rng.spawn(count)
    except TypeError:  # a legacy RandomState has nothing to spawn from
        return [np.random.default_rng(pair) for pair in rng.integers(2**63, size=(count, 2))]


def as_flag(value: object, name: str) -> bool:
    """Return a bool; words such as "no", which Python takes for true, are refused."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {in_one_line(repr(value))}")
    return bool(value)


def one_of(value: object, name: str, known: Sequence[str]) -> str:
    """Return value if it is one of the known words, else raise an error that lists them."""
    if not (isinstance(value, str) and value in known):
        found = in_one_line(repr(value))
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {found}")
    return str(value)


def physical_memory() -> int:
    """Return the bytes of memory that this machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return 2**48  # bytes that processors can address


def available_memory() -> int:
    """Return the bytes that this process may still take without harm to others, about."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            facts = dict(line.split(":") for line in file)
        return int(facts["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):  # not Linux
        return physical_memory()
