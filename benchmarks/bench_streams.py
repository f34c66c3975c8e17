"""Exact draws from rows beyond memory: time over one pass of the data, memory, and growth with n.

Float32 rows of 16 features in a memory map. The time is compared with one pass that reads the file
in the same batches and adds up Gram matrices: no method that whitens the rows can do with less. A
cluster of two processes makes its rows instead of reading them, in all of these passes.

``python -m benchmarks.bench_streams [--quick] [ROW ...]`` prints single rows: time, memory, growth
or cluster.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import SEED, Job, Row, compare, fit_exponent, interleaved, missing, peer, report
from benchmarks.workloads import NO_PROC, peak_memory
from zonodpp import ProjectionDPP, sample

FEATURES = 16
DRAWS = 100
BATCH = 65_536
LARGEST = 4  # rows in the file, in multiples of those that are timed
BLOCKS = 100  # of rows on the cluster
WORKERS, WORKER_MEMORY = 2, "1GiB"


def run(quick: bool) -> list[Row]:
    return measure(["time", "memory", "growth"], quick)


def once(quick: bool) -> list[Row]:
    return [cluster(quick)]


def measure(names: list[str], quick: bool) -> list[Row]:
    """Measure rows by name, all of one file."""
    n = 500_000 if quick else 10_000_000
    calls: dict[str, Callable[[Path, int], Row]]
    calls = {"time": against_a_pass, "memory": memory, "growth": growth}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        if names != ["cluster"]:
            write_rows(path, LARGEST * n if "growth" in names else n)
        for name in names:
            found.append(cluster(quick) if name == "cluster" else calls[name](path, n))
    return found


def write_rows(path: Path, n: int) -> None:
    """Write Gaussian rows, a batch at a time."""
    rows = np.memmap(path, np.float32, "w+", 0, (n, FEATURES))
    rng = np.random.default_rng(SEED)
    for start in range(0, n, BATCH):
        block = rows[start : start + BATCH]
        rng.standard_normal(dtype=np.float32, out=block)
    rows.flush()


def first_rows(path: Path, n: int) -> np.memmap[Any, np.dtype[np.float32]]:
    return np.memmap(path, np.float32, "r", 0, (n, FEATURES))


def gram_pass(X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Add up the Gram matrices of all batches."""
    gram = np.zeros((FEATURES, FEATURES))
    for start in range(0, len(X), BATCH):
        block = np.asarray(X[start : start + BATCH], dtype=np.float64)
        gram += block.T @ block
    return gram


def draw(X: Any) -> float:
    """Make a target and draw from it; return the seconds that takes."""
    begun = time.perf_counter()
    sample(ProjectionDPP.from_features(X), DRAWS, rng=1, progress=False)
    return time.perf_counter() - begun


def against_a_pass(path: Path, n: int) -> Row:
    X = first_rows(path, n)
    jobs = {"a Gram pass": Job(lambda: gram_pass(X)), "target and draws": Job(lambda: draw(X))}
    found = compare(interleaved(jobs, repeats=4), "target and draws", "a Gram pass")
    what = f"{DRAWS} exact draws from {n:,} x {FEATURES} on disk over one Gram pass"
    return {"what": what, **found, "at_most": 4.0}


def memory(path: Path, n: int) -> Row:
    what = f"memory for {DRAWS} exact draws from {n:,} x {FEATURES} on disk"
    peak = peak_memory(
        "from zonodpp import ProjectionDPP, sample\n"
        "sample(ProjectionDPP.from_features(lambda: [np.eye(3)]), 1, rng=0)\n"
        f"X = np.memmap({str(path)!r}, np.float32, 'r', 0, ({n}, {FEATURES}))",
        f"sample(ProjectionDPP.from_features(X), {DRAWS}, rng=1)",
    )
    if peak is None:
        return missing(what, NO_PROC)
    return {"what": what, "ratio": peak / 2**20, "unit": "MiB", "at_most": 400.0}


def growth(path: Path, n: int) -> Row:
    """Fit the exponent of time in n, from n rows on.

    With fewer than 10,000,000 rows the pool takes part of the time, so nothing is promised.
    """
    sizes = [round(n * LARGEST ** (k / 4)) for k in range(5)]
    draw(first_rows(path, n))
    rounds = [[draw(first_rows(path, size)) for size in sizes] for _ in range(4)]
    seconds = [min(times) for times in zip(*rounds, strict=True)]
    fit = fit_exponent(sizes, seconds)
    return {
        "what": "time of a target and its draws, n rows on disk: exponent of n minus 1",
        "ratio": abs(fit.exponent - 1),
        **({"at_most": 0.05} if n >= 10_000_000 else {}),
        "exponent": fit.exponent,
        "stderr": fit.stderr,
        "sizes": sizes,
        "seconds": seconds,
    }


def block_of(number: int, rows: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Make a block of uniform rows, which takes less time than Gaussian ones."""
    rng = np.random.default_rng([SEED, number])
    return rng.random((rows, FEATURES), np.float32)


def cluster(quick: bool) -> Row:
    n = (2_000_000 if quick else 100_000_000) // BLOCKS * BLOCKS
    what = f"{DRAWS} exact draws from {n:,} x {FEATURES} on {WORKERS} workers of {WORKER_MEMORY}"
    distributed = peer("distributed")
    if distributed is None:
        return missing(what, "distributed")
    import dask.array as da
    from dask import delayed

    parts = [delayed(block_of)(k, n // BLOCKS) for k in range(BLOCKS)]
    X = da.concatenate([da.from_delayed(p, (n // BLOCKS, FEATURES), np.float32) for p in parts])

    def passes() -> float:
        begun = time.perf_counter()
        delayed(sum)([delayed(gram_pass)(part) for part in parts]).compute()
        return time.perf_counter() - begun

    with (
        distributed.LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            memory_limit=WORKER_MEMORY,
            dashboard_address=":0",
        ) as processes,
        distributed.Client(processes),
    ):
        theirs, ours = passes(), draw(X)
    return {
        "what": f"{what} over one Gram pass",
        "ratio": ours / theirs,
        "microseconds": {"a Gram pass": 1e6 * theirs, "target and draws": 1e6 * ours},
    }


if __name__ == "__main__":
    asked = [name for name in sys.argv[1:] if name != "--quick"]
    for found in measure(asked or ["time", "memory", "growth", "cluster"], "--quick" in sys.argv):
        print(report.line(found), flush=True)
