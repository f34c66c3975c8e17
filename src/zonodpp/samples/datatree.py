"""Draws as the tree of datasets that ArviZ reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonodpp._optional import optional
from zonodpp._types import ItemsLike

if TYPE_CHECKING:
    from xarray import DataTree

    from zonodpp.samples.result import Samples

LARGEST_TREE = 2**32  # bytes of indicators that as_datatree makes without being asked twice


def as_datatree(samples: Samples, items: ItemsLike | None = None) -> DataTree:
    """Turn samples into an xarray DataTree; see `Samples.to_arviz`.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.samples.datatree import as_datatree
    >>> samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 10, rng=0)
    >>> sorted(as_datatree(samples, items=[1]).children)
    ['posterior', 'sample_stats']
    """
    xr = optional("xarray", "stats", "to_arviz")
    target = samples.target
    chains, draws, _ = samples.subsets.shape
    chosen = np.arange(target.n) if items is None else target.items(items, "items").ravel()
    if items is None and chains * draws * target.n > LARGEST_TREE:
        raise ValueError(
            f"indicators of all {target.n} items would take {chains * draws * target.n / 2**30:.0f}"
            " GiB; pass items=[...] for those you want to look at"
        )
    # The place of each item among those chosen; all others, and the filling -1, share one more.
    place = np.full(target.n + 1, len(chosen), np.int32)
    place[chosen] = np.arange(len(chosen))
    present = np.zeros((chains, draws, len(chosen) + 1), np.int8)
    np.put_along_axis(present, place[samples.subsets], 1, axis=2)
    common = {"chain": np.arange(chains), "draw": np.arange(draws)}
    names: dict[str, object] = {"item": chosen, "set": np.arange(samples.tracked.shape[2])}
    variables = {
        "items": (("chain", "draw", "item"), present[:, :, :-1]),
        "sets": (("chain", "draw", "set"), samples.tracked),
    }
    if not samples.tracked.shape[2]:
        del names["set"], variables["sets"]
    if target.labels is not None:
        names["label"] = ("item", [str(target.labels[i]) for i in chosen.tolist()])
    attributes = {"inference_library": "zonodpp", "method": samples.method, "target": repr(target)}
    counted = {
        name: (("chain", "draw")[: np.ndim(found)], found) for name, found in samples.stats.items()
    }
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(variables, {**common, **names}, attributes),
            "sample_stats": xr.Dataset(counted, common, attributes),
        }
    )
