"""What the report's figures share: an empty figure, curves of chains, a legend below all axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats
from zonodpp.diagnostics import deciles
from zonodpp.plotting.style import Axes, Look

Errors = Mapping[str, tuple[ArrayLike, Floats, Look]]  # by name: x, (chains, points), a look
_ROUNDING = 1e-9  # errors below this are those of floating-point numbers
_LARGE = 3.0  # a factor on a linear axis up to which 1 and 1.1 can be told apart
_LEVELS = [1, 1.1, 1.5, 2, 5, 10, 20, 50, 100, 1000, 10**4, 10**5]  # ticks of a stretched axis


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure of this size (inches), outside pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def share_legend(figure: Any, ax: Any) -> None:
    """Put the legend of one of the axes below all of them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
        handlelength=3.2,
    )


def draw_errors(ax: Axes, curves: Errors, *, bands: bool = True) -> None:
    """Draw the median over chains of errors (chains, points) against x, on logarithmic axes.

    With ``bands`` the range from the first to the last decile is filled.
    """
    lowest = np.inf
    for name, (x, errors, (colour, style)) in curves.items():
        median, lower, upper = deciles(errors)
        if bands:
            ax.fill_between(x, lower, upper, color=colour, alpha=0.18, linewidth=0)
            ax.plot(x, np.transpose([lower, upper]), color=colour, linewidth=0.6, linestyle=style)
        ax.plot(x, median, color=colour, linewidth=2, linestyle=style, label=name)
        lowest = min(lowest, float(np.min(median, initial=1.0, where=median > _ROUNDING)))
    ax.set(xscale="log", yscale="log")
    # An estimate that is almost exact by chance may lie below the frame.
    ax.set_ylim(bottom=(0.15 if bands else 0.7) * lowest)


def draw_psrf(ax: Axes, curves: Mapping[str, tuple[ArrayLike, ArrayLike, Floats, Look]]) -> None:
    """Draw the Gelman-Rubin factor and, as a thin line, its upper limit against iterations.

    Each curve is (iterations, factor, upper limit, look). Lines mark 1 and 1.1. Where slow chains
    have large factors, the axis is stretched near 1.
    """
    ax.axhline(1.0, color="0.6", linewidth=1, zorder=1)
    ax.axhline(1.1, color="0.6", linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    highest = 1.2
    for name, (steps, point, upper, (colour, style)) in curves.items():
        ax.plot(steps, point, color=colour, linestyle=style, linewidth=2, label=name)
        ax.plot(steps, upper, color=colour, linestyle=style, linewidth=0.8)
        highest = float(np.max(upper, initial=highest, where=np.isfinite(upper)))
    ax.set(ylabel="Potential scale reduction factor", ylim=(0.99, None))
    if highest > _LARGE:  # stretched near 1, and logarithmic for large factors
        stretch = (lambda level: np.log(np.maximum(level, 0.91) - 0.9), lambda at: np.exp(at) + 0.9)
        ax.set_yscale("function", functions=stretch)
        ax.set_yticks([level for level in _LEVELS if level <= highest])
