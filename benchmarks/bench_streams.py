"""Exact draws from rows beyond memory: time over one pass of the data, memory, and growth with n.

Float32 rows of 16 features in a memory map. The yardstick is one pass that reads the file in the
same batches and adds up Gram matrices: no way to whiten the rows can do with less.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import SEED, Row, fit_exponent
from zonodpp import ProjectionDPP, sample

FEATURES = 16
DRAWS = 100
BATCH = 65_536

# Run in a process of its own, since a process never gives back the peak of its memory.
MEASURE = """
import json, resource, sys, time
import numpy as np
from zonodpp import ProjectionDPP, sample
sample(ProjectionDPP.from_features(lambda: [np.eye(3)]), 1, rng=0)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
target = ProjectionDPP.from_features(np.load(sys.argv[1], mmap_mode="r"))
sample(target, int(sys.argv[2]), rng=1)
print(json.dumps({"mebibytes": peak() - before}))
"""


def run(quick: bool) -> list[Row]:
    n = 1_000_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        write_rows(path, n)
        return [*against_a_pass(path, n, quick), memory(path, n), growth(path, n)]


def write_rows(path: Path, n: int) -> None:
    """Write Gaussian rows, a batch at a time."""
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, FEATURES))
    rng = np.random.default_rng(SEED)
    for start in range(0, n, BATCH):
        block = rows[start : start + BATCH]
        block[:] = rng.standard_normal(block.shape, np.float32)
    rows.flush()


def gram_pass(X: Any) -> float:
    """Add up the Gram matrices of all batches; return the seconds that takes."""
    begun = time.perf_counter()
    gram = np.zeros((FEATURES, FEATURES))
    for start in range(0, len(X), BATCH):
        block = np.asarray(X[start : start + BATCH], dtype=np.float64)
        gram += block.T @ block
    return time.perf_counter() - begun


def draw(X: Any) -> float:
    """Make a target and draw from it; return the seconds that takes."""
    begun = time.perf_counter()
    sample(ProjectionDPP.from_features(X), DRAWS, rng=1, progress=False)
    return time.perf_counter() - begun


def against_a_pass(path: Path, n: int, quick: bool) -> list[Row]:
    X = np.load(path, mmap_mode="r")
    gram_pass(X), draw(X[:BATCH])  # the file is in the cache, and all is compiled
    rounds = [(gram_pass(X), draw(X)) for _ in range(2 if quick else 4)]
    ratios = [ours / theirs for theirs, ours in rounds]
    return [
        {
            "what": f"{DRAWS} exact draws from {n:,} x {FEATURES} on disk over one Gram pass",
            "ratio": statistics.median(ratios),
            "ratio_range": [min(ratios), max(ratios)],
            "at_most": 4.0,
            "microseconds": {
                "a Gram pass": 1e6 * statistics.median(theirs for theirs, _ in rounds),
                "target and draws": 1e6 * statistics.median(ours for _, ours in rounds),
            },
        }
    ]


def memory(path: Path, n: int) -> Row:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), str(DRAWS)],
        check=True,
        capture_output=True,
        text=True,
    )
    return {
        "what": f"memory for {DRAWS} exact draws from {n:,} x {FEATURES} on disk",
        "ratio": json.loads(done.stdout)["mebibytes"],
        "unit": "MiB",
        "at_most": 400.0,
    }


def growth(path: Path, n: int) -> Row:
    X = np.load(path, mmap_mode="r")
    sizes = [n // 16, n // 8, n // 4, n // 2, n]
    seconds = [min(draw(X[:size]) for _ in range(3)) for size in sizes]
    fit = fit_exponent(sizes, seconds)
    return {
        "what": "time of a target and its draws as the rows on disk grow",
        "ratio": fit.exponent,
        "ratio_range": [fit.exponent - 2 * fit.stderr, fit.exponent + 2 * fit.stderr],
        "unit": "(exponent)",
        "sizes": sizes,
        "seconds": seconds,
    }
