"""Spanning trees beside networkx, DPPy and the exact sampler; one tree of a million nodes."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import time
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, measured, missing, peer
from zonodpp import ProjectionDPP, sample

SECONDS = 5.0  # allowed for one tree of the 1,000 x 1,000 grid, from the matrix to the draw
EDGE_ARRAYS = 12.0  # memory allowed for it, as a multiple of the two arrays of edge ends
FLOORS = {
    "networkx": 5_000.0,
    "DPPy's Wilson": 100.0,
    "our exact draw": 5.0,
    "our Aldous-Broder": 1.0,
}


def run(quick: bool) -> list[Row]:
    return [*small_grid(3 if quick else 5), *large_grid(300 if quick else 1000, quick)]


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


def dppy_trees(ust: Any, name: str, count: int) -> None:
    for k in range(count):
        ust.sample(name, random_state=k)
    ust.flush_samples()


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
        if not pathlib.Path("/proc/self/clear_refs").exists():
            rows.append(missing(what, "/proc (Linux)"))
            continue
        rows.append({"what": what, "ratio": memory_in_new_process(size), "at_most": EDGE_ARRAYS})
    return rows


def memory_in_new_process(k: int) -> float:
    """Return `memory_of_one_tree`, measured where nothing else has run."""
    command = [sys.executable, "-m", __name__, str(k)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(output)


def memory_of_one_tree(k: int) -> float:
    """Return the peak memory of one tree of the k x k grid over that of the edge arrays."""
    sample(ProjectionDPP.from_graph(grid(10)), 1, method="trees")
    matrix = grid(k)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # forget the peak of compiling
    before = peak_memory()
    target = ProjectionDPP.from_graph(matrix)
    sample(target, 1, method="trees", rng=0)
    return (peak_memory() - before) / (16.0 * target.n)


def peak_memory() -> float:
    """Return the peak of this process's memory in bytes (Linux)."""
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024.0 * int(status.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    print(memory_of_one_tree(int(sys.argv[1])))
