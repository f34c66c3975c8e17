"""Landmarks: Nystroem error against uniform and k-means++ landmarks, and time and memory of a fit.

The error is ``|K - K_nm K_mm^+ K_mn|^2 / |K|^2`` (Frobenius norms) with an rbf kernel, a mean
over seeds.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from benchmarks import Job, Row, compare, interleaved, missing, peer
from zonodpp.datasets import mnist_ones

SEED = 20170411
SHAPE = (1_000_000, 50)
TUNED_ON = "MNIST ones"
BEST = "kernel, best of 100"
DESIGNS: dict[str, dict[str, Any]] = {
    "kernel, 1 draw": {"transformer": "kernel"},
    BEST: {"transformer": "kernel", "n_draws": 100},
    "kernel, outliers kept, 1 draw": {"transformer": "kernel", "downweight_outliers": False},
    "pca, 1 draw": {},
    "pca, best of 100": {"n_draws": 100},
    "pca, outliers kept, 1 draw": {"downweight_outliers": False},
}


def run(quick: bool) -> list[Row]:
    if peer("sklearn") is None:
        return [missing("landmarks", "scikit-learn")]
    return time_of_fit(quick)


def once(quick: bool) -> list[Row]:
    """Mean error of the best design over that of k-means++, with the errors of all designs.

    The design was chosen on the MNIST ones; the digits of scikit-learn had no part in that.
    """
    if peer("sklearn") is None:
        return []
    digits = peer("sklearn.datasets").load_digits().data[:1000] / 16
    cases = [(TUNED_ON, mnist_ones().reshape(1000, -1), 6), ("digits", digits, 6)]
    if quick:
        return [measure(*cases[0][:2], 1, 10, 3), *memory(quick)]
    rows = [
        measure(name, X, times, m, seeds)
        for name, X, seeds in cases
        for times in (1, 4)
        for m in (10, 20, 50)
    ]
    return [*rows, *memory(quick)]


def measure(name: str, X: np.ndarray, times: int, m: int, seeds: int) -> Row:
    gamma = times / (X.shape[1] * X.var())
    K = peer("sklearn.metrics.pairwise").rbf_kernel(X, gamma=gamma)
    designs = {k: v for k, v in DESIGNS.items() if "kept" not in k or name == TUNED_ON}
    errors = all_errors(X, K, gamma, m, seeds, designs)
    means = {design: float(np.mean(found)) for design, found in errors.items()}
    doubts = {k: float(np.std(found, ddof=1) / np.sqrt(seeds)) for k, found in errors.items()}
    ratio = means[BEST] / means["k-means++"]
    doubt = 2 * float(np.hypot(*(doubts[k] / means[k] for k in (BEST, "k-means++"))))
    return {
        "what": f"{name}, gamma {times} x scale, {m} landmarks: error over k-means++",
        "ratio": ratio,
        "ratio_range": [ratio * (1 - doubt), ratio * (1 + doubt)],
        "at_most": 1.0,
        "errors": means,
        "standard_errors": doubts,
        "best_of_rank_m": best_of_rank(K, m),
        "seeds": seeds,
    }


def all_errors(
    X: np.ndarray, K: np.ndarray, gamma: float, m: int, seeds: int, designs: dict[str, Any]
) -> dict[str, list[float]]:
    from zonodpp.apps import LandmarkSelector

    choose: dict[str, Callable[[int], np.ndarray]] = {
        "uniform": lambda seed: np.random.default_rng(seed).choice(len(K), m, replace=False),
        "k-means++": lambda seed: peer("sklearn.cluster").kmeans_plusplus(X, m, random_state=seed)[
            1
        ],
    }
    for name, settings in designs.items():
        choose[name] = lambda seed, settings=settings: (
            LandmarkSelector(m, gamma=gamma, random_state=seed, **settings).fit(X).indices_
        )
    return {name: [error(K, pick(s)) for s in range(seeds)] for name, pick in choose.items()}


def error(K: np.ndarray, B: np.ndarray) -> float:
    B = np.unique(B)
    left = K - K[:, B] @ scipy.linalg.pinvh(K[np.ix_(B, B)]) @ K[B]
    return float((left**2).sum() / (K**2).sum())


def best_of_rank(K: np.ndarray, m: int) -> float:
    values = np.linalg.eigvalsh(K)
    return float((values[:-m] ** 2).sum() / (values**2).sum())


def time_of_fit(quick: bool) -> list[Row]:
    """Time a fit beside one Gram matrix by BLAS, the least that any PCA does."""
    from zonodpp.apps import LandmarkSelector

    n = SHAPE[0] // 5 if quick else SHAPE[0]
    X = np.random.default_rng(SEED).standard_normal((n, SHAPE[1]))
    seconds = interleaved(
        {
            "fit": Job(lambda: LandmarkSelector(10, random_state=0).fit(X)),
            "Gram matrix": Job(lambda: X.T @ X),
        },
        repeats=3 if quick else 4,
    )
    what = f"X of {n:,} x {SHAPE[1]}: fit of 10 landmarks over one Gram matrix"
    return [{"what": what, "at_most": 10.0, **compare(seconds, "fit", "Gram matrix")}]


PEAK = r"""
import json, re
import numpy as np
from zonodpp.apps import LandmarkSelector

def peak():  # of this process alone; getrusage would begin with the parent's
    with open("/proc/self/status") as lines:
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", lines.read())[1])

rng = np.random.default_rng({seed})
LandmarkSelector(10, random_state=0).fit(rng.standard_normal((5000, 50)))
before = peak()
matrix = np.empty(({n}, 50))
rng.standard_normal(out=matrix)
LandmarkSelector(10, random_state=0).fit(matrix)
print(json.dumps({{"bytes": matrix.nbytes, "peak": peak() - before}}))
"""


def memory(quick: bool) -> list[Row]:
    """Peak memory of a fresh process, X itself included, over the bytes of X."""
    n = SHAPE[0] // 5 if quick else SHAPE[0]
    what = f"X of {n:,} x {SHAPE[1]}: peak memory over X"
    if not pathlib.Path("/proc/self/status").exists():
        return [missing(what, "/proc (Linux)")]
    program = PEAK.format(n=n, seed=SEED)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    return [{"what": what, "ratio": found["peak"] / found["bytes"], "at_most": 2.0, **found}]
