"""Curves of errors and of convergence, drawn from numbers on given axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats
from zonodpp.diagnostics import deciles
from zonodpp.plotting.style import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDING = 1e-9  # errors below this are those of floating-point numbers
_LARGE = 3.0  # a factor on a linear axis up to which 1 and 1.1 can be told apart


def draw_errors(
    ax: Axes, curves: Mapping[str, tuple[ArrayLike, Floats, Look]], *, bands: bool = True
) -> None:
    """Draw the median over chains of errors (chains, points) against x, on logarithmic axes.

    With ``bands`` the range from the first to the last decile is filled.
    """
    lowest = np.inf
    for name, (x, errors, look) in curves.items():
        median, lower, upper = deciles(errors)
        if bands:
            ax.fill_between(x, lower, upper, color=look.colour, alpha=0.18, linewidth=0)
            for edge in (lower, upper):
                ax.plot(x, edge, color=look.colour, linewidth=0.6, linestyle=look.style)
        ax.plot(x, median, color=look.colour, linewidth=2, linestyle=look.style, label=name)
        lowest = min(lowest, float(np.min(median, initial=1.0, where=median > _ROUNDING)))
    ax.set(xscale="log", yscale="log")
    # An estimate that is right by chance leaves the frame below.
    ax.set_ylim(bottom=(0.15 if bands else 0.7) * lowest)


def draw_psrf(ax: Axes, curves: Mapping[str, tuple[ArrayLike, ArrayLike, Floats, Look]]) -> None:
    """Draw the Gelman-Rubin factor and, as a thin line, its upper limit against iterations.

    Each curve is (iterations, factor, upper limit, look). Lines mark 1 and 1.1. Where slow chains
    have large factors, the axis is stretched near 1.
    """
    ax.axhline(1.0, color="0.6", linewidth=1, zorder=1)
    ax.axhline(1.1, color="0.6", linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    highest = 1.2
    for name, (steps, point, upper, look) in curves.items():
        ax.plot(steps, point, color=look.colour, linestyle=look.style, linewidth=2, label=name)
        ax.plot(steps, upper, color=look.colour, linestyle=look.style, linewidth=0.8)
        highest = float(np.max(upper, initial=highest, where=np.isfinite(upper)))
    ax.set(ylabel="Potential scale reduction factor", ylim=(0.99, None))
    if highest > _LARGE:
        ax.set_yscale("function", functions=(_stretch, lambda place: np.exp(place) + 0.9))
        levels = [1.0, 1.1, 1.5, *(m * 10.0**k for k in range(20) for m in (2, 5, 10))]
        shown = [level for level in levels if level <= highest][:12]
        ax.set_yticks(shown, [f"{level:g}" for level in shown])
        ax.tick_params(axis="y", which="minor", left=False)


def _stretch(factor: Floats) -> Floats:
    """Map factors so that 1 and 1.1 stand apart; the map is logarithmic for large factors."""
    return np.log(np.maximum(factor, 0.91) - 0.9)
