"""Spanning trees beside networkx, DPPy and the exact sampler; one tree of a million nodes."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from zonodpp import ProjectionDPP, sample

SECONDS = 5.0  # allowed for one tree of the 1,000 x 1,000 grid, from the matrix to the draw
EDGE_ARRAYS = 12.0  # memory allowed for it, as a multiple of the two arrays of edge ends


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row for each comparison: ``ratio`` is to be at least ``floor``."""
    return [*small_grid(3 if quick else 9), *large_grid(1 if quick else 5)]


def small_grid(repeats: int) -> list[dict[str, Any]]:
    """Time one tree of the 8 x 8 grid; the contestants take turns."""
    graph = nx.grid_2d_graph(8, 8)
    target = ProjectionDPP.from_graph(graph)
    contestants: dict[str, tuple[int, Callable[[int], Any]]] = {
        "wilson": (20_000, lambda k: sample(target, 20_000, method="trees", rng=k)),
        "aldous-broder": (
            5_000,
            lambda k: sample(target, 5_000, method="trees", algorithm="aldous-broder", rng=k),
        ),
        "exact": (300, lambda k: sample(target, 300, method="exact", rng=k)),
        "networkx": (1, lambda k: nx.random_spanning_tree(graph, seed=k)),
    }
    try:
        from dppy.exotic_dpps import UST
    except ImportError:
        pass
    else:
        ust = UST(nx.convert_node_labels_to_integers(graph))
        # Its Aldous-Broder uses numpy names that are gone.
        contestants["DPPy"] = (1, lambda k: ust.sample("Wilson", random_state=k))
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _, call in contestants.values():
        call(0)
    for k in range(repeats):
        for name, (draws, call) in contestants.items():
            begun = time.perf_counter()
            call(k)
            times[name].append((time.perf_counter() - begun) / draws)
    micro = {name: 1e6 * float(np.median(taken)) for name, taken in times.items()}
    floors = {"networkx": 5_000.0, "DPPy": 100.0, "exact": 5.0, "aldous-broder": 1.0}
    return [
        {
            "what": f"8 x 8 grid: {name} over Wilson, time of a tree",
            "ratio": micro[name] / micro["wilson"],
            "floor": floor,
            "wilson_us": micro["wilson"],
            "other_us": micro[name],
        }
        for name, floor in floors.items()
        if name in micro
    ]


def grid(k: int) -> sp.csr_array:
    """Return the adjacency matrix of the k x k grid."""
    path = sp.diags_array([np.ones(k - 1), np.ones(k - 1)], offsets=[-1, 1])
    return sp.csr_array(sp.kronsum(path, path))


def large_grid(repeats: int) -> list[dict[str, Any]]:
    """Time one tree of the 1,000 x 1,000 grid, and take its memory at two sizes."""
    sample(ProjectionDPP.from_graph(grid(10)), 1, method="trees")
    matrix = grid(1000)
    set_up, drawing = [], []
    for k in range(repeats):
        begun = time.perf_counter()
        target = ProjectionDPP.from_graph(matrix)
        ready = time.perf_counter()
        tree = sample(target, 1, method="trees", rng=k).subsets[0, 0]
        drawing.append(time.perf_counter() - ready)
        set_up.append(ready - begun)
        assert target.graph is not None
        assert target.graph.is_spanning_tree(tree)
    seconds = float(np.median(np.add(set_up, drawing)))
    multiples = {k: memory_in_new_process(k) for k in (500, 1000)}
    return [
        {
            "what": f"1,000 x 1,000 grid: {SECONDS:g} s over the time of one Wilson tree",
            "ratio": SECONDS / seconds,
            "floor": 1.0,
            "set_up_s": float(np.median(set_up)),
            "draw_s": float(np.median(drawing)),
        },
        {
            "what": f"1,000 x 1,000 grid: {EDGE_ARRAYS:g} edge arrays over the peak memory",
            "ratio": EDGE_ARRAYS / multiples[1000],
            "floor": 1.0,
            "multiple_of_edge_arrays": multiples[1000],
            "the_same_at_500_x_500": multiples[500],
        },
    ]


def memory_in_new_process(k: int) -> float:
    """Return `memory_of_one_tree`, measured where nothing else has run."""
    command = [sys.executable, __file__, str(k)]
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
    if len(sys.argv) > 1:
        print(memory_of_one_tree(int(sys.argv[1])))
    else:
        for row in run(quick=False):
            print(row)
