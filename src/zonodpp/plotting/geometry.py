"""The zonotope of a matrix with two rows: its tiling, a line through it, and pi_v above it.

These are the three parts of the paper's figure 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats
from zonodpp.arguments import as_items
from zonodpp.linalg.dense import to_dense
from zonodpp.plotting.style import INK, axes_for, shades
from zonodpp.zonotope import Tile, Zonotope

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = "0.55"  # edges of tiles
NAMED = 21  # tiles beyond which they are not named


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
        Write its basis into each tile; by default where there are few.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> from zonodpp.plotting import tiling
    >>> zonotope = Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[1, 2, 4, 8])
    >>> ax = tiling(zonotope, mark=[1, 3])
    >>> len(ax.collections[0].get_paths())  # six pairs of columns, six parallelograms
    6
    """
    A, tiles, corners = _plane(zonotope)
    marked = None if mark is None else _find(zonotope, tiles, mark)
    ax = axes_for(ax, (5.2, 4.6))
    _draw_tiles(ax, A, corners)
    if marked is not None:
        from matplotlib.patches import Polygon

        face = (*shades(0.75)[:3], 0.45)
        ax.add_patch(Polygon(corners[marked], facecolor=face, edgecolor=INK, hatch="//", zorder=2))
    if names or (names is None and len(tiles) <= NAMED):
        _name_tiles(ax, tiles, corners)
    if columns:
        _draw_columns(ax, A)
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
    |det A_B|: a proposal is accepted with the ratio of the volumes of its tile and x's.

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
        Write its basis into each tile; by default where there are few.
    colorbar : bool, default True
        Draw the scale of volumes beside the axes.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> from zonodpp.plotting import hit_and_run_step
    >>> zonotope = Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[1, 2, 4, 8])
    >>> ax = hit_and_run_step(zonotope, [1, 2], [1, 0.4], proposal=0.8)
    >>> ax.get_xlabel()
    'First coordinate of x'
    """
    A, tiles, corners = _plane(zonotope)
    walk = zonotope.walk(x, d)
    low, high = float(walk.breaks[0]), float(walk.breaks[-1])
    if proposal is not None and not low <= proposal <= high:
        raise ValueError(
            f"proposal must be an alpha on the chord, from {low:.4g} to {high:.4g}; got {proposal}"
        )
    ax = axes_for(ax, (6.0, 4.6))
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.colors import ListedColormap, Normalize

    _draw_tiles(ax, A, corners)
    volumes = _volumes(A, tiles)
    norm = Normalize(0.0, volumes.max())
    crossed = [_find(zonotope, tiles, basis) for basis in walk.bases]
    colours = shades(norm(volumes[crossed]))
    ax.add_collection(
        PolyCollection(list(corners[crossed]), facecolors=colours, alpha=0.3, zorder=1.5)
    )
    if names or (names is None and len(tiles) <= NAMED):
        _name_tiles(ax, tiles, corners)
    point, along = np.asarray(x, dtype=float), np.asarray(d, dtype=float)
    stops = point + walk.breaks[:, None] * along
    pieces = np.stack([stops[:-1], stops[1:]], axis=1)
    ax.plot(*stops[[0, -1]].T, color=INK, linewidth=6, solid_capstyle="butt", zorder=3)
    ax.add_collection(
        LineCollection(
            list(pieces), colors=colours, linewidths=4, capstyle="butt", zorder=4, label="chord"
        )
    )
    ax.plot(*stops[1:-1].T, ".", color="white", markeredgecolor=INK, markersize=7, zorder=5)
    ax.plot(*stops[[0, -1]].T, "s", color=INK, markersize=6, zorder=5)
    ax.plot(*point, "o", color=INK, markersize=9, markeredgecolor="white", zorder=6)
    side = np.array([-along[1], along[0]]) * (1.0 if along[0] >= 0 else -1.0)
    side = side / np.hypot(*along)
    _write(ax, r"$x$", point, 13 * side)
    ahead = along / np.hypot(*along)
    _write(ax, r"$\alpha_{\min}$", stops[0], -18 * ahead)
    _write(ax, r"$\alpha_{\max}$", stops[-1], 18 * ahead)
    if proposal is not None:
        there = point + proposal * along
        ax.plot(*there, "D", color="white", markeredgecolor=INK, markersize=8, zorder=6)
        _write(ax, r"$\tilde{x}$", there, 15 * side)
    ax.margins(0.13)
    ax.autoscale_view()
    if colorbar:
        scale = ScalarMappable(norm, ListedColormap(shades(np.linspace(0, 1, 256))))
        ax.figure.colorbar(scale, ax=ax, label=r"Volume of the tile, $|\det A_B|$", shrink=0.85)
    return ax


def skyscrapers(zonotope: Zonotope, ax: Any = None) -> Any:
    r"""Draw the density pi_v above a zonotope in the plane: the paper's figure 1 (c).

    Over the tile of B it is |det A_B| / det(AA'), so that the block standing on the tile has the
    probability of B under the projection DPP as its volume (section 3.3 of the paper).

    Parameters
    ----------
    zonotope : Zonotope
        With r = 2.
    ax : Axes3D, optional
        Where to draw: axes made with ``projection="3d"``.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> from zonodpp.plotting import skyscrapers
    >>> ax = skyscrapers(Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[1, 2, 4, 8]))
    >>> ax.get_zlabel()
    "Density $|\\det A_B| / \\det AA'$"
    """
    A, tiles, corners = _plane(zonotope)
    if ax is not None and not hasattr(ax, "get_zlim"):
        raise TypeError("ax must be 3-d axes, made with projection='3d'; got flat ones")
    ax = axes_for(ax, (6.0, 5.0), "3d")
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    heights = _volumes(A, tiles) / np.linalg.det(A @ A.T)
    colours = shades(heights / heights.max())
    roofs = np.dstack([corners, np.broadcast_to(heights[:, None], corners.shape[:2])])
    walls, owners = _walls(corners, heights)
    # One collection, so that faces are sorted by depth among all of them.
    ax.add_collection3d(
        Poly3DCollection(
            [*roofs, *walls],
            facecolors=np.concatenate([colours, _shaded(colours[owners], walls)]),
            edgecolors=INK,
            linewidths=0.7,
        )
    )
    flat = corners.reshape(-1, 2)
    ax.set(xlim=(flat[:, 0].min(), flat[:, 0].max()), ylim=(flat[:, 1].min(), flat[:, 1].max()))
    ax.set_zlim(0, 1.05 * heights.max())
    spread = np.ptp(flat, axis=0)
    ax.set_box_aspect((*(spread / spread.max()), 0.6))
    ax.view_init(elev=38, azim=-62)
    ax.locator_params(axis="both", nbins=5)
    ax.set_xlabel("First coordinate of x")
    ax.set_ylabel("Second coordinate of x")
    ax.set_zlabel(r"Density $|\det A_B| / \det AA'$", labelpad=10)
    return ax


def _plane(zonotope: Zonotope) -> tuple[Floats, list[Tile], Floats]:
    """Return A, the tiles and their corners (tiles, 4, 2), in order around each."""
    if zonotope.r != 2:
        raise ValueError(
            f"the picture is of the plane, so A must have r = 2 rows; this one has r = "
            f"{zonotope.r}. Draw Zonotope(A[:2]), or read figures off tiles() and walk(x, d)"
        )
    A = to_dense(zonotope.A)
    tiles = zonotope.tiles()
    start = np.array([A[:, tile.at_upper].sum(axis=1) for tile in tiles])
    first, second = A.T[[tile.basis[0] for tile in tiles]], A.T[[tile.basis[1] for tile in tiles]]
    around = [start, start + first, start + first + second, start + second]
    return A, tiles, np.stack(around, axis=1)


def _volumes(A: Floats, tiles: list[Tile]) -> Floats:
    return np.array([abs(np.linalg.det(A[:, tile.basis])) for tile in tiles])


def _find(zonotope: Zonotope, tiles: list[Tile], basis: ArrayLike) -> int:
    items = np.sort(as_items(basis, zonotope.n, "mark"))
    if items.shape != (2,):
        raise ValueError(f"mark must be a basis of r = 2 items, got {basis!r}")
    for k, tile in enumerate(tiles):
        if (tile.basis == items).all():
            return k
    raise ValueError(f"columns {items[0]} and {items[1]} are parallel or zero: they have no tile")


def _draw_tiles(ax: Any, A: Floats, corners: Floats) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Polygon

    ax.add_collection(
        PolyCollection(list(corners), facecolors="none", edgecolors=GRID, linewidths=0.9)
    )
    ax.add_patch(
        Polygon(_contour(A), fill=False, edgecolor=shades(0.15), linewidth=2.2, linestyle="--")
    )
    ax.set_aspect("equal")
    ax.margins(0.05)
    ax.autoscale_view()
    ax.set(xlabel="First coordinate of x", ylabel="Second coordinate of x")


def _contour(A: Floats) -> Floats:
    """Corners of the zonotope in order: columns turned upwards, sorted by angle, out and back."""
    columns = A.T[A.any(axis=0)]
    down = (columns[:, 1] < 0) | ((columns[:, 1] == 0) & (columns[:, 0] < 0))
    start = columns[down].sum(axis=0)
    up = np.where(down[:, None], -columns, columns)
    up = up[np.argsort(np.arctan2(up[:, 1], up[:, 0]), kind="stable")]
    return np.asarray(start + np.cumsum(np.concatenate([0 * up[:1], up, -up[:-1]]), axis=0))


def _walls(corners: Floats, heights: Floats) -> tuple[Floats, list[int]]:
    """Return the visible walls (k, 4, 3) and the tile that each belongs to, the taller of two."""
    digits = 8 - int(np.ceil(np.log10(np.abs(corners).max())))
    sides: dict[tuple[float, ...], list[tuple[int, int]]] = {}
    for k, tile in enumerate(corners):
        for i in range(4):
            middle = np.round((tile[i] + tile[i - 3]) / 2, digits) + 0.0
            sides.setdefault(tuple(middle.tolist()), []).append((k, i))
    walls, owners = [], []
    for shared in sides.values():
        k, i = max(shared, key=lambda side: heights[side[0]])
        foot = min(heights[j] for j, _ in shared) if len(shared) > 1 else 0.0
        if foot < heights[k]:
            a, b = corners[k, i], corners[k, i - 3]
            levels = (foot, foot, heights[k], heights[k])
            walls.append([(*p, z) for p, z in zip((a, b, b, a), levels, strict=True)])
            owners.append(k)
    return np.array(walls), owners


def _shaded(colours: Floats, walls: Floats) -> Floats:
    """Darken walls by the way they face, so that corners show."""
    run = walls[:, 1, :2] - walls[:, 0, :2]
    facing = np.abs(run[:, 0]) / np.hypot(*run.T)
    return np.column_stack([colours[:, :3] * (0.6 + 0.25 * facing)[:, None], colours[:, 3]])


def _name_tiles(ax: Any, tiles: list[Tile], corners: Floats) -> None:
    for tile, centre in zip(tiles, corners.mean(axis=1), strict=True):
        name = "{" + ", ".join(map(str, tile.basis)) + "}"
        _write(ax, name, centre, np.zeros(2), size="small")


def _draw_columns(ax: Any, A: Floats) -> None:
    for j, column in enumerate(A.T):
        if column.any():
            arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.6, "shrinkA": 0}
            ax.annotate("", column, (0, 0), arrowprops={**arrow, "shrinkB": 0}, zorder=4)
            _write(ax, f"$a_{{{j}}}$", column, 11 * column / np.hypot(*column))
    ax.margins(0.1)
    ax.autoscale_view()


def _write(ax: Any, text: str, place: Floats, shift: Floats, size: str = "medium") -> None:
    """Write text at a place, shifted by so many points, on a white rim."""
    from matplotlib.patheffects import withStroke

    ax.annotate(
        text,
        place,
        shift,
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=size,
        color=INK,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
        zorder=7,
    )
