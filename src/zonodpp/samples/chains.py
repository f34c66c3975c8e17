"""Draws of chains: what was counted and tracked along the way, and the errors of estimates."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats, ItemsLike
from zonodpp.diagnostics import from_arviz
from zonodpp.samples.draws import Draws


class Chains(Draws):
    """Draws as those of chains: acceptance, tracked sets, errors of estimates; see `Samples`.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 10, chains=2, rng=0)
    >>> samples.trace([1]).shape
    (2, 10)
    """

    @property
    def acceptance(self) -> float | None:
        """Share of accepted moves, burn-in included; None for methods that count none."""
        if "accepted" not in self.stats or "steps" not in self.stats:
            return None
        return float(self.stats["accepted"].sum() / max(1, self.stats["steps"].sum()))

    def trace(self, S: ItemsLike | None = None, *, tracked: int | None = None) -> Floats:
        """Return the presence of S, or of a tracked set, in each draw.

        Parameters
        ----------
        S : array_like of int, optional
            A set of items.
        tracked : int, optional
            In place of S: a column of `tracked`.

        Returns
        -------
        (chains, draws) array
            Presence, 0 or 1; for a tracked set it may be an average, as `tracked` says.

        Raises
        ------
        TypeError
            When both S and ``tracked`` are given, or none of the two.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> from zonodpp.diagnostics import psrf
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, chains=4, rng=0)
        >>> psrf(samples.trace([1, 2])).upper < 1.1  # (chains, draws) in, two figures out
        True
        """
        if (S is None) == (tracked is None):
            raise TypeError("pass a set of items S or tracked=k, one of the two")
        if S is not None:
            return self.contains(S).astype(np.float64)
        count = self.tracked.shape[2]
        if isinstance(tracked, bool) or tracked not in range(count):
            raise ValueError(
                f"sample(track=[...]) got {count} sets, counted from 0; there is none {tracked!r}"
            )
        return np.asarray(self.tracked[:, :, tracked], dtype=np.float64)

    def ess(self, S: ItemsLike | None = None, *, tracked: int | None = None) -> float:
        """Return the effective number of independent draws (bulk ESS) in `trace`.

        It needs ``zonodpp[stats]``.

        Parameters
        ----------
        S : array_like of int, optional
            A set of items.
        tracked : int, optional
            In place of S: a column of `tracked`.

        Returns
        -------
        float
            NaN if the trace is constant: it then says nothing about the error.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, rng=0)
        >>> 800 < samples.ess([1, 2]) < 1200
        True
        """
        return from_arviz("ess", self.trace(S, tracked=tracked))

    def rhat(self, S: ItemsLike | None = None, *, tracked: int | None = None) -> float:
        """Return the rank-normalised split R-hat of `trace`, near 1 if chains agree.

        It needs ``zonodpp[stats]``.

        Parameters
        ----------
        S : array_like of int, optional
            A set of items.
        tracked : int, optional
            In place of S: a column of `tracked`.

        Returns
        -------
        float
            NaN if the trace is constant.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, chains=4, rng=0)
        >>> samples.rhat([1, 2]) < 1.01
        True
        """
        return from_arviz("rhat", self.trace(S, tracked=tracked))

    def mcse(self, S: ItemsLike | None = None, *, tracked: int | None = None) -> float:
        """Return the Monte Carlo standard error of the mean of `trace`.

        It needs ``zonodpp[stats]``.

        Parameters
        ----------
        S : array_like of int, optional
            A set of items.
        tracked : int, optional
            In place of S: a column of `tracked`.

        Returns
        -------
        float
            NaN if the trace is constant.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, rng=0)
        >>> round(samples.mcse([1, 2]), 2)
        0.02
        """
        return from_arviz("mcse", self.trace(S, tracked=tracked))
