"""Examples for a prompt: how much of a query they explain, k = 8 of 1,500 digits.

The residual is the part of a query, of length one, outside the span of the examples.
"""

from __future__ import annotations

import numpy as np

from benchmarks import Row, missing, peer

K, QUERIES, STORED = 8, 200, 1500


def run(quick: bool) -> list[Row]:
    """Nothing depends on the visit: see `once`."""
    return []


def once(quick: bool) -> list[Row]:
    from zonodpp import pick

    if peer("sklearn") is None:
        return [missing("examples for a prompt", "scikit-learn")]
    X = peer("sklearn.datasets").load_digits().data
    X = X - X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    examples, queries = X[:STORED], X[STORED : STORED + (20 if quick else QUERIES)]
    ways = {
        "matching pursuit": explaining,
        "nearest": lambda examples, query, k: np.argsort(-(examples @ query))[:k],
        "pick, relevance = similarity": lambda examples, query, k: pick(
            examples, k, relevance=np.maximum(examples @ query, 0)
        ),
    }
    left = {
        name: np.mean([residual(examples[way(examples, query, K)], query) for query in queries])
        for name, way in ways.items()
    }
    return [
        {
            "what": f"digits, {K} examples: residual of matching pursuit over that of {rival}",
            "ratio": float(left["matching pursuit"] / left[rival]),
            "at_most": 1.0,
            "residuals": {name: float(value) for name, value in left.items()},
        }
        for rival in ("nearest", "pick, relevance = similarity")
    ]


def explaining(examples: np.ndarray, query: np.ndarray, k: int) -> np.ndarray:
    """Pick by orthogonal matching pursuit; the recipe of docs/pick.md."""
    picks: list[int] = []
    left = query
    for _ in range(k):
        gains = np.abs(examples @ left)
        gains[picks] = -1
        picks.append(int(gains.argmax()))
        share = np.linalg.lstsq(examples[picks].T, query, rcond=None)[0]
        left = query - share @ examples[picks]
    return np.array(picks)


def residual(rows: np.ndarray, query: np.ndarray) -> float:
    share = np.linalg.lstsq(rows.T, query, rcond=None)[0]
    return float(np.linalg.norm(query - share @ rows))
