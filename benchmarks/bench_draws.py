"""Exact draws beside DPPy's modes, over n from 100 to 1,000,000 and r from 5 to 200.

A curve of DPPy stops where its next draw is expected to take more than a few seconds; what was
left out is named. Set-up is not timed: our first call does it, and DPPy gets the eigenvectors.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, measured, missing, peer
from benchmarks.workloads import Chain, dppy_draws
from zonodpp import ProjectionDPP

MODES = ("GS", "GS_bis", "KuTa12")
OURS = "zonodpp"
LIMIT = 3.0  # seconds that a draw of a peer may take
# How the modes' times grow with n and with r, to foresee the next point: (n, r).
GROWTH = {"GS": (1, 2), "GS_bis": (1, 2), "KuTa12": (1, 3)}


def run(quick: bool) -> list[Row]:
    over_n = [(n, 50) for n in (100, 1_000, 10_000, 100_000, 1_000_000)]
    over_r = [(1_000, r) for r in (5, 10, 20, 50, 100, 200)]
    if quick:
        over_n, over_r = [(n, 20) for n in (100, 1_000, 10_000)], over_r[:5:2]
    rows: list[Row] = []
    for axis, points in (("n", over_n), ("r", over_r)):
        foreseen = dict.fromkeys(MODES, 0.0)  # seconds of a draw at the present point
        before = points[0]
        for n, r in points:
            for mode in MODES:
                by_n, by_r = GROWTH[mode]
                foreseen[mode] *= (n / before[0]) ** by_n * (r / before[1]) ** by_r
            before = (n, r)
            rows += point(axis, n, r, foreseen, quick)
    return rows


def point(axis: str, n: int, r: int, foreseen: dict[str, float], quick: bool) -> list[Row]:
    """Time one size; put what DPPy's modes took into ``foreseen``."""
    limit = LIMIT / 10 if quick else LIMIT
    X = np.random.default_rng(SEED).standard_normal((n, r))
    modes = [mode for mode in MODES if foreseen[mode] <= limit]
    jobs: dict[str, Job] = {OURS: ours(X, r)}
    finite = peer("dppy.finite_dpps")
    if finite is not None and modes:
        vectors = np.linalg.qr(X)[0]
        for mode in modes:
            many = 10 if n * r**2 < 1e6 and mode != "KuTa12" else 1
            jobs[mode] = Job(partial(dppy_draws(finite, vectors, mode), many), many)
    # A second of ours would do; slow peers are timed twice, after a first call that warms up.
    slow = max((foreseen[mode] for mode in modes), default=0.0) > limit / 10
    seconds = interleaved(jobs, repeats=2 if quick or slow else 3)
    at = {"axis": axis, "n": n, "r": r}
    micro = measured([1e6 * s for s in seconds[OURS]], "us")
    rows = [{"what": f"{n:,} items, r = {r}: our draw ({axis})", **at, "method": OURS, **micro}]
    for mode in MODES:
        what = f"{n:,} items, r = {r}: DPPy's draw ({mode}) over ours ({axis})"
        if finite is None:
            rows.append(missing(what, "dppy"))
        elif mode not in modes:
            why = f"a draw would take about {foreseen[mode]:.0f} s, more than {limit:g} s"
            rows.append(left_out(what, why))
        else:
            foreseen[mode] = min(seconds[mode])
            rows.append({"what": what, **at, "method": mode, **compare(seconds, mode, OURS)})
    return rows


def ours(X: Any, r: int) -> Job:
    count = max(100, int(2e7 / r**3)) if r > 10 else 20_000
    return Chain(ProjectionDPP.from_features(X), "exact").job(min(count, 20_000))
