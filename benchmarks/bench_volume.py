"""Volumes of zonotopes: seconds until the standard error is below a share of the volume.

For scale, volesti (cooling balls) takes 5 to 8 s for about 5% on Gaussian 10 x 100, and minutes on
50 x 200.
"""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks import Job, Row, interleaved
from zonodpp.volume import estimate_volume

SEED = 20170411


def run(quick: bool) -> list[Row]:
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
    return [measure(*case, repeats=2 if quick else 5) for case in cases]


def measure(name: str, A: np.ndarray, rel_error: float, at_most: float, *, repeats: int) -> Row:
    found = []

    def estimate() -> None:
        found.append(estimate_volume(A, rel_error=rel_error, rng=SEED + len(found)))

    seconds = interleaved({name: Job(estimate)}, repeats=repeats)[name]
    logs = [estimate.log_value for estimate in found]
    return {
        "what": f"{name}: seconds to {rel_error:.0%} standard error",
        "ratio": statistics.median(seconds),
        "at_most": at_most,
        "seconds_range": [min(seconds), max(seconds)],
        "relative_error": max(estimate.relative for estimate in found),
        "spread_of_repeats": statistics.stdev(logs),
        "draws": statistics.median(estimate.draws for estimate in found),
        "effective_share": min(estimate.effective_share for estimate in found),
        "log_volume": statistics.mean(logs),
        "repeats": repeats,
    }
