"""Zonotopes as such, in the plane or in space: one, or several with what they were reduced to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_items, listed
from zonodpp._imports import optional
from zonodpp._types import Floats, Integers
from zonodpp.plotting.style import Axes, axes_for, colours
from zonodpp.zonotope import Zonotope

_IN_FACET = 1e-9  # cosine with the normal of a facet below which a generator is an edge of it


def zonotope(
    zonotopes: Zonotope | Sequence[Zonotope],
    dims: ArrayLike = (0, 1),
    ax: Axes | None = None,
    *,
    labels: Sequence[str] | None = None,
) -> Axes:
    """Draw the shadow of zonotopes on two or three coordinates.

    Parameters
    ----------
    zonotopes : Zonotope or sequence of Zonotope
        One, or several, such as a zonotope and what it was reduced to.
    dims : (2,) or (3,) array_like of int, default (0, 1)
        The coordinates, counted from 0. Three make a picture in space.
    ax : Axes, optional
        Where to draw; for three coordinates axes with ``projection="3d"``.
    labels : sequence of str, optional
        For the legend, one for each zonotope. Default: the numbers of generators, of several.

    Returns
    -------
    Axes
        The axes that were drawn on.

    See Also
    --------
    zonodpp.plotting.tiling : The tiles of a zonotope in the plane.
    zonodpp.Zonotope.reduce : A zonotope with fewer generators.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp import Zonotope
    >>> from zonodpp.plotting import zonotope
    >>> Z = Zonotope.from_generators(np.random.default_rng(0).normal(size=(4, 12)))
    >>> ax = zonotope([Z, Z.reduce(1)], dims=(0, 2))
    >>> [patch.get_label() for patch in ax.patches]
    ['12 generators', '4 generators']
    """
    several = [zonotopes] if isinstance(zonotopes, Zonotope) else list(zonotopes)
    axes = _dims_of(dims, several)
    if labels is None:
        labels = [f"{each.n} generators" for each in several] if len(several) > 1 else [""]
    if len(labels) != len(several):
        raise ValueError(f"expected {len(several)} labels, one a zonotope, got {len(labels)}")
    shadows = [np.eye(each.r)[axes] @ each for each in several]
    ax = axes_for(ax, (5.2, 4.6)) if len(axes) == 2 else _axes_in_space(ax)
    for shadow, colour, label in zip(shadows, colours(len(shadows)), labels, strict=True):
        look: dict[str, Any] = {"facecolor": (*colour[:3], 0.2), "edgecolor": colour}
        if len(axes) == 2:
            ax.fill(*shadow.vertices().T, linewidth=1.8, label=label, **look)
        else:
            _draw_in_space(ax, shadow, label, look)
    names = [f"Coordinate {k}" for k in axes]
    ax.set(aspect="equal", **dict(zip(("xlabel", "ylabel", "zlabel"), names, strict=False)))
    if any(labels):
        ax.legend()
    return ax


def _dims_of(dims: ArrayLike, zonotopes: Sequence[Zonotope]) -> Integers:
    if not zonotopes:
        raise ValueError("zonotopes is empty: pass at least one Zonotope")
    sizes = sorted({each.r for each in zonotopes})
    if len(sizes) > 1:
        raise ValueError(f"zonotopes must have the same dimension, got {listed(sizes)}")
    axes = as_items(dims, sizes[0], "dims")
    if axes.shape not in ((2,), (3,)):
        raise ValueError(f"dims must name two or three coordinates, got shape {axes.shape}")
    return axes


def _axes_in_space(ax: Axes | None) -> Axes:
    if ax is None:
        plt = optional("matplotlib.pyplot", "plot", "a plot")
        made: Axes = plt.figure(figsize=(6, 5.2)).add_subplot(projection="3d")
        return made
    if ax.name != "3d":
        raise ValueError(
            "three coordinates need axes in space: make ax with projection='3d', or pass two dims"
        )
    return ax


def _draw_in_space(ax: Any, shadow: Zonotope, label: str, look: dict[str, Any]) -> None:
    collections = optional("mpl_toolkits.mplot3d.art3d", "plot", "a plot")
    faces = facet_polygons(shadow)
    ax.add_collection3d(
        collections.Poly3DCollection(faces, linewidths=0.4, label=label, **look), autolim=False
    )
    corners = np.concatenate(faces)
    ax.auto_scale_xyz(*corners.T, had_data=ax.has_data())


def facet_polygons(zonotope: Zonotope) -> list[Floats]:
    """Return the corners of each facet of a zonotope in space, in order around it."""
    G, center = zonotope.generators, zonotope.center
    G = G[:, G.any(axis=0)]
    lengths = np.linalg.norm(G, axis=0)
    polygons = []
    for normal in zonotope.facets().N:
        heights = normal @ G
        edges = np.abs(heights) <= _IN_FACET * lengths
        axes = np.linalg.svd(normal[None])[2][1:]  # two directions at a right angle to the normal
        flat = Zonotope.from_generators(axes @ G[:, edges]).vertices()
        if len(flat) > 2:
            middle = center + G[:, ~edges] @ np.sign(heights[~edges])
            polygons.append(middle + flat @ axes)
    return polygons
