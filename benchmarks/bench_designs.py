"""D-efficiency of exact designs with replicates, beside a Fedorov exchange of 12 lines."""

from __future__ import annotations

import itertools
import time

import numpy as np

from benchmarks import Row

SIZES = (18, 24, 36)
LEVELS, FACTORS, MOST = 8, 4, 2.2  # a grid of four factors, of which a corner cannot be run
STARTS = 10  # random designs of the plain exchange


def run(quick: bool) -> list[Row]:
    """Nothing depends on the visit: see `once`."""
    return []


def once(quick: bool) -> list[Row]:
    from zonodpp.apps import optimal_design

    X = candidates()
    rows: list[Row] = []
    for k in SIZES[:1] if quick else SIZES:
        begun = time.perf_counter()
        ours = efficiency(X[optimal_design(X, k)])
        spent = time.perf_counter() - begun
        begun = time.perf_counter()
        plain = max(efficiency(X[fedorov(X, k, seed)]) for seed in range(1 if quick else STARTS))
        rows.append(
            {
                "what": f"{len(X):,} candidates, 15 terms, {k} runs: D-efficiency over Fedorov's",
                "ratio": ours / plain,
                "floor": 0.9999,
                "efficiency": ours,
                "efficiency_of_fedorov": plain,
                "seconds": spent,
                "seconds_of_fedorov": time.perf_counter() - begun,
            }
        )
    return rows


def candidates() -> np.ndarray:
    """Return the quadratic model of four factors on a grid without one of its corners."""
    grid = np.array(list(itertools.product(np.linspace(-1, 1, LEVELS), repeat=FACTORS)))
    grid = grid[grid.sum(axis=1) <= MOST]
    pairs = itertools.combinations_with_replacement(range(FACTORS), 2)
    products = [grid[:, i] * grid[:, j] for i, j in pairs]
    return np.column_stack([np.ones(len(grid)), grid, *products])


def efficiency(rows: np.ndarray) -> float:
    k, d = rows.shape
    return float(np.exp(np.linalg.slogdet(rows.T @ rows)[1] / d) / k)


def fedorov(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    members = np.random.default_rng(seed).integers(len(X), size=k)
    while True:
        C = np.linalg.pinv(X[members].T @ X[members])
        L = X @ C @ X[members].T
        own = np.einsum("ij,ij->i", X @ C, X)
        factor = (1 + own)[:, None] * (1 - own[members]) + L**2
        item, place = np.unravel_index(factor.argmax(), factor.shape)
        if factor[item, place] < 1 + 1e-9:
            return members
        members[place] = item
