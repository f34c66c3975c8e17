"""General DPPs: draws vary in size."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from zonodpp._types import Floats, Integers, MatrixLike
from zonodpp.numerics.spectrum import Spectrum
from zonodpp.targets.projection import ProjectionDPP
from zonodpp.targets.spectral import SpectralTarget, expit, poisson_binomial


class DPP(SpectralTarget):
    """A DPP by its likelihood kernel L or its correlation kernel K; draws vary in size.

    P(B) = det L_B / det(I + L) over all subsets B, and P(S in B) = det K_S with
    K = L (I + L)^{-1}.

    Parameters
    ----------
    L : (n, n) array_like, DataFrame or scipy.sparse matrix
        Symmetric, positive semidefinite. A kernel of low rank is recognised and stays cheap.
    K : (n, n) array_like, DataFrame or scipy.sparse matrix
        Symmetric, with eigenvalues between 0 and 1, up to an error of 1e-6. Give one of L and K.

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
    expected_size : float
        Mean number of items in a draw, the trace of K.

    Raises
    ------
    ValueError
        When the kernel is not symmetric, or has eigenvalues that it must not have.

    See Also
    --------
    KDPP : Draws of a fixed size.
    ProjectionDPP : The DPP of a projection, which draws faster.
    zonodpp.features : Kernels and features of data.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, section 2.1.

    A. Kulesza, B. Taskar, "Determinantal point processes for machine learning", Foundations and
    Trends in Machine Learning 5 (2012), section 2.

    Examples
    --------
    >>> from zonodpp import DPP, sample
    >>> target = DPP(L=[[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> target
    DPP(n=3, rank 3, expected size 1.36)
    >>> sample(target, 5, rng=0).sizes
    array([[1, 1, 1, 3, 2]])
    """

    def __init__(self, L: MatrixLike | None = None, *, K: MatrixLike | None = None) -> None:
        if (L is None) == (K is None):
            raise TypeError("give one kernel: L (likelihood) or K (correlation, eigenvalues <= 1)")
        if L is not None:
            self._set_kernel(L, "L")
        else:
            self._set_kernel(K, "K")

    @classmethod
    def from_features(cls, Phi: MatrixLike) -> Self:
        """Make the DPP with L = Phi Phi', items as rows; L is never formed.

        Parameters
        ----------
        Phi : (n, m) array_like, DataFrame or scipy.sparse matrix
            One row for each item. Draws have at most m items. Longer rows are drawn more often,
            so the scale of Phi sets the expected size; see ``scaled``.

        Returns
        -------
        DPP
            The target.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import DPP
        >>> DPP.from_features(np.random.default_rng(0).normal(size=(10_000, 20)))
        DPP(n=10000, rank 20, expected size 20)
        """
        return cls._of_features(Phi)

    def __repr__(self) -> str:
        return f"DPP(n={self.n}, rank {self.r}, expected size {self.expected_size:.3g})"

    def size_to_maximise(self, k: int | None, ridge: float) -> int | None:
        """Return k; raise an error if every draw has more than k items."""
        if k is not None and k < self._sure:
            raise ValueError(f"{self._sure} items are in every draw of this target, got k = {k}")
        return k

    def on_bases(self, method: str) -> ProjectionDPP:
        """Return the projection DPP on the items and one more column for each eigenvector.

        With mu_j and v_j the eigenvalues and eigenvectors of K, the matrix whose row j is
        (sqrt(mu_j) v_j', sqrt(1 - mu_j) e_j') has orthonormal rows. The items of its draws follow
        the DPP, by the formula of Cauchy and Binet.
        """
        others = np.diag(np.sqrt(1.0 - self.chances))
        return ProjectionDPP(np.vstack([self.vectors * np.sqrt(self.chances), others]).T)

    @property
    def expected_size(self) -> float:
        """Mean number of items in a draw."""
        return float(self.chances.sum())

    def size_law(self) -> Floats:
        """Return the probability of each size of a draw.

        Returns
        -------
        (r + 1,) array
            Probabilities of the sizes from 0 to r.

        Examples
        --------
        >>> from zonodpp import DPP
        >>> DPP(K=[[0.5, 0.0], [0.0, 0.5]]).size_law()
        array([0.25, 0.5 , 0.25])
        """
        return np.asarray(poisson_binomial(self.chances))

    def scaled(self, expected_size: float) -> Self:
        """Multiply L by the number that gives draws this size on average.

        Parameters
        ----------
        expected_size : float
            The mean number of items in a draw, between 0 and the rank.

        Returns
        -------
        DPP
            The target with the scaled kernel.

        Raises
        ------
        ValueError
            When no multiple of L gives draws this size.

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
        shift = _shift_to_size(self.log_eigenvalues[self._sure :], expected_size - self._sure)
        return self._make(Spectrum(self.vectors, self.log_eigenvalues + shift), self.labels)

    def kernel(self) -> Floats:
        """Return the correlation kernel K, for looking at small cases.

        Returns
        -------
        (n, n) array
            K = L (I + L)^{-1}.

        Examples
        --------
        >>> from zonodpp import DPP
        >>> DPP(L=[[1.0, 0.0], [0.0, 3.0]]).kernel().round(12)
        array([[0.5 , 0.  ],
               [0.  , 0.75]])
        """
        return np.asarray((self.vectors * self.chances) @ self.vectors.T)

    def _features(self, items: Integers) -> Floats:
        return np.asarray(self.vectors[items] * np.sqrt(self.chances))


def _shift_to_size(logs: Floats, size: float) -> float:
    """Return the number to add to ``logs`` that makes the sum of their `expit` equal ``size``.

    Examples
    --------
    >>> import numpy as np
    >>> round(math.exp(_shift_to_size(np.zeros(4), 3.0)), 12)
    3.0
    """
    # With all logs equal the answer would be this shift; it lies between the extremes.
    middle = math.log(size / (len(logs) - size))
    low, high = middle - logs.max() - 1.0, middle - logs.min() + 1.0
    for _ in range(64):
        shift = (low + high) / 2
        low, high = (shift, high) if expit(logs + shift).sum() < size else (low, shift)
    return float(shift)
