"""What general DPPs and k-DPPs share: a kernel known by its eigenvectors, sets of any size."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np

from zonodpp._arguments import as_matrix, table_labels
from zonodpp._types import Floats, Integers, ItemsLike, Labels, MatrixLike
from zonodpp.numerics.arrays import frozen, unit_blocks
from zonodpp.numerics.kernel import precision, read_kernel
from zonodpp.numerics.spectrum import Spectrum, of_correlation, of_features, of_kernel
from zonodpp.targets.base import Arrays, Header, Objective, Target
from zonodpp.targets.conditions import NOISE, condition_kernel, never_together

# Advice for a matrix that is not square, and so not a kernel.
_OTHERWISE = "for features of items as rows use from_features(Phi)"
# Length of the features that every draw needs, over that of all other features: the squares of the
# others then still are digits of a sum of squares.
_LONGER = 1e7
_ORTHONORMAL = 1e-6  # error of eigenvectors far above rounding, and far below what harms a draw


class SpectralTarget(Target):
    """A law on subsets through the eigenvalues lambda_j and eigenvectors v_j of a kernel L.

    A draw is a draw of the projection DPP of some of the eigenvectors, themselves drawn at random
    (the paper's section 2.1). Eigenvalues may be infinite, for eigenvectors that always take part.

    Attributes
    ----------
    n, r : int
        Number of items, and the most that a draw can hold: the rank of the kernel.
    vectors : (n, r) array
        Eigenvectors as columns, largest eigenvalue first.
    log_eigenvalues : (r,) array
        Logs of the eigenvalues of L.
    labels : sequence or None
        Names of the items.
    """

    vectors: Floats
    log_eigenvalues: Floats
    exact_draws = "mixture"
    k: int | None  # the size of every draw, if it is fixed
    _sure: int  # number of eigenvectors that always take part; they come first
    chances: Floats  # of each eigenvector to take part: for a DPP the eigenvalues of K
    # Chances to take the eigenvectors in turn: (r, 1), or for a KDPP (r, k + 1), where column
    # m is for m eigenvectors that are still to be taken.
    taking: Floats
    _log_normaliser: float

    def _set(self, found: Spectrum, labels: Labels | None, k: int | None = None) -> None:
        n, r = found.vectors.shape
        if r == 0:
            raise ValueError(
                "the kernel is zero, or a condition leaves nothing of it: every draw would be "
                "empty, and no target is made of that; pass another kernel, or exclude fewer items"
            )
        sizes = range(r + 1) if k is None else range(k, k + 1)
        sure, chances = int(np.isposinf(found.logs).sum()), frozen(expit(found.logs))
        log_total = float(np.logaddexp(0.0, found.logs[sure:]).sum())
        facts = {"vectors": frozen(found.vectors), "log_eigenvalues": frozen(found.logs)}
        law = {"chances": chances, "taking": chances[:, None], "_log_normaliser": log_total}
        self.__dict__.update(n=n, r=r, k=k, sizes=sizes, labels=labels, _sure=sure, **facts, **law)

    def _set_kernel(self, kernel: MatrixLike, name: str, k: int | None = None) -> None:
        """Decompose the likelihood kernel "L" or the correlation kernel "K"."""
        matrix, eps, labels = read_kernel(kernel, name, _OTHERWISE)
        decompose = of_kernel if name == "L" else of_correlation
        self._set(decompose(matrix, eps), labels, k)

    @classmethod
    def _of_features(cls, Phi: MatrixLike, k: int | None = None) -> Self:
        found = of_features(as_matrix(Phi, "Phi"), precision(Phi))
        return cls._make(found, table_labels(Phi, "index"), k)

    @cached_property
    def phi(self) -> Floats:
        """Features with L = phi phi', (n, rank), without the directions of infinite eigenvalue."""
        finite = self.log_eigenvalues[self._sure :]
        return np.asarray(self.vectors[:, self._sure :] * np.exp(finite / 2))

    def marginals(self) -> Floats:
        """Return the exact probability of each item.

        Returns
        -------
        (n,) array
            P(i in B), from 0 to 1.

        Examples
        --------
        >>> from zonodpp import DPP, KDPP
        >>> DPP(L=[[1.0, 0.0], [0.0, 3.0]]).marginals().round(12)
        array([0.5 , 0.75])
        >>> KDPP([[1.0, 0.0], [0.0, 3.0]], 1).marginals().round(12)
        array([0.25, 0.75])
        """
        return np.minimum((self.vectors**2) @ self.chances, 1.0)  # rounding may lead above one

    def _draws(self, B: ItemsLike) -> Integers:
        """Return the numbers of the items of draws, and -1 behind them in rows with fewer items."""
        return -np.sort(-self.items(B, "B", filled=True), axis=-1)

    def _log_probs(self, sets: Integers) -> Floats:
        sizes = (sets >= 0).sum(axis=1)
        result = np.full(len(sets), -np.inf)
        for size in np.intersect1d(sizes, self.sizes):
            chosen = sizes == size
            result[chosen] = self._log_dets(sets[chosen, :size]) - self._log_normaliser
        return result

    def _log_dets(self, sets: Integers) -> Floats:
        """Log det L_B of sets of one size, (sets,).

        With infinite eigenvalues t, it is the log of the coefficient of the highest power of t. The
        QR factorisation of the set's rows of their eigenvectors gives one triangle. The rows of
        phi, without their part in the span of these columns, give the other one.
        """
        if not self._sure <= sets.shape[1] <= self.r:
            return np.full(len(sets), -np.inf)
        Q, R = np.linalg.qr(self.vectors[sets, : self._sure], mode="complete")
        rows = np.swapaxes(Q[:, :, self._sure :], 1, 2) @ self.phi[sets]
        rest = np.asarray(np.linalg.qr(np.swapaxes(rows, 1, 2), mode="r"))
        with np.errstate(divide="ignore"):
            logs = 2 * (_log_diagonal(R) + _log_diagonal(rest))
        logs[unit_blocks(self.vectors[sets])[2] < NOISE * self.r] = -np.inf  # dependent items
        return logs

    def _given(self, include: Integers, exclude: Integers) -> Self:
        if not self._sure and self._log_dets(include[None])[0] == -np.inf:
            raise never_together(include, "their features are linearly dependent")
        sure, phi = condition_kernel(self.vectors[:, : self._sure], self.phi, include, exclude)
        vectors, logs = of_features(phi)
        logs = np.append(np.full(sure.shape[1], np.inf), logs)
        return self._make(Spectrum(np.column_stack([sure, vectors]), logs), self.labels, self.k)

    def objective(self, k: int | None, ridge: float) -> Objective:
        """Return features of the kernel; eigenvectors of infinite eigenvalue are very long ones."""
        sure, finite = self._sure, self.log_eigenvalues[self._sure :]
        if k == self.r and not ridge:  # det L_B is det(vectors_B)^2 times a constant
            return Objective(self.vectors, float(finite.sum()))
        size = max(float(np.linalg.norm(self.phi, axis=1).max(initial=0.0)), np.sqrt(ridge))
        # If k is free, items are added while they raise the determinant; long features must do so.
        length = _LONGER * (max(size, 1.0) if k is None else size or 1.0)
        features = np.column_stack([length * self.vectors[:, :sure], self.phi])
        return Objective(features, -2 * sure * float(np.log(length)))

    def stored(self) -> tuple[Header, Arrays]:
        """Return what a file holds of the target: a header, with its labels, and arrays."""
        arrays = {"vectors": self.vectors, "logs": self.log_eigenvalues}
        return {"labels": self.labels, "k": self.k}, arrays

    @classmethod
    def restored(cls, header: Header, arrays: Arrays) -> Self:
        """Make the target that `stored` took apart, after checks of what a file may hold."""
        vectors, logs = arrays["vectors"], arrays["logs"]
        n, r = vectors.shape
        typed = vectors.dtype == logs.dtype == np.float64 and r <= n and logs.shape == (r,)
        # Infinite eigenvalues come first. Draws might not end if vectors were not orthonormal.
        if not typed or not np.isfinite(logs[np.isposinf(logs).sum() :]).all():
            raise ValueError(f"the eigenvalues are not those of {vectors.dtype} {vectors.shape}")
        if not np.abs(vectors.T @ vectors - np.eye(r)).max() < _ORTHONORMAL:
            raise ValueError("the eigenvectors are not orthonormal")
        return cls._make(Spectrum(vectors, logs), header["labels"], header.get("k"))


def _log_diagonal(R: Floats) -> Floats:
    """Return the logs of the products of diagonals, for a stack of triangles."""
    return np.asarray(np.log(np.abs(np.diagonal(R, axis1=1, axis2=2))).sum(axis=1))


# Written out: the imports of `scipy.special` and `scipy.optimize` would take a quarter of the time
# of a first draw.
def expit(logs: Floats) -> Floats:
    """Return x / (1 + x) for each x = exp(log)."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -logs)))


def poisson_binomial(chances: Floats) -> Floats:
    """Return the law of the number of successes in independent trials with these chances.

    Examples
    --------
    >>> import numpy as np
    >>> poisson_binomial(np.array([0.5, 0.5]))
    array([0.25, 0.5 , 0.25])
    """
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1.0 - chance, chance])
    return law
