"""Kernel functions between rows: the one place that computes them.

Kernels of distances must not depend on where the origin is, nor on the unit of the columns. Three
things see to that:

- Rows of extreme size (`Units`) are first brought to about size one by a power of two, which is
  exact, and gamma is brought to the same unit.
- Distances in few dimensions are computed from differences of entries.
- In more dimensions that would take several times as long as a matrix product, so that
  ``|x - y|^2 = |x|^2 + |y|^2 - 2 x'y`` is used, with a centre of the rows as the origin. A pair for
  which this loses too many digits, because both rows are far from the centre and near each other,
  is computed anew from its differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, pdist

from zonodpp._arguments import as_reals
from zonodpp._imports import optional
from zonodpp._types import Booleans, Floats, Matrix
from zonodpp.numerics.arrays import EPS, row_chunks, to_dense, unit_rows

KernelLike = str | Callable[[Any, Any], ArrayLike]
KernelFunction = Callable[[Matrix, Matrix], Floats]

# Rows whose entries differ by numbers in this range are left as they are: squares of differences
# and their inverses are then far from the ends of the range of float64.
_SMALLEST, _LARGEST = 2.0**-250, 2.0**250
_FEW_COLUMNS = 10  # up to here differences are at least as fast as a product (1,000 and 2,000 rows)
_FEW_ROWS = 8  # up to here to subtract a centre takes longer than all differences
_CENTRED_BY = 16  # rows whose median is the centre: any point among the rows will do
_ROUNDING = 4 * EPS  # error of |x|^2 + |y|^2 - 2 x'y, as a share of |x|^2 + |y|^2
_EXPONENT = 1e-13  # error allowed in an exponent, that of a hundred roundings or more
_UNDERFLOW = 746.0  # exp(-746) is zero
_MANY_PAIRS = 0.1  # share of the pairs from which all differences are computed: that is faster
_ENTRIES = 2**20  # of differences of pairs at a time: 8 MiB
_FIRST = 64  # rows that most often tell that the entries of a column differ by an ordinary number
_MEDIAN_ROWS = 1000  # pairs of so many rows are enough for a median
_MOST = float(np.finfo(float).max)

# By which power of the unit of the rows gamma changes.
_DEGREES = {"rbf": 2, "laplacian": 1, "poly": 2, "polynomial": 2, "sigmoid": 2, "chi2": 1}
# Kernels that change themselves by a power of the unit of the rows.
_HOMOGENEOUS = {"linear": 2, "additive_chi2": 1}
_OF_DIFFERENCES = ("rbf", "laplacian")  # an offset of a column does not change these


class Units(NamedTuple):
    """The origin and the unit in which rows are computed with: ``(x - centre) / 2**exponent``.

    If the exponent is zero, rows are of ordinary size and stay as they are.
    """

    centre: Floats | float = 0.0
    exponent: int = 0

    @classmethod
    def of(cls, X: Matrix, *, origin: bool = False) -> Self:
        """Choose units by how far the entries of a column differ or, with ``origin``, by size.

        Units are even powers of two. Sparse rows are not moved.
        """
        size = largest = max(float(X.max()), -float(X.min()))
        centre: Floats | float = 0.0
        if not origin and isinstance(X, np.ndarray):
            if largest <= _LARGEST and np.ptp(X[:_FIRST], axis=0).max() >= _SMALLEST:
                return cls()  # a look at a few rows is enough for almost all data
            low, high = X.min(axis=0) / 2, X.max(axis=0) / 2
            size, centre = float((high - low).max()), low + high
        if size == 0 or _SMALLEST <= size <= _LARGEST:
            return cls()
        return cls(centre, int(np.frexp(size)[1]) // 2 * 2)

    def place(self, X: Matrix) -> Matrix:
        """Return rows in these units."""
        if not self.exponent:
            return X
        if isinstance(X, np.ndarray):
            with np.errstate(over="ignore"):
                return times_power_of_two(X - self.centre, -self.exponent)
        placed = X.copy()
        placed.data = times_power_of_two(X.data, -self.exponent)
        return placed


class Gamma(NamedTuple):
    """The inverse bandwidth ``value * 2**exponent``, which may be beyond the range of floats."""

    value: float
    exponent: int = 0

    def in_units(self, units: Units, degree: int) -> float:
        """Return the number for rows in other units, the nearest one that is a float."""
        return min(float(self._replace(exponent=self.exponent + degree * units.exponent)), _MOST)

    def __float__(self) -> float:
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(self.value, self.exponent))


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel as a function of two matrices of rows.

    Attributes
    ----------
    name : str or function of two matrices of rows
    gamma : float or None
        The inverse bandwidth of rows in ``units``; None if the kernel has none.
    units : Units
    parameters : dict
        Further parameters of a kernel of scikit-learn.
    """

    name: KernelLike
    gamma: float | None = None
    units: Units = field(default_factory=Units)
    parameters: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Matrix,
        name: KernelLike,
        gamma: Gamma | None,
        parameters: Mapping[str, object] | None = None,
    ) -> Self:
        """Return a kernel for rows like those of X; without gamma it is that of scikit-learn."""
        if not isinstance(name, str):
            if not callable(name):
                raise TypeError(f"kernel must be a name or a function of two arrays, got {name!r}")
            return cls(name)
        units = Units()
        if name in _DEGREES or name in _HOMOGENEOUS:
            units = Units.of(X, origin=name not in _OF_DIFFERENCES)
        if name not in _DEGREES:
            return cls(name, None, units, parameters or {})
        if gamma is None:
            gamma = Gamma(1.0 if name == "chi2" else 1.0 / X.shape[1])
        return cls(name, gamma.in_units(units, _DEGREES[name]), units, parameters or {})

    @property
    def exponent(self) -> int:
        """The kernel is 2 to this power times what `scaled` returns. The number is even."""
        degree = _HOMOGENEOUS.get(self.name, 0) if isinstance(self.name, str) else 0
        return degree * self.units.exponent

    def __call__(self, X: Matrix, Y: Matrix) -> Floats:
        """Return the block of the kernel between rows of X and rows of Y."""
        return times_power_of_two(self.scaled(X, Y), self.exponent)

    def scaled(self, X: Matrix, Y: Matrix) -> Floats:
        """Return the block divided by ``2**exponent``, which floats hold whatever the unit is."""
        if callable(self.name):
            return _checked_block(self.name, X, Y)
        placed = self.units.place(X)
        others = placed if X is Y else self.units.place(Y)
        if self.name == "rbf":
            return _rbf(placed, others, self.gamma or 0.0)
        if self.name == "laplacian" and not (sp.issparse(X) or sp.issparse(Y)):
            return _exponential_of(cdist(placed, others, "cityblock"), self.gamma or 0.0)
        if self.name == "cosine":
            placed, others = unit_rows(placed), unit_rows(others)
        if self.name in ("linear", "cosine"):
            return to_dense(placed @ others.T)
        return self._by_scikit_learn(placed, others)

    def _by_scikit_learn(self, X: Matrix, Y: Matrix) -> Floats:
        pairwise = optional("sklearn.metrics.pairwise", "ml", f"the kernel {self.name!r}")
        known = pairwise.PAIRWISE_KERNEL_FUNCTIONS
        if self.name not in known:
            names = ", ".join(sorted(known))
            raise ValueError(
                f"no kernel is named {self.name!r}; there are {names}, and your own function"
            )
        parameters = {"gamma": self.gamma} | dict(self.parameters)
        block = pairwise.pairwise_kernels(X, Y, self.name, filter_params=True, **parameters)
        return np.asarray(block, dtype=np.float64)


def times_power_of_two(X: Floats, exponent: int) -> Floats:
    """Return ``X * 2**exponent``."""
    if not exponent:
        return X
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(X, exponent))


def _checked_block(kernel: Callable[[Any, Any], ArrayLike], X: Matrix, Y: Matrix) -> Floats:
    shape = (X.shape[0], Y.shape[0])
    expected = f"the shape {shape}, one entry for each pair of rows"
    return as_reals(kernel(X, Y), "kernel(X, Y)", shape, expected, finite=True, dtype=None)


def _rbf(X: Matrix, Y: Matrix, gamma: float) -> Floats:
    """Return ``exp(-gamma |x - y|^2)``."""
    if gamma == 0:
        return np.ones((X.shape[0], Y.shape[0]))
    allowed, reach = _EXPONENT / gamma, _UNDERFLOW / gamma
    return _exponential_of(squared_distances(X, Y, error=allowed, reach=reach), gamma)


def exponential(X: Matrix, Y: Matrix, spread: float) -> Floats:
    """Return ``exp(-|x - y| / spread)``."""
    distances = squared_distances(X, Y, share=_EXPONENT)
    return _exponential_of(np.sqrt(distances, out=distances), 1.0 / spread)


def _exponential_of(distances: Floats, gamma: float) -> Floats:
    """Return ``exp(-gamma * distances)`` in the memory of the distances."""
    with np.errstate(over="ignore", under="ignore"):
        distances *= -gamma
    return np.exp(distances, out=distances)


def squared_distances(
    X: Matrix, Y: Matrix, *, error: float = 0.0, share: float = 0.0, reach: float = np.inf
) -> Floats:
    """Return the squared distances of rows of X and rows of Y.

    They are exact up to rounding, or else up to ``error`` plus their own ``share`` of that size.
    Distances whose squares exceed ``reach`` may be less accurate.
    """
    sparse = sp.issparse(X) or sp.issparse(Y)
    few = X.shape[1] <= _FEW_COLUMNS or min(X.shape[0], Y.shape[0]) <= _FEW_ROWS
    if few and not sparse:
        return np.asarray(cdist(X, Y, "sqeuclidean"))
    same = X is Y
    if sparse:
        X = sp.csr_array(X)
        Y = X if same else sp.csr_array(Y)
    centre = _centre_of(X, Y)
    A = _moved(X, centre)
    B = A if same else _moved(Y, centre)
    with np.errstate(over="ignore", invalid="ignore"):  # such pairs are computed anew
        a, b = _squared_lengths(A), _squared_lengths(B)
        found = to_dense(A @ B.T)
        found *= -2.0
        found += a[:, None]
        found += b
        largest = _ROUNDING * float(a.max() + b.max())
        unsure = None
        if not (largest <= error or largest <= error + share * float(found.min())):
            errors = _ROUNDING * np.add.outer(a, b)
            unsure = ~(errors <= error + share * found) & ~(found - errors > reach)
    np.maximum(found, 0.0, out=found)
    if same:
        np.fill_diagonal(found, 0.0)
    if unsure is not None:
        _correct(found, unsure, X, Y)
    return found


def _correct(found: Floats, unsure: Booleans, X: Matrix, Y: Matrix) -> None:
    """Compute the squared distances of some pairs anew, from differences of entries."""
    first, second = np.nonzero(unsure)
    if len(first) > _MANY_PAIRS * found.size and not sp.issparse(X):
        found[:] = cdist(X, Y, "sqeuclidean")
        return
    width = (_stored(X) + _stored(Y)) // sum(found.shape)
    step = max(1, _ENTRIES // max(1, width))
    for start in range(0, len(first), step):
        i, j = first[start : start + step], second[start : start + step]
        found[i, j] = _squared_lengths(X[i] - Y[j])


def _stored(X: Matrix) -> int:
    return X.size if isinstance(X, np.ndarray) else int(X.nnz)


def _squared_lengths(X: Matrix) -> Floats:
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def _centre_of(X: Matrix, Y: Matrix) -> Floats:
    """Return a point among the rows; for sparse rows zero where one of their entries is zero.

    Outliers do not move it, so that few pairs are computed anew.
    """
    step = -(-Y.shape[0] // _CENTRED_BY)
    centre = np.median(to_dense(Y[::step]), axis=0)
    if not isinstance(X, np.ndarray) and not isinstance(Y, np.ndarray):
        stored = np.bincount(X.indices, minlength=len(centre))
        stored += np.bincount(Y.indices, minlength=len(centre))
        centre[stored < X.shape[0] + Y.shape[0]] = 0.0
    return np.asarray(centre)


def _moved(X: Matrix, centre: Floats) -> Matrix:
    """Return rows with the centre as the origin."""
    if isinstance(X, np.ndarray):
        return X - centre
    columns, n = np.flatnonzero(centre), X.shape[0]
    places = np.arange(n + 1) * columns.size
    entries = np.tile(centre[columns], n), np.tile(columns, n), places
    return X - sp.csr_array(entries, shape=X.shape)


def _blocks(X: Matrix) -> Iterator[tuple[slice, Floats]]:
    return row_chunks(X, max(64, _ENTRIES // 8 // X.shape[1]))


def squares_about(X: Matrix, mean: Floats) -> Floats:
    """Return the squared distance of each row from a point; sparse rows stay sparse."""
    if isinstance(X, np.ndarray):
        blocks = (rows - mean for _, rows in _blocks(X))
        return np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
    X = sp.csr_array(X)
    # A column that no row leaves out takes no part in the sum over the entries that are zero, so
    # that a large offset of such a column is no loss.
    partly = np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]
    squares = np.where(partly, mean, 0.0) ** 2
    data = (X.data - mean[X.indices]) ** 2 - squares[X.indices]
    changes = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return np.asarray(changes.sum(axis=1)).ravel() + float(squares.sum())


def weighted_mean(X: Matrix, weights: Floats) -> Floats:
    """Return the mean of the weighted rows, summed from one of them so that offsets keep digits."""
    if not isinstance(X, np.ndarray):
        return np.asarray(weights @ X / weights.sum())
    first = X[np.argmax(weights > 0)]  # rows of weight zero may lie anywhere
    sums = [weights[span] @ (rows - first) for span, rows in _blocks(X)]
    return np.asarray(first + np.sum(sums, axis=0) / weights.sum())


def spread_of(X: Matrix, weights: Floats | None = None) -> float:
    """Return the root mean squared distance of the weighted rows from their mean; 1 if it is 0."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    squares = squares_about(X, weighted_mean(X, weights))
    return float(np.sqrt(weights @ squares / weights.sum())) or 1.0


def scale_gamma(X: Matrix, weights: Floats) -> Gamma:
    """Return one over the sum of the variances of the columns; 1 if all rows are equal.

    For columns of equal means this is the "scale" of scikit-learn's SVC, 1 / (d X.var()), which
    takes the variance of all entries at once and so depends on the offsets of columns.
    """
    units = Units.of(X)
    placed = units.place(X)
    variance = float(weights @ squares_about(placed, weighted_mean(placed, weights)))
    if not variance > 0:
        return Gamma(1.0)
    return Gamma(float(weights.sum()) / variance, -2 * units.exponent)


def median_gamma_of(X: Matrix, name: str) -> Gamma:
    """Return the gamma of the median heuristic, see `zonodpp.features.median_gamma`."""
    n = X.shape[0]
    few = X[np.linspace(0, n - 1, _MEDIAN_ROWS).astype(int)] if n > _MEDIAN_ROWS else X
    units = Units.of(few)
    manhattan = name == "laplacian"
    distances = pdist(to_dense(units.place(few)), "cityblock" if manhattan else "euclidean")
    apart = distances[distances > 0]
    if not apart.size:
        return Gamma(1.0)
    # With mostly equal rows the median would be zero: take that of the pairs that differ.
    middle = float(np.median(distances)) or float(np.median(apart))
    if manhattan:
        return Gamma(1.0 / middle, -units.exponent)
    return Gamma(0.5 / middle**2, -2 * units.exponent)
