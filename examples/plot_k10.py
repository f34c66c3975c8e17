"""
Spanning trees of K10: which chain forgets faster?
==================================================

The experiment of the paper: 40 chains on the spanning trees of the complete graph with ten nodes,
and the error of the estimated probability of two edges, step by step.
"""

import matplotlib.pyplot as plt
import networkx as nx

from zonodpp import ProjectionDPP, plotting, sample

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
plotting.error_against_steps(runs, edges)
plt.show()

# %%
# After equally many steps the zonotope chains have the smaller error. After equal time they do not,
# because their steps take longer.

plotting.error_against_seconds(runs, edges)
plt.show()
