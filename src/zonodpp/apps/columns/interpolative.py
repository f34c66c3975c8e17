"""`interpolative`: a matrix as a few of its columns times coefficients; `cur`: columns and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from zonodpp._arguments import as_count, as_positive, one_of, spawn
from zonodpp._types import Floats, Integers, Rng, SeedLike
from zonodpp.apps.columns.coordinates import Operand, as_operand, coordinates, width_for
from zonodpp.apps.columns.pivots import PICKERS, pick_by_directions
from zonodpp.apps.columns.search import ColumnCoordinates, ColumnSearch
from zonodpp.numerics.threads import one_thread

_METHODS = ("search", *PICKERS)
_FIRST_GUESS = 50  # columns that are tried first for a tolerance, of a large matrix


@dataclass(frozen=True)
class Interpolation:
    """Columns of a matrix and coefficients: ``A ~ A[:, columns] @ coefficients``.

    Attributes
    ----------
    columns : (k,) array of int
        The columns picked, in ascending order.
    coefficients : (k, n) array
        All columns by those picked; the columns picked are the identity there.
    error : float
        The squared Frobenius norm of ``A - A[:, columns] @ coefficients``.
    best_error : float
        That of the best approximation of the same rank.

    See Also
    --------
    zonodpp.apps.interpolative : Makes one.

    Examples
    --------
    >>> from zonodpp.apps import interpolative
    >>> found = interpolative([[3, 0, 6, 1], [0, 2, 3, 2]], 1)
    >>> found.columns
    array([2])
    >>> found.coefficients.round(2)
    array([[0.4 , 0.13, 1.  , 0.27]])
    """

    columns: Integers
    coefficients: Floats
    error: float
    best_error: float


@dataclass(frozen=True)
class CUR:
    """Columns and rows of a matrix: ``A ~ A[:, columns] @ middle @ A[rows]``.

    Attributes
    ----------
    columns, rows : (k,) arrays of int
        Those picked, in ascending order.
    middle : (k, k) array
        The matrix between them that gives the least error.
    error : float
        The squared Frobenius norm of what is left.
    best_error : float
        That of the best approximation of the same rank.

    See Also
    --------
    zonodpp.apps.cur : Makes one.

    Examples
    --------
    >>> from zonodpp.apps import cur
    >>> cur([[3, 0, 6, 1], [0, 2, 3, 2]], 1).columns
    array([2])
    """

    columns: Integers
    rows: Integers
    middle: Floats
    error: float
    best_error: float


def interpolative(
    A: Any,
    k: int | None = None,
    tol: float | None = None,
    *,
    method: str = "search",
    rng: SeedLike = None,
) -> Interpolation:
    """Pick columns of a matrix from which all its columns follow, as nearly as possible.

    Parameters
    ----------
    A : (m, n) array_like, sparse matrix, DataFrame, LinearOperator, or rows beyond memory
        The matrix. Memory maps, Dask collections, paths of Parquet files and functions that return
        an iterator of batches of rows are read in one pass; see docs/streams.md.
    k : int, optional
        How many columns. Fewer are picked if fewer explain all of A up to rounding.
    tol : float, optional
        In place of k: as many columns as it takes for an error of at most ``tol`` times the
        Frobenius norm of A.
    method : {"search", "arp", "osinsky", "qdeim"}
        "search" adds the column that lowers the error most, then exchanges columns while that
        lowers the error. The other methods look at the k leading right singular vectors V alone:
        "arp" draws columns S from the projection DPP of V (adaptive randomized pivoting), "osinsky"
        picks one after another by the derandomised rule, and "qdeim" takes the pivots of a QR
        factorisation of V'. For "arp" in the mean, and for "osinsky" always, the error is at most
        (k + 1) times the best of rank k, even with the coefficients ``V_S^{-1} V'``.
    rng : int or numpy Generator, optional
        For "arp", and for random products with large matrices.

    Returns
    -------
    Interpolation
        ``columns``, ``coefficients`` of least squares, ``error`` and ``best_error``. The last two
        are squared. Of a large matrix, ``best_error`` is that of random products, and a few per
        cent too large where singular values fall slowly; of a LinearOperator both are estimated.

    Raises
    ------
    ValueError
        When A has entries that are not finite, or neither or both of ``k`` and ``tol`` are given.

    See Also
    --------
    ColumnSelector : The same as a scikit-learn selector of features.
    cur : Columns and rows.
    zonodpp.ProjectionDPP : The law of "arp".

    References
    ----------
    A. Cortinovis, D. Kressner, "Adaptive randomized pivoting for column subset selection, DEIM, and
    low-rank approximation", arXiv 2412.13992 (2024).

    E. N. Epperly, "Adaptive randomized pivoting and volume sampling", arXiv 2510.02513 (2025).

    A. Osinsky, "Close to optimal column approximations with a single SVD", arXiv 2308.09068 (2023).

    Z. Drmac, S. Gugercin, "A new selection operator for the discrete empirical interpolation
    method", SIAM Journal on Scientific Computing 38 (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps import interpolative
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 40))
    >>> found = interpolative(A, 5)
    >>> np.allclose(A, A[:, found.columns] @ found.coefficients)
    True
    >>> len(interpolative(A, tol=1e-6).columns)
    5
    """
    one_of(method, "method", _METHODS)
    operand = as_operand(A)
    return _interpolate(operand, *_count_or_tolerance(operand, k, tol), method, spawn(rng)[0])


def cur(A: Any, k: int, *, method: str = "search", rng: SeedLike = None) -> CUR:
    """Pick columns and rows of a matrix from which all of it follows, as nearly as possible.

    Parameters
    ----------
    A : (m, n) array_like, sparse matrix, DataFrame or LinearOperator
        The matrix.
    k : int
        How many columns, and how many rows.
    method : {"search", "arp", "osinsky", "qdeim"}
        How to pick, as in `interpolative`.
    rng : int or numpy Generator, optional
        As in `interpolative`.

    Returns
    -------
    CUR
        ``columns``, ``rows``, the ``middle`` of least error, ``error`` and ``best_error``; the
        errors are squared.

    See Also
    --------
    interpolative : Columns alone.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps import cur
    >>> A = 1 / (1 + np.arange(60)[:, None] + np.arange(40))
    >>> found = cur(A, 6)
    >>> np.allclose(A, A[:, found.columns] @ found.middle @ A[found.rows], atol=1e-4)
    True
    """
    one_of(method, "method", _METHODS)
    operand = as_operand(A, whole=True)
    transposed = Operand(operand.A.T, None, np.zeros((operand.shape[1], 0)))
    k = as_count(k, "k", 1, min(operand.shape))
    by_columns, by_rows, probes = spawn(rng, 3, purpose="cur")
    left = _interpolate(as_operand(operand.A), k, None, method, by_columns)
    right = _interpolate(as_operand(transposed.A), k, None, method, by_rows)
    Q, C = factors(operand, left.columns)
    P, R = factors(transposed, right.columns)
    along = operand.transposed_times(Q)
    core = P.T @ along
    error = float(operand.left_by(Q, along, probes, P @ core).sum())
    middle = scipy.linalg.solve_triangular(C, scipy.linalg.solve_triangular(R, core).T)
    best = min(error, left.best_error)
    return CUR(left.columns, right.columns, middle, error, best)


def _count_or_tolerance(
    operand: Operand, k: int | None, tol: float | None
) -> tuple[int | None, float | None]:
    """Check that either a number of columns or a tolerance is given."""
    if (k is None) == (tol is None):
        raise ValueError("pass k, a number of columns, or tol, a tolerance, and not both")
    if k is None:
        assert tol is not None
        return None, as_positive(tol, "tol")
    return as_count(k, "k", 1, operand.shape[1]), None


def _interpolate(
    operand: Operand, k: int | None, tol: float | None, method: str, rng: Rng
) -> Interpolation:
    """Pick columns, and compute coefficients of least squares and errors."""
    given, columns = chosen_columns(operand, k, tol, method, rng)
    coefficients, error = least_squares(operand, columns, rng)
    best = min(error, given.best_error(len(columns)))  # an estimate may be too large
    return Interpolation(columns, coefficients, error, best)


def chosen_columns(
    operand: Operand, k: int | None, tol: float | None, method: str, rng: Rng
) -> tuple[ColumnCoordinates, Integers]:
    """Return coordinates of all columns, and k of them, or as many as the tolerance takes."""
    guess = _FIRST_GUESS if k is None else k
    while True:
        given = coordinates(operand, width_for(guess), rng)
        is_whole = not given.tail.any()
        most = min(given.rank, len(given.C)) if is_whole else guess
        most = most if k is None else min(k, most)
        enough = 0.0 if tol is None else tol**2 * given.best_error(0)
        if method == "search":
            columns, error = search(given, most, enough)
            done = error <= enough
        else:
            needed = most if tol is None else _count_for(given, most, enough)
            columns = pick_by_directions(given, needed, method, rng)
            done = needed < most
        if k is not None or done or is_whole:
            return given, columns
        guess *= 2


def search(
    given: ColumnCoordinates, k: int, enough: float = 0.0, weight: float = 1.0
) -> tuple[Integers, float]:
    """Return the columns that a search finds, and their squared error: k, or as many as needed.

    The search begins twice: with columns added greedily, and with those of Osinsky's rule, which
    looks at singular directions. Each begins better for some matrices; greedy columns where
    singular values fall slowly, the others where they fall fast.
    """
    with one_thread():
        found = ColumnSearch(given, k, weight)
        found.add(enough)
        found.exchange()
        count = min(len(found.chosen), given.rank)
        if count and not given.targets.size:
            other = ColumnSearch(given, k, weight)
            other.start(pick_by_directions(given, count, "osinsky"))
            other.exchange()
            if other.error() <= max(found.error(), found.rounding):
                found = other
        while enough > 0 and found.drop(enough):
            found.exchange()
    return np.sort(found.chosen), found.error()


def _count_for(given: ColumnCoordinates, most: int, enough: float) -> int:
    """Return the smallest k for which the bound, (k + 1) times the best error, is enough."""
    bounds = (k for k in range(most) if (k + 1) * given.best_error(k) <= enough)
    return next(bounds, most)


def least_squares(operand: Operand, columns: Integers, rng: Rng) -> tuple[Floats, float]:
    """Return the coefficients of least squares, and the squared error."""
    Q, R = factors(operand, columns)
    P = operand.transposed_times(Q)
    with one_thread(P.size * len(columns)):
        coefficients = scipy.linalg.solve_triangular(R, P.T)
    coefficients[:, columns] = np.eye(len(columns))
    return coefficients, float(operand.left_by(Q, P, rng).sum())


def factors(operand: Operand, columns: Integers) -> tuple[Floats, Floats]:
    """Return the QR factorisation of some columns."""
    taken = operand.take(columns)
    with one_thread(len(columns) ** 3):
        Q, R = np.linalg.qr(taken)
    return Q, R
