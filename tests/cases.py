"""Small targets on which the law can be enumerated: ordinary, weighted, degenerate."""

import networkx as nx
import numpy as np
import scipy.sparse as sp

from zonodpp import ProjectionDPP, VolumeSampling


def matrices():
    """Name -> (A, weights)."""
    rng = np.random.default_rng(20170411)
    gaussian = rng.normal(size=(3, 8))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    duplicated = np.column_stack([gaussian[:, :5], gaussian[:, 0], -2 * gaussian[:, 1]])
    zero = np.column_stack([gaussian[:, :5], np.zeros((3, 2))])
    # Item 0 alone reaches the first coordinate, so it is always there.
    sure = np.zeros((3, 7))
    sure[0, 0] = 1.0
    sure[1:, 1:] = gaussian[1:, :6]
    sure[0, 3] = 0.0
    return {
        "paper": (np.array([[1.0, 2, 0, -1], [0, 1, 2, 1]]), None),
        "gaussian": (gaussian, None),
        "weighted": (gaussian, rng.random(8)),
        "weights over twelve orders": (gaussian, 10.0 ** rng.uniform(-6, 6, 8)),
        "zero weight": (gaussian, np.array([1.0, 2, 0, 1, 1, 0, 3, 1])),
        "duplicates": (duplicated, None),
        "zero columns": (zero, None),
        "sure item": (sure, None),
        "one of n": (rng.normal(size=(1, 6)), None),
        "all of n": (rng.normal(size=(4, 4)), None),
        "all but one": (rng.normal(size=(5, 6)), None),
        "condition 1e10": ((turn * np.array([1, 1e-5, 1e-10])) @ gaussian, None),
        "feature units": (gaussian * np.array([[1e9], [1.0], [1e-9]]), None),
        "sparse": (sp.random_array((4, 9), density=0.5, rng=5) + sp.eye_array(4, 9), None),
    }


def graphs():
    """Name -> networkx graph with edge attribute ``w``."""
    rng = np.random.default_rng(7)
    bridge = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])
    parallel = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    loop = nx.Graph([(0, 1), (1, 2), (2, 0), (1, 1)])
    found = {
        "K4": nx.complete_graph(4),
        "wheel": nx.wheel_graph(5),
        "bridge": bridge,
        "parallel": parallel,
        "self-loop": loop,
        "path": nx.path_graph(4),
    }
    for graph in found.values():
        for *_, data in graph.edges(data=True):
            data["w"] = rng.uniform(0.1, 3)
    return found


def targets():
    """Name -> projection DPP, of matrices and of graphs."""
    found = {name: ProjectionDPP(A, weights=q) for name, (A, q) in matrices().items()}
    for name, graph in graphs().items():
        found[f"graph {name}"] = ProjectionDPP.from_graph(graph, weight="w")
    return found


def volume_targets(power):
    """Name -> volume sampling with another power."""
    keep = ("paper", "weighted", "duplicates", "zero columns", "all but one", "sparse", "sure item")
    return {
        name: VolumeSampling(A, power=power, weights=q)
        for name, (A, q) in matrices().items()
        if name in keep
    }
