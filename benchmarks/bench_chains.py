"""Chains: effective samples per second, growth of a step's cost, threads, memory.

A chain's step is worth the share of an independent draw by which it lowers the Monte Carlo error
of the inclusion of typical triplets; exact draws and trees are independent, so each is worth one.
Times are interleaved rounds on one thread after set-up, the shares come from a run of their own.

The growth of a step's cost with n and with r is an exponent fitted to logarithms, with its standard
error: it describes the sizes measured, not a limit.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from benchmarks import SEED, Job, Row, compare, fit_exponent, interleaved, left_out, measured
from benchmarks.workloads import (
    BATCHES,
    GRAPHS,
    NAMES,
    Chain,
    indicators,
    targets,
    typical_triplets,
    weighted,
    worth_of_steps,
)
from zonodpp import ProjectionDPP, sample

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
SLICE = 0.04  # seconds of work that are timed at once, for growth
GROWING = ("exact", "heat-bath", "barker", "zonotope", "zonotope, paper")
HELD = ("exact", "heat-bath", "barker", "zonotope")  # methods whose memory is measured
ON_K10 = {"zonotope": "zonotope, paper", "barker": "barker"}  # the paper's two chains there
NO_HIT = "the run was too short: it never held one of these rare triplets"


def run(quick: bool) -> list[Row]:
    return [
        *effective(quick),
        *growth(quick),
        *threads(quick),
        *hundred_chains(quick),
        *memory(quick),
    ]


def effective(quick: bool) -> list[Row]:
    """Return effective samples per second of triplets, for every method on the workloads."""
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
        rows += [effective_row(name, kind, seconds[kind], worth[kind]) for kind in kinds]
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


def effective_row(name: str, kind: str, seconds: list[float], worth: Any) -> Row:
    """Return effective samples per second."""
    what = f"{name}: effective samples of triplets, {kind}"
    if np.median(worth[0]) == 0:
        return left_out(what, NO_HIT)
    return {
        "what": what,
        **spread([1 / s for s in seconds], worth),
        "unit": "/s",
        "picture": "effective",
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


def growth(quick: bool) -> list[Row]:
    """Fit how the cost of a step grows with n and with r."""
    over_n = [(n, 10) for n in (50, 100, 200, 400, 800, 1_600, 3_200)]
    over_r = [(400, r) for r in (5, 10, 20, 40, 80)]
    if quick:
        over_n, over_r = over_n[1:6:2], over_r[:4]
    return [*curve("n", over_n, quick), *curve("r", over_r, quick)]


def curve(axis: str, points: list[tuple[int, int]], quick: bool) -> list[Row]:
    """Time all methods at each size, then fit one exponent for each."""
    times: dict[str, list[list[float]]] = {name: [] for name in GROWING}
    for n, r in points:
        target = ProjectionDPP(np.random.default_rng(SEED).normal(size=(r, n)))
        jobs = {}
        for name in GROWING:
            chain = Chain(target, **METHODS[name])
            jobs[name] = chain.job(steps_for(chain))
        for name, seconds in interleaved(jobs, repeats=2 if quick else 3).items():
            times[name].append(seconds)
    fixed = f"r = {points[0][1]}" if axis == "n" else f"n = {points[0][0]}"
    sizes = [point[0 if axis == "n" else 1] for point in points]
    rows = []
    for name in GROWING:
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
                "picture": "growth",
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


def k10() -> ProjectionDPP:
    return weighted(nx.complete_graph(10), np.random.default_rng(SEED))


def threads(quick: bool) -> list[Row]:
    """Time one thread against two."""
    rows = []
    for name, kind in ON_K10.items():
        # Long enough that starting the chains does not count: about a second on one thread.
        draws, thin = (20_000, 1) if name == "zonotope" else (200_000, 10)
        draws = draws // 4 if quick else draws
        call = partial(sample, k10(), draws, thin=thin, chains=8, rng=SEED, **METHODS[kind])
        jobs = {f"{w} thread": Job(partial(call, workers=w), 1) for w in (1, 2)}
        seconds = interleaved(jobs, repeats=2 if quick else 3)
        what = f"K10, {name}: one thread over two"
        rows.append({"what": what, "floor": 1.7, **compare(seconds, "1 thread", "2 thread")})
    return rows


def hundred_chains(quick: bool) -> list[Row]:
    """Time the paper's hundred chains of 50,000 steps."""
    rows = []
    steps = 2_000 if quick else 50_000
    for name, kind in ON_K10.items():
        target, seconds = k10(), []
        for _ in range(3 if name == "barker" else 1):  # the other takes a third of a minute
            begun = time.perf_counter()
            samples = sample(target, steps, chains=100, rng=SEED, **METHODS[kind])
            seconds.append(time.perf_counter() - begun)
        what = f"K10, {name}: seconds for 100 chains of {steps:,} steps"
        rows.append(
            {
                "what": what,
                **measured(seconds, "s"),
                "at_most": 180.0,
                "bytes_of_draws": samples.subsets.nbytes,
            }
        )
    return rows


def memory(quick: bool) -> list[Row]:
    """Measure what each further chain adds to the peak of memory, without its draws."""
    rows = []
    few, many = (5, 25) if quick else (10, 110)
    for name in NAMES[:1] if quick else (NAMES[0], NAMES[2], NAMES[4]):
        for kind in HELD:
            peaks = [peak(targets()[name], chains, METHODS[kind]) for chains in (few, many)]
            rows.append(
                {
                    "what": f"{name}: memory of a chain, {kind}",
                    "ratio": (peaks[1] - peaks[0]) / (many - few) / 1024,
                    "unit": "KiB",
                    "workload": name,
                    "method": kind,
                }
            )
    return rows


def peak(target: Any, chains: int, options: dict[str, Any]) -> float:
    """Return the peak of traced memory for some chains of one draw, less the draws."""
    call = partial(sample, target, 1, chains=chains, rng=SEED, workers=1, **options)
    call()
    tracemalloc.start()
    try:
        samples = call()
        return tracemalloc.get_traced_memory()[1] - samples.subsets.nbytes
    finally:
        tracemalloc.stop()
