"""Rows of tables: how well a few rows cover a table, against uniform, k-means and farthest-first.

``nearest`` is the mean distance from a row of the table to the nearest row picked (smaller is
better); ``apart`` is the smallest distance between two rows picked (larger is better); ``levels``
is the share of the levels of all categories that occur in them. Nothing is promised: docs/rows.md
says who wins where.
Distances are those of the encoded table, so that all methods see the same points.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist

from benchmarks import SEED, Row, missing, peer

SEEDS = 10
Picker = Callable[[int], np.ndarray]


def run(quick: bool) -> list[Row]:
    """Nothing depends on the visit: see `once`."""
    return []


def once(quick: bool) -> list[Row]:
    absent = [name for name in ("pandas", "sklearn") if peer(name) is None]
    if absent:
        return [missing("rows of tables", absent[0])]
    cases = [(name, k) for name in ("wine", "diabetes", "shop") for k in (10, 40)]
    return [measure(name, tables()[name], k) for name, k in (cases[:1] if quick else cases)]


def tables() -> dict[str, Any]:
    """Two tables of scikit-learn and a made one with all types, gaps and a skewed category."""
    pd, datasets = peer("pandas"), peer("sklearn.datasets")
    wine = datasets.load_wine(as_frame=True).frame
    wine["target"] = wine["target"].map({0: "a", 1: "b", 2: "c"})
    diabetes = datasets.load_diabetes(as_frame=True, scaled=False).data
    diabetes["sex"] = diabetes["sex"].map({1.0: "f", 2.0: "m"})
    rng = np.random.default_rng(SEED)
    n = 2000
    kind = rng.choice(8, n, p=[0.4, 0.3, 0.15, 0.06, 0.04, 0.02, 0.02, 0.01])
    price = np.exp(rng.normal(size=n) + 0.3 * kind)
    shop = pd.DataFrame(
        {
            "order_id": np.arange(n),
            "kind": np.array(list("ABCDEFGH"))[kind],
            "price": np.where(rng.random(n) < 0.05, np.nan, price),
            "weight": price * rng.uniform(0.5, 2, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), "D"),
            "gift": rng.random(n) < 0.1,
        }
    )
    return {"wine": wine, "diabetes": diabetes, "shop": shop}


def measure(name: str, table: Any, k: int) -> Row:
    from zonodpp.apps import diverse_rows
    from zonodpp.apps.rows import encode

    encoded = encode(table)
    X = encoded.points
    categories = [c.name for c in encoded.columns if c.kind in ("category", "boolean") and c.width]
    places = table.reset_index(drop=True)
    pickers: dict[str, Picker] = {
        "uniform": lambda seed: np.random.default_rng(seed).choice(len(X), k, replace=False),
        "k-means": lambda seed: nearest_to_means(X, k, seed),
        "farthest-first": lambda seed: farthest_first(X, k, seed),
        "draw": lambda seed: diverse_rows(places, k, answer="draw", rng=seed).index.to_numpy(),
        "best": lambda seed: diverse_rows(places, k).index.to_numpy(),
    }
    found: dict[str, Row] = {}
    for method, pick in pickers.items():
        pick(0)  # compiles
        begun = time.perf_counter()
        picks = [pick(seed) for seed in range(1 if method == "best" else SEEDS)]
        seconds = (time.perf_counter() - begun) / len(picks)
        shares = [
            [table[c].iloc[rows].nunique() / table[c].nunique() for c in categories]
            for rows in picks
        ]
        found[method] = {
            "nearest": float(np.mean([cdist(X, X[rows]).min(axis=1).mean() for rows in picks])),
            "apart": float(np.mean([pdist(X[rows]).min() for rows in picks])),
            "levels": float(np.mean(shares)),
            "seconds": seconds,
        }
    uniform = found["uniform"]["nearest"]
    return {
        "what": f"{name}, {k} of {len(X):,} rows: distance to the nearest row, best over uniform",
        "ratio": found["best"]["nearest"] / uniform,
        "methods": found,
    }


def nearest_to_means(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    means = peer("sklearn.cluster").KMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_
    return np.unique(cdist(means, X).argmin(axis=1))


def farthest_first(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    picks = [int(np.random.default_rng(seed).integers(len(X)))]
    far = np.linalg.norm(X - X[picks[0]], axis=1)
    while len(picks) < k:
        picks.append(int(far.argmax()))
        far = np.minimum(far, np.linalg.norm(X - X[picks[-1]], axis=1))
    return np.array(picks)
