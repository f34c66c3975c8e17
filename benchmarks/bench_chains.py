"""Many chains: the paper's hundred chains of 50,000 steps, and two threads against one."""

from __future__ import annotations

import time
from functools import partial

import networkx as nx
import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, measured
from benchmarks.workloads import weighted
from zonodpp import ProjectionDPP, sample


def run(quick: bool) -> list[Row]:
    return [*threads(quick), *hundred_chains(quick)]


def k10() -> ProjectionDPP:
    return weighted(nx.complete_graph(10), np.random.default_rng(SEED))


METHODS = {
    "zonotope": {"method": "zonotope", "preset": "paper"},
    "barker": {"method": "exchange", "rule": "barker"},
}


def threads(quick: bool) -> list[Row]:
    rows = []
    for name, options in METHODS.items():
        # Long enough that starting the chains does not count: about a second on one thread.
        draws, thin = (20_000, 1) if name == "zonotope" else (200_000, 10)
        draws = draws // 4 if quick else draws
        call = partial(sample, k10(), draws, thin=thin, chains=8, rng=SEED, **options)
        jobs = {f"{w} thread": Job(partial(call, workers=w), 1) for w in (1, 2)}
        seconds = interleaved(jobs, repeats=2 if quick else 3)
        what = f"K10, {name}: one thread over two"
        rows.append({"what": what, "floor": 1.7, **compare(seconds, "1 thread", "2 thread")})
    return rows


def hundred_chains(quick: bool) -> list[Row]:
    rows = []
    steps = 2_000 if quick else 50_000
    for name, options in METHODS.items():
        target, seconds = k10(), []
        for _ in range(3 if name == "barker" else 1):  # the other takes a third of a minute
            begun = time.perf_counter()
            samples = sample(target, steps, chains=100, rng=SEED, **options)
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
