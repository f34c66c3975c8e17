"""`Samples`: the result of a run, as files and in the forms of other packages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from zonodpp._arguments import as_count, as_positive, spawn
from zonodpp._imports import optional
from zonodpp._types import ItemsLike, PathLike, SeedLike
from zonodpp.io.files import replacing
from zonodpp.samples import storage
from zonodpp.samples.draws import Draws
from zonodpp.targets.labels import one_set

if TYPE_CHECKING:
    from networkx import Graph
    from pandas import DataFrame
    from xarray import DataTree

_LARGEST_TREE = 2**32  # bytes of indicators that `Samples.to_arviz` makes without being asked twice


class Samples(Draws):
    """Draws of one or more chains, as `sample` returns them.

    ``len(samples)``, ``samples[k]``, ``samples[:10]`` and ``for draw in samples`` go through the
    draws of all chains, one chain after the other, as arrays of item indices.

    Attributes
    ----------
    subsets : (chains, draws, r) array of int
        Item indices, each row ascending. Rows of smaller draws end in -1.
    target : ProjectionDPP, VolumeSampling, DPP, KDPP or Design
        What was drawn from.
    method : str
        The method that drew.
    tracked : (chains, draws, len(track)) array
        Presence of the tracked sets, or its average along lines (zonotope) or over the steps to a
        draw (exchange).
    stats : dict of str to (chains,) array
        What was counted along the way, and the seconds each chain took.
    whole : bool
        False after `thinned`: such draws no longer follow the law of the target.

    See Also
    --------
    sample : The function that makes it.
    zonodpp.diagnostics : Convergence of chains and errors of estimates.
    zonodpp.plotting : Pictures of chains.

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

    def __repr__(self) -> str:
        chains, draws, _ = self.subsets.shape
        many = f"{chains} chains x {draws}" if chains > 1 else f"{draws}"
        of = f"{self._size_range()} out of {self.target.n} items, method={self.method!r}"
        return f"Samples({many} draws of {of}, {len(self.unique()[1])} distinct subsets)"

    def _size_range(self) -> str:
        """Sizes of draws in words: "5", or "0 to 7"."""
        sizes = self.sizes if self.sizes.size else self.subsets.shape[2]
        least, most = np.min(sizes), np.max(sizes)
        return f"{most}" if least == most else f"{least} to {most}"

    def _repr_html_(self) -> str:
        """Facts of the run and the most frequent items, as a table for notebooks."""
        chains, draws, _ = self.subsets.shape
        target = self.target
        facts = {"method": self.method, "chains": f"{chains:,}", "draws": f"{draws:,}"}
        facts["items"] = f"{self._size_range()} out of {target.n:,}"
        facts["distinct subsets"] = f"{len(self.unique()[1]):,}"
        if self.acceptance is not None:
            facts["acceptance"] = f"{self.acceptance:.1%}"
        if "seconds" in self.stats:
            facts["seconds, all chains"] = f"{self.stats['seconds'].sum():.3g}"
        items, counts = np.unique(self.subsets[self.subsets >= 0], return_counts=True)
        top = np.argsort(-counts, kind="stable")[:5]
        known = target.has_quick_inclusion and self.whole
        chosen = items[top].astype(np.int64)
        for k, item, label in zip(top, chosen, target.labels_of(chosen), strict=True):
            exact = f" (exact {target.inclusion(np.array([item])):.3f})" if known else ""
            facts[f"share of {label}"] = f"{counts[k] / len(self):.3f}{exact}"
        cells = (f"<th>{escape(name)}</th><td>{escape(fact)}</td>" for name, fact in facts.items())
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"

    def thinned(self, expected_size: float, *, rng: SeedLike = None) -> Samples:
        """Keep each item of each draw independently, so that draws have this size on average.

        Independent thinning of a DPP is a DPP, whose kernel is a fraction of K.

        Parameters
        ----------
        expected_size : float
            The mean number of items that are kept, at most that of the draws.
        rng : seed or Generator, optional
            For the choice of items.

        Returns
        -------
        Samples
            Rows are filled up with -1; `sizes` has the numbers of items.

        Raises
        ------
        ValueError
            When these draws were thinned before, or are smaller than ``expected_size``.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, section 2.3.

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
            most = f"at most the {mean:g} items of a draw"
            raise ValueError(f"expected_size must be {most}, got {size:g}")
        keep = spawn(rng, purpose="thinning")[0].random(self.subsets.shape) < size / mean
        last = np.iinfo(self.subsets.dtype).max  # sorts behind all items
        kept = np.sort(np.where(keep & (self.subsets >= 0), self.subsets, last), axis=2)
        kept[kept == last] = -1
        return Samples(kept, self.target, self.method, stats=self.stats, whole=False)

    def save(self, path: PathLike) -> None:
        """Write draws, stats and the whole target to exactly this path (npz, no pickle).

        Parameters
        ----------
        path : path
            The file to write. No suffix is added.

        Raises
        ------
        OSError
            When the file cannot be written. The draws are still in memory then.

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
    def load(cls, path: PathLike) -> Samples:
        """Read draws from a file that `save` wrote.

        Parameters
        ----------
        path : path
            A file that `save` wrote.

        Returns
        -------
        Samples
            The draws and their target, as they were saved.

        Raises
        ------
        ValueError
            When the file is damaged, or is not one that `save` wrote.

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

    def to_networkx(self, chain: int = 0, draw: int = 0) -> Graph:
        """Return one draw as a networkx tree, for targets made from a graph.

        Parameters
        ----------
        chain : int, default 0
            The number of the chain; -1 is the last one.
        draw : int, default 0
            The number of the draw in its chain; -1 is the last one.

        Returns
        -------
        networkx.Graph
            All nodes, and the drawn edges with their weights.

        Raises
        ------
        ValueError
            When the target was not made from a graph, or there is no such draw.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP.from_graph(nx.cycle_graph("abcd")), 1, rng=0)
        >>> nx.is_tree(samples.to_networkx())
        True
        """
        chains, draws, _ = self.subsets.shape
        if not draws:
            raise ValueError("there are no draws to make a tree of")
        chain = as_count(chain, "chain", -chains, chains - 1)
        draw = as_count(draw, "draw", -draws, draws - 1)
        return self.target.to_networkx(self.subsets[chain, draw])

    def to_pandas(self) -> DataFrame:
        """Return a table with one row for each draw, by chain and draw; needs ``zonodpp[parquet]``.

        Columns ``item_0``, ``item_1``, ... hold the labels of the items, or else their indices;
        smaller draws end in missing values. Columns ``tracked_0``, ... hold `tracked`.

        Returns
        -------
        pandas.DataFrame
            Its index has the levels ``chain`` and ``draw``.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> target = ProjectionDPP([[1, 2, 0], [0, 1, 2]]).with_labels(["tea", "rice", "salt"])
        >>> sample(target, 2, rng=0).to_pandas()
                   item_0 item_1
        chain draw
        0     0      rice   salt
              1      rice   salt
        """
        pandas = optional("pandas", "parquet", "to_pandas")
        chains, draws, r = self.subsets.shape
        index = pandas.MultiIndex.from_product([range(chains), range(draws)])
        missing = [None] * r
        rows = [[*draw, *missing[len(draw) :]] for chain in self.labelled() for draw in chain]
        columns = [f"item_{k}" for k in range(r)]
        table = pandas.DataFrame(rows, index, columns).convert_dtypes()
        for k in range(self.tracked.shape[2]):
            table[f"tracked_{k}"] = self.tracked[:, :, k].ravel()
        return table.rename_axis(["chain", "draw"])

    def to_arviz(self, items: ItemsLike | None = None) -> DataTree:
        """Return the draws as an xarray DataTree, which ArviZ reads; needs ``zonodpp[stats]``.

        Group ``posterior`` holds ``items``, the 0/1 indicators (chain, draw, item) of these or of
        all items, and ``sets``, what was tracked (chain, draw, set); ``sample_stats`` has `stats`.

        Parameters
        ----------
        items : array_like of int, optional
            The items whose indicators are made. None: all items.

        Returns
        -------
        xarray.DataTree
            With the groups ``posterior`` and ``sample_stats``.

        Raises
        ------
        ValueError
            When the indicators of all items would take more than 4 GiB.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 10, chains=2, rng=0)
        >>> dict(samples.to_arviz().posterior.sizes)
        {'chain': 2, 'draw': 10, 'item': 4}
        """
        xr = optional("xarray", "stats", "to_arviz")
        target = self.target
        chains, draws, _ = self.subsets.shape
        chosen = np.arange(target.n) if items is None else one_set(target, items, "items")
        size = chains * draws * target.n
        if items is None and size > _LARGEST_TREE:
            needed = f"indicators of all {target.n} items would take {size / 2**30:.0f} GiB"
            raise ValueError(f"{needed}; pass items=[...] for those you want to look at")
        # The place of each item among those chosen; all others, and the filling -1, share one more.
        place = np.full(target.n + 1, len(chosen), np.int32)
        place[chosen] = np.arange(len(chosen))
        present = np.zeros((chains, draws, len(chosen) + 1), np.int8)
        np.put_along_axis(present, place[self.subsets], 1, axis=2)
        about = {"inference_library": "zonodpp", "method": self.method, "target": repr(target)}
        dims = ("chain", "draw")
        places = {"chain": np.arange(chains), "draw": np.arange(draws)}
        stats = {name: (dims[: np.ndim(found)], found) for name, found in self.stats.items()}
        indicators = ((*dims, "item"), present[:, :, :-1])
        posterior = xr.Dataset({"items": indicators}, {**places, "item": chosen}, about)
        if self.tracked.shape[2]:
            posterior["sets"] = ((*dims, "set"), self.tracked)
        if target.labels is not None:
            posterior.coords["label"] = ("item", [str(target.labels[i]) for i in chosen.tolist()])
        groups = {"posterior": posterior, "sample_stats": xr.Dataset(stats, places, about)}
        return xr.DataTree.from_dict(groups)
