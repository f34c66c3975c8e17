"""What the pictures have in common: axes, colours, names and legends."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._optional import optional
from zonodpp._types import Floats

INK = "0.15"
POINTS = 400  # of a curve: more could not be told apart
STYLES: list[Any] = ["-", "--", "-.", ":", (0, (7, 2, 1, 2, 1, 2)), (0, (3, 1))]  # of lines


def axes_for(ax: Any, size: tuple[float, float], projection: str | None = None) -> Any:
    """Return ax, or else axes that pyplot knows, so that ``plt.show`` and ``plt.savefig`` see them.

    Those are the current axes if nothing has been drawn on them yet (a panel of `plt.subplot`),
    else axes of a new figure of this size (inches).
    """
    if ax is not None:
        return ax
    plt = optional("matplotlib.pyplot", "plot", "a plot")
    if plt.get_fignums():
        if not plt.gcf().axes:
            return plt.gcf().add_subplot(projection=projection)
        current = plt.gca()
        if not current.has_data() and current.name == (projection or "rectilinear"):
            return current
    return plt.figure(figsize=size, layout="constrained").add_subplot(projection=projection)


def shades(values: ArrayLike) -> Floats:
    """Colours for values in [0, 1]: from dark to light, in print and to colour-blind eyes too."""
    import matplotlib

    # The lightest tenth of the map would vanish on paper.
    return np.asarray(matplotlib.colormaps["viridis"](0.9 * np.asarray(values, dtype=float)))


def name_of(S: Any, tracked: int | None = None) -> str:
    """Name a set of items, or a tracked set by its number."""
    if S is None:
        return f"tracked set {tracked}"
    if isinstance(S, set | frozenset):
        S = sorted(S)
    items = [S] if isinstance(S, str) or np.ndim(S) == 0 else list(S)
    shown = [str(i) for i in items] if len(items) <= 6 else [*map(str, items[:5]), "..."]
    return f"{{{', '.join(shown)}}}"


def colours(count: int) -> list[Any]:
    """Return colours from dark to light, told apart in grey print too."""
    return list(shades(np.linspace(0.0, 0.95, count) if count > 1 else [0.25]))


def repeat(looks: Any, count: int) -> list[Any]:
    """Return so many looks, beginning again when they run out."""
    return [looks[k % len(looks)] for k in range(count)]


def legend_above_data(ax: Any, columns: int = 1, title: str | None = None) -> None:
    """Put the legend into room made for it above the data."""
    _, labels = ax.get_legend_handles_labels()
    if not labels:
        return
    legend = ax.legend(
        loc="upper right", ncols=columns, frameon=False, fontsize="small", title=title
    )
    legend.set_title(title, prop={"size": "small"})
    lines = -(-len(labels) // columns) + (title is not None)
    size = legend.get_texts()[0].get_fontsize() * ax.figure.dpi / 72
    share = min(0.6, (1.45 * lines + 1.0) * size / ax.get_window_extent().height)
    forward = ax.yaxis.get_transform()
    low, high = forward.transform(np.asarray(ax.get_ylim(), dtype=float))
    top = forward.inverted().transform(np.array([low + (high - low) / (1 - share)]))[0]
    ax.set_ylim(top=top)
