"""Subsets drawn from a target as a sequence: shares, traces, and the errors of estimates."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from zonodpp._types import Booleans, Floats, Integers, ItemsLike, Subsets
from zonodpp.diagnostics import from_arviz
from zonodpp.targets.base import Target


class Draws:
    """Subsets that one or more chains have drawn from a target; see `Samples`.

    As a sequence it holds the draws of all chains, one chain after the other. Each is an array of
    item indices, without the filling -1; a slice is a list of such arrays. ``whole`` is False after
    `Samples.thinned`: then the draws no longer follow the target's law.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 3, chains=2, rng=0)
    >>> len(samples), [draw.size for draw in samples]
    (6, [2, 2, 2, 2, 2, 2])
    >>> bool((samples[-1] == samples.subsets[1, 2]).all())
    True
    """

    def __init__(
        self,
        subsets: Subsets,
        target: Target,
        method: str,
        *,
        tracked: Floats | None = None,
        stats: Mapping[str, NDArray[Any]] | None = None,
        whole: bool = True,
    ) -> None:
        self.subsets, self.target, self.method, self.whole = subsets, target, method, whole
        self.tracked = np.zeros((*subsets.shape[:2], 0)) if tracked is None else tracked
        self.stats = dict(stats or {})

    def __len__(self) -> int:
        return len(self.subsets) * len(self.subsets[0])

    @overload
    def __getitem__(self, number: SupportsIndex) -> Subsets: ...
    @overload
    def __getitem__(self, number: slice) -> list[Subsets]: ...
    def __getitem__(self, number: SupportsIndex | slice) -> Subsets | list[Subsets]:
        rows = self.subsets.reshape(-1, self.subsets.shape[2])
        if isinstance(number, slice):
            return [row[row >= 0] for row in rows[number]]
        row: Subsets = rows[operator.index(number)]
        return row[row >= 0]

    def __iter__(self) -> Iterator[Subsets]:
        return (self[number] for number in range(len(self)))

    @property
    def sizes(self) -> Integers:
        """Number of items in each draw, (chains, draws)."""
        return np.asarray((self.subsets >= 0).sum(axis=2))

    def labelled(self) -> list[list[list[Any]]]:
        """Return the draws as labels of the target's items.

        Returns
        -------
        list of lists of lists
            ``[chain][draw]`` is the list of labels of one draw.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP.from_graph(nx.path_graph("abc")), 1, rng=0)
        >>> samples.labelled()
        [[[('a', 'b'), ('b', 'c')]]]
        """
        items = np.unique(self.subsets[self.subsets >= 0]).astype(np.int64)
        labels = dict(zip(items.tolist(), self.target.labels_of(items), strict=True))
        return [
            [[labels[i] for i in draw if i >= 0] for draw in chain]
            for chain in self.subsets.tolist()
        ]

    def _need_draws(self) -> None:
        if not self.subsets.size:
            why = "was the time used up in burn-in, or in the thin steps to the first draw?"
            raise ValueError(f"there are no draws to look at; {why}")

    def contains(self, S: ItemsLike) -> Booleans:
        """Tell for each draw whether it holds all items of S.

        Parameters
        ----------
        S : array_like of int
            One set of items, by number or label.

        Returns
        -------
        (chains, draws) array of bool
            True where all items of S were drawn.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 3, rng=0)
        >>> samples.contains([1]).shape
        (1, 3)
        """
        items = self.target.items(S)
        if items.ndim > 1:
            raise ValueError(f"S must be one set of items, got {len(items)}: ask for one at a time")
        inside = np.ones(self.subsets.shape[:2], dtype=bool)
        for item in items:
            inside &= (self.subsets == item).any(axis=2)
        return inside

    def inclusion(self, S: ItemsLike) -> float:
        """Return the share of draws that hold all items of S.

        Parameters
        ----------
        S : array_like of int
            One set of items, by number or label.

        Returns
        -------
        float
            An estimate of P(S in B).

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> estimate = sample(target, 5000, rng=0).inclusion([1, 2])
        >>> bool(abs(estimate - target.inclusion([1, 2])) < 0.03)
        True
        """
        self._need_draws()
        return float(self.contains(S).mean())

    def marginals(self) -> Floats:
        """Return the share of draws that hold each item.

        Returns
        -------
        (n,) array
            Estimates of P(i in B).

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 3, rng=0)
        >>> round(float(samples.marginals().sum()), 12)
        2.0
        """
        self._need_draws()
        items = self.subsets[self.subsets >= 0]
        return np.asarray(np.bincount(items, minlength=self.target.n) / self.sizes.size)

    def unique(self) -> tuple[Subsets, Integers]:
        """Return the distinct subsets and how often each was drawn.

        Returns
        -------
        subsets : (m, r) array of int
            The most frequent first.
        counts : (m,) array of int
            How often each was drawn.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, rng=0)
        >>> subsets, counts = samples.unique()
        >>> subsets[0], int(counts.sum())
        (array([1, 2], dtype=int32), 1000)
        """
        _, first, counts = np.unique(self._keys(), return_index=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return self.subsets.reshape(-1, self.subsets.shape[2])[first[order]], counts[order]

    def _keys(self) -> NDArray[np.bytes_]:
        """Return a string of bytes for each draw, (chains, draws), which sort as the subsets do."""
        digits = np.ascontiguousarray(self.subsets + 1, ">i4")  # bytes compare as the items do
        return digits.view(f"S{4 * self.subsets.shape[2]}")[:, :, 0]

    def best(self) -> Subsets:
        """Return the subset of highest probability among those drawn.

        Returns
        -------
        array of int
            Items, ascending.

        Raises
        ------
        ValueError
            When the draws were thinned.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> sample(target, 100, rng=0).best()
        array([1, 2], dtype=int32)
        """
        if not self.whole:
            raise ValueError("best() compares whole bases, but these draws were thinned")
        self._need_draws()
        rows, _ = self.unique()
        best = rows[np.argmax(self.target.log_prob(rows))]
        return np.asarray(best[best >= 0])

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
            sets = f"sample(track=[...]) was given {count} sets, numbered from 0"
            raise ValueError(f"no tracked set has the number {tracked!r}: {sets}")
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
