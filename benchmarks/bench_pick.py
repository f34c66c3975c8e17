"""The best subset: `pick` beside the plain greedy loop, pyversity's DPP and apricot.

The plain loop is fast greedy MAP (Chen, Zhang and Zhou, 2018) over rows of features, as people copy
it. Clusters covered are counted among 300 clusters of very unequal size: half of them have at most
a dozen of the 50,000 rows.
"""

from __future__ import annotations

import pathlib
import resource
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, measured, missing, peer
from zonodpp import pick

CLUSTERS = 300
WIDTH = 384


def run(quick: bool) -> list[Row]:
    return [*small(), *large(quick), *from_disk(quick)]


def once(quick: bool) -> list[Row]:
    return coverage(quick)


def plain_loop(F: np.ndarray, k: int, ridge: float) -> list[int]:
    gains = np.einsum("ij,ij->i", F, F) + F.dtype.type(ridge)
    W = np.zeros((k, F.shape[1]), F.dtype)
    picks: list[int] = []
    for t in range(k):
        item = int(np.argmax(gains))
        picks.append(item)
        W[t] = (F[item] - (W[:t] @ F[item]) @ W[:t]) / np.sqrt(gains[item])
        along = F @ W[t]
        gains -= along * along
        gains[item] = -np.inf
    return picks


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def clusters(n: int, *, equal: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of 300 clusters, float32, and the cluster of each row."""
    rng = np.random.default_rng(SEED)
    shares = np.ones(CLUSTERS) if equal else np.exp(rng.normal(0, 2, size=CLUSTERS))
    sizes = np.maximum(3, (shares / shares.sum() * n).astype(int))
    sizes[np.argmax(sizes)] += n - sizes.sum()
    of = rng.permutation(np.repeat(np.arange(CLUSTERS), sizes))
    centres = unit(rng.standard_normal((CLUSTERS, WIDTH), dtype=np.float32))
    noise = rng.standard_normal((n, WIDTH), dtype=np.float32)
    return unit(centres[of] + np.float32(0.5 / WIDTH**0.5) * noise), of


def small() -> list[Row]:
    """Visual tokens: 64 of 576 rows of 1,024 features, one problem and eight."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((8, 576, 1024), dtype=np.float32)
    rows = []
    for count in (1, 8):
        jobs = {
            "zonodpp": Job(partial(pick, X[:count], 64)),
            "plain loop": Job(partial(_loops, X[:count])),
        }
        seconds = interleaved(jobs, repeats=9)
        what = f"{count} x 576 x 1024, k = 64, float32: ours over the plain loop"
        most = 1.2 if count == 1 else 1.0
        rows.append({"what": what, **compare(seconds, "zonodpp", "plain loop"), "at_most": most})
    return rows


def _loops(X: np.ndarray) -> list[list[int]]:
    return [plain_loop(unit(each), 64, 0.1) for each in X]


def large(quick: bool) -> list[Row]:
    """Training data: many picks of many rows."""
    n, k = (5_000, 200) if quick else (30_000, 1_000)
    F, _ = clusters(n)
    jobs = {
        "zonodpp": Job(partial(pick, F, k)),
        "plain loop": Job(partial(plain_loop, F, k, 0.1)),
    }
    seconds = interleaved(jobs, repeats=2)
    what = f"{n:,} x {WIDTH}, k = {k:,}, float32: plain loop over ours"
    rows: list[Row] = [{"what": what, **compare(seconds, "plain loop", "zonodpp"), "floor": 8.0}]
    n = 20_000 if quick else 100_000
    F, _ = clusters(n)
    seconds = interleaved({"zonodpp": Job(partial(pick, F, k))}, repeats=2)
    what = f"{n:,} x {WIDTH}, k = {k:,}, float32: seconds"
    return [*rows, {"what": what, **measured(seconds["zonodpp"], "s"), "at_most": 1.5}]


def from_disk(quick: bool) -> list[Row]:
    """Pick rows of a memory map in a process of its own: seconds and memory."""
    n, k = (50_000, 100) if quick else (1_000_000, 1_000)
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "rows.npy")
        rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, WIDTH))
        rng = np.random.default_rng(SEED)
        for start in range(0, n, 10_000):
            rows[start : start + 10_000] = rng.standard_normal((10_000, WIDTH), dtype=np.float32)
        rows.flush()
        del rows
        command = [sys.executable, "-m", "benchmarks.bench_pick", path, str(k)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = map(float, done.stdout.split())
    what = f"{n:,} x {WIDTH} from disk, k = {k:,}"
    return [
        {"what": f"{what}: seconds", **measured([seconds], "s")},
        {"what": f"{what}: GiB of memory", **measured([memory], "GiB"), "at_most": 2.0},
    ]


def coverage(quick: bool) -> list[Row]:
    """Clusters of which at least one row is among 500 of 50,000, and seconds beside pyversity."""
    n, k = (10_000, 400) if quick else (50_000, 500)
    X, of = clusters(n, equal=False)
    calls: dict[str, Any] = {
        "volume": partial(pick, X, k),
        "farthest": partial(pick, X, k, objective="farthest"),
    }
    rows: list[Row] = []
    for name, call in calls.items():
        found = len(set(of[call()].tolist()))
        what = f"{k} of {n:,} rows in {CLUSTERS} unequal clusters: clusters covered, {name}"
        rows.append({"what": what, **measured([found], "clusters"), "floor": CLUSTERS})
    # The whole kernel is read for the objective "coverage" and by apricot: fewer rows and picks.
    few, _ = clusters(2_000 if quick else 10_000, equal=False)
    k_few = 100 if quick else 300
    jobs = {"zonodpp": Job(partial(pick, few, k_few, objective="coverage"))}
    if peer("apricot") is None:
        rows.append(missing("coverage beside apricot", "apricot-select"))
    else:
        _apricot(few[:1000], 2)  # compiles
        jobs["apricot"] = Job(partial(_apricot, few, k_few))
        seconds = interleaved(jobs, repeats=2)
        what = f"facility location, {k_few} of {len(few):,} rows: ours over apricot"
        rows.append({"what": what, **compare(seconds, "zonodpp", "apricot"), "at_most": 1.0})
    if peer("pyversity") is None:
        return [*rows, missing("clusters covered by pyversity", "pyversity")]
    jobs = {"zonodpp": Job(calls["volume"]), "pyversity": Job(partial(_pyversity, X, k))}
    seconds = interleaved(jobs, repeats=1)
    found = len(set(of[_pyversity(X, k)].tolist()))
    what = f"{k} of {n:,} rows: ours over pyversity's DPP"
    return [
        *rows,
        {"what": what, **compare(seconds, "zonodpp", "pyversity"), "at_most": 1.0, "peer": found},
    ]


def _pyversity(X: np.ndarray, k: int) -> np.ndarray:
    import pyversity

    found = pyversity.diversify(X, np.ones(len(X)), k=k, strategy="dpp", diversity=1.0)
    return np.asarray(found.indices)


def _apricot(X: np.ndarray, k: int) -> np.ndarray:
    import apricot

    kernel = np.maximum(X @ X.T, 0)
    choice = apricot.FacilityLocationSelection(k, metric="precomputed", optimizer="lazy")
    return np.asarray(choice.fit(kernel).ranking)


def main() -> None:
    """Print the seconds and the GiB of memory that picks from a file take."""
    import time

    begun = time.perf_counter()
    pick(np.load(sys.argv[1], mmap_mode="r"), int(sys.argv[2]))
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(seconds, peak)


if __name__ == "__main__":
    main()
