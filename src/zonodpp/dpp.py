"""General DPPs and k-DPPs: mixtures of projection DPPs over the eigenvectors of a kernel."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from zonodpp import spectrum
from zonodpp.columns import Floats, frozen
from zonodpp.conditioning import ImpossibleError
from zonodpp.inputs import as_count, as_items, as_matrix, is_dataframe
from zonodpp.spectral import SpectralTarget, precision, read_kernel
from zonodpp.spectrum import Spectrum
from zonodpp.symmetric import log_symmetric, part_probabilities, size_law, taking_chances


class DPP(SpectralTarget):
    """A DPP by its likelihood kernel L or its correlation kernel K; draws vary in size.

    P(B) = det L_B / det(I + L) over all subsets B, and P(S in B) = det K_S with
    K = L (I + L)^{-1}.

    Parameters
    ----------
    L : (n, n) array_like, DataFrame or scipy.sparse matrix
        Symmetric, positive semidefinite. A kernel of low rank is recognised and stays cheap.
    K : (n, n) array_like, DataFrame or scipy.sparse matrix
        Symmetric, with eigenvalues between 0 and 1. Give one of L and K.

    Attributes
    ----------
    n, r, vectors, log_eigenvalues, labels
        See `SpectralTarget`; r is the rank.
    expected_size : float
        Mean number of items in a draw, the trace of K.

    Examples
    --------
    >>> from zonodpp import DPP, sample
    >>> target = DPP(L=[[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> target
    DPP(n=3, rank 3, expected size 1.39)
    >>> sample(target, 3, rng=0).sizes
    array([[2, 1, 2]])
    """

    def __init__(self, L: Any = None, *, K: Any = None) -> None:
        if (L is None) == (K is None):
            raise TypeError("give one kernel: L (likelihood) or K (correlation, eigenvalues <= 1)")
        if L is not None:
            matrix, eps, labels = read_kernel(L, "L")
            self._set(spectrum.of_kernel(matrix, eps), labels)
        else:
            matrix, eps, labels = read_kernel(K, "K")
            self._set(_of_correlation(matrix, eps), labels)

    @classmethod
    def from_features(cls, Phi: Any) -> Self:
        """Make the DPP with L = Phi Phi', items as rows; L is never formed.

        Parameters
        ----------
        Phi : (n, m) array_like, DataFrame or scipy.sparse matrix
            One row for each item. Draws have at most m items. Longer rows are drawn more often,
            so the scale of Phi sets the expected size; see ``scaled``.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import DPP
        >>> DPP.from_features(np.random.default_rng(0).normal(size=(10_000, 20)))
        DPP(n=10000, rank 20, expected size 20)
        """
        labels = list(Phi.index) if is_dataframe(Phi) else None
        return cls._make(spectrum.of_features(as_matrix(Phi, "Phi"), precision(Phi)), labels)

    @classmethod
    def _make(cls, found: Spectrum, labels: Any) -> Self:
        target = cls.__new__(cls)
        target._set(found, labels)
        return target

    def _with(self, found: Spectrum) -> Self:
        return self._make(found, self.labels)

    def __repr__(self) -> str:
        return f"DPP(n={self.n}, rank {self.r}, expected size {self.expected_size:.3g})"

    @cached_property
    def chances(self) -> Floats:
        """Eigenvalues of K, the chance of each eigenvector to take part: lambda / (1 + lambda)."""
        return frozen(_logistic(self.log_eigenvalues))

    @property
    def expected_size(self) -> float:
        """Mean number of items in a draw."""
        return float(self.chances.sum())

    def size_law(self) -> Floats:
        """Probability of each size from 0 to r.

        Examples
        --------
        >>> from zonodpp import DPP
        >>> DPP(K=[[0.5, 0.0], [0.0, 0.5]]).size_law()
        array([0.25, 0.5 , 0.25])
        """
        return np.asarray(size_law(self.chances))

    def scaled(self, expected_size: float) -> Self:
        """Multiply L by the number that gives draws this size on average.

        Examples
        --------
        >>> from zonodpp import DPP
        >>> DPP(L=[[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]).scaled(2)
        DPP(n=3, rank 3, expected size 2)
        """
        if not self._sure < expected_size < self.r:
            raise ValueError(
                f"expected_size must be between {self._sure} and the rank {self.r}, "
                f"got {expected_size!r}"
            )
        finite = self.log_eigenvalues[self._sure :]
        # With all eigenvalues equal the answer would be this shift; it lies between the extremes.
        middle = np.log(expected_size - self._sure) - np.log(self.r - expected_size)
        low, high = middle - finite.max(), middle - finite.min()
        for _ in range(100):
            shift = (low + high) / 2
            if self._sure + _logistic(finite + shift).sum() < expected_size:
                low = shift
            else:
                high = shift
        logs = np.concatenate([self.log_eigenvalues[: self._sure], finite + shift])
        return self._with(Spectrum(self.vectors, logs))

    def _log_normaliser(self) -> float:
        finite = self.log_eigenvalues[self._sure :]
        return float(np.logaddexp(0.0, finite).sum())

    def kernel(self) -> Floats:
        """Return K, n x n, for looking at small cases.

        Examples
        --------
        >>> from zonodpp import DPP
        >>> DPP(L=[[1.0, 0.0], [0.0, 3.0]]).kernel().round(12)
        array([[0.5 , 0.  ],
               [0.  , 0.75]])
        """
        return np.asarray((self.vectors * self.chances) @ self.vectors.T)

    def inclusion(self, S: ArrayLike) -> Floats:
        """Exact probability that all items of S are in the draw: det K_S, equation (1).

        Examples
        --------
        >>> from zonodpp import DPP
        >>> round(float(DPP(L=[[1.0, 0.0], [0.0, 3.0]]).inclusion([0, 1])), 12)
        0.375
        """
        sets = as_items(S, self.n, "S")
        rows = self.vectors[sets] * np.sqrt(self.chances)
        dets = np.linalg.det(rows @ np.swapaxes(rows, -1, -2))
        return np.asarray(np.clip(dets, 0.0, 1.0))[()]

    def marginals(self) -> Floats:
        """Exact probability of each item: the diagonal of K.

        Examples
        --------
        >>> from zonodpp import DPP
        >>> DPP(L=[[1.0, 0.0], [0.0, 3.0]]).marginals().round(12)
        array([0.5 , 0.75])
        """
        return np.asarray((self.vectors**2) @ self.chances)


class KDPP(SpectralTarget):
    """A DPP given that it has k items: P(B) proportional to det L_B over sets of k items.

    Parameters
    ----------
    L : (n, n) array_like, DataFrame or scipy.sparse matrix
        Symmetric, positive semidefinite, of rank at least k.
    k : int
        The size of every draw.

    Examples
    --------
    >>> from zonodpp import KDPP, sample
    >>> target = KDPP([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]], 2)
    >>> target.marginals().round(3)
    array([0.7, 0.6, 0.7])
    >>> sample(target, 3, rng=0).subsets.shape
    (1, 3, 2)
    """

    k: int

    def __init__(self, L: Any, k: int) -> None:
        matrix, eps, labels = read_kernel(L, "L")
        self._set_k(spectrum.of_kernel(matrix, eps), labels, k)

    @classmethod
    def from_features(cls, Phi: Any, k: int) -> Self:
        """Make the k-DPP with L = Phi Phi', items as rows; L is never formed.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP
        >>> KDPP.from_features(np.random.default_rng(0).normal(size=(10_000, 20)), 5)
        KDPP(k=5, n=10000, rank 20)
        """
        labels = list(Phi.index) if is_dataframe(Phi) else None
        return cls._make(spectrum.of_features(as_matrix(Phi, "Phi"), precision(Phi)), labels, k)

    @classmethod
    def _make(cls, found: Spectrum, labels: Any, k: int) -> Self:
        target = cls.__new__(cls)
        target._set_k(found, labels, k)
        return target

    def _set_k(self, found: Spectrum, labels: Any, k: int) -> None:
        k = as_count(k, "k", 1)
        rank = found.vectors.shape[1]
        if k > rank:
            raise ValueError(
                f"k = {k} items asked for, but the kernel has numerical rank {rank}: every set of "
                f"more than {rank} items has determinant zero. Take k <= {rank}, or add a ridge "
                "to the kernel, L + c * I"
            )
        self._set(found, labels, k=k)

    def _with(self, found: Spectrum) -> Self:
        rank, sure = found.vectors.shape[1], int(np.isposinf(found.logs).sum())
        if not sure <= self.k <= rank:
            raise ImpossibleError(
                f"draws have k = {self.k} items, but {sure} are sure and {rank} the most that the "
                "condition allows; include or exclude fewer items"
            )
        return self._make(found, self.labels, self.k)

    def __repr__(self) -> str:
        return f"KDPP(k={self.k}, n={self.n}, rank {self.r})"

    @property
    def expected_size(self) -> float:
        """The size of every draw, k."""
        return float(self.k)

    @cached_property
    def taking(self) -> Floats:
        """Chances to take eigenvectors one after another; see `symmetric.taking_chances`."""
        finite = np.ascontiguousarray(self.log_eigenvalues[self._sure :][::-1])
        return frozen(taking_chances(finite, self.k - self._sure))

    @cached_property
    def chances(self) -> Floats:
        """Chance of each eigenvector to take part."""
        finite = part_probabilities(self.taking)[::-1]
        return frozen(np.concatenate([np.ones(self._sure), finite]))

    def _log_normaliser(self) -> float:
        finite = np.ascontiguousarray(self.log_eigenvalues[self._sure :])
        size = self.k - self._sure
        return float(log_symmetric(finite, size)[size])

    def log_prob(self, B: ArrayLike) -> Floats:
        """Log probability of sets of k items, normalised; sets of another size have -inf.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP
        >>> np.exp(KDPP(np.diag([1.0, 2.0, 3.0]), 2).log_prob([[0, 1], [0, 2], [1, 2]])).round(3)
        array([0.182, 0.273, 0.545])
        """
        result = super().log_prob(B)
        sizes = np.sum(np.atleast_1d(np.asarray(B)) >= 0, axis=-1)
        return np.where(sizes == self.k, result, -np.inf)[()]

    def marginals(self) -> Floats:
        """Exact probability of each item.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP
        >>> KDPP(np.diag([1.0, 2.0, 3.0]), 2).marginals().round(3)
        array([0.455, 0.727, 0.818])
        """
        return np.asarray((self.vectors**2) @ self.chances)

    def inclusion(self, S: ArrayLike) -> Floats:
        """Exact probability that all items of S are in the draw.

        With L^S the kernel of the rest given S, it is det L_S e_{k-|S|}(L^S) / e_k(L).

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP
        >>> round(float(KDPP(np.diag([1.0, 2.0, 3.0]), 2).inclusion([0, 1])), 3)
        0.182
        """
        sets = as_items(S, self.n, "S")
        flat = sets.reshape(math.prod(sets.shape[:-1]), sets.shape[-1])
        result = [self._inclusion(items) for items in flat]
        return np.asarray(np.reshape(result, sets.shape[:-1]))[()]

    def _inclusion(self, items: Any) -> float:
        # Items that are always there have eigenvectors of their own: the rest does not see them.
        items = items[~(np.abs(self.sure[items]) > 0.5).any(axis=1)]
        left = self.k - self._sure - items.size
        if left < 0:
            return 0.0
        rows = self.phi[items]
        # Rows outside of which eigenvalues are taken: N' diag(lambda) N, N orthogonal to the rows.
        Q, R = np.linalg.qr(rows.T, mode="complete")
        diagonal = np.abs(np.diagonal(R))
        if (diagonal <= 1e-14 * np.linalg.norm(rows, axis=1)).any():
            return 0.0
        finite = self.log_eigenvalues[self._sure :]
        outside = Q[:, items.size :].T * np.exp(finite / 2)
        values = np.linalg.svd(outside, compute_uv=False)
        with np.errstate(divide="ignore"):
            logs = 2 * np.log(values)
        total = 2 * np.log(diagonal).sum() + log_symmetric(logs, left)[left]
        return float(min(1.0, np.exp(total - self._log_normaliser())))


def _logistic(logs: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-logs)))


def _of_correlation(K: Floats, eps: float) -> Spectrum:
    """Decompose K and turn its eigenvalues mu into those of L, mu / (1 - mu)."""
    values, vectors = scipy.linalg.eigh(K)
    noise = 64 * len(K) * eps
    worst = values[0] if -values[0] > values[-1] - 1 else values[-1]
    if values[0] < -noise or values[-1] > 1 + noise:
        raise ValueError(
            f"eigenvalues of K must lie between 0 and 1, got {worst:.6g}; a likelihood kernel, "
            "whose eigenvalues may be larger, is passed as DPP(L=...)"
        )
    kept = values > noise
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    values = np.where(values >= 1 - noise, 1.0, values)
    with np.errstate(divide="ignore"):
        logs = np.log(values) - np.log1p(-values)
    return Spectrum(vectors, logs)
