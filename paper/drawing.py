"""What the report's figures share: an empty figure, and curves drawn from stored numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zonodpp.diagnostics import deciles
from zonodpp.matrices.columns import Floats
from zonodpp.plotting.style import stretch_factors

ROUNDING = 1e-9  # errors below are those of floating point


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


def draw_errors(
    ax: Any, curves: Mapping[str, tuple[Any, Floats, Any, Any]], *, bands: bool = True
) -> None:
    """Draw the median of errors (chains, points), and deciles; name to x, errors, colour, style."""
    lowest = np.inf
    for name, (x, errors, colour, style) in curves.items():
        median, lower, upper = deciles(errors)
        if bands:
            ax.fill_between(x, lower, upper, color=colour, alpha=0.18, linewidth=0)
            for edge in (lower, upper):
                ax.plot(x, edge, color=colour, linewidth=0.6, linestyle=style)
        ax.plot(x, median, color=colour, linewidth=2, linestyle=style, label=name)
        lowest = min(lowest, float(np.min(median, initial=1.0, where=median > ROUNDING)))
    ax.set(xscale="log", yscale="log", ylabel="Relative error")
    # An estimate that is right by chance leaves the frame below.
    ax.set_ylim(bottom=(0.15 if bands else 0.7) * lowest)


def draw_psrf(ax: Any, curves: Mapping[str, tuple[Mapping[str, Any], Any, Any]]) -> None:
    """Draw the Gelman-Rubin factor and, thin, its limit; name to psrf, colour, style."""
    for level, style in ((1.0, "-"), (1.1, (0, (1, 2)))):
        ax.axhline(level, color="0.6", linewidth=1, linestyle=style, zorder=1)
    highest = 1.2
    for name, (psrf, colour, style) in curves.items():
        ax.plot(psrf["iterations"], psrf["point"], color=colour, linestyle=style, lw=2, label=name)
        ax.plot(psrf["iterations"], psrf["upper"], color=colour, linestyle=style, linewidth=0.8)
        seen = psrf["upper"][np.isfinite(psrf["upper"])]
        highest = max(highest, float(seen.max(initial=1.0)))
    ax.set(xscale="log", ylabel="Potential scale reduction factor", ylim=(0.99, None))
    stretch_factors(ax, highest)
