"""Pictures of chains and of the zonotope, made with matplotlib (``zonodpp[plot]``).

Every function draws on ``ax`` and returns it. Without ``ax`` it makes a figure of its own, which
belongs to no window and no pyplot state: ``ax.figure`` shows it in a notebook and
``ax.figure.savefig(path)`` writes it. To arrange several, pass axes of ``plt.subplots``.
"""

from zonodpp.plotting.comparisons import (
    error_against_seconds,
    error_against_steps,
    psrf_against_steps,
)
from zonodpp.plotting.geometry import hit_and_run_step, skyscrapers, tiling
from zonodpp.plotting.runs import marginals, rank, trace

__all__ = [
    "error_against_seconds",
    "error_against_steps",
    "hit_and_run_step",
    "marginals",
    "psrf_against_steps",
    "rank",
    "skyscrapers",
    "tiling",
    "trace",
]
