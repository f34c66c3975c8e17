"""
Spanning trees of K10: which chain forgets faster?
==================================================

The experiment of the paper: 40 chains on the spanning trees of the complete graph with ten nodes,
and the error of the estimated probability of two edges, step by step.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from zonodpp import ProjectionDPP, sample
from zonodpp.diagnostics import deciles, relative_error

target = ProjectionDPP.from_graph(nx.complete_graph(10))
edges = [(0, 1), (2, 3)]
chains = {
    "exchange, Algorithm 1": {"method": "exchange", "rule": "barker"},
    "exchange, heat-bath": {"method": "exchange"},
    "zonotope, the paper's rule": {"method": "zonotope", "preset": "paper"},
    "zonotope, exact line": {"method": "zonotope"},
}
runs = {
    name: sample(target, 1000, chains=40, track=[edges], rng=0, **options)
    for name, options in chains.items()
}
errors = {name: deciles(relative_error(run, edges)) for name, run in runs.items()}


def draw_errors(seconds_per_step):
    """Draw the median over the chains, and the range from the first to the last decile."""
    _, ax = plt.subplots(layout="constrained")
    for name, error in errors.items():
        x = np.arange(1, len(error.median) + 1) * seconds_per_step[name]
        ax.fill_between(x, error.lower, error.upper, alpha=0.15)
        ax.loglog(x, error.median, label=name)
    ax.set_ylim(0.02, 5)
    ax.set_ylabel("Relative error of P({0-1, 2-3} in B)")
    ax.legend(fontsize="small")
    return ax


draw_errors(dict.fromkeys(runs, 1)).set_xlabel("Steps")
plt.show()

# %%
# After equally many steps the zonotope chains have the smaller error. After equal time they do not,
# because their steps take longer.

seconds = {name: np.median(run.stats["seconds"]) / 1000 for name, run in runs.items()}
draw_errors(seconds).set_xlabel("Time of a chain [s]")
plt.show()
