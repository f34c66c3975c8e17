"""Log determinants of many bases at once, and the largest one of a graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree

from zonodpp._types import Floats, Integers
from zonodpp.targets.graphs import Graph


def log_dets(columns: Callable[[Integers], Floats], bases: Integers) -> Floats:
    """Log |det| of bases, (count, r); ``columns(items)`` returns the items' columns, whitened."""
    r = bases.shape[1]
    result = np.empty(len(bases))
    step = max(1, 2**22 // r**2)
    for start in range(0, len(bases), step):
        chunk = bases[start : start + step]
        stack = np.moveaxis(columns(chunk.ravel()).reshape(r, -1, r), 1, 0)
        sizes = np.abs(stack).max(axis=1, keepdims=True)  # first, lest squares underflow
        stack = stack / np.where(sizes > 0, sizes, 1.0)
        lengths = np.linalg.norm(stack, axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            unit = stack / np.where(lengths > 0, lengths, 1.0)
            lengths = np.log(lengths) + np.log(sizes)
            logs = np.linalg.slogdet(unit)[1]
            # Dependent columns leave rounding noise where an exact zero should stand.
            tiny = np.linalg.svd(unit, compute_uv=False)[:, -1] < 4 * r * 2.2e-16
            logs[tiny] = -np.inf
            result[start : start + step] = logs + lengths[:, 0].sum(axis=1)
    return result


def tree_log_dets(graph: Graph, scale: Floats | None, bases: Integers) -> Floats:
    """Log |det| of a graph's bases: a spanning tree has determinant +-1, times its weights."""
    result = np.zeros(len(bases))
    for k, edges in enumerate(bases):
        if not graph.is_spanning_tree(edges):
            result[k] = -np.inf
        elif scale is not None:
            result[k] = np.log(scale[edges]).sum()
    return result


def heaviest_tree(graph: Graph, weights: Floats | None) -> Integers:
    """Return the edges of the spanning tree of greatest weight, ascending."""
    logs = np.zeros(graph.tail.size)
    usable = graph.tail != graph.head
    if weights is not None:
        usable &= weights > 0
        with np.errstate(divide="ignore"):
            logs = np.log(weights)
    # Ranks instead of weights: all different, never zero, and they say which edge it is.
    order = np.argsort(-logs, kind="stable")
    order = order[usable[order]]
    ends = np.sort(np.column_stack([graph.tail, graph.head])[order], axis=1)
    _, first = np.unique(ends[:, 0] * graph.nodes + ends[:, 1], return_index=True)
    links = sp.csr_array(
        (first + 1.0, (ends[first, 0], ends[first, 1])), shape=(graph.nodes, graph.nodes)
    )
    tree = minimum_spanning_tree(links)
    return np.asarray(np.sort(order[tree.data.astype(np.int64) - 1]))
