"""What the report's figures share: an empty figure, and a legend below all of its axes."""

from __future__ import annotations

from typing import Any


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
