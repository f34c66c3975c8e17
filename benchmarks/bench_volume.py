"""Volumes of zonotopes: seconds until the standard error is below a share of the volume.

For scale, volesti (cooling balls) takes 5 to 8 s for about 5% on Gaussian 10 x 100, and minutes on
50 x 200.
"""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, measured
from zonodpp import Zonotope
from zonodpp.zonotope._volume import estimate_volume

SLOW = "Gaussian 100 x 200"


def run(quick: bool) -> list[Row]:
    return [*estimates(quick), *against_sums(quick)]


def against_sums(quick: bool) -> list[Row]:
    """Estimate to 1%, beside the sum over all bases where that is possible."""
    rows = []
    for r, n in ((4, 24), (5, 30)) if quick else ((4, 24), (5, 30), (6, 36)):
        A = np.random.default_rng(SEED).normal(size=(r, n))
        estimate = partial(estimate_volume, A, rel_error=0.01, rng=SEED)
        sums = partial(Zonotope(A).volume, "exact")
        jobs = {"sum over bases": Job(sums), "estimate": Job(estimate)}
        seconds = interleaved(jobs, repeats=2 if quick else 3)
        found, true = estimate(), float(sums().value)
        rows.append(
            {
                "what": f"Gaussian {r} x {n}: exact sum over bases over estimate to 1%, time",
                **compare(seconds, "sum over bases", "estimate"),
                "off_by_standard_errors": abs(found.value - true) / found.stderr,
            }
        )
    return rows


def estimates(quick: bool) -> list[Row]:
    rng = np.random.default_rng(SEED)
    centres = rng.normal(size=(20, 20))[:, rng.integers(20, size=200)]
    cases = [
        ("Gaussian 10 x 100", rng.normal(size=(10, 100)), 0.02, 1.0),
        ("Gaussian 50 x 200", rng.normal(size=(50, 200)), 0.03, 60.0),
        ("Gaussian 100 x 200", rng.normal(size=(100, 200)), 0.05, 60.0),
        (
            "lognormal lengths 10 x 100",
            rng.normal(size=(10, 100)) * rng.lognormal(sigma=1.5, size=100),
            0.03,
            1.0,
        ),
        ("clustered 20 x 200", centres + 0.1 * rng.normal(size=(20, 200)), 0.03, 10.0),
    ]
    if not quick:
        return [measure(*case, repeats=3) for case in cases]
    rows = [measure(*case, repeats=2) for case in cases if case[0] != SLOW]
    return [*rows, left_out(SLOW, "a quick run leaves it out")]


def measure(name: str, A: np.ndarray, rel_error: float, at_most: float, *, repeats: int) -> Row:
    found = []

    def estimate() -> None:
        found.append(estimate_volume(A, rel_error=rel_error, rng=SEED + len(found)))

    seconds = interleaved({name: Job(estimate)}, repeats=repeats)[name]
    logs = [estimate.log_value for estimate in found]
    return {
        "what": f"{name}: seconds to {rel_error:.0%} standard error",
        **measured(seconds, "s"),
        "at_most": at_most,
        "relative_error": max(estimate.relative for estimate in found),
        "spread_of_repeats": statistics.stdev(logs),
        "draws": statistics.median(estimate.draws for estimate in found),
        "effective_share": min(estimate.effective_share for estimate in found),
        "log_volume": statistics.mean(logs),
    }
