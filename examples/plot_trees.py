"""
Spanning trees of a map
=======================

A grid of streets with two bridges over a river. A random spanning tree is a draw from a projection
DPP, and the probability that an edge is in it is known exactly. An edge is more likely than others
if the way around it is long: each tree has one bridge or both.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from zonodpp import ProjectionDPP, plotting, sample

graph = nx.grid_2d_graph(16, 9)
for x in range(16):
    if x not in (3, 11):
        graph.remove_edge((x, 4), (x, 5))  # the river
graph.remove_nodes_from([(6, 1), (7, 1), (6, 2), (7, 2), (12, 7), (13, 7)])  # parks

target = ProjectionDPP.from_graph(graph)
samples = sample(target, 1, rng=4)

figure, panels = plt.subplots(2, 1, figsize=(8, 9), layout="constrained")
plotting.spanning_tree(samples, panels[0])  # nodes are pairs of numbers: their coordinates
panels[0].set_title("one of the spanning trees")
plotting.edge_marginals(target, panels[1])
panels[1].set_title("probability of each edge")
for panel in panels:
    panel.axhspan(4.2, 4.8, color="#d4e6f1", zorder=-1)
plt.show()

# %%
# The share of the trees that have each edge, in a thousand draws, beside the exact probability.

drawn = sample(target, 1000, rng=5).marginals()
print(f"largest difference {np.abs(drawn - target.marginals()).max():.3f}")
