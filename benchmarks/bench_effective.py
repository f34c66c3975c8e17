"""Effective samples per second of triplets, for every method on the five workloads.

A chain's step is worth the share of an independent draw by which it lowers the Monte Carlo error
of the inclusion of typical triplets; exact draws and trees are independent, so each is worth one.
Times are interleaved rounds on one thread after set-up, the shares come from a run of their own.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from benchmarks import SEED, Row, interleaved, left_out
from benchmarks.workloads import (
    BATCHES,
    GRAPHS,
    NAMES,
    Chain,
    indicators,
    targets,
    typical_triplets,
    worth_of_steps,
)
from zonodpp import sample

# method: arguments of sample(). Exchange walks and "tracked" record the triplets as they go.
METHODS: dict[str, dict[str, Any]] = {
    "zonotope, paper": {"method": "zonotope", "preset": "paper"},
    "zonotope": {"method": "zonotope"},
    "zonotope, tracked": {"method": "zonotope"},
    "barker": {"method": "exchange", "rule": "barker"},
    "metropolis": {"method": "exchange", "rule": "metropolis"},
    "heat-bath": {"method": "exchange", "rule": "heat-bath"},
    "exact": {"method": "exact"},
    "trees": {"method": "trees"},
}
INDEPENDENT = ("exact", "trees")
# About what a step takes, in microseconds: numbers of steps must not depend on the machine.
COSTS = dict(
    zip(
        NAMES,
        (
            dict(zip(METHODS, (8, 8, 50, 0.06, 0.06, 0.2, 2, 1), strict=True)),
            dict(zip(METHODS, (4, 5, 60, 0.06, 0.06, 0.2, 9, 1), strict=True)),
            dict(zip(METHODS, (25, 12, 100, 0.1, 0.1, 0.3, 4, 1), strict=True)),
            dict(zip(METHODS, (500, 110, 900, 0.1, 0.1, 1.0, 4, 1), strict=True)),
            dict(zip(METHODS, (2_500, 800, 6_000, 0.4, 0.4, 2.0, 90, 1), strict=True)),
        ),
        strict=True,
    )
)
THIN = 10  # steps of an exchange walk that are averaged before they are stored
CHAINS = 2
NO_HIT = "the run was too short: it never held one of these rare triplets"


def run(quick: bool) -> list[Row]:
    rows: list[Row] = []
    for name, target in targets().items():
        triplets = typical_triplets(target)
        kinds = {k: v for k, v in METHODS.items() if k != "trees" or name in GRAPHS}
        chains = {
            kind: Chain(target, track=triplets[:1] if is_tracked(kind) else None, **options)
            for kind, options in kinds.items()
        }
        slice_s = 0.02 if quick else 0.15
        jobs = {k: chains[k].job(max(1, int(slice_s * 1e6 / COSTS[name][k]))) for k in chains}
        seconds = interleaved(jobs, repeats=2 if quick else 3)
        worth = {}
        for kind in kinds:
            steps = int((0.25 if quick else 0.8) * 1e6 / COSTS[name][kind])
            most = 500_000 if quick else 2_000_000
            worth[kind] = worth_of(target, kind, triplets, min(steps, most))
        rows += [figure(name, kind, seconds[kind], worth[kind]) for kind in kinds]
        rows += against_barker(name, seconds, worth)
    return rows


def is_tracked(kind: str) -> bool:
    """Tell whether the run records a triplet as it goes, which is how one would estimate it."""
    return kind == "zonotope, tracked" or METHODS[kind]["method"] in ("exchange", *INDEPENDENT)


def worth_of(target: Any, kind: str, triplets: list[list[int]], steps: int) -> Any:
    """Return how many independent draws a step is worth, as `worth_of_steps` does."""
    if kind in INDEPENDENT:
        return np.ones((1, 1))
    thin = THIN if METHODS[kind]["method"] == "exchange" else 1
    draws = max(4 * BATCHES, steps // thin // CHAINS)
    samples = sample(
        target,
        draws,
        chains=CHAINS,
        thin=thin,
        burn_in=max(20, draws * thin // 10),
        track=triplets if is_tracked(kind) else None,
        rng=SEED,
        **METHODS[kind],
    )
    values = samples.tracked if is_tracked(kind) else indicators(samples.subsets, triplets)
    chances = [float(target.inclusion(triplet)) for triplet in triplets]
    return worth_of_steps(values, chances, thin=thin)


def spread(rates: list[float], worth: Any) -> Row:
    """Return the median over triplets and rounds; its range includes the error of the worth."""
    typical = np.median(worth, axis=1)
    low, high = np.quantile(typical / typical[0], (0.05, 0.95))
    rates = [rate * float(typical[0]) for rate in rates]
    return {
        "ratio": statistics.median(rates),
        "ratio_range": [min(rates) * float(low), max(rates) * float(high)],
        "repeats": len(rates),
    }


def figure(name: str, kind: str, seconds: list[float], worth: Any) -> Row:
    """Return effective samples per second."""
    what = f"{name}: effective samples of triplets, {kind}"
    if np.median(worth[0]) == 0:
        return left_out(what, NO_HIT)
    return {
        "what": what,
        **spread([1 / s for s in seconds], worth),
        "unit": "/s",
        "workload": name,
        "method": kind,
        "worth_of_a_step": float(np.median(worth[0])),
        "microseconds": {kind: 1e6 * statistics.median(seconds)},
    }


def against_barker(name: str, seconds: dict[str, list[float]], worth: dict[str, Any]) -> list[Row]:
    """Return how many times more effective samples a second each method has than Algorithm 1."""
    rows = []
    for kind in seconds:
        if kind == "barker":
            continue
        ratios = [b / k for b, k in zip(seconds["barker"], seconds[kind], strict=True)]
        what = f"{name}: effective samples/s, {kind} over barker"
        if min(np.median(worth[k][0]) for k in (kind, "barker")) == 0:
            rows.append(left_out(what, NO_HIT))
            continue
        row = {
            "what": what,
            **spread(ratios, worth[kind] / worth["barker"]),
            "workload": name,
        }
        if kind == "zonotope, tracked" and name in GRAPHS:
            row["floor"] = 1.0
        rows.append(row)
    return rows
