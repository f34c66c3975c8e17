"""
Spanning trees of a map
=======================

A grid of streets with two slow bridges over a river. A random spanning tree is a draw from a
projection DPP, and the probability that an edge is in it is known exactly: bridges are
indispensable.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.collections import LineCollection

from zonodpp import ProjectionDPP, sample

graph = nx.grid_2d_graph(16, 9)
for x in range(16):
    if x not in (3, 11):
        graph.remove_edge((x, 4), (x, 5))  # the river
graph.remove_nodes_from([(6, 1), (7, 1), (6, 2), (7, 2), (12, 7), (13, 7)])  # parks

target = ProjectionDPP.from_graph(graph)
marginals = target.marginals()
tree = set(map(frozenset, sample(target, 1, rng=4).labelled()[0][0]))


def draw_edges(panel, edges, **options):
    panel.add_collection(LineCollection(edges, **options))
    panel.set(xlim=(-0.5, 15.5), ylim=(-0.5, 8.5), aspect="equal", xticks=[], yticks=[])
    panel.scatter(*np.array(graph.nodes).T, s=14, color="0.35", zorder=3)
    panel.axhspan(4.2, 4.8, color="#d4e6f1", zorder=-1)


figure, panels = plt.subplots(2, 1, figsize=(8, 9), layout="constrained")
draw_edges(
    panels[0],
    [edge for edge in target.labels if frozenset(edge) in tree],
    colors="#2a788e",
    linewidths=3,
)
panels[0].set_title("one of the spanning trees")
draw_edges(
    panels[1],
    list(target.labels),
    array=marginals,
    cmap="viridis_r",
    linewidths=1 + 4 * marginals,
)
panels[1].set_title("probability of each edge")
figure.colorbar(panels[1].collections[0], ax=panels[1], shrink=0.8)
plt.show()

# %%
# The share of the trees that have each edge, in a thousand draws, beside the exact probability.

drawn = sample(target, 1000, rng=5).marginals()
print(f"largest difference {np.abs(drawn - marginals).max():.3f}")
