"""Designs: k rows of X, at least as many as columns, by the determinant of their Gram matrix."""

from __future__ import annotations

from typing import NoReturn, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from zonodpp._arguments import as_count, as_matrix, table_labels
from zonodpp._types import Floats, Integers, Labels, MatrixLike
from zonodpp.numerics.arrays import EPS
from zonodpp.numerics.gram import RankError
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.base import Arrays, Header, Objective, Target
from zonodpp.targets.projection import ProjectionDPP
from zonodpp.targets.spectral import poisson_binomial


class Design(Target):
    """Volume sampling of k rows of X: P(S) proportional to det(X_S' X_S), for any k >= d.

    A draw is one of the projection DPP of X, which has d rows, and k - d of the other rows, all
    sets of them equally likely. Least squares on the rows of a draw has the least squares solution
    of all rows as its mean, whatever the labels are: see `zonodpp.apps.DesignRegression`. The most
    likely draw is the D-optimal design, for which `zonodpp.find_map` searches.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items are rows. Its columns are linearly independent. A float64 array is not copied: do not
        change it.
    k : int
        The number of rows of every draw, from d to n.
    weights : (n,) array_like, optional
        Non-negative weights q of the rows: P(S) is then proportional to
        ``det(X_S' diag(q_S) X_S)``, as for observations with variances 1/q. A row of weight zero
        adds nothing to the determinant, but it may be one of the k - d others.

    Attributes
    ----------
    n, d, k : int
        Numbers of rows and columns of X, and of rows in a draw.
    r : int
        The same as k.
    base : ProjectionDPP
        The law of the first d rows of a draw.
    weights, labels
        Of the rows; None if there are none.

    Raises
    ------
    ValueError
        When columns of X are linearly dependent, or k is not from d to n.

    See Also
    --------
    zonodpp.apps.DesignRegression : Least squares on the rows of a draw.
    find_map : Search for the D-optimal design.
    ProjectionDPP.from_features : Draws of d rows.

    References
    ----------
    M. Derezinski, M. K. Warmuth, "Reverse iterative volume sampling for linear regression",
    Journal of Machine Learning Research 19 (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp import Design, find_map, sample
    >>> X = np.column_stack([np.ones(9), np.arange(9.0)])
    >>> target = Design(X, 4)
    >>> target
    Design(k=4, d=2, n=9)
    >>> sample(target, 5, rng=0).subsets.shape
    (1, 5, 4)
    >>> find_map(target).subset
    array([0, 1, 7, 8])
    """

    d: int
    k: int
    base: ProjectionDPP
    exact_draws = "design"
    _size = "k"

    def __init__(self, X: MatrixLike, k: int, *, weights: ArrayLike | None = None) -> None:
        matrix = as_matrix(X, "X")
        n, d = matrix.shape
        if d > n:
            raise ValueError(
                f"X has items as rows, got {n} items with {d} features: fewer rows than columns "
                "have determinant zero. Use fewer features, or KDPP.from_features(X, k) for k < d"
            )
        try:
            base = ProjectionDPP._make(matrix.T, weights, None, given="X")
        except RankError as error:
            weighted = "" if weights is None else " after weighting"
            raise RankError(
                error.rank,
                f"X has numerical rank {error.rank} but {d} columns{weighted}: these must be "
                "linearly independent. Drop columns that depend on others",
            ) from None
        self._set(base, k, table_labels(X, "index"))

    def _set(self, base: ProjectionDPP, k: int, labels: Labels | None) -> None:
        n, d = base.n, base.r
        k = as_count(k, "k", 1)
        if k > n:
            raise ValueError(f"k = {k} rows asked for, but X has {n}")
        if k < d:
            raise ValueError(
                f"k = {k} rows asked for, but X has {d} columns: det(X_S' X_S) is zero for fewer "
                f"than {d} rows. Take k >= {d}, or KDPP.from_features(X, {k}) for det(X_S X_S')"
            )
        self.__dict__.update(base=base, n=n, d=d, k=k, r=k, labels=labels, weights=base.weights)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"Design(k={self.k}, d={self.d}, n={self.n}{weighted})"

    def _log_probs(self, sets: Integers) -> Floats:
        """Return log det(X_S' X_S) without the log of its sum over all S.

        That sum is C(n - d, k - d) det(X' X): each set of d rows, to which the Cauchy-Binet formula
        assigns its squared determinant, is part of that many S.
        """
        logs = np.array([_log_det(rows) for rows in self.base._features(sets)])
        others, free = self.n - self.d, self.k - self.d
        chosen = np.arange(1, free + 1)
        return np.asarray(logs - np.log((others - free + chosen) / chosen).sum())

    def _inclusions(self, sets: Integers) -> Floats:
        """Return the probabilities that sets are part of the draw; O(t^3) for t items.

        The number of items of S among the first d rows of a draw is a sum of independent coin
        flips, whose chances are the eigenvalues of the kernel of the projection DPP on S. Given
        that j of the t items are there, the k - d others hold the remaining t - j items with
        probability (k - d)...(k - d - t + j + 1) / ((n - d)...(n - d - t + j + 1)).
        """
        step = np.arange(sets.shape[1])
        left, total = self.k - self.d - step, self.n - self.d - step
        steps = np.maximum(left, 0.0) / np.maximum(total, 1.0)
        others = np.concatenate([[1.0], np.cumprod(steps)])  # entry m: that they hold m items
        rows = self.base._features(sets)
        chances = np.linalg.eigvalsh(rows @ np.swapaxes(rows, 1, 2))
        laws = [poisson_binomial(np.clip(chance, 0.0, 1.0)) for chance in chances]
        return np.array([law @ others[::-1] for law in laws])

    def marginals(self) -> Floats:
        """Return the exact probability of each row.

        It is l + (1 - l)(k - d) / (n - d) for a row of leverage score l.

        Returns
        -------
        (n,) array
            P(i in S), from 0 to 1.

        Examples
        --------
        >>> from zonodpp import Design
        >>> Design([[1, 0], [2, 1], [0, 2], [-1, 1]], 3).marginals().round(3)
        array([0.586, 0.871, 0.843, 0.7  ])
        """
        leverages = self.base.marginals()
        return leverages + (1.0 - leverages) * (self.k - self.d) / max(1, self.n - self.d)

    def _given(self, include: Integers, exclude: Integers) -> NoReturn:
        raise ValueError(
            "a Design cannot be conditioned: given some rows, its law is not that of a Design. To "
            "leave rows out, make a Design of the others: Design(X[kept], k)"
        )

    def on_bases(self, method: str) -> NoReturn:
        """Raise an error: chains walk on sets of d rows, not of k; exact draws exist."""
        raise ValueError(
            f"method={method!r} does not draw from a Design; use method='exact' (or 'auto'), whose "
            "draws are independent"
        )

    def objective(self, k: int | None, ridge: float) -> Objective:
        """Return the whitened rows: whitening does not change which set is largest."""
        with one_thread():
            return self.base.objective(None, ridge)._replace(of_features=True)

    def stored(self) -> tuple[Header, Arrays]:
        """Return what a file holds of the target: a header, with its labels, and arrays."""
        header, arrays = self.base.stored()
        return {**header, "k": self.k, "labels": self.labels}, arrays

    @classmethod
    def restored(cls, header: Header, arrays: Arrays) -> Self:
        """Make the target that `stored` took apart, after checks of what a file may hold."""
        base = ProjectionDPP.restored({**header, "labels": None}, arrays)
        return cls._make(base, header["k"], header["labels"])


def _log_det(rows: Floats) -> float:
    """Return log det(rows' rows), -inf if it is zero but for rounding.

    Pivoting takes the longest rows first, so that short ones keep their digits.
    """
    d = rows.shape[1]
    R, order = scipy.linalg.qr(rows.T, mode="r", pivoting=True)
    pivots = np.abs(np.diagonal(R))
    if (pivots <= 8 * d * EPS * np.linalg.norm(rows[order[:d]], axis=1)).any():
        return -np.inf
    rest = scipy.linalg.solve_triangular(R[:, :d], R[:, d:])
    return float(2 * np.log(pivots).sum() + np.linalg.slogdet(np.eye(d) + rest @ rest.T)[1])
