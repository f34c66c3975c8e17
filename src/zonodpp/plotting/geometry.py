"""The zonotope of a matrix with two rows: its tiling, a line through it, and pi_v above it.

These are the three parts of the paper's figure 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._optional import optional
from zonodpp._types import Floats, Integers
from zonodpp.arguments import as_items
from zonodpp.linalg.dense import to_dense
from zonodpp.plotting.style import INK, Axes, axes_for, colour_map, shades
from zonodpp.zonotope import Zonotope

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

_EDGES = "0.55"  # colour of the edges of tiles
_NAMED = 21  # tiles beyond which they are not named
_SHADE = np.array([0.7, 0.7, 0.7, 1.0])  # by which walls are darker than their roofs


class _Tiles:
    """The tiles of a zonotope in the plane: their corners are (tiles, 4, 2), in order."""

    def __init__(self, zonotope: Zonotope) -> None:
        if zonotope.r != 2:
            found = f"this one has r = {zonotope.r}. Draw Zonotope(A[:2])"
            raise ValueError(f"the picture is of the plane, so A must have r = 2 rows; {found}")
        self.A = to_dense(zonotope.A)
        tiles = zonotope.tiles()
        self.bases = np.array([tile.basis for tile in tiles])
        first, second = self.A.T[self.bases.T]
        self.volumes = np.abs(np.linalg.det(np.stack([first, second], axis=1)))
        start = np.array([self.A[:, tile.at_upper].sum(axis=1) for tile in tiles])
        corners = [start, start + first, start + first + second, start + second]
        self.corners = np.stack(corners, axis=1)
        self.contour = zonotope.vertices()

    def find(self, basis: ArrayLike) -> int:
        """Return the number of the tile of a basis."""
        items = np.sort(as_items(basis, self.A.shape[1], "mark"))
        if items.shape != (2,):
            raise ValueError(f"mark must be a basis of r = 2 items, got {basis!r}")
        found = np.flatnonzero((self.bases == items).all(axis=1))
        if not found.size:
            raise ValueError(f"columns {items[0]} and {items[1]} are parallel or zero: no tile")
        return int(found[0])

    def draw(self, ax: Axes, names: bool | None) -> None:
        """Draw the tiles, the contour around them, and the basis of each if there are few tiles."""
        collections = optional("matplotlib.collections", "plot", "a plot")
        look = {"facecolors": "none", "edgecolors": _EDGES, "linewidths": 0.9}
        ax.add_collection(collections.PolyCollection(self.corners, **look))
        ax.fill(*self.contour.T, fill=False, edgecolor=shades(0.15), linewidth=2.2, linestyle="--")
        ax.set(aspect="equal", xlabel="First coordinate of x", ylabel="Second coordinate of x")
        ax.margins(0.1)
        if names or (names is None and len(self.bases) <= _NAMED):
            for basis, centre in zip(self.bases, self.corners.mean(axis=1), strict=True):
                _write(ax, f"{{{basis[0]}, {basis[1]}}}", centre, np.zeros(2), size="small")


def tiling(
    zonotope: Zonotope,
    ax: Axes | None = None,
    mark: ArrayLike | None = None,
    *,
    columns: bool = False,
    names: bool | None = None,
) -> Axes:
    """Draw the contour of a zonotope in the plane and its tiles: the paper's figure 1 (a).

    Parameters
    ----------
    zonotope : Zonotope
        With r = 2.
    ax : Axes, optional
        Where to draw.
    mark : (2,) array_like of int, optional
        A basis whose tile is filled. Items count from 0: the paper's {2, 4} is [1, 3].
    columns : bool, default False
        Draw the columns of A as arrows from the origin.
    names : bool, optional
        Write the basis of each tile into it; by default only if there are few tiles.

    Returns
    -------
    Axes
        The axes that were drawn on.

    See Also
    --------
    hit_and_run_step : A line through the tiles.
    skyscrapers : The density above the tiles.
    zonodpp.Zonotope.tiles : The tiles as arrays.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, figure 1 (a) and proposition 1.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> from zonodpp.plotting import tiling
    >>> zonotope = Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[1, 2, 4, 8])
    >>> ax = tiling(zonotope, mark=[1, 3])
    >>> len(ax.collections[0].get_paths())  # six pairs of columns, six parallelograms
    6
    """
    tiles = _Tiles(zonotope)
    marked = None if mark is None else tiles.find(mark)
    ax = axes_for(ax, (5.2, 4.6))
    tiles.draw(ax, names)
    if marked is not None:
        face = (*shades(0.75)[:3], 0.45)
        ax.fill(*tiles.corners[marked].T, facecolor=face, edgecolor=INK, hatch="//", zorder=2)
    if columns:
        items = np.flatnonzero(tiles.A.any(axis=0))
        arrow: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.006}
        ax.quiver(*np.zeros((2, items.size)), *tiles.A[:, items], color=INK, zorder=4, **arrow)
        for j, column in zip(items, tiles.A.T[items], strict=True):
            _write(ax, f"$a_{{{j}}}$", column, 11 * column / np.hypot(*column))
    return ax


def hit_and_run_step(
    zonotope: Zonotope,
    x: ArrayLike,
    d: ArrayLike,
    ax: Axes | None = None,
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
    ax : Axes, optional
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

    See Also
    --------
    tiling : The tiles alone.
    zonodpp.Zonotope.walk : The pieces of the line as arrays.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, figure 1 (b) and algorithm 4.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> from zonodpp.plotting import hit_and_run_step
    >>> zonotope = Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[1, 2, 4, 8])
    >>> ax = hit_and_run_step(zonotope, [1, 2], [1, 0.4], proposal=0.8)
    >>> ax.get_xlabel()
    'First coordinate of x'
    """
    tiles = _Tiles(zonotope)
    walk = zonotope.walk(x, d)
    low, high = walk.breaks[[0, -1]]
    if proposal is not None and not low <= proposal <= high:
        raise ValueError(f"proposal must be an alpha on the chord, from {low:.4g} to {high:.4g}")
    ax = axes_for(ax, (6.0, 4.6))
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
    _write(ax, r"$x$", point, 13 * side)
    _write(ax, r"$\alpha_{\min}$", stops[0], -18 * ahead)
    _write(ax, r"$\alpha_{\max}$", stops[-1], 18 * ahead)
    if proposal is not None:
        there = point + proposal * along
        ax.plot(*there, "D", color="white", markeredgecolor=INK, markersize=8, zorder=6)
        _write(ax, r"$\tilde{x}$", there, 15 * side)
    ax.margins(0.13)
    if colorbar:
        ax.figure.colorbar(chord, ax=ax, label=r"Volume of the tile, $|\det A_B|$", shrink=0.85)
    return ax


def skyscrapers(zonotope: Zonotope, ax: Axes3D | None = None) -> Axes3D:
    r"""Draw the density pi_v above a zonotope in the plane: the paper's figure 1 (c).

    Over the tile of B it is ``|det A_B| / det(AA')``, so that the volume of the block standing on
    the tile is the probability of B under the projection DPP.

    Parameters
    ----------
    zonotope : Zonotope
        With r = 2.
    ax : Axes3D, optional
        Where to draw: axes made with ``projection="3d"``.

    Returns
    -------
    Axes3D
        The axes that were drawn on.

    See Also
    --------
    tiling : The tiles seen from above.
    zonodpp.ProjectionDPP : The law whose probabilities are the volumes of the blocks.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, figure 1 (c) and section 3.3.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> from zonodpp.plotting import skyscrapers
    >>> ax = skyscrapers(Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[1, 2, 4, 8]))
    >>> ax.get_zlabel()
    "Density $|\\det A_B| / \\det AA'$"
    """
    tiles = _Tiles(zonotope)
    if ax is not None and not hasattr(ax, "get_zlim"):
        raise TypeError("ax must be 3-d axes, made with projection='3d'; got flat ones")
    space: Axes3D = axes_for(ax, (6.0, 5.0), "3d")
    heights = tiles.volumes / np.linalg.det(tiles.A @ tiles.A.T)
    colours = shades(heights / heights.max())
    roofs = np.dstack([tiles.corners, np.repeat(heights[:, None], 4, axis=1)])
    walls, owners = _walls(roofs)
    art = optional("mpl_toolkits.mplot3d.art3d", "plot", "a plot")
    fills = np.concatenate([colours, _SHADE * colours[owners]])
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


def _write(ax: Axes, text: str, place: Floats, shift: Floats, size: str = "medium") -> None:
    """Write text at a place, shifted by so many points, on a white rim."""
    effects = optional("matplotlib.patheffects", "plot", "a plot")
    rim = effects.withStroke(linewidth=2.5, foreground="white")
    look: dict[str, Any] = {"fontsize": size, "ha": "center", "va": "center", "zorder": 7}
    look |= {"xytext": shift, "textcoords": "offset points", "path_effects": [rim]}
    ax.annotate(text, (place[0], place[1]), color=INK, **look)
