"""Graphs: one spanning tree of a run, and how likely each edge is."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_count, as_reals
from zonodpp._imports import optional
from zonodpp._types import Floats, Labels
from zonodpp.plotting.style import INK, Axes, axes_for, colour_map, shades
from zonodpp.samples import Samples
from zonodpp.targets.base import Target

if TYPE_CHECKING:
    from matplotlib.collections import Collection

Positions: TypeAlias = Mapping[Hashable, ArrayLike]
_FEW = 200  # nodes up to which a layout by all distances is quick
_NAMED = 40  # nodes beyond which they are not named
_LONGEST = 3  # characters of a name that fit into a node


def spanning_tree(
    samples: Samples, ax: Axes | None = None, *, draw: int = 0, positions: Positions | None = None
) -> Axes:
    """Draw a spanning tree of a run, in the graph that it was drawn from.

    Parameters
    ----------
    samples : Samples
        Of a target made by `ProjectionDPP.from_graph`.
    ax : Axes, optional
        Where to draw.
    draw : int, default 0
        The number of the draw, as in ``samples[draw]``.
    positions : dict from node to (x, y), optional
        Where nodes stand. By default, nodes that are pairs of numbers, as in a grid, stand at these
        coordinates, and other nodes where a layout of networkx places them.

    Returns
    -------
    Axes
        The axes that were drawn on.

    See Also
    --------
    edge_marginals : How likely each edge is.

    Examples
    --------
    >>> import networkx as nx
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.plotting import spanning_tree
    >>> samples = sample(ProjectionDPP.from_graph(nx.grid_2d_graph(4, 4)), 1, rng=0)
    >>> ax = spanning_tree(samples)
    >>> edges, tree = ax.collections[:2]
    >>> len(edges.get_segments()), len(tree.get_segments())
    (24, 15)
    """
    if not len(samples):
        raise ValueError("there are no draws, and so no tree to draw")
    draw = as_count(draw, "draw", -len(samples), len(samples) - 1)
    names, places, ends = _layout(samples.target, positions)
    ax = axes_for(ax, (5.0, 4.6))
    _draw_edges(ax, ends, colors="0.8", linewidths=1)
    _draw_edges(ax, ends[samples[draw]], colors=shades([0.25]), linewidths=3)
    _draw_nodes(ax, names, places)
    return ax


def edge_marginals(
    target: Target,
    ax: Axes | None = None,
    shares: ArrayLike | None = None,
    *,
    positions: Positions | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw the edges of a graph, coloured by how likely they are in a spanning tree.

    Parameters
    ----------
    target : ProjectionDPP
        Made by `ProjectionDPP.from_graph`.
    ax : Axes, optional
        Where to draw.
    shares : (n,) array_like, optional
        One number from 0 to 1 for each edge, such as ``samples.marginals()``. By default the exact
        probabilities ``target.marginals()``: weight times effective resistance.
    positions : dict from node to (x, y), optional
        As in `spanning_tree`.
    colorbar : bool, default True
        Draw the scale beside the axes.

    Returns
    -------
    Axes
        The axes that were drawn on.

    See Also
    --------
    spanning_tree : A single draw.

    Examples
    --------
    >>> import networkx as nx
    >>> from zonodpp import ProjectionDPP
    >>> from zonodpp.plotting import edge_marginals
    >>> ax = edge_marginals(ProjectionDPP.from_graph(nx.grid_2d_graph(4, 4)))
    >>> float(ax.collections[0].get_array().sum().round(9))  # as many edges as a tree has
    15.0
    """
    if not isinstance(target, Target):
        found = type(target).__name__
        raise TypeError(f"target must be made by ProjectionDPP.from_graph, got {found}")
    names, places, ends = _layout(target, positions)
    expected = f"one entry for each of the {target.n} edges"
    shown = target.marginals() if shares is None else shares
    shown = as_reals(shown, "shares", (target.n,), expected, finite=True)
    ax = axes_for(ax, (6.0, 4.6))
    scale = {"array": shown, "cmap": colour_map(), "clim": (0, 1)}
    edges = _draw_edges(ax, ends, linewidths=1 + 4 * shown, **scale)
    _draw_nodes(ax, names, places)
    if colorbar:
        ax.figure.colorbar(edges, ax=ax, label="Probability of the edge", shrink=0.85)
    return ax


def _layout(target: Target, positions: Positions | None) -> tuple[Labels, Floats, Floats]:
    """Return the names of the nodes, where they stand, (nodes, 2), and the ends of each edge."""
    graph = target.graph
    if graph is None:
        raise ValueError("the picture is of a graph; make the target by ProjectionDPP.from_graph")
    names = range(graph.nodes) if graph.names is None else graph.names
    places: Floats = np.zeros(0)
    if positions is not None:
        missing = [name for name in names if name not in positions]
        if missing:
            raise ValueError(f"positions must have every node, but {missing[0]!r} is not there")
        expected = "two coordinates for each node"
        found = [positions[name] for name in names]
        places = as_reals(found, "positions", (graph.nodes, 2), expected, finite=True)
    else:
        with suppress(TypeError, ValueError):  # names that are no pairs of numbers
            places = np.array(list(names), dtype=np.float64)
    if positions is None and places.shape != (graph.nodes, 2):
        nx = optional("networkx", "graph", "a layout of the graph")
        links = nx.Graph(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
        found = (nx.kamada_kawai_layout if graph.nodes <= _FEW else nx.spring_layout)(links)
        places = np.array([found[node] for node in range(graph.nodes)])
    return names, places, places[np.column_stack([graph.tail, graph.head])]


def _draw_edges(ax: Axes, ends: Floats, **look: object) -> Collection:
    """Draw edges as straight lines."""
    collections = optional("matplotlib.collections", "plot", "a plot")
    return ax.add_collection(collections.LineCollection(ends, capstyle="round", **look))


def _draw_nodes(ax: Axes, labels: Labels, places: Floats) -> None:
    """Draw the nodes, and write their names into them where there is room."""
    names = list(map(str, labels))
    named = len(names) <= _NAMED and max(map(len, names)) <= _LONGEST
    size, fill = (220, "white") if named else (12, INK)
    x, y = places.T
    ax.scatter(x, y, size, fill, edgecolors=INK, zorder=3)
    for name, place in zip(names if named else (), places, strict=False):
        ax.annotate(name, place, ha="center", va="center", fontsize="x-small", zorder=4)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.set_axis_off()
