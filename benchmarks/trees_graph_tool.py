"""Random spanning trees by graph-tool, for a Python that has it: see `TreeProcess` in peers.py."""

import sys
import time

import graph_tool
import numpy as np
from graph_tool.topology import random_spanning_tree

nodes, edges, weights = sys.argv[1:]
graph = graph_tool.Graph(directed=False)
graph.add_vertex(int(nodes))
graph.add_edge_list(np.fromfile(edges, np.int32).reshape(-1, 2))
options = {}
if weights:
    options["weights"] = graph.new_edge_property("double", vals=np.fromfile(weights))
graph_tool.seed_rng(20170411)
print("graph-tool", graph_tool.__version__, flush=True)
for line in sys.stdin:
    count = int(line)
    begun = time.perf_counter()
    for _ in range(count):
        tree = random_spanning_tree(graph, **options)
    print(time.perf_counter() - begun, int(tree.a.sum()), flush=True)
