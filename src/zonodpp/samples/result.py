"""`Samples`: the result of a run and what can be read off it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._files import replacing
from zonodpp._types import Floats, Integers
from zonodpp.arguments import as_positive, spawn
from zonodpp.diagnostics import from_arviz
from zonodpp.samples import datatree, storage
from zonodpp.samples.facts import html_table, size_range
from zonodpp.targets.target import Target


class Samples:
    """Draws of one or more chains.

    Attributes
    ----------
    subsets : (chains, draws, r) array of int
        Item indices, each row ascending. Rows of smaller draws end in -1.
    target : ProjectionDPP, VolumeSampling, DPP or KDPP
        What was drawn from.
    method : str
        The method that drew.
    tracked : (chains, draws, len(track)) array
        Presence of the tracked sets, or its average along lines (zonotope) or over the steps to a
        draw (exchange).
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
        target: Target,
        method: str,
        *,
        tracked: Floats | None = None,
        stats: Mapping[str, NDArray[Any]] | None = None,
        whole: bool = True,
    ) -> None:
        self.subsets = subsets
        self.target = target
        self.method = method
        self.tracked = np.zeros((*subsets.shape[:2], 0)) if tracked is None else tracked
        self.stats = dict(stats or {})
        self._whole = whole

    def __repr__(self) -> str:
        chains, draws, _ = self.subsets.shape
        many = f"{chains} chains x {draws}" if chains > 1 else f"{draws}"
        return (
            f"Samples({many} draws of {size_range(self)} out of {self.target.n} items, "
            f"method={self.method!r}, {len(self.unique()[1])} distinct subsets)"
        )

    def _repr_html_(self) -> str:
        """Facts of the run and the most frequent items, as a table for notebooks."""
        return html_table(self)

    @property
    def acceptance(self) -> float | None:
        """Share of accepted moves, burn-in included; None for methods that count none."""
        if "accepted" not in self.stats or "steps" not in self.stats:
            return None
        return float(self.stats["accepted"].sum() / max(1, self.stats["steps"].sum()))

    @property
    def whole(self) -> bool:
        """False after `thinned`: then the draws no longer follow the target's law."""
        return self._whole and (self.target.sizes_vary or bool((self.subsets >= 0).all()))

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

    def to_networkx(self, chain: int = 0, draw: int = 0) -> Any:
        """Return one draw as a networkx tree, for targets made from a graph.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP.from_graph(nx.cycle_graph("abcd")), 1, rng=0)
        >>> nx.is_tree(samples.to_networkx())
        True
        """
        return self.target.to_networkx(self.subsets[chain, draw])

    def _need_draws(self) -> None:
        if not self.subsets.size:
            raise ValueError(
                "there are no draws to look at; was the time used up in burn-in, or in the thin "
                "steps to the first draw?"
            )

    def contains(self, S: ArrayLike) -> NDArray[np.bool_]:
        """Tell for each draw whether it holds all items of S, (chains, draws).

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
        self._need_draws()
        return float(self.contains(S).mean())

    def marginals(self) -> Floats:
        """Share of draws that hold each item, (n,).

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 3, rng=0)
        >>> round(float(samples.marginals().sum()), 12)
        2.0
        """
        self._need_draws()
        items = self.subsets[self.subsets >= 0]
        draws = self.subsets.shape[0] * self.subsets.shape[1]
        return np.asarray(np.bincount(items, minlength=self.target.n) / draws)

    def trace(self, S: ArrayLike | None = None, *, tracked: int | None = None) -> Floats:
        """Presence of S in each draw, or of the tracked set of this number, (chains, draws).

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
        if tracked not in range(count := self.tracked.shape[2]):
            raise ValueError(
                f"sample(track=[...]) got {count} sets, counted from 0; there is none {tracked!r}"
            )
        return np.asarray(self.tracked[:, :, tracked], dtype=np.float64)

    def ess(self, S: ArrayLike | None = None, *, tracked: int | None = None) -> float:
        """Effective number of independent draws (bulk ESS) in `trace`; NaN if that is constant.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, rng=0)
        >>> 800 < samples.ess([1, 2]) < 1200
        True
        """
        return from_arviz("ess", self.trace(S, tracked=tracked))

    def rhat(self, S: ArrayLike | None = None, *, tracked: int | None = None) -> float:
        """Rank-normalised split R-hat of `trace`, near 1 if chains agree; NaN if it is constant.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, chains=4, rng=0)
        >>> samples.rhat([1, 2]) < 1.01
        True
        """
        return from_arviz("rhat", self.trace(S, tracked=tracked))

    def mcse(self, S: ArrayLike | None = None, *, tracked: int | None = None) -> float:
        """Monte Carlo standard error of the mean of `trace`; NaN if that is constant.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, rng=0)
        >>> round(samples.mcse([1, 2]), 2)
        0.02
        """
        return from_arviz("mcse", self.trace(S, tracked=tracked))

    def unique(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Distinct subsets and how often each was drawn, the most frequent first.

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

    def _keys(self) -> Integers:
        """One integer for each draw, (chains, draws): equal for equal subsets, in their order."""
        keys = np.zeros(self.subsets.shape[:2], np.int64)
        base = self.target.n + 1  # -1 is a digit too
        bound = 1  # all keys are below
        for k in range(self.subsets.shape[2]):
            if bound > np.iinfo(np.int64).max // base:  # ranks take less room
                values, ranks = np.unique(keys, return_inverse=True)
                keys, bound = ranks.reshape(keys.shape), len(values)
            keys = keys * base + (self.subsets[:, :, k] + 1)
            bound *= base
        return keys

    def best(self) -> NDArray[np.int32]:
        """Return the subset of highest probability among those drawn.

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
        best: NDArray[np.int32] = rows[np.argmax(self.target.log_prob(rows))]
        return best

    def thinned(self, expected_size: float, *, rng: Any = None) -> Samples:
        """Keep each item of each draw independently, so that draws have this size on average.

        Independent thinning of a DPP is a DPP, with a fraction of its kernel K (the paper's
        section 2.3). Rows are filled up with -1; `sizes` has the number of items.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import ProjectionDPP, sample
        >>> X = np.random.default_rng(0).normal(size=(30, 6))
        >>> fewer = sample(ProjectionDPP.from_features(X), 4, rng=0).thinned(3, rng=1)
        >>> fewer.sizes
        array([[4, 3, 3, 2]])
        """
        if not self.whole:
            raise ValueError("these draws were thinned already; thin the draws they came from")
        mean = self.target.expected_size
        size = as_positive(expected_size, "expected_size")
        if size > mean:
            raise ValueError(
                f"expected_size must be at most the {mean:g} items of a draw, got {size:g}"
            )
        keep = spawn(rng, purpose="thinning")[0].random(self.subsets.shape) < size / mean
        kept = np.where(keep & (self.subsets >= 0), self.subsets, np.iinfo(np.int32).max)
        kept.sort(axis=2)
        kept[kept == np.iinfo(np.int32).max] = -1
        return Samples(kept, self.target, self.method, stats=self.stats, whole=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write draws, stats and the whole target to exactly this path (npz, no pickle).

        Examples
        --------
        >>> import os, tempfile
        >>> from zonodpp import ProjectionDPP, Samples, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 1000, rng=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     samples.save(os.path.join(folder, "draws.npz"))
        ...     again = Samples.load(os.path.join(folder, "draws.npz"))
        >>> bool((again.subsets == samples.subsets).all())
        True
        """
        try:
            with replacing(path) as temporary:
                storage.save_samples(self, temporary)
        except OSError as error:
            error.add_note("The draws are still in memory: save them to another path.")
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Samples:
        """Read what `save` wrote; a damaged or foreign file is refused.

        Examples
        --------
        >>> import os, tempfile
        >>> from zonodpp import ProjectionDPP, Samples, sample
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "run")
        ...     sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 3, rng=0).save(path)
        ...     Samples.load(path).subsets.shape
        (1, 3, 2)
        """
        return cls(**storage.load_samples(path))

    def to_arviz(self, items: ArrayLike | None = None) -> Any:
        """Return the draws as an xarray DataTree, which ArviZ reads; needs ``zonodpp[stats]``.

        Group ``posterior`` holds ``items``, the 0/1 indicators (chain, draw, item) of these or of
        all items, and ``sets``, what was tracked (chain, draw, set); ``sample_stats`` has `stats`.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 10, chains=2, rng=0)
        >>> dict(samples.to_arviz().posterior.sizes)
        {'chain': 2, 'draw': 10, 'item': 4}
        """
        return datatree.as_datatree(self, items)
