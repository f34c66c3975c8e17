"""A step of the zonotope chain against the number of items: all tested, a pool, or lazily.

Gaussian columns, the default window, one thread, without the set-up. A row gives microseconds of a
step; the default of a size is compared with a test of all items. DPPy and HiGHS are beside the
chain in the rows of the zonotope, at sizes where a step by linear programs ends.
"""

from __future__ import annotations

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, measured
from benchmarks.workloads import Chain
from zonodpp import ProjectionDPP

SIZES = [(10, 1_000), (10, 10_000), (10, 100_000), (10, 1_000_000), (50, 500), (50, 5_000)]
SIZES += [(50, 20_000), (50, 100_000)]
PRICINGS = ("all", "pool", "lazy")
SLICE = 0.2  # seconds of work that are timed at once
GROWTH = 4.0  # at most, from 10 x 10,000 to 10 x 1,000,000 items: caches
LONGEST = 500.0  # microseconds of a step at 10 x 1,000,000


def run(quick: bool) -> list[Row]:
    rows, defaults = [], {}
    for r, n in SIZES[:3] if quick else SIZES:
        target = ProjectionDPP(np.random.default_rng(SEED).normal(size=(r, n)))
        chains = {pricing: Chain(target, "zonotope", pricing=pricing) for pricing in PRICINGS}
        chains["default"] = Chain(target, "zonotope")
        seconds = interleaved({name: job_of(chain) for name, chain in chains.items()}, repeats=3)
        for name in chains:
            steps = chains[name].count("steps")
            rows.append(
                {
                    "what": f"{r} x {n:,}: a step, {name}",
                    **measured([1e6 * second for second in seconds[name]], "us"),
                    "tiles": chains[name].count("tiles") / steps,
                }
            )
        what = f"{r} x {n:,}: a step, all items over the default"
        rows.append({"what": what, "floor": 0.9, **compare(seconds, "all", "default")})
        defaults[r, n] = seconds["default"]
    if not quick:
        large, small = defaults[10, 1_000_000], defaults[10, 10_000]
        found = compare({"large": large, "small": small}, "large", "small")
        rows.append({"what": "10 x 10,000 to 1,000,000: growth", "at_most": GROWTH, **found})
        large = [1e6 * second for second in large]
        what = "10 x 1,000,000: a step of about 40 tiles"
        rows.append({"what": what, "at_most": LONGEST, **measured(large, "us")})
    return rows


def job_of(chain: Chain) -> Job:
    """Return the job of about as many steps as fill the slice; the first ones warm the chain up."""
    steps = 2
    while True:
        seconds = interleaved({"": chain.job(steps)}, repeats=1)[""][0]
        if seconds * steps > SLICE / 10:
            return chain.job(max(1, int(SLICE / seconds)))
        steps *= 4
