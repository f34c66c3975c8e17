"""Parts (b) and (c) of figure 1: a line through the tiles of a zonotope, and pi_v above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from zonodpp import Zonotope
from zonodpp._imports import optional
from zonodpp._types import Floats, Integers
from zonodpp.plotting.geometry import PlaneTiles, write_at
from zonodpp.plotting.style import INK, Axes, colour_map, shades

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

SHADE = np.array([0.7, 0.7, 0.7, 1.0])  # by which walls are darker than their roofs


def hit_and_run_step(
    zonotope: Zonotope,
    x: ArrayLike,
    d: ArrayLike,
    ax: Axes,
    *,
    proposal: float | None = None,
    names: bool | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw the line x + alpha d through the tiles of a zonotope: the paper's figure 1 (b).

    Each piece of the chord, and the tile around it, has the colour of the tile's volume
    ``|det A_B|``: a proposal is accepted with the ratio of the volumes of its tile and x's.

    Parameters
    ----------
    zonotope : Zonotope
        With r = 2.
    x, d : (2,) array_like
        A point of the zonotope and the direction of the line.
    ax : Axes
        Where to draw.
    proposal : float, optional
        An alpha on the chord: x + alpha d is marked as the point proposed.
    names : bool, optional
        Write the basis of each tile into it; by default only if there are few tiles.
    colorbar : bool, default True
        Draw the scale of volumes beside the axes.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    tiles = PlaneTiles(zonotope)
    walk = zonotope.walk(x, d)
    low, high = walk.breaks[[0, -1]]
    if proposal is not None and not low <= proposal <= high:
        raise ValueError(f"proposal must be an alpha on the chord, from {low:.4g} to {high:.4g}")
    tiles.draw(ax, names)
    collections = optional("matplotlib.collections", "plot", "a plot")
    crossed = [tiles.find(basis) for basis in walk.bases]
    corners, volumes = tiles.corners[crossed], tiles.volumes
    scale = {"array": volumes[crossed], "cmap": colour_map(), "clim": (0, volumes.max())}
    ax.add_collection(collections.PolyCollection(corners, alpha=0.3, zorder=1.5, **scale))
    point, along = np.asarray(x, dtype=float), np.asarray(d, dtype=float)
    stops = point + walk.breaks[:, None] * along
    ax.plot(*stops[[0, -1]].T, color=INK, linewidth=6, solid_capstyle="butt", zorder=3)
    pieces = np.stack([stops[:-1], stops[1:]], axis=1)
    line = {"linewidths": 4, "capstyle": "butt", "zorder": 4, "label": "chord"}
    chord = ax.add_collection(collections.LineCollection(pieces, **line, **scale))
    ax.plot(*stops[1:-1].T, ".", color="white", markeredgecolor=INK, markersize=7, zorder=5)
    ax.plot(*stops[[0, -1]].T, "s", color=INK, markersize=6, zorder=5)
    ax.plot(*point, "o", color=INK, markersize=9, markeredgecolor="white", zorder=6)
    ahead = along / np.hypot(*along)
    side = np.array([-ahead[1], ahead[0]]) * np.copysign(1.0, ahead[0])
    write_at(ax, r"$x$", point, 13 * side)
    write_at(ax, r"$\alpha_{\min}$", stops[0], -18 * ahead)
    write_at(ax, r"$\alpha_{\max}$", stops[-1], 18 * ahead)
    if proposal is not None:
        there = point + proposal * along
        ax.plot(*there, "D", color="white", markeredgecolor=INK, markersize=8, zorder=6)
        write_at(ax, r"$\tilde{x}$", there, 15 * side)
    ax.margins(0.13)
    if colorbar:
        ax.figure.colorbar(chord, ax=ax, label=r"Volume of the tile, $|\det A_B|$", shrink=0.85)
    return ax


def skyscrapers(zonotope: Zonotope, space: Axes3D) -> Axes3D:
    r"""Draw the density pi_v above a zonotope in the plane: the paper's figure 1 (c).

    Over the tile of B it is ``|det A_B| / det(AA')``, so that the volume of the block standing on
    the tile is the probability of B under the projection DPP.

    Parameters
    ----------
    zonotope : Zonotope
        With r = 2.
    space : Axes3D
        Where to draw: axes made with ``projection="3d"``.

    Returns
    -------
    Axes3D
        The axes that were drawn on.
    """
    tiles = PlaneTiles(zonotope)
    heights = tiles.volumes / np.linalg.det(tiles.A @ tiles.A.T)
    colours = shades(heights / heights.max())
    roofs = np.dstack([tiles.corners, np.repeat(heights[:, None], 4, axis=1)])
    walls, owners = _walls(roofs)
    art = optional("mpl_toolkits.mplot3d.art3d", "plot", "a plot")
    fills = np.concatenate([colours, SHADE * colours[owners]])
    look = {"facecolors": fills, "edgecolors": INK, "linewidths": 0.7}
    # One collection, so that faces are sorted by depth among all of them.
    space.add_collection3d(art.Poly3DCollection(np.concatenate([roofs, walls]), **look))
    low, high = roofs.min(axis=(0, 1)), roofs.max(axis=(0, 1))
    space.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(0, 1.05 * high[2]))
    # The zoom leaves room for the label of the vertical axis.
    space.set_box_aspect((*((high - low)[:2] / (high - low)[:2].max()), 0.6), zoom=0.88)
    space.view_init(elev=38, azim=-62)
    space.locator_params(axis="both", nbins=5)
    space.set(xlabel="First coordinate of x", ylabel="Second coordinate of x")
    space.set_zlabel(r"Density $|\det A_B| / \det AA'$", labelpad=10)
    return space


def _walls(roofs: Floats) -> tuple[Floats, Integers]:
    """Return the visible walls (k, 4, 3) under roofs (tiles, 4, 3), and the tile of each wall.

    The wall between two tiles is the part of the taller one above the other.
    """
    ends = np.roll(roofs, -1, axis=1)
    middles = (roofs + ends)[:, :, :2].reshape(-1, 2)
    _, side = np.unique(np.round(middles / np.abs(middles).max(), 8), axis=0, return_inverse=True)
    heights = roofs[:, :, 2].ravel()
    behind = np.bincount(side.ravel(), heights)[side.ravel()] - heights  # zero outside the zonotope
    visible = behind < heights
    tops = np.stack([roofs, ends], axis=2).reshape(-1, 2, 3)[visible]
    feet = tops[:, ::-1].copy()
    feet[:, :, 2] = behind[visible, None]
    return np.concatenate([tops, feet], axis=1), np.flatnonzero(visible) // 4
