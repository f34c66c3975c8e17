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
        "sparse": (
            sp.random_array((4, 9), density=0.5, random_state=np.random.default_rng(5))
            + sp.eye_array(4, 9),
            None,
        ),
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


def hard_matrices():
    """Name -> (A, weights): other shapes and worse numbers, still small enough to enumerate."""
    rng = np.random.default_rng(2012)
    gaussian = rng.normal(size=(3, 8))
    found = {
        f"gaussian {r} x {n}": (rng.normal(size=(r, n)), None)
        for r, n in ((2, 12), (4, 7), (5, 8), (6, 8))
    }
    found |= {
        f"weighted {r} x {n}": (rng.normal(size=(r, n)), 10 ** rng.uniform(-2, 2, n))
        for r, n in ((2, 9), (4, 7))
    }
    # Only item 0 reaches coordinate 0 and items 1, 2 coordinate 1; items 7, 8 reach nothing.
    blocks = np.zeros((4, 9))
    blocks[0, 0] = 3.0
    blocks[1, 1:3] = 1.0, 2.0
    blocks[2:, 3:7] = rng.normal(size=(2, 4))
    pairs = np.repeat(np.eye(12), [2] * 4 + [1] * 8, axis=1)  # 2^4 bases, 8 items always there
    directions = rng.normal(size=(2, 3))
    near = np.column_stack([gaussian, gaussian[:, 0] + 1e-8 * gaussian[:, 1]])
    orders = 10.0 ** np.linspace(-6, 6, 8)
    return found | {
        "twenty-one of twenty-two": (rng.normal(size=(21, 22)), None),
        "twelve pairs or singles": (pairs * rng.uniform(0.5, 2, pairs.shape[1]), None),
        "always and never": (blocks, None),
        "always and never, weighted": (blocks, 10.0 ** rng.uniform(-6, 6, 9)),
        "always and never, mixed": (rng.normal(size=(4, 4)) @ blocks, None),
        "all of n, weighted": (rng.normal(size=(5, 5)), 10.0 ** rng.uniform(-6, 6, 5)),
        "one of n, weighted": (rng.normal(size=(1, 7)), 10.0 ** rng.uniform(-2, 2, 7)),
        "one of one": (np.array([[-3.0]]), None),
        "one useful item": (np.array([[0.0, 0.0, 2.0, 0.0]]), None),
        "three directions": (np.tile(directions, 3) * rng.uniform(-2, 2, 9), None),
        "nearly parallel": (near, None),
        "columns over twelve orders": (gaussian * orders, None),
        "weights undo lengths": (gaussian * orders, orders**-2),
        "weights over twelve orders, ascending": (gaussian, orders),
        "weights over twelve orders, parallel": (np.tile(gaussian[:, :4], 2), orders),
        "entries of 1e150": (gaussian * 1e150, None),
        "entries of 1e-150": (gaussian * 1e-150, None),
        "rows from 1e-150 to 1e150": (gaussian * np.array([[1e-150], [1.0], [1e150]]), None),
        "powers": (np.vander(np.linspace(1, 2, 8), 5).T, None),
        "condition 1e10, duplicates": (_ill(3) @ np.tile(gaussian[:, :5], 2), None),
        "condition 1e10, weighted": (_ill(3) @ gaussian, rng.uniform(0.1, 10, 8)),
        "sparse, weighted": (
            sp.random_array((4, 8), density=0.4, random_state=np.random.default_rng(9))
            + sp.eye_array(4, 8, k=2),
            10.0 ** rng.uniform(-6, 6, 8),
        ),
    }


def extreme_matrices():
    """Name -> (A, weights): sizes near the ends of what floating-point numbers hold."""
    rng = np.random.default_rng(1723)
    gaussian, weights = rng.normal(size=(3, 7)), rng.uniform(0.1, 1, 7)
    orders = 10.0 ** rng.permutation(np.linspace(-300, 300, 7))
    twins = np.column_stack([gaussian[:, :4], 2 * gaussian[:, 0], -0.5 * gaussian[:, 1]])
    found = {f"weights of {s:g}": (gaussian, s * weights) for s in (1e300, 1e212, 1e-210, 1e-300)}
    found |= {f"entries of {s:g}": (s * gaussian, weights) for s in (1e300, 1e155, 1e-300)}
    return found | {
        "weights from 1e-300 to 1e300": (gaussian, orders),
        "columns from 1e-300 to 1e300": (gaussian * orders, None),
        "columns and weights apart": (gaussian * orders, orders),
        "weights undo columns": (gaussian * np.sqrt(orders), 1 / orders),
        "rows from 1e-300 to 1e300": (gaussian * np.array([[1e-300], [1.0], [1e300]]), weights),
        "two heavy items": (gaussian, np.array([1.0, 1e300, 1, 3, 1e300, 2, 1e-300])),
        "heavy twins": (twins, 10.0 ** np.array([300.0, 300, 0, -300, 299.6, 300])),
        "sparse, entries of 1e300": (
            sp.csc_array(1e300 * np.where(gaussian > 0, gaussian, 0)),
            None,
        ),
        "sparse, weights apart": (sp.csc_array(np.where(gaussian > 0, gaussian, 0)), orders),
        "nearly the largest number": (1.7e308 * np.sign(gaussian[:2]), weights),
        "condition 1e12": (_ill(3, 12) @ gaussian, None),
    }


def _ill(r, digits=10):
    """A matrix of condition number 10**digits, in no special position."""
    rng = np.random.default_rng(r)
    left, right = (np.linalg.qr(rng.normal(size=(r, r)))[0] for _ in range(2))
    return (left * np.logspace(0, -digits, r)) @ right


def hard_targets():
    """Name -> projection DPP of each hard matrix, and the other ways to make one."""
    found = {name: ProjectionDPP(A, weights=q) for name, (A, q) in hard_matrices().items()}
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9, 3))
    return found | {
        "features": ProjectionDPP.from_features(X, weights=rng.random(9)),
        "principal directions": ProjectionDPP.from_features(rng.normal(size=(8, 20)), rank=3),
        "jitter": ProjectionDPP.from_features(np.tile(X[:, :1], 3), jitter=0.1, rng=0),
        "kernel": ProjectionDPP.from_kernel(X @ np.linalg.pinv(X)),
        "adjacency": ProjectionDPP.from_graph(
            sp.csr_array(np.triu(W := np.ones((4, 4)) - np.eye(4), 1) + np.tril(W, -1))
        ),
    }


def volume_targets(power):
    """Name -> volume sampling with another power."""
    keep = ("paper", "weighted", "duplicates", "zero columns", "all but one", "sparse", "sure item")
    return {
        name: VolumeSampling(A, power=power, weights=q)
        for name, (A, q) in matrices().items()
        if name in keep
    }
