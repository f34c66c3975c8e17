"""k-DPPs: a DPP given that it has k items."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from zonodpp._types import Floats, Labels, MatrixLike
from zonodpp.arguments import as_count
from zonodpp.linalg.columns import frozen
from zonodpp.linalg.spectrum import Spectrum
from zonodpp.targets.conditioning import ImpossibleError
from zonodpp.targets.spectral import SpectralTarget, read_spectrum
from zonodpp.targets.symmetric import part_probabilities, shift_to_size, symmetric_polynomials
from zonodpp.targets.target import Arrays, Header, Target

Complexes = NDArray[np.complex128]


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

    def __init__(self, L: MatrixLike, k: int) -> None:
        self._set_kernel(L, k=k)

    @classmethod
    def from_features(cls, Phi: MatrixLike, k: int) -> Self:
        """Make the k-DPP with L = Phi Phi', items as rows; L is never formed.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP
        >>> KDPP.from_features(np.random.default_rng(0).normal(size=(10_000, 20)), 5)
        KDPP(k=5, n=10000, rank 20)
        """
        return cls._of_features(Phi, k=k)

    def _set(self, found: Spectrum, labels: Labels | None, **more: int) -> None:
        k = as_count(more["k"], "k", 1)
        rank = found.vectors.shape[1]
        if k > rank:
            raise ValueError(
                f"k = {k} items asked for, but the kernel has numerical rank {rank}: every set of "
                f"more than {rank} items has determinant zero. Take k <= {rank}, or add a ridge "
                "to the kernel, L + c * I"
            )
        super()._set(found, labels, k=k)

    def _with(self, found: Spectrum) -> Self:
        rank, sure = found.vectors.shape[1], int(np.isposinf(found.logs).sum())
        if not sure <= self.k <= rank:
            raise ImpossibleError(
                f"draws have k = {self.k} items, but {sure} are sure and {rank} the most that the "
                "condition allows; include or exclude fewer items"
            )
        return self._make(found, self.labels, k=self.k)

    @property
    def sizes(self) -> range:
        """Every draw has k items."""
        return range(self.k, self.k + 1)

    def size_to_maximise(self, k: int | None, ridge: float) -> int:
        """Return the size of every draw; another size is refused."""
        if k is not None and k != self.k:
            raise ValueError(f"every draw of this target has k = {self.k} items, got k = {k}")
        return self.k

    def stored(self) -> tuple[Header, Arrays]:
        """Return what a file holds of the target: a header, with its labels, and arrays."""
        header, arrays = super().stored()
        return {**header, "k": self.k}, arrays

    @classmethod
    def restored(cls, header: Header, arrays: Arrays) -> Self:
        """Make the target that `stored` took apart, after checks of what a file may hold."""
        found = read_spectrum(arrays)
        if np.isposinf(found.logs).sum() > header["k"]:
            raise ValueError(f"more items are sure than the {header['k']} of a draw")
        return cls._make(found, header["labels"], k=header["k"])

    def size_law(self) -> Floats:
        """Probability of each size from 0 to r: one for k."""
        return np.asarray(np.arange(self.r + 1) == self.k, dtype=np.float64)

    def on_bases(self, method: str) -> Target:
        """Refuse: chains that alternate between items and eigenvectors do not reach every set."""
        raise ValueError(
            f"method={method!r} does not draw from a KDPP: no chain reaches every set of k items "
            "whatever the kernel is. Use method='exact' (or 'auto'), whose draws are independent"
        )

    def __repr__(self) -> str:
        return f"KDPP(k={self.k}, n={self.n}, rank {self.r})"

    @cached_property
    def _symmetric(self) -> tuple[Floats, Floats]:
        finite = self.log_eigenvalues[self._sure :][::-1]
        return symmetric_polynomials(finite, self.k - self._sure)

    @property
    def taking(self) -> Floats:
        """Chances to take eigenvectors one by one; see `symmetric.symmetric_polynomials`."""
        return frozen(self._symmetric[1])

    @cached_property
    def chances(self) -> Floats:
        """Chance of each eigenvector to take part."""
        finite = part_probabilities(self.taking)[::-1]
        return frozen(np.concatenate([np.ones(self._sure), finite]))

    def _log_normaliser(self) -> float:
        return float(self._symmetric[0][-1])

    def inclusion(self, S: ArrayLike) -> Floats:
        """Exact probability that all items of S are in the draw.

        With K_z the correlation kernel of the DPP of zL, the sum of det L_B over sets B of k items
        that hold S is the coefficient of z^k in det(I + zL) det (K_z)_S. It is read off a circle
        |z| = rho, where rho is such that sizes of the DPP of rho L have mean k: there no term is
        much larger than the sum, whatever the eigenvalues.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP
        >>> round(float(KDPP(np.diag([1.0, 2.0, 3.0]), 2).inclusion([0, 1])), 3)
        0.182
        """
        sets = self.items(S)
        size = sets.shape[-1]
        flat = sets.reshape(math.prod(sets.shape[:-1]), size)
        result = np.zeros(len(flat))
        if size == 1:
            result = self.marginals()[flat[:, 0]]
        elif size <= self.k:
            weights, parts = self._circle
            for j, items in enumerate(flat):
                rows = self.vectors[items]
                pairs = (rows[:, None] * rows).reshape(size * size, self.r)
                kernels = (parts @ pairs.T).reshape(len(weights), size, size)
                result[j] = (weights * np.linalg.det(kernels)).sum().real
        return np.asarray(np.clip(result, 0.0, 1.0).reshape(sets.shape[:-1]))[()]

    @cached_property
    def _circle(self) -> tuple[Complexes, Complexes]:
        """Weights of points z = rho exp(i theta), and the eigenvalues of K_z at each of them."""
        finite = self.log_eigenvalues[self._sure :]
        chances = np.ones(self.r)
        if self.k < self.r:
            left = self.k - self._sure
            if left == 0:
                chances[self._sure :] = 0.0
            else:
                chances[self._sure :] = expit(finite + shift_to_size(finite, left))
        spread = np.sqrt((chances * (1.0 - chances)).sum())
        # Sizes that differ by the number of points are taken for one another: the odds of sizes so
        # far from the mean are below 1e-30. An odd number leaves out z = -rho, where K_z may be
        # infinite.
        points = int(min(self.r + 1, 12 * spread + 60)) | 1
        turn = np.exp(2j * np.pi * np.arange(points) / points)
        factors = (1.0 - chances) + chances * turn[:, None]
        weights = np.prod(factors, axis=1) * turn[-self.k * np.arange(points) % points]
        return weights / weights.sum().real, chances * turn[:, None] / factors
