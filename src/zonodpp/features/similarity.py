"""How alike items are, and how good: kernels, their bandwidth, the scale of data, quality."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from zonodpp._arguments import as_matrix, as_positive, as_scores, check_finite
from zonodpp._types import Floats, Matrix, MatrixLike
from zonodpp.numerics.arrays import EPS, largest_entries, to_dense, unit_rows
from zonodpp.numerics.kernel_function import Gamma, Kernel, KernelLike, median_gamma_of


def similarity(
    X: MatrixLike,
    Y: MatrixLike | None = None,
    *,
    kernel: KernelLike = "rbf",
    gamma: float | None = None,
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

    Returns
    -------
    (n, m) array
        One entry for each pair of a row of X and a row of Y.

    Raises
    ------
    ValueError
        When X and Y have different numbers of columns, or no kernel has that name.

    See Also
    --------
    median_gamma : The bandwidth that is used where none is given.
    pivoted_cholesky : Features of a kernel that is never formed.
    check_psd : Whether a kernel matrix is positive semidefinite.

    Examples
    --------
    >>> from zonodpp.features import similarity
    >>> similarity([[1, 0], [1, 1], [0, 2]], kernel="cosine").round(2)
    array([[1.  , 0.71, 0.  ],
           [0.71, 1.  , 0.71],
           [0.  , 0.71, 1.  ]])
    """
    rows = finite_rows(X)
    others = rows if Y is None else finite_rows(Y, "Y")
    if others.shape[1] != rows.shape[1]:
        raise ValueError(
            f"X and Y must have the same features, got {rows.shape[1]} and {others.shape[1]}"
        )
    return kernel_for(rows, kernel, gamma)(rows, others)


def median_gamma(X: MatrixLike, *, kernel: str = "rbf") -> float:
    """Return the gamma at which a typical pair of items is neither equal nor unrelated.

    The median heuristic: ``1 / (2 median^2)`` of the distances for rbf, so that a typical pair has
    similarity ``exp(-1/2)``, and ``1 / median`` of the sums of differences for laplacian. Only the
    distances among at most 1,000 rows are used, evenly spaced in X: nothing is random.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows.
    kernel : str, default "rbf"
        ``"laplacian"``, or any other name for Euclidean distances.

    Returns
    -------
    float
        1.0 if all rows are equal.

    See Also
    --------
    similarity : The kernel matrix.

    Examples
    --------
    >>> from zonodpp.features import median_gamma
    >>> median_gamma([[0.0], [1.0], [2.0]])
    0.5
    """
    gamma = float(median_gamma_of(finite_rows(X), kernel))
    return as_positive(gamma, "gamma by the median heuristic")


def standardize(X: MatrixLike) -> Floats:
    """Bring every feature to mean 0 and standard deviation 1; constant features become 0.

    Do this before a kernel of distances when features have different units.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows.

    Returns
    -------
    (n, d) array
        The standardised features.

    See Also
    --------
    similarity : A kernel of distances between the rows.

    Examples
    --------
    >>> from zonodpp.features import standardize
    >>> standardize([[0, 1000], [1, 3000]])
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    dense = to_dense(finite_rows(X))
    # Powers of two, so that squares neither overflow nor vanish and no digit is lost.
    dense = np.ldexp(dense, -np.frexp(largest_entries(dense, axis=0))[1])
    dense -= dense[0].copy()  # an offset would take digits from the mean
    dense -= dense.mean(axis=0)
    spread = dense.std(axis=0)
    constant = spread <= 8 * EPS
    return np.asarray(np.where(constant, 0.0, dense) / np.where(constant, 1.0, spread))


def quality_diversity(quality: ArrayLike, features: MatrixLike, *, strength: float = 1.0) -> Matrix:
    """Scale unit rows of features by the quality of their items.

    The kernel is then ``L_ij = q_i cos(i, j) q_j``: a subset is likely when its items are good and
    its directions differ. Rows are brought to length one first, so that quality alone decides how
    long they are.

    Parameters
    ----------
    quality : (n,) array_like
        Non-negative, for instance relevance. An item of quality zero is never drawn.
    features : (n, m) array_like, DataFrame or scipy.sparse matrix
        What makes items alike, one row for each.
    strength : float, default 1
        The power of the quality that is used: 0 ignores it, large values all but ignore diversity.

    Returns
    -------
    (n, m) array or scipy.sparse array
        The scaled rows; sparse if the features are.

    Raises
    ------
    ValueError
        When a quality is negative, or its power overflows.

    See Also
    --------
    zonodpp.DPP.from_features : The DPP of such rows.
    zonodpp.apps.shortlist : A list of relevant items that differ.

    References
    ----------
    A. Kulesza, B. Taskar, "Determinantal point processes for machine learning", Foundations and
    Trends in Machine Learning 5 (2012), section 3.1.

    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, equation 5.

    Examples
    --------
    >>> from zonodpp.features import quality_diversity
    >>> quality_diversity([2.0, 0.5], [[3, 4], [0, 1]])
    array([[1.2, 1.6],
           [0. , 0.5]])
    """
    rows = finite_rows(features, "features")
    hint = ". Scores that can be negative become quality by numpy.exp"
    q = as_scores(quality, rows.shape[0], "quality", hint)
    strength = as_positive(strength, "strength", or_zero=True)
    with np.errstate(over="ignore"):
        lengths = np.where(q > 0, q**strength, 0.0)
    if lengths.max() == np.inf:
        raise ValueError(
            f"quality ** {strength:g} overflows for the quality {q.max():g}; divide quality by its "
            "largest value first"
        )
    return sp.diags_array(lengths) @ unit_rows(rows)


def finite_rows(X: MatrixLike, name: str = "X") -> Matrix:
    """Check that items, as rows, are finite numbers; sparse ones are returned by rows."""
    rows = as_matrix(X, name)
    check_finite(rows, name)
    return rows if isinstance(rows, np.ndarray) else rows.tocsr()


def kernel_for(X: Matrix, kernel: KernelLike, gamma: float | None) -> Kernel:
    """Return the kernel for rows like those of X.

    Where rbf and laplacian need gamma and it is not given, it is that of `median_gamma` for X.
    """
    given = None if gamma is None else Gamma(as_positive(gamma, "gamma"))
    if given is None and kernel in ("rbf", "laplacian"):
        given = median_gamma_of(X, str(kernel))
    return Kernel.of(X, kernel, given)
