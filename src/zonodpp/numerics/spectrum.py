"""Spectra: eigenvectors of kernels, from the kernel or from features, and leading directions.

Eigenvalues keep their digits over hundreds of orders of magnitude where the input has them: columns
of features and diagonals of kernels that differ in size are no reason to lose the small ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse.linalg import aslinearoperator, svds

from zonodpp._arguments import as_count, check_finite
from zonodpp._types import Floats, Integers, Matrix
from zonodpp.numerics.arrays import EPS, largest_entries, row_chunks, to_dense
from zonodpp.numerics.determinant import items_of, pick_greedily
from zonodpp.numerics.gram import factorise_by_cholesky, numerical_rank, triangle
from zonodpp.numerics.kernel import (
    KernelColumns,
    partial_factor,
    pivoted_factor,
    rounding_of_eigenvalues,
    rounding_share,
)

_GRADED = 1e8  # ratio of sizes beyond which plain eigenvalues would lose digits
_LOW_RANK = 0.5  # share of n below which features are cheaper than a kernel's eigenvectors
_NARROW = 2000  # columns up to which a triangular factor is computed (32 MB)
_SMALL = 2e9  # operations, about a second, up to which a matrix is decomposed as a whole
_UNNOTICED = 1e-6  # error of a probability that draws do not show
_SEEN = 1e-6  # singular values, relative to the first, that products with X and X' still resolve


class Spectrum(NamedTuple):
    """``vectors[:, j]`` has eigenvalue ``exp(logs[j])``, largest first; zeros are left out.

    Eigenvalues may be infinite: along such directions a draw always has an item.
    """

    vectors: Floats
    logs: Floats


def of_features(Phi: Matrix, eps: float = EPS) -> Spectrum:
    """Decompose L = Phi Phi' for an (n, m) array or sparse matrix, without forming L.

    ``eps`` is the relative precision of Phi's entries: it decides which columns are dependent.
    Phi = Q C with Q orthonormal, and the left singular vectors of C turn Q into eigenvectors.
    """
    check_finite(Phi, "the features")
    rows = largest_entries(Phi, axis=1)
    if rows.max() > _GRADED * rows.min(where=rows > 0, initial=np.inf):
        Phi = _by_large_rows(to_dense(Phi), eps)
    n, m = Phi.shape
    sizes = largest_entries(Phi, axis=0)
    used = np.flatnonzero(sizes > 0)
    if not used.size:
        return Spectrum(np.zeros((n, 0)), np.zeros(0))
    if m > n and sizes.max() <= _GRADED * sizes[used].min():
        return of_features(_fewer_columns(Phi, eps), eps)
    gram = factorise_by_cholesky(Phi.T, None) if m <= n else None
    if gram is not None:  # Phi = Q C with Q = Phi W' and C = W'^{-1}
        turn, singular = _left_singular(np.asarray(np.linalg.inv(gram.W).T))
        return Spectrum(np.asarray(Phi @ (gram.W.T @ turn)), 2 * np.log(singular))
    sizes = sizes[used]
    X = to_dense(Phi[:, used]) / sizes
    _, order, rank = _pivoted(triangle(rows for _, rows in row_chunks(X)), eps)
    Q, _ = np.linalg.qr(X[:, np.sort(order[:rank])])  # columns that span the rest
    turn, singular = _left_singular((Q.T @ X) * sizes)
    return Spectrum(Q @ turn, 2 * np.log(singular))


def _by_large_rows(Phi: Floats, eps: float) -> Floats:
    """Return features of the same kernel whose columns are graded, as the rows of Phi are.

    The columns are coordinates along orthogonal directions: the first is that of the largest row,
    the next that of the row of which most is left, and so on. Where a row has nothing but rounding
    errors, these become zero: of a large row they would hide all small rows.
    """
    items = items_of(Phi)
    picks = pick_greedily(items, min(Phi.shape))
    features = Phi @ np.linalg.qr(items.unit[picks].T)[0]
    lengths = np.exp(items.log_scale / 2)
    rounding = 16 * max(eps, EPS) * np.sqrt(Phi.shape[1]) * lengths
    features[np.abs(features) <= rounding[:, None]] = 0.0
    return np.asarray(features)


def _fewer_columns(Phi: Matrix, eps: float) -> Floats:
    """Return features of the same kernel with as many columns as its rank, which is at most n."""
    lengths = np.maximum(largest_entries(Phi, axis=1), np.finfo(float).tiny)
    upper, order, rank = _pivoted(triangle([(to_dense(Phi) / lengths[:, None]).T]), eps)
    features = np.empty((len(order), rank))
    features[order] = upper[:rank].T
    return features * lengths[:, None]


def _pivoted(R: Floats, eps: float) -> tuple[Floats, Integers, int]:
    """Factorise R = Q U P by columns, each judged against its own length.

    Returns U, the order of the columns, and the numerical rank.
    """
    norms = np.linalg.norm(R, axis=0)
    norms[norms == 0] = 1.0
    upper, order = scipy.linalg.qr(R / norms, pivoting=True, mode="r")
    large = np.abs(np.diagonal(upper)) > 8 * len(order) * eps
    return upper * norms[order], order, int(large.sum())


def _left_singular(C: Floats) -> tuple[Floats, Floats]:
    """Return left singular vectors and values; to full relative accuracy if columns are graded."""
    peak = float(np.abs(C).max())
    Q, R, _ = scipy.linalg.qr(C / peak, pivoting=True, mode="economic")
    sizes = np.abs(np.diagonal(R))
    if sizes[0] <= _GRADED * sizes[-1]:
        turn, singular, _ = np.linalg.svd(R, full_matrices=False)
    else:  # one-sided Jacobi on columns in descending order
        values, _, turn, work, _, _ = lapack.dgejsv(R.T, joba=2, jobu=3, jobv=0, jobr=0)
        singular = values * (work[0] / work[1])
    kept = singular > 0
    return Q @ turn[:, kept], singular[kept] * peak


def of_kernel(L: Floats, eps: float) -> Spectrum:
    """Decompose a symmetric positive semidefinite kernel, given to relative precision ``eps``.

    A kernel of low rank goes through its pivoted Cholesky factor, in O(n rank^2), and so does one
    whose diagonal is graded.

    Raises
    ------
    NotPositiveError
        When an eigenvalue is below zero by more than rounding explains.
    """
    n, rounding = len(L), rounding_share(len(L), eps)
    diagonal = np.diagonal(L)
    lengths = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    if diagonal.min() >= 0 and diagonal.max() > 0:
        graded = diagonal.max() > _GRADED * diagonal[diagonal > 0].min()
        factor, amplified = _graded_factor(L, eps) if graded else (pivoted_factor(L, eps), 8.0)
        cheaper = graded or factor.shape[1] <= _LOW_RANK * n
        # If the factor is not close to L, L may have negative eigenvalues, which `eigh` finds.
        if cheaper and _is_close(L, factor, lengths, amplified * rounding):
            return of_features(factor, eps)
    values, vectors = scipy.linalg.eigh(L)
    kept = values > rounding_of_eigenvalues(values, "L", rounding)
    return Spectrum(vectors[:, kept][:, ::-1], np.log(values[kept][::-1]))


def _graded_factor(L: Floats, eps: float) -> tuple[Floats, float]:
    """Return the Cholesky factor with largest pivots first: its columns are graded as L is.

    Returns also by how much rounding errors may have grown: a pivot that is a small share of its
    diagonal entry makes them larger.
    """
    diagonal = np.diagonal(L)
    try:
        kernel = KernelColumns(diagonal, lambda span, items: L[items, span].T, eps)
        factor, pivots = partial_factor(kernel, None, 0.0)
    except ValueError:  # an entry is larger than the diagonal allows: eigenvalues tell by how much
        return np.zeros((len(L), 1)), 0.0
    shares = np.diagonal(factor[pivots]) ** 2 / diagonal[pivots]
    return factor, 1e3 / float(shares.min())


def _is_close(L: Floats, factor: Floats, lengths: Floats, tolerance: float) -> bool:
    """Tell whether factor factor' is L, entries measured as correlations."""
    return all(
        (np.abs(rows - factor[span] @ factor.T) / lengths[span, None] <= tolerance * lengths).all()
        for span, rows in row_chunks(L, 4096)
    )


def principal_scores(X: Matrix, rank: int) -> Floats:
    """Coordinates of the rows of X along its leading principal directions (centred PCA)."""
    n, d = X.shape
    rank = as_count(rank, "rank", 1)
    check_finite(X, "X")
    need_directions(rank, n, d, min(n - 1, d))
    mean = np.asarray(X.mean(axis=0)).ravel()
    directions, singular = leading_directions(X, rank, mean)
    need_directions(rank, n, d, numerical_rank(singular))
    leading = directions[:, :rank]
    return np.asarray(X @ leading) - mean @ leading


def need_directions(rank: int, n: int, d: int, found: int) -> None:
    """Raise an error if n centred rows of d features have fewer principal directions than asked."""
    if found < rank:
        way_out = f"pass rank={found} or less" if found else "all rows are the same"
        raise ValueError(
            f"rank={rank} principal directions asked for, but {n} items with {d} features have at "
            f"most {found} once centred (numerical rank {found}); {way_out}"
        )


def _allowance(n: int, eps: float) -> float:
    """Return the error that eigenvalues of an n x n projection or correlation kernel may have.

    These eigenvalues are probabilities. A kernel that was computed by other programs often has
    errors larger than rounding to ``eps``, the relative precision of its entries, explains.
    """
    return max(_UNNOTICED, rounding_share(n, eps))


def of_correlation(K: Floats, eps: float) -> Spectrum:
    """Decompose K and turn its eigenvalues mu into those of L, mu / (1 - mu)."""
    values, vectors = scipy.linalg.eigh(K)
    beyond = max(-values[0], values[-1] - 1.0)
    if beyond > _allowance(len(K), eps):
        worst = values[0] if beyond == -values[0] else values[-1]
        raise ValueError(
            f"eigenvalues of K must lie between 0 and 1, got {worst:.8g}; a likelihood kernel, "
            "whose eigenvalues may be larger, is passed as DPP(L=...)"
        )
    # Errors of `eigh`, errors due to the precision of the entries, and the error that shows.
    noise = max(64 * len(K) * EPS, 8 * np.sqrt(len(K)) * eps, beyond)
    kept = values > noise
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    values = np.where(values >= 1 - noise, 1.0, values)
    with np.errstate(divide="ignore"):
        logs = np.log(values) - np.log1p(-values)
    return Spectrum(vectors, logs)


def projection_basis(K: Floats, eps: float) -> Floats:
    """Return A with orthonormal rows and K = A'A, for an orthogonal projection K."""
    values, vectors = scipy.linalg.eigh(K)
    away = np.minimum(np.abs(values), np.abs(values - 1))
    if away.max() > _allowance(len(K), eps):
        worst = float(values[np.argmax(away)])
        raise ValueError(
            f"the kernel is not an orthogonal projection: it has an eigenvalue {worst:.6g}, off "
            f"from 0 and 1 by {away.max():.3g}; to draw along its leading r directions, pass their "
            "eigenvectors, as columns, to from_features"
        )
    rank = int(np.sum(values > 0.5))
    if rank == 0:
        raise ValueError("the kernel is zero: the draw is always empty")
    return np.ascontiguousarray(vectors[:, -rank:].T)


def leading_directions(
    X: Matrix, k: int, mean: Floats | None = None, root: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return right singular vectors, as columns, and singular values of X; the k largest or more.

    With ``mean`` it is subtracted from each row of X, and with ``root`` row i is then multiplied
    by root_i: these are the principal directions of weighted rows. A large sparse X stays sparse.
    The left singular vectors of X are the right ones of its transpose.
    """
    n, d = X.shape
    mean = np.zeros(d) if mean is None else mean
    root = np.ones(n) if root is None else root
    tall = d <= min(n, _NARROW)
    small = float(n) * d * min(n, d) <= _SMALL or k >= min(n, d) - 1
    if not small and not (tall and isinstance(X, np.ndarray)):
        values, vectors = _by_iteration(X, k, mean, root)
        if not tall or values[-1] > _SEEN * values[0]:
            return vectors.T, values
    if tall:
        factor = triangle((rows - mean) * root[span, None] for span, rows in row_chunks(X))
    else:
        factor = (to_dense(X) - mean) * root[:, None]
    _, values, vectors = np.linalg.svd(factor, full_matrices=False)
    return vectors.T, values


def _by_iteration(X: Matrix, k: int, mean: Floats, root: Floats) -> tuple[Floats, Floats]:
    """Return singular values and vectors, as rows, by ARPACK, which multiplies X by vectors."""
    ones = aslinearoperator(np.ones((len(root), 1)))
    centred = aslinearoperator(X) - ones @ aslinearoperator(mean[None])
    operator = aslinearoperator(sp.diags_array(root)) @ centred
    start = np.random.default_rng(0).standard_normal(min(X.shape))  # the same vectors every time
    _, values, vectors = svds(operator, k=k, v0=start)
    descending = np.argsort(-values)
    return values[descending], vectors[descending]
