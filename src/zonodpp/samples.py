"""`Samples`: the result of a run and what can be read off it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp.columns import Floats
from zonodpp.inputs import as_items, as_positive
from zonodpp.targets import VolumeSampling


class Samples:
    """Draws of one or more chains.

    Attributes
    ----------
    subsets : (chains, draws, r) array of int
        Item indices, each row ascending. Rows of fewer than r items end in -1.
    target : ProjectionDPP or VolumeSampling
        What was drawn from.
    method : str
        The method that drew.
    tracked : (chains, draws, len(track)) array
        Presence of the tracked sets.
    stats : dict of str to (chains,) array
        What was counted along the way, and the seconds each chain took.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> samples = sample(target, 2000, chains=2, rng=0)
    >>> samples
    Samples(2 chains x 2000 draws of 2 out of 4 items, method='exact', 6 distinct subsets)
    >>> abs(samples.marginals() - target.marginals()).max() < 0.05
    np.True_
    """

    def __init__(
        self,
        subsets: NDArray[np.int32],
        target: VolumeSampling,
        method: str,
        *,
        tracked: Floats | None = None,
        stats: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.subsets = subsets
        self.target = target
        self.method = method
        self.tracked = np.zeros((*subsets.shape[:2], 0)) if tracked is None else tracked
        self.stats = dict(stats or {})

    def __repr__(self) -> str:
        chains, draws, r = self.subsets.shape
        many = f"{chains} chains x {draws}" if chains > 1 else f"{draws}"
        return (
            f"Samples({many} draws of {r} out of {self.target.n} items, method={self.method!r}, "
            f"{len(self.unique()[1])} distinct subsets)"
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items in each draw, (chains, draws)."""
        return np.asarray((self.subsets >= 0).sum(axis=2))

    def labelled(self) -> list[list[list[Any]]]:
        """Draws as labels of the target's items: ``[chain][draw]`` is a list of labels.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP.from_graph(nx.path_graph("abc")), 1, rng=0)
        >>> samples.labelled()
        [[[('a', 'b'), ('b', 'c')]]]
        """
        labels = self.target.labels
        if labels is None:
            labels = range(self.target.n)
        return [
            [[labels[i] for i in draw if i >= 0] for draw in chain]
            for chain in self.subsets.tolist()
        ]

    def contains(self, S: ArrayLike) -> NDArray[np.bool_]:
        """Tell for each draw whether it holds all items of S, (chains, draws)."""
        items = as_items(S, self.target.n, "S")
        inside = np.ones(self.subsets.shape[:2], dtype=bool)
        for item in items:
            inside &= (self.subsets == item).any(axis=2)
        return inside

    def inclusion(self, S: ArrayLike) -> float:
        """Share of draws that hold all items of S, an estimate of P(S in B).

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> estimate = sample(target, 5000, rng=0).inclusion([1, 2])
        >>> bool(abs(estimate - target.inclusion([1, 2])) < 0.03)
        True
        """
        return float(self.contains(S).mean())

    def marginals(self) -> Floats:
        """Share of draws that hold each item, (n,)."""
        items = self.subsets[self.subsets >= 0]
        draws = self.subsets.shape[0] * self.subsets.shape[1]
        return np.asarray(np.bincount(items, minlength=self.target.n) / draws)

    def unique(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Distinct subsets and how often each was drawn, the most frequent first."""
        flat = np.ascontiguousarray(self.subsets.reshape(-1, self.subsets.shape[2]))
        rows, counts = np.unique(flat, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return rows[order], counts[order]

    def best(self) -> NDArray[np.int32]:
        """Return the subset of highest probability among those drawn.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> sample(target, 100, rng=0).best()
        array([1, 2], dtype=int32)
        """
        rows, _ = self.unique()
        best: NDArray[np.int32] = rows[np.argmax(self.target.log_prob(rows))]
        return best

    def thinned(self, expected_size: float, *, rng: Any = None) -> Samples:
        """Keep each item of each draw independently, so that draws have this size on average.

        Independent thinning of a DPP is a DPP, with kernel ``(expected_size / r) * K`` (the
        paper's section 2.3). Rows are filled up with -1; `sizes` has the number of items.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import ProjectionDPP, sample
        >>> X = np.random.default_rng(0).normal(size=(30, 6))
        >>> fewer = sample(ProjectionDPP.from_features(X), 4, rng=0).thinned(3, rng=1)
        >>> fewer.sizes
        array([[3, 2, 3, 5]])
        """
        r = self.subsets.shape[2]
        size = as_positive(expected_size, "expected_size")
        if size > r:
            raise ValueError(f"expected_size must be at most the {r} items of a draw, got {size:g}")
        keep = np.random.default_rng(rng).random(self.subsets.shape) < size / r
        kept = np.where(keep & (self.subsets >= 0), self.subsets, np.iinfo(np.int32).max)
        kept.sort(axis=2)
        kept[kept == np.iinfo(np.int32).max] = -1
        return Samples(kept, self.target, self.method, stats=self.stats)
