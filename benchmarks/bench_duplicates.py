"""Near-duplicates beside six lines of NumPy: 20,000 x 384, and a million rows by buckets."""

from __future__ import annotations

import time

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved

ROWS, MANY, WIDTH, THRESHOLD = 20_000, 1_000_000, 384, 0.97


def run(quick: bool) -> list[Row]:
    from zonodpp.apps import deduplicate

    X, _ = with_copies(ROWS // 4 if quick else ROWS)
    jobs = {
        "deduplicate": Job(lambda: deduplicate(X, THRESHOLD)),
        "six lines": Job(lambda: six_lines(X)),
    }
    seconds = interleaved(jobs, repeats=2 if quick else 5)
    return [
        {
            "what": f"{len(X):,} x {WIDTH}: time of deduplicate over six lines of NumPy",
            **compare(seconds, "deduplicate", "six lines"),
            "at_most": 1.0,
        }
    ]


def once(quick: bool) -> list[Row]:
    """Share of the near-copies that buckets find, and the time."""
    from zonodpp.apps import deduplicate

    X, copies = with_copies(ROWS if quick else MANY)
    begun = time.perf_counter()
    found = deduplicate(X, THRESHOLD, exact=False)
    spent = time.perf_counter() - begun
    return [
        {
            "what": f"{len(X):,} x {WIDTH} by buckets: share of near-copies that are found",
            "ratio": (len(X) - len(found)) / copies,
            "floor": 0.99,
            "seconds": spent,
        }
    ]


def with_copies(n: int) -> tuple[np.ndarray, int]:
    """Return rows of which a fifth are near-copies of others, of cosine 0.975 to 1."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, WIDTH), dtype=np.float32)
    copies = n // 5
    noise = rng.uniform(0, 0.22, size=(copies, 1)).astype(np.float32)
    X[-copies:] = X[:copies] + noise * rng.standard_normal((copies, WIDTH), dtype=np.float32)
    return X, copies


def six_lines(X: np.ndarray) -> np.ndarray:
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    kept = np.ones(len(X), dtype=bool)
    for start in range(0, len(X), 1000):
        near = unit[start : start + 1000] @ unit.T >= THRESHOLD
        kept[start : start + 1000] = ~np.tril(near, start - 1).any(axis=1)
    return np.flatnonzero(kept)
