"""How alike items are: kernels by name or as functions, their bandwidth, and the scale of data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist

from zonodpp._optional import optional
from zonodpp._types import Floats
from zonodpp.arguments import as_matrix, as_positive, check_finite

KernelLike = str | Callable[[Any, Any], Any]
BUILT_IN = ("linear", "cosine", "rbf", "laplacian")
MEDIAN_ROWS = 1000  # pairs of so many rows are enough for a median


def similarity(
    X: Any, Y: Any = None, *, kernel: KernelLike = "rbf", gamma: float | None = None
) -> Floats:
    """Return the kernel matrix of the rows of X, or of X against Y.

    Parameters
    ----------
    X, Y : (n, d) and (m, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows. Y is X when left out.
    kernel : str or callable, default "rbf"
        ``"linear"`` (inner products), ``"cosine"`` (of unit rows), ``"rbf"``
        (``exp(-gamma * squared distance)``), ``"laplacian"`` (``exp(-gamma * sum |x - y|)``), any
        other name that `sklearn.metrics.pairwise.pairwise_kernels` knows, or a function that
        takes two arrays of rows and returns the block of the kernel (kernel objects of
        scikit-learn's Gaussian processes are such functions).
    gamma : float, optional
        Inverse bandwidth of rbf and laplacian; by default that of `median_gamma`.

    Examples
    --------
    >>> from zonodpp.features import similarity
    >>> similarity([[1, 0], [1, 1], [0, 2]], kernel="cosine").round(2)
    array([[1.  , 0.71, 0.  ],
           [0.71, 1.  , 0.71],
           [0.  , 0.71, 1.  ]])
    """
    rows = as_matrix(X, "X")
    check_finite(rows, "X")
    others = rows if Y is None else as_matrix(Y, "Y")
    if Y is not None:
        check_finite(others, "Y")
        if others.shape[1] != rows.shape[1]:
            raise ValueError(
                f"X and Y must have the same features, got {rows.shape[1]} and {others.shape[1]}"
            )
    return block_function(kernel, bandwidth(rows, kernel, gamma))(rows, others)


def median_gamma(X: Any, *, kernel: str = "rbf") -> float:
    """Return the gamma at which a typical pair of items is neither equal nor unrelated.

    The median heuristic: ``1 / (2 median^2)`` of the distances for rbf, so that a typical pair has
    similarity ``exp(-1/2)``, and ``1 / median`` of the sums of differences for laplacian. Distances
    among at most 1,000 rows, evenly spaced, are looked at: no randomness.

    Examples
    --------
    >>> from zonodpp.features import median_gamma
    >>> median_gamma([[0.0], [1.0], [2.0]])
    0.5
    """
    rows = as_matrix(X, "X")
    check_finite(rows, "X")
    n = rows.shape[0]
    if n > MEDIAN_ROWS:
        rows = rows.tocsr() if sp.issparse(rows) else rows
        rows = rows[np.linspace(0, n - 1, MEDIAN_ROWS).astype(int)]
    dense = rows.toarray() if sp.issparse(rows) else rows
    distances = pdist(dense, "cityblock" if kernel == "laplacian" else "euclidean")
    apart = distances[distances > 0]
    if not apart.size:
        return 1.0
    # With mostly equal rows the median would be zero: take that of the pairs that differ.
    middle = float(np.median(distances)) or float(np.median(apart))
    gamma = 1 / middle if kernel == "laplacian" else 0.5 / middle**2
    return as_positive(gamma, "gamma by the median heuristic")


def standardize(X: Any) -> Floats:
    """Bring every feature to mean 0 and standard deviation 1; constant features become 0.

    Do this before a kernel of distances when features have different units.

    Examples
    --------
    >>> from zonodpp.features import standardize
    >>> standardize([[0, 1000], [1, 3000]])
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    rows = as_matrix(X, "X")
    check_finite(rows, "X")
    dense = rows.toarray() if sp.issparse(rows) else rows
    largest = np.abs(dense).max(axis=0)
    dense = dense / np.where(largest > 0, largest, 1.0)  # squares neither overflow nor vanish
    dense -= dense.mean(axis=0)
    spread = dense.std(axis=0)
    constant = spread <= 8 * np.finfo(float).eps
    return np.asarray(np.where(constant, 0.0, dense) / np.where(constant, 1.0, spread))


def bandwidth(X: Any, kernel: KernelLike, gamma: float | None) -> float | None:
    """Return the gamma to use: the one given, or the median heuristic for kernels that need one."""
    if gamma is not None:
        return as_positive(gamma, "gamma")
    return median_gamma(X, kernel=str(kernel)) if kernel in ("rbf", "laplacian") else None


def block_function(kernel: KernelLike, gamma: float | None) -> Callable[[Any, Any], Floats]:
    """Return the function from two arrays of rows to the block of the kernel."""
    if callable(kernel):
        return lambda X, Y: _checked_block(kernel, X, Y)
    if not isinstance(kernel, str):
        raise TypeError(f"kernel must be a name or a function of two arrays, got {kernel!r}")
    return lambda X, Y: _named_block(kernel, gamma, X, Y)


def _named_block(kernel: str, gamma: float | None, X: Any, Y: Any) -> Floats:
    if kernel in ("linear", "cosine"):
        if kernel == "cosine":
            X, Y = unit_rows(X), unit_rows(Y)
        product = X @ Y.T
        return np.asarray(product.toarray() if sp.issparse(product) else product)
    if kernel in BUILT_IN and not (sp.issparse(X) or sp.issparse(Y)) and gamma is not None:
        # Distances from differences: an expanded square loses the digits of close neighbours.
        if kernel == "rbf":
            return np.asarray(np.exp(-gamma * cdist(X, Y, "sqeuclidean")))
        return np.asarray(np.exp(-gamma * cdist(X, Y, "cityblock")))
    pairwise = optional("sklearn.metrics.pairwise", "ml", f"the kernel {kernel!r} of this input")
    if kernel not in pairwise.PAIRWISE_KERNEL_FUNCTIONS:
        names = ", ".join(sorted(pairwise.PAIRWISE_KERNEL_FUNCTIONS))
        raise ValueError(f"no kernel is named {kernel!r}; there are {names}, and your own function")
    found = pairwise.pairwise_kernels(X, Y, metric=kernel, filter_params=True, gamma=gamma)
    return np.asarray(found, dtype=np.float64)


def _checked_block(kernel: Callable[[Any, Any], Any], X: Any, Y: Any) -> Floats:
    block = np.asarray(kernel(X, Y))
    if block.shape != (X.shape[0], Y.shape[0]):
        raise ValueError(
            f"kernel(X, Y) must return an array of shape {(X.shape[0], Y.shape[0])}, one entry "
            f"for each pair of rows, got {block.shape}"
        )
    check_finite(block, "kernel(X, Y)")
    return block


def unit_rows(X: Any) -> Any:
    """Bring rows to length one; zero rows stay."""
    if sp.issparse(X):
        largest = abs(X).max(axis=1).toarray().ravel()
        rows = sp.diags_array(1 / np.where(largest > 0, largest, 1.0)) @ X
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return sp.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ rows
    largest = np.abs(X).max(axis=1)
    rows = X / np.where(largest > 0, largest, 1.0)[:, None]
    lengths = np.linalg.norm(rows, axis=1)
    return rows / np.where(lengths > 0, lengths, 1.0)[:, None]
