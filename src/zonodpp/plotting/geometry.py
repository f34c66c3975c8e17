"""The zonotope of a matrix with two rows, and its tiles: the paper's figure 1 (a)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_items, in_one_line
from zonodpp._imports import optional
from zonodpp._types import Floats
from zonodpp.numerics.arrays import to_dense
from zonodpp.plotting.style import INK, Axes, axes_for, shades
from zonodpp.zonotope import Zonotope

_EDGES = "0.55"  # grey of the edges of tiles, from "0" (black) to "1" (white)
_NAMED = 21  # tiles beyond which they are not named


class PlaneTiles:
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
        start = zonotope.origin + [self.A[:, tile.at_upper].sum(axis=1) for tile in tiles]
        corners = [start, start + first, start + first + second, start + second]
        self.corners = np.stack(corners, axis=1)
        self.contour = zonotope.vertices()

    def find(self, basis: ArrayLike) -> int:
        """Return the number of the tile of a basis."""
        items = np.sort(as_items(basis, self.A.shape[1], "mark"))
        if items.shape != (2,):
            raise ValueError(f"mark must be a basis of r = 2 items, got {in_one_line(repr(basis))}")
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
                write_at(ax, f"{{{basis[0]}, {basis[1]}}}", centre, np.zeros(2), size="small")


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
    zonodpp.Zonotope.walk : The tiles along a line.
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
    if not isinstance(zonotope, Zonotope):
        raise TypeError(f"expected a Zonotope, got {type(zonotope).__name__}; pass Zonotope(A)")
    tiles = PlaneTiles(zonotope)
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
            write_at(ax, f"$a_{{{j}}}$", column, 11 * column / np.hypot(*column))
    return ax


def write_at(ax: Axes, text: str, place: Floats, shift: Floats, size: str = "medium") -> None:
    """Write text at a place, shifted by so many points, on a white rim."""
    effects = optional("matplotlib.patheffects", "plot", "a plot")
    rim = effects.withStroke(linewidth=2.5, foreground="white")
    look: dict[str, Any] = {"fontsize": size, "ha": "center", "va": "center", "zorder": 7}
    look |= {"xytext": shift, "textcoords": "offset points", "path_effects": [rim]}
    ax.annotate(text, (place[0], place[1]), color=INK, **look)
