"""What the pictures have in common: axes, colours, names and legends."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import listed
from zonodpp._imports import optional
from zonodpp._types import Floats, ItemsLike

if TYPE_CHECKING:
    import matplotlib.axes
    from matplotlib.colors import ListedColormap
    from matplotlib.typing import LineStyleType

Axes: TypeAlias = "matplotlib.axes.Axes"
Look: TypeAlias = "tuple[ArrayLike, LineStyleType]"  # the colour and the line style of a curve
INK = "0.15"  # a dark grey; in matplotlib "0" is black and "1" is white
POINTS = 400  # of a curve: more could not be told apart
_DASHES: list[LineStyleType] = ["-", "--", "-.", ":", (0, (7, 2, 1, 2, 1, 2)), (0, (3, 1))]


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return ax, or else axes that pyplot knows, so that ``plt.show`` and ``plt.savefig`` see them.

    Those are the current axes if nothing has been drawn on them yet (a panel of `plt.subplot`),
    else axes of a new figure of this size (inches).
    """
    if ax is not None:
        return ax
    plt = optional("matplotlib.pyplot", "plot", "a plot")
    if plt.get_fignums():
        figure = plt.gcf()
        current: Axes = plt.gca() if figure.axes else figure.add_subplot()
        if not current.has_data() and current.name == "rectilinear":
            return current
    made: Axes = plt.figure(figsize=size, layout="constrained").add_subplot()
    return made


def colour_map() -> ListedColormap:
    """Return colours from dark to light, told apart in grey print and by colour-blind eyes too."""
    matplotlib = optional("matplotlib", "plot", "a plot")
    # The lightest tenth of viridis would vanish on paper.
    viridis = matplotlib.colormaps["viridis"]
    found: ListedColormap = matplotlib.colors.ListedColormap(viridis(np.linspace(0.0, 0.9, 256)))
    return found


def shades(values: ArrayLike) -> Floats:
    """Return colours for values in [0, 1]."""
    return np.asarray(colour_map()(np.asarray(values, dtype=float)))


def colours(count: int) -> list[Floats]:
    """Return so many colours from dark to light."""
    return list(shades(np.linspace(0.0, 0.95, count) if count > 1 else [0.25]))


def looks(count: int) -> list[Look]:
    """Return so many colours with line styles, which begin again when they run out."""
    return list(zip(colours(count), cycle(_DASHES), strict=False))


def name_of(S: ItemsLike | None, tracked: int | None = None) -> str:
    """Name a set of items, or a tracked set by its number."""
    if S is None:
        return f"tracked set {tracked}"
    items = list(S) if isinstance(S, Iterable) and not isinstance(S, str) else [S]
    return f"{{{listed(items, most=6)}}}"
