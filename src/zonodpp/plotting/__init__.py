"""Pictures of chains and of the zonotope, made with matplotlib (``zonodpp[plot]``).

Every function draws on ``ax`` and returns it. Without ``ax`` it draws on pyplot's current axes if
they are still empty, else on a new figure: ``plt.show()``, ``plt.savefig(path)`` and notebooks see
it, and ``ax.figure`` is the figure itself.
"""

from zonodpp.plotting.comparisons import (
    error_against_seconds,
    error_against_steps,
    psrf_against_steps,
)
from zonodpp.plotting.geometry import hit_and_run_step, skyscrapers, tiling
from zonodpp.plotting.graphs import edge_marginals, spanning_tree
from zonodpp.plotting.runs import marginals, rank, trace

__all__ = [
    "edge_marginals",
    "error_against_seconds",
    "error_against_steps",
    "hit_and_run_step",
    "marginals",
    "psrf_against_steps",
    "rank",
    "skyscrapers",
    "spanning_tree",
    "tiling",
    "trace",
]
