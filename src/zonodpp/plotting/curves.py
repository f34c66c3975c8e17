"""Curves of errors and of convergence, drawn from numbers on given axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats
from zonodpp.diagnostics import deciles

ROUNDING = 1e-9  # errors below this are those of floating-point numbers


class Look(NamedTuple):
    """Colour and line style of a curve."""

    colour: Any
    style: Any


def draw_errors(
    ax: Any, curves: Mapping[str, tuple[ArrayLike, Floats, Look]], *, bands: bool = True
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
        lowest = min(lowest, float(np.min(median, initial=1.0, where=median > ROUNDING)))
    ax.set(xscale="log", yscale="log")
    # An estimate that is right by chance leaves the frame below.
    ax.set_ylim(bottom=(0.15 if bands else 0.7) * lowest)


def draw_psrf(ax: Any, curves: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike, Look]]) -> None:
    """Draw the Gelman-Rubin factor and, as a thin line, its upper limit against iterations.

    Each curve is (iterations, factor, upper limit, look). Lines mark 1 and 1.1.
    """
    for level, style in ((1.0, "-"), (1.1, (0, (1, 2)))):
        ax.axhline(level, color="0.6", linewidth=1, linestyle=style, zorder=1)
    highest = 1.2
    for name, (steps, point, upper, look) in curves.items():
        ax.plot(steps, point, color=look.colour, linestyle=look.style, linewidth=2, label=name)
        ax.plot(steps, upper, color=look.colour, linestyle=look.style, linewidth=0.8)
        limits = np.asarray(upper, dtype=np.float64)
        highest = max(highest, float(limits[np.isfinite(limits)].max(initial=1.0)))
    ax.set(ylabel="Potential scale reduction factor", ylim=(0.99, None))
    _stretch_near_one(ax, highest)


def _stretch_near_one(ax: Any, highest: float) -> None:
    """Stretch the axis near 1 where the large factors of slow chains would flatten the curves."""
    if highest <= 3:
        return
    ax.set_yscale("function", functions=(_stretch, _unstretch))
    levels = [1.0, 1.1, 1.5, *(m * 10.0**k for k in range(20) for m in (2, 5, 10))]
    shown = [level for level in levels if level <= highest][:12]
    ax.set_yticks(shown, [f"{level:g}" for level in shown])
    ax.yaxis.set_tick_params(which="minor", left=False)


def _stretch(factor: Any) -> Any:
    """Map factors so that 1 and 1.1 stand apart; the map is logarithmic for large factors."""
    return np.log(np.maximum(factor, 0.91) - 0.9)


def _unstretch(place: Any) -> Any:
    return np.exp(place) + 0.9
