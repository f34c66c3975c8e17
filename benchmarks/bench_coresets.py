"""Coresets beside uniform rows, k-means++ seeds and a cover of growing radius in NumPy.

The rows are in 300 clusters of very unequal size. What counts is how many clusters have a pick,
the largest and the mean squared distance of a row from its pick, and the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, missing, peer

CLUSTERS, K, WIDTH = 300, 500, 128
ROWS, FEW_ROWS = 1_000_000, 50_000
BLOCK = 4096
Picker = Callable[[np.ndarray], np.ndarray]


def run(quick: bool) -> list[Row]:
    """Compare the time with that of a cover of growing radius."""
    X, _ = clusters(FEW_ROWS)
    from zonodpp.apps import coreset

    jobs = {"coreset": Job(lambda: coreset(X, K)), "growing radius": Job(lambda: growing_radius(X))}
    seconds = interleaved(jobs, repeats=2 if quick else 5)
    return [
        {
            "what": "50,000 x 128, k = 500: time of coreset over a cover of growing radius",
            **compare(seconds, "coreset", "growing radius"),
            "at_most": 1.5,
        }
    ]


def once(quick: bool) -> list[Row]:
    n = FEW_ROWS if quick else ROWS
    X, labels = clusters(n)
    if peer("sklearn") is None:
        return [missing("coresets", "scikit-learn")]
    rows = [measured(n, name, picker, X, labels) for name, picker in pickers().items()]
    rows[0]["floor"] = CLUSTERS
    return rows


def clusters(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    shares = 1 / np.arange(1, CLUSTERS + 1)
    labels = np.append(np.arange(CLUSTERS), rng.choice(CLUSTERS, n, p=shares / shares.sum()))[:n]
    rng.shuffle(labels)
    X = rng.standard_normal((n, WIDTH), dtype=np.float32)
    X *= 0.2
    X += rng.standard_normal((CLUSTERS, WIDTH), dtype=np.float32)[labels]
    return X, labels


def pickers() -> dict[str, Picker]:
    from zonodpp.apps import coreset

    cluster = peer("sklearn.cluster")

    def seeds(X: np.ndarray) -> np.ndarray:
        some = np.random.default_rng(0).choice(len(X), FEW_ROWS // 2, replace=False)
        return np.asarray(some[cluster.kmeans_plusplus(X[some], K, random_state=0)[1]])

    return {
        "coreset, coverage": lambda X: coreset(X, K).indices,
        "coreset, trace": lambda X: coreset(X, K, objective="trace", rng=0).indices,
        "growing radius, 20 lines of NumPy": growing_radius,
        "k-means++ seeds of 25,000 rows": seeds,
        "uniform": lambda X: np.random.default_rng(0).choice(len(X), K, replace=False),
    }


def measured(n: int, name: str, picker: Picker, X: np.ndarray, labels: np.ndarray) -> Row:
    from zonodpp.apps.coresets import nearest_of

    begun = time.perf_counter()
    picks = picker(X)
    spent = time.perf_counter() - begun
    apart = np.concatenate(
        [nearest_of(X[s : s + BLOCK], X[picks])[1] for s in range(0, len(X), BLOCK)]
    )
    return {
        "what": f"{n:,} x {WIDTH}, k = {K}: clusters of {CLUSTERS} with a pick, {name}",
        "ratio": float(len(set(labels[picks]))),
        "unit": "clusters",
        "radius": float(apart.max()),
        "mean_squared_distance": float(np.mean(apart**2)),
        "seconds": spent,
    }


def growing_radius(X: np.ndarray, k: int = K) -> np.ndarray:
    """Keep a row that is farther than R from all kept; of 2k rows, double R and thin them."""

    def far(rows: np.ndarray, kept: np.ndarray) -> np.ndarray:
        squares = (rows**2).sum(axis=1)[:, None] + (kept**2).sum(axis=1) - 2 * rows @ kept.T
        return np.asarray(squares.min(axis=1))

    def thin(items: np.ndarray, R: float) -> np.ndarray:
        kept = [items[0]]
        for item in items[1:]:
            if ((X[kept] - X[item]) ** 2).sum(axis=1).min() > R * R:
                kept.append(item)
        return np.array(kept)

    R, kept = 1e-3, np.array([0])
    for start in range(0, len(X), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(X)))
        while True:
            new = block[far(X[block], X[kept]) > R * R]
            if not len(new):
                break
            kept = np.append(kept, thin(new[: 2 * k], R))
            while len(kept) >= 2 * k:
                R *= 2
                kept = thin(kept, R)
    picks, left = [0], np.full(len(kept), np.inf)
    while len(picks) < min(k, len(kept)):
        left = np.minimum(left, ((X[kept] - X[kept[picks[-1]]]) ** 2).sum(axis=1))
        picks.append(int(left.argmax()))
    return kept[picks]
