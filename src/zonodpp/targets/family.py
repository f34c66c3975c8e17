"""The family P(B) proportional to |det A_B|^p * prod_{i in B} q_i, and its probabilities."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from zonodpp._arguments import as_matrix, as_positive, as_weights, check_finite, table_labels
from zonodpp._types import Floats, Integers, Labels, Matrix, MatrixLike
from zonodpp.io.guards import check_sparse
from zonodpp.numerics.arrays import Columns, column_chunks, columns_of
from zonodpp.numerics.gram import RankError
from zonodpp.numerics.scale import Coordinates, coordinates_of
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.base import Arrays, Header, Objective, Target
from zonodpp.targets.conditions import ImpossibleError, split_off

_SPARSE = ("data", "indices", "indptr")  # arrays of a sparse matrix


class VolumeSampling(Target):
    """Bases of A drawn with probability proportional to ``|det A_B|**power * prod(q_B)``.

    ``power=2`` is the projection DPP (see `ProjectionDPP`); ``power=1`` is the law of the tile
    that holds a uniform point of the zonotope of A.

    Parameters
    ----------
    A : (r, n) array_like, DataFrame or scipy.sparse matrix
        Items are columns. Full row rank. A float64 array is not copied: do not change it.
    power : float, default 1
        The exponent p > 0 of the volume.
    weights : (n,) array_like, optional
        Non-negative item weights q, the base measure.

    Attributes
    ----------
    A, n, r, power, weights
        As given; weights is None when all items count the same.
    labels : sequence or None
        Names of the items: the columns of a DataFrame, the edges of a graph.

    See Also
    --------
    ProjectionDPP : The case of power 2, with exact draws.
    Zonotope : The polytope whose tiles have these volumes.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, remark 1 and section 3.4.

    Examples
    --------
    >>> from zonodpp import VolumeSampling
    >>> target = VolumeSampling([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> target
    VolumeSampling(r=2, n=4, power=1)
    >>> round(float(target.log_prob([1, 2])), 4)  # log |det|: relative for powers other than 2
    1.3863
    """

    A: Any  # an array or a scipy.sparse matrix

    def __init__(
        self, A: MatrixLike, *, power: float = 1.0, weights: ArrayLike | None = None
    ) -> None:
        matrix = as_matrix(A, "A")
        if matrix.shape[0] > matrix.shape[1]:
            raise ValueError(
                f"A is r x n with items as columns and r <= n, got {matrix.shape[0]} x "
                f"{matrix.shape[1]}; if rows are items, use from_features(X)"
            )
        self._set(matrix, weights, table_labels(A, "columns"), power=power)

    def _set(
        self,
        A: Matrix,
        weights: ArrayLike | None,
        labels: Labels | None,
        *,
        power: float = 2.0,
        given: str = "A",
    ) -> None:
        r, n = A.shape
        A = A if isinstance(A, np.ndarray) else A.tocsc()
        facts = {"power": as_positive(power, "power"), "weights": as_weights(weights, n)}
        self.__dict__.update(A=A, r=r, n=n, labels=labels, **facts)
        if power != 2:  # no exact draws
            self.__dict__["methods"] = ("exchange",)
        check_finite(A if given == "A" else A.T, given)  # errors tell the place in what was given
        try:
            _ = self.coordinates
        except RankError as error:
            raise _dependent_rows(error.rank, r, weights is not None, given) from None

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"{type(self).__name__}(r={self.r}, n={self.n}, power={self.power:g}{weighted})"

    @cached_property
    def coordinates(self) -> Coordinates:
        """A and the weights in the well-conditioned coordinates in which all methods read them."""
        with one_thread(self.r**2 * self.n):
            return coordinates_of(self.A, self.weights, self.power)

    @cached_property
    def columns(self) -> Columns:
        """The matrix of `coordinates`, laid out by columns for compiled code."""
        return columns_of(self.coordinates.matrix)

    @cached_property
    def log_normaliser(self) -> float:
        """Log of the sum over all bases of ``|det (A s)_B|**2``, where s = q**(1 / power)."""
        return 2 * self.coordinates.log_factor + self.coordinates.gram.logdet

    def _log_probs(self, sets: Integers) -> Floats:
        """Log |det A_B|^p prod q_B: normalised for power 2, where squares sum to one."""
        result = self.power * self.coordinates.log_volumes(sets)
        # For other powers, leave out the normalisation that whitening brought in.
        return result if self.power == 2 else result + self.power / 2 * self.log_normaliser

    def _given(self, include: Integers, exclude: Integers) -> Self:
        A, weights = self.A, self.weights
        if include.size:
            A = split_off(self.coordinates, include)
        if exclude.size:
            weights = np.ones(self.n) if weights is None else weights.copy()
            weights[exclude] = 0.0
            if not weights.any():
                raise ImpossibleError(
                    f"the {exclude.size} excluded items are all that could be drawn; exclude fewer "
                    "items"
                )
        try:
            return self._make(A, weights, self.labels, power=self.power)
        except RankError as error:
            raise ImpossibleError(
                f"without the {exclude.size} excluded items only {error.rank} of the "
                f"{self.r} directions are left, too few for a draw; exclude fewer items"
            ) from None

    def kernel(self) -> Floats:
        """Return the kernel K = A'(AA')^{-1}A, for looking at small cases.

        Returns
        -------
        (n, n) array
            The orthogonal projection onto the span of the rows of A.

        Raises
        ------
        ValueError
            For powers other than 2.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, equation (4).

        Examples
        --------
        >>> from zonodpp import ProjectionDPP
        >>> K = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]).kernel()
        >>> round(float(K.trace()), 12)
        2.0
        """
        self._need_power_two("kernel()")
        rows = self._features(np.arange(self.n))
        return np.asarray(rows @ rows.T)

    def _features(self, items: Integers) -> Floats:
        """Return whitened columns s_j a_j as rows, for an array of items."""
        return self.coordinates.whitened(items)

    def marginals(self) -> Floats:
        """Return the exact probability of each item: the diagonal of K.

        The probabilities are also called leverage scores. For a graph they are edge weights times
        effective resistances.

        Returns
        -------
        (n,) array
            P(i in B), from 0 to 1.

        Raises
        ------
        ValueError
            For powers other than 2, for which no closed form is known.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> target.marginals().round(3)
        array([0.171, 0.743, 0.686, 0.4  ])
        """
        self._need_power_two("marginals()")
        chunks = column_chunks(self.coordinates.matrix, self.coordinates.scale)
        leverages = [self.coordinates.gram.diagonal(chunk) for _, chunk in chunks]
        return np.clip(np.concatenate(leverages), 0.0, 1.0)

    def objective(self, k: int | None, ridge: float) -> Objective:
        """Return the whitened columns as rows: whitening does not change which set is largest."""
        return Objective(self._features(np.arange(self.n)), self.log_normaliser, self.power)

    def stored(self) -> tuple[Header, Arrays]:
        """Return what a file holds of the target: a header, with its labels, and arrays."""
        sparse = sp.issparse(self.A)
        arrays = {name: getattr(self.A, name) for name in _SPARSE} if sparse else {"A": self.A}
        if self.weights is not None:
            arrays["weights"] = self.weights
        header = {"power": self.power, "shape": [self.r, self.n], "labels": self.labels}
        return {**header, "sparse": self.A.format if sparse else None}, arrays

    @classmethod
    def restored(cls, header: Header, arrays: Arrays) -> Self:
        """Make the target that `stored` took apart, after checks of what a file may hold."""
        if header["sparse"]:
            A = sp.csc_array(tuple(arrays[name] for name in _SPARSE), shape=tuple(header["shape"]))
            check_sparse(A)  # compiled code trusts the indices
        else:
            A = arrays["A"]
        r, n = A.shape
        known = A.dtype == np.float64 and header["sparse"] in (None, "csc")
        if not known or [r, n] != header["shape"] or not 0 < r <= n:
            raise ValueError(f"A is {A.dtype} {r} x {n}, but {header['shape']} was announced")
        return cls._make(A, arrays.get("weights"), header["labels"], power=header["power"])


def _dependent_rows(rank: int, r: int, weighted: bool, given: str) -> RankError:
    """Return the error for r features of lower rank; ``given`` is the argument that held them."""
    features, to = ("rows", " to from_features") if given == "A" else ("columns", "")
    ways_out = "give more items a positive weight; " if weighted else ""
    if rank:
        ways_out += f"pass rank={rank} (or less){to}; pass jitter=1e-6{to} to add small noise; "
    weighting = " after weighting" if weighted else ""
    return RankError(
        rank,
        f"{given} has numerical rank {rank} but {r} {features}{weighting}: these must be linearly "
        f"independent. Ways out: {ways_out}drop {features} that depend on others",
    )
