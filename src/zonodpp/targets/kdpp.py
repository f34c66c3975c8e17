"""k-DPPs: a DPP given that it has k items."""

from __future__ import annotations

from typing import Self

import numpy as np

from zonodpp._arguments import as_count
from zonodpp._types import Floats, Integers, Labels, MatrixLike
from zonodpp.numerics.arrays import frozen
from zonodpp.numerics.spectrum import Spectrum
from zonodpp.targets.base import Target
from zonodpp.targets.conditions import ImpossibleError
from zonodpp.targets.spectral import SpectralTarget


class KDPP(SpectralTarget):
    """A DPP given that it has k items: P(B) proportional to det L_B over sets of k items.

    Parameters
    ----------
    L : (n, n) array_like, DataFrame or scipy.sparse matrix
        Symmetric, positive semidefinite, of rank at least k.
    k : int
        The size of every draw.

    Attributes
    ----------
    n, r, k : int
        Number of items, rank of the kernel, and size of every draw.
    vectors : (n, r) array
        Eigenvectors as columns, largest eigenvalue first.
    log_eigenvalues : (r,) array
        Logs of the eigenvalues of L.
    labels : sequence or None
        Names of the items.

    Raises
    ------
    ValueError
        When k is larger than the rank of the kernel.

    See Also
    --------
    DPP : Draws that vary in size.
    ProjectionDPP : Draws of as many items as there are features.
    zonodpp.features : Kernels and features of data.

    References
    ----------
    A. Kulesza, B. Taskar, "k-DPPs: fixed-size determinantal point processes", ICML 2011.

    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, section 2.3.

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
    _size = "k"

    def __init__(self, L: MatrixLike, k: int) -> None:
        self._set_kernel(L, "L", k)

    @classmethod
    def from_features(cls, Phi: MatrixLike, k: int) -> Self:
        """Make the k-DPP with L = Phi Phi', items as rows; L is never formed.

        Parameters
        ----------
        Phi : (n, m) array_like, DataFrame or scipy.sparse matrix
            One row for each item.
        k : int
            The size of every draw, at most the rank of Phi.

        Returns
        -------
        KDPP
            The target.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP
        >>> KDPP.from_features(np.random.default_rng(0).normal(size=(10_000, 20)), 5)
        KDPP(k=5, n=10000, rank 20)
        """
        return cls._of_features(Phi, k)

    def _set(self, found: Spectrum, labels: Labels | None, k: int | None = None) -> None:
        rank, sure = found.vectors.shape[1], int(np.isposinf(found.logs).sum())
        k = as_count(k or 0, "k", 1)
        if not sure <= k <= rank:
            raise ImpossibleError(
                f"sets of k = {k} items cannot be drawn, only those of {sure} to {rank}: every "
                f"draw holds {sure} included items, the kernel has numerical rank {rank}, and "
                "larger sets have determinant zero. Take another k, add a ridge to the kernel, "
                "L + c * I, or include or exclude fewer items"
            )
        super()._set(found, labels, k)
        logs, finite = symmetric_polynomials(found.logs[sure:], k - sure)
        taking = np.ones((rank, k + 1))  # eigenvectors that are sure are always taken
        taking[sure:] = np.pad(finite, ((0, 0), (0, sure)))
        parts = {"taking": frozen(taking), "chances": frozen(part_probabilities(taking))}
        self.__dict__.update(_log_normaliser=float(logs[-1]), **parts)

    def size_law(self) -> Floats:
        """Return the probability of each size of a draw: one for k.

        Returns
        -------
        (r + 1,) array
            Probabilities of the sizes from 0 to r.

        Examples
        --------
        >>> from zonodpp import KDPP
        >>> KDPP([[1.0, 0.0], [0.0, 3.0]], 1).size_law()
        array([0., 1., 0.])
        """
        return np.asarray(np.arange(self.r + 1) == self.k, dtype=np.float64)

    def on_bases(self, method: str) -> Target:
        """Raise an error: chains that alternate items and eigenvectors do not reach every set."""
        raise ValueError(
            f"method={method!r} does not draw from a KDPP: no chain reaches every set of k items "
            "whatever the kernel is. Use method='exact' (or 'auto'), whose draws are independent"
        )

    def __repr__(self) -> str:
        return f"KDPP(k={self.k}, n={self.n}, rank {self.r})"

    def _inclusions(self, sets: Integers) -> Floats:
        """Return the probabilities that sets are part of the draw.

        The first item of a set has its marginal probability, and the others have theirs given that
        the first is in the draw.
        """
        result = np.asarray(self.vectors[sets[:, 0]] ** 2 @ self.chances)
        for item in np.unique(sets[:, 0]) if sets.shape[1] > 1 else ():
            chosen = sets[:, 0] == item
            try:
                given = self._given(np.array([item]), np.zeros(0, np.int64))
                result[chosen] *= given._inclusions(sets[chosen, 1:])
            except ImpossibleError:
                result[chosen] = 0.0
        return result


def symmetric_polynomials(logs: Floats, k: int) -> tuple[Floats, Floats]:
    """Return the logs of e_0, ..., e_k of ``exp(logs)``, and chances to draw k parts by them.

    Entry [j, size] of the chances is lambda_j e_{size-1}(after j) / e_size(from j on), the chance
    to take part j when ``size`` parts are to come from part j on. Going from the first part to the
    last with these chances, beginning with size k, draws a set of k parts with probability
    proportional to the product of its eigenvalues (Kulesza, Taskar 2012, algorithm 8).

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(symmetric_polynomials(np.log([1.0, 2.0, 3.0]), 3)[0]).round(12)
    array([ 1.,  6., 11.,  6.])
    """
    chances = np.zeros((len(logs), k + 1))
    result = np.full(k + 1, -np.inf)
    result[0] = 0.0
    for j in range(len(logs) - 1, -1, -1):
        most = min(k, len(logs) - j)
        taken = logs[j] + result[:most]
        result[1 : most + 1] = np.logaddexp(result[1 : most + 1], taken)
        chances[j, 1 : most + 1] = np.exp(taken - result[1 : most + 1])
    return result, chances


def part_probabilities(taking: Floats) -> Floats:
    """Return the probability of each part, for sets drawn with `symmetric_polynomials`."""
    result = np.zeros(len(taking))
    sizes = np.zeros(taking.shape[1])  # the law of how many parts are still to be taken
    sizes[-1] = 1.0
    for j, chances in enumerate(taking):
        taken = sizes * chances
        result[j] = taken.sum()
        sizes -= taken
        sizes[:-1] += taken[1:]
    return result
