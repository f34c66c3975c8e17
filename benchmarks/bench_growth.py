"""How the cost of a step grows with n and with r: exponents fitted to logarithms.

Gaussian columns, one thread, after set-up. An exponent comes with its standard error; it describes
the sizes measured, not a limit.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from benchmarks import SEED, Row, fit_exponent, interleaved
from benchmarks.workloads import Chain
from zonodpp import ProjectionDPP

METHODS: dict[str, dict[str, Any]] = {
    "exact": {"method": "exact"},
    "heat-bath": {"method": "exchange", "rule": "heat-bath"},
    "barker": {"method": "exchange", "rule": "barker"},
    "zonotope": {"method": "zonotope"},
    "zonotope, paper": {"method": "zonotope", "preset": "paper"},
}
SLICE = 0.04  # seconds of work that are timed at once


def run(quick: bool) -> list[Row]:
    over_n = [(n, 10) for n in (50, 100, 200, 400, 800, 1_600, 3_200)]
    over_r = [(400, r) for r in (5, 10, 20, 40, 80)]
    if quick:
        over_n, over_r = over_n[1:6:2], over_r[:4]
    return [*curve("n", over_n, quick), *curve("r", over_r, quick)]


def curve(axis: str, points: list[tuple[int, int]], quick: bool) -> list[Row]:
    """Time all methods at each size, then fit one exponent for each."""
    times: dict[str, list[list[float]]] = {name: [] for name in METHODS}
    for n, r in points:
        target = ProjectionDPP(np.random.default_rng(SEED).normal(size=(r, n)))
        jobs = {}
        for name, options in METHODS.items():
            chain = Chain(target, **options)
            jobs[name] = chain.job(steps_for(chain))
        for name, seconds in interleaved(jobs, repeats=2 if quick else 3).items():
            times[name].append(seconds)
    fixed = f"r = {points[0][1]}" if axis == "n" else f"n = {points[0][0]}"
    sizes = [point[0 if axis == "n" else 1] for point in points]
    rows = []
    for name in METHODS:
        fit = fit_exponent(sizes, [statistics.median(seconds) for seconds in times[name]])
        rows.append(
            {
                "what": f"{name}: a step's cost as {axis} grows, {fixed}",
                "ratio": fit.exponent,
                "ratio_range": [
                    fit.exponent - 2 * fit.stderr,
                    fit.exponent + 2 * fit.stderr,
                ],
                "unit": "(exponent)",
                "stderr": fit.stderr,
                "axis": axis,
                "method": name,
                "fixed": fixed,
                "sizes": sizes,
                "step_microseconds": [1e6 * statistics.median(s) for s in times[name]],
                "least_microseconds": [1e6 * min(s) for s in times[name]],
                "most_microseconds": [1e6 * max(s) for s in times[name]],
            }
        )
    return rows


def steps_for(chain: Chain) -> int:
    """Return about as many steps as fill the slice; a first few warm the chain up."""
    steps = 4
    while True:
        seconds = interleaved({"": chain.job(steps)}, repeats=1)[""][0]
        if seconds * steps > SLICE / 20 or steps > 1e6:
            return max(1, int(SLICE / seconds))
        steps *= 4
