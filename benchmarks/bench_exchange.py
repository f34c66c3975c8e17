"""Exchange walks: barker against DPPy for each step, heat-bath against barker in effect."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from benchmarks import Job, Row, compare, interleaved, missing, peer
from zonodpp import ProjectionDPP, sample

SEED = 20170411
THEIR_STEPS, OUR_STEPS = 1_000, 500_000
TRIPLETS = 7


def run(quick: bool) -> list[Row]:
    return [*against_dppy(quick), *effective_draws(quick)]


def cases() -> dict[str, ProjectionDPP]:
    rng = np.random.default_rng(SEED)
    scale_free = nx.barabasi_albert_graph(20, 2, seed=SEED)
    for *_, data in scale_free.edges(data=True):
        data["weight"] = rng.uniform(0.5, 2.0)
    return {
        "K10 graph, 9 x 45": ProjectionDPP.from_graph(nx.complete_graph(10)),
        "BA(20, 2) weighted, 19 x 36": ProjectionDPP.from_graph(scale_free, weight="weight"),
        "Gaussian 11 x 64": ProjectionDPP(rng.normal(size=(11, 64))),
    }


def steps_of(target: ProjectionDPP, rule: str, start: Any) -> Job:
    def call() -> None:
        sample(target, OUR_STEPS, method="exchange", rule=rule, init=start, rng=SEED)

    return Job(call, OUR_STEPS)


def against_dppy(quick: bool) -> list[Row]:
    """One step, every one kept, beside ``basis_exchange_sampler`` of DPPy."""
    dppy = peer("dppy.mcmc_sampling")
    rows = []
    for name, target in list(cases().items())[:2]:
        what = f"{name}: DPPy's exchange step over barker's"
        if dppy is None:
            rows.append(missing(what, "dppy"))
            continue
        start = sample(target, 1, method="exact", rng=SEED).subsets[0, 0].tolist()

        theirs = partial(
            dppy.basis_exchange_sampler, target.kernel(), start, THEIR_STEPS, random_state=SEED
        )
        jobs = {"dppy": Job(theirs, THEIR_STEPS), "zonodpp": steps_of(target, "barker", start)}
        seconds = interleaved(jobs, repeats=3 if quick else 9)
        rows.append({"what": what, "floor": 100.0, **compare(seconds, "dppy", "zonodpp")})
    return rows


def effective_draws(quick: bool) -> list[Row]:
    """Effective draws per second of triplets' indicators: bulk ESS, the median triplet."""
    arviz = peer("arviz_stats.base")
    rows = []
    for name, target in cases().items():
        what = f"{name}: heat-bath's effective draws per second over barker's"
        if arviz is None:
            rows.append(missing(what, "arviz-stats"))
            continue
        start = sample(target, 1, method="exact", rng=SEED).subsets[0, 0]
        seconds = interleaved(
            {rule: steps_of(target, rule, start) for rule in ("heat-bath", "barker")},
            repeats=3 if quick else 9,
        )
        faster = compare(seconds, "barker", "heat-bath")
        worth = {rule: ess_per_step(arviz, target, rule) for rule in seconds}
        gains = [h / b for h, b in zip(worth["heat-bath"], worth["barker"], strict=True)]
        gain = statistics.median(gains)
        rows.append(
            {
                "what": what,
                "ratio": gain * faster["ratio"],
                "floor": 3.0,
                "ratio_range": [gain * end for end in faster["ratio_range"]],
                "microseconds": faster["microseconds"],
                "ess_per_step": {rule: statistics.median(worth[rule]) for rule in worth},
                "repeats": faster["repeats"],
            }
        )
    return rows


def ess_per_step(arviz: Any, target: ProjectionDPP, rule: str) -> list[float]:
    """Effective draws a step of the indicators of triplets as likely as most."""
    rng = np.random.default_rng(SEED)
    triplets = np.array([rng.choice(target.n, 3, replace=False) for _ in range(500)])
    chances = target.inclusion(triplets)
    likely = np.argsort(np.abs(chances - np.median(chances[chances > 1e-9])), kind="stable")
    track = triplets[likely[:TRIPLETS]]
    steps = OUR_STEPS // (1 if rule == "barker" else 4)
    tracked = sample(
        target, steps, method="exchange", rule=rule, burn_in=10_000, track=track, rng=SEED
    ).tracked
    return [
        float(arviz.array_stats.ess(tracked[:, :, j], method="bulk")) / steps
        for j in range(TRIPLETS)
    ]
