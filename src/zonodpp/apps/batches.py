"""`next_batch`: which rows to label next, given those that have labels.

Rows are landmarks of an rbf kernel: with labels for the rows B, what a Gaussian process does not
know yet has the covariance ``R = K - K_B (K_BB + noise)^-1 K_B'``. The next row j is the one that
takes most from the weighted trace of R, which is ``sum_i w_i R_ij^2 / (R_jj + noise)``. The weights
are squares of uncertainties, so that rows about which the model is sure need no labels near them.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from zonodpp._arguments import as_count, as_items, as_matrix, as_scores, check_finite, spawn
from zonodpp._types import Floats, Integers, ItemsLike, MatrixLike, SeedLike
from zonodpp.apps.tables import is_table, numbers_of
from zonodpp.numerics.kernel_function import Kernel, scale_gamma
from zonodpp.numerics.threads import one_thread

_CANDIDATES = 2000  # rows that are compared; of more, a sample by weight
_CANDIDATES_EACH = 4  # candidates for each row asked for, at least
_NOISE = 1e-3  # variance of a label, as a share of that of the function


def next_batch(
    X: MatrixLike,
    k: int,
    *,
    uncertainty: ArrayLike | None = None,
    labelled: ItemsLike | None = None,
    rng: SeedLike = 0,
) -> Integers:
    """Pick k rows to label next: they stand for all rows that a model is not sure about.

    Parameters
    ----------
    X : (n, d) array_like, table or sparse matrix
        Features of all rows, labelled or not, in columns of one scale: the embeddings or the
        standardised columns that the model sees.
    k : int
        How many.
    uncertainty : (n,) array_like, optional
        How unsure the model is about each row, not negative, for example one minus the difference
        of the two largest probabilities of classes. A row counts by the square of it. None: all
        rows count the same, as is right before there is a model.
    labelled : sequence of int, optional
        The rows that have labels: they are not picked, nor is what is similar to them.
    rng : seed or Generator, default 0
        For the sample that is compared if there are more than 2,000 rows without labels.

    Returns
    -------
    (k,) array of int
        The rows to label, the one that tells most first.

    Raises
    ------
    ValueError
        When there are fewer than k rows without labels.

    See Also
    --------
    LandmarkSelector : Rows that stand for all rows, none of them given.
    zonodpp.pick : Relevant items that differ from each other and from those given.

    Examples
    --------
    >>> from zonodpp.apps import next_batch
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]]
    >>> next_batch(X, 2, labelled=[1])
    array([4, 5])
    """
    k = as_count(k, "k", 1)
    rows = as_matrix(numbers_of(X, None, "X") if is_table(X) else X, "X")
    check_finite(rows, "X")
    n = rows.shape[0]
    known = as_items([] if labelled is None else labelled, n, "labelled")
    if known.ndim != 1:
        raise ValueError(f"labelled must be one set of rows, got an array of shape {known.shape}")
    weights = np.ones(n)
    if uncertainty is not None:
        weights = as_scores(uncertainty, n, "uncertainty")
        weights = (weights / (weights.max() or 1.0)) ** 2
    kernel = Kernel.of(rows, "rbf", scale_gamma(rows, np.ones(n)), {}).scaled
    there = np.setdiff1d(np.arange(n), known)
    if k > len(there):
        raise ValueError(
            f"k = {k} rows asked for, but {len(there)} have no label; pass a smaller k"
        )
    size = max(_CANDIDATES, _CANDIDATES_EACH * k)
    if len(there) > size:
        [generator] = spawn(rng, purpose="batch")
        there = _sample(there, weights[there], size, generator)
        weights = np.sign(weights)  # the sample is by weight
    points = rows[there]
    R = kernel(points, points)
    with one_thread(float(len(there)) ** 2 * max(1, len(known))):
        if len(known):
            given = kernel(rows[known], rows[known])
            given[np.diag_indices_from(given)] += _NOISE
            half = scipy.linalg.solve_triangular(
                scipy.linalg.cholesky(given, lower=True), kernel(rows[known], points), lower=True
            )
            R = R - half.T @ half
        return there[_greedy(R, weights[there], k)]


def _sample(rows: Integers, weights: Floats, size: int, rng: np.random.Generator) -> Integers:
    """Draw rows by weight; those of weight zero only if there are too few others."""
    with np.errstate(divide="ignore"):
        drawn = rng.exponential(size=len(rows)) / weights
    return np.sort(rows[np.argsort(drawn, kind="stable")[:size]])


def _greedy(R: Floats, weights: Floats, k: int) -> Integers:
    """Pick k rows that take most from the weighted trace of R, which is changed."""
    picks: list[int] = []
    open_rows = np.ones(len(R), dtype=bool)
    taken = weights @ (R * R)  # sum_i w_i R_ij^2
    for _ in range(k):
        gains = taken / (np.maximum(np.diagonal(R), 0.0) + _NOISE)
        item = int(np.argmax(np.where(open_rows, gains, -1.0)))
        picks.append(item)
        open_rows[item] = False
        column = R[:, item] / np.sqrt(max(R[item, item], 0.0) + _NOISE)
        R -= np.outer(column, column)
        taken = weights @ (R * R)
    return np.asarray(picks, dtype=np.int64)
