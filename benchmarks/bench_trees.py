"""Spanning trees beside graph-tool, igraph, networkx and DPPy; one tree of a million nodes."""

from __future__ import annotations

import pathlib
import tempfile
import time
from contextlib import ExitStack
from functools import partial

import networkx as nx
import numpy as np
import scipy.sparse as sp

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, measured, missing, peer
from benchmarks.peers import GRAPH_TOOL, IGRAPH, dppy_trees, tree_process
from benchmarks.workloads import NO_PROC, peak_memory
from zonodpp import ProjectionDPP, sample

SECONDS = 5.0  # allowed for one tree of the 1,000 x 1,000 grid, from the matrix to the draw
EDGE_ARRAYS = 12.0  # memory allowed for it, as a multiple of the two arrays of edge ends
FLOORS = {
    "networkx": 5_000.0,
    "DPPy's Wilson": 100.0,
    "our exact draw": 5.0,
    "our Aldous-Broder": 1.0,
}
FASTER = 2.0  # than graph-tool and igraph, at least, on every grid
# The trees that one timed call makes, by the side of a grid: ours, and a peer's.
TREES = {8: (20_000, 2_000), 100: (50, 10), 1_000: (1, 1)}


def run(quick: bool) -> list[Row]:
    return [
        *small_grid(3 if quick else 5),
        *(row for side in list(TREES)[: 2 if quick else 3] for row in grids(side, quick)),
        *large_grid(300 if quick else 1000, quick),
    ]


def small_grid(repeats: int) -> list[Row]:
    """Time one tree of the 8 x 8 grid."""
    graph = nx.grid_2d_graph(8, 8)
    target = ProjectionDPP.from_graph(graph)
    trees = partial(sample, target, method="trees", rng=SEED)
    jobs = {
        "our Wilson": Job(partial(trees, 20_000), 20_000),
        "our Aldous-Broder": Job(partial(trees, 5_000, algorithm="aldous-broder"), 5_000),
        "our exact draw": Job(partial(sample, target, 300, method="exact", rng=SEED), 300),
        "networkx": Job(partial(nx.random_spanning_tree, graph, seed=SEED)),
    }
    exotic = peer("dppy.exotic_dpps")
    rows = []
    for name in ("Wilson", "Aldous-Broder"):
        what = f"8 x 8 grid: DPPy's {name} over our Wilson, time of a tree"
        if exotic is None:
            rows.append(missing(what, "dppy"))
            continue
        ust = exotic.UST(nx.convert_node_labels_to_integers(graph))
        call = partial(dppy_trees, ust, name, 5)
        try:
            call()
        except AttributeError as error:  # numpy names that are gone
            rows.append(left_out(what, f"DPPy fails: {str(error).splitlines()[0]}"))
        else:
            jobs[f"DPPy's {name}"] = Job(call, 5)
    seconds = interleaved(jobs, repeats=repeats)
    for name in jobs:
        if name != "our Wilson":
            what = f"8 x 8 grid: {name} over our Wilson, time of a tree"
            promise = {"floor": FLOORS[name]} if name in FLOORS else {}
            rows.append({"what": what, **promise, **compare(seconds, name, "our Wilson")})
    return rows


def grids(side: int, quick: bool) -> list[Row]:
    """Time trees of a grid by Wilson's algorithm, uniform and with random weights of edges.

    All programs hold the graph before they are timed. Trees by igraph are always uniform.
    """
    matrix = sp.coo_array(sp.triu(grid(side)))
    nodes, (heads, tails) = side**2, matrix.coords
    weights = np.random.default_rng(SEED).random(len(heads)) ** 2
    weighted = sp.coo_array((weights, (heads, tails)), matrix.shape)
    ours, theirs = TREES[side]
    jobs: dict[str, Job] = {}
    for kind, graph in (("uniform", matrix), ("weighted", weighted)):
        target = ProjectionDPP.from_graph(sp.csr_array(graph + graph.T))
        trees = partial(sample, target, ours, method="trees", rng=SEED, progress=False)
        jobs[f"ours, {kind}"] = Job(trees, ours)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        edges, numbers = pathlib.Path(folder, "edges"), pathlib.Path(folder, "weights")
        np.column_stack([heads, tails]).astype(np.int32).tofile(edges)
        weights.tofile(numbers)
        processes = {
            ("graph-tool", "uniform"): tree_process(GRAPH_TOOL, nodes, edges),
            ("graph-tool", "weighted"): tree_process(GRAPH_TOOL, nodes, edges, str(numbers)),
            ("igraph", "uniform"): tree_process(IGRAPH, nodes, edges),
        }
        for (name, kind), process in processes.items():
            if process is not None:
                running.callback(process.close)
                jobs[f"{name}, {kind}"] = process.job(theirs)
        seconds = interleaved(jobs, repeats=2 if quick or side > 500 else 5)
    rows: list[Row] = []
    for (name, kind), process in processes.items():
        what = f"{side:,} x {side:,} grid, {kind}: {name} over our Wilson, time of a tree"
        if process is None:
            rows.append(missing(what, name))
            continue
        found = compare(seconds, f"{name}, {kind}", f"ours, {kind}")
        rows.append({"what": what, "peer": process.version, "floor": FASTER, **found})
    return rows


def grid(k: int) -> sp.csr_array:
    """Return the adjacency matrix of the k x k grid."""
    path = sp.diags_array([np.ones(k - 1), np.ones(k - 1)], offsets=[-1, 1])
    return sp.csr_array(sp.kronsum(path, path))


def large_grid(k: int, quick: bool) -> list[Row]:
    """Time one tree of the k x k grid, and take its memory there and at half the size."""
    sample(ProjectionDPP.from_graph(grid(10)), 1, method="trees")
    matrix = grid(k)
    set_up, drawing = [], []
    for seed in range(2 if quick else 3):
        begun = time.perf_counter()
        target = ProjectionDPP.from_graph(matrix)
        ready = time.perf_counter()
        tree = sample(target, 1, method="trees", rng=seed).subsets[0, 0]
        drawing.append(time.perf_counter() - ready)
        set_up.append(ready - begun)
        assert target.graph is not None
        assert target.graph.components(tree) == 1
    rows: list[Row] = [
        {
            "what": f"{k} x {k} grid: seconds of one Wilson tree, from the matrix on",
            **measured([a + b for a, b in zip(set_up, drawing, strict=True)], "s"),
            "at_most": SECONDS,
            "set_up_s": float(np.median(set_up)),
            "draw_s": float(np.median(drawing)),
        }
    ]
    for size in (k,) if quick else (k, k // 2):
        what = f"{size} x {size} grid: peak memory of a tree over its edge arrays"
        peak = peak_memory(
            "from benchmarks.bench_trees import grid\n"
            "from zonodpp import ProjectionDPP, sample\n"
            "sample(ProjectionDPP.from_graph(grid(10)), 1, method='trees')\n"
            f"matrix = grid({size})",
            "sample(ProjectionDPP.from_graph(matrix), 1, method='trees', rng=0)",
        )
        if peak is None:
            rows.append(missing(what, NO_PROC))
            continue
        edge_arrays = 2 * 8 * 2 * size * (size - 1)
        rows.append({"what": what, "ratio": peak / edge_arrays, "at_most": EDGE_ARRAYS})
    return rows
