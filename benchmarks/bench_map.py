"""MAP: greedy picks and exchanges among 100,000 items.

The peer is the fast greedy algorithm of Chen, Zhang and Zhou in numpy, column by column of the
kernel, as it is usually written.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, measured
from zonodpp import DPP, ProjectionDPP, find_map
from zonodpp.features import rp_cholesky

RIDGE = 0.1


def run(quick: bool) -> list[Row]:
    return [*large(quick), *against_columns(quick), *landmarks(quick)]


def large(quick: bool) -> list[Row]:
    """Pick 100 out of 100,000 items with 50 features and a ridge."""
    n = 20_000 if quick else 100_000
    target = DPP.from_features(np.random.default_rng(SEED).normal(size=(n, 50)))
    call = partial(find_map, target, k=100, ridge=RIDGE)
    jobs = {"greedy": Job(partial(call, swaps=False)), "exchanges": Job(call)}
    seconds = interleaved(jobs, repeats=2)
    found = {"greedy": call(swaps=False), "exchanges": call()}
    return [
        {
            "what": f"k = 100 of {n:,}, 50 features, ridge: seconds, {name}",
            **measured(seconds[name], "s"),
            "at_most": at_most,
            "log_det": found[name].log_weight,
            "swaps": found[name].swaps,
        }
        for name, at_most in (("greedy", 5.0), ("exchanges", 20.0))
    ]


def greedy_by_columns(Phi: np.ndarray, k: int, ridge: float) -> list[int]:
    n = len(Phi)
    left = np.einsum("ij,ij->i", Phi, Phi) + ridge
    rows = np.zeros((k, n))
    picks: list[int] = []
    for t in range(k):
        j = int(np.argmax(left))
        row = Phi @ Phi[j] - rows[:t].T @ rows[:t, j]
        row[j] += ridge
        rows[t] = row / np.sqrt(left[j])
        left -= rows[t] ** 2
        picks.append(j)
        left[picks] = -np.inf
    return picks


def against_columns(quick: bool) -> list[Row]:
    n = 20_000 if quick else 100_000
    Phi = np.random.default_rng(SEED).normal(size=(n, 50))
    target = DPP.from_features(Phi)
    jobs = {
        "columns": Job(partial(greedy_by_columns, Phi, 100, RIDGE)),
        "zonodpp": Job(partial(find_map, target, k=100, ridge=RIDGE, swaps=False)),
    }
    seconds = interleaved(jobs, repeats=2)
    ours = find_map(target, k=100, ridge=RIDGE, swaps=False).subset
    what = f"k = 100 of {n:,}: greedy by columns of the kernel over ours"
    return [
        {
            "what": what,
            "picks_in_common": int(np.isin(ours, jobs["columns"].call()).sum()),
            **compare(seconds, "columns", "zonodpp"),
        }
    ]


def landmarks(quick: bool) -> list[Row]:
    """Fifty landmarks from points, an rbf kernel, rp_cholesky and MAP, from data to answer."""
    n = 20_000 if quick else 100_000
    X = np.random.default_rng(SEED).normal(size=(n, 10))

    def pick() -> None:
        find_map(ProjectionDPP.from_features(rp_cholesky(X, 50, rng=SEED)))

    seconds = interleaved({"landmarks": Job(pick)}, repeats=2)["landmarks"]
    return [
        {
            "what": f"50 landmarks of {n:,} points: seconds, kernel to MAP",
            **measured(seconds, "s"),
            "at_most": 30.0,
        }
    ]
