"""Exchange walks: barker against DPPy for each step, heat-bath against barker in effect."""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, missing, peer
from zonodpp import ProjectionDPP, sample

THEIR_STEPS, OUR_STEPS = 1_000, 500_000
TRIPLETS = 12


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


def steps_of(target: ProjectionDPP, rule: str, start: Any, track: Any = None) -> Job:
    """Make a job of one chain, every step kept; ``start`` spares it the linear program."""
    options = {"method": "exchange", "rule": rule, "init": start, "track": track, "rng": SEED}
    return Job(partial(sample, target, OUR_STEPS, **options), OUR_STEPS)


def against_dppy(quick: bool) -> list[Row]:
    """One step of Algorithm 1, beside ``basis_exchange_sampler`` of DPPy."""
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
        seconds = interleaved(jobs, repeats=3 if quick else 5)
        rows.append({"what": what, "floor": 100.0, **compare(seconds, "dppy", "zonodpp")})
    return rows


def effective_draws(quick: bool) -> list[Row]:
    """Effective draws per second of the indicator of a triplet: bulk ESS over time.

    Typical triplets are those in draws: one out of each of a few exact draws. The median counts.
    """
    arviz = peer("arviz_stats.base")
    rows = []
    for name, target in cases().items():
        what = f"{name}: heat-bath's effective draws/s over barker's"
        if arviz is None:
            rows.append(missing(what, "arviz-stats"))
            continue
        count = TRIPLETS // 3 if quick else TRIPLETS
        draws = sample(target, count, method="exact", rng=SEED).subsets[0]
        rng = np.random.default_rng(SEED)
        triplets = [rng.choice(draw, 3, replace=False) for draw in draws]
        seconds = interleaved(
            {r: steps_of(target, r, draws[0], triplets[:1]) for r in ("heat-bath", "barker")},
            repeats=6 if quick else 8,
        )
        faster = compare(seconds, "barker", "heat-bath")
        worth = {rule: ess_per_step(arviz, target, rule, triplets, quick) for rule in seconds}
        gain = float(np.median(worth["heat-bath"] / worth["barker"]))
        rows.append(
            {
                "what": what,
                "ratio": gain * faster["ratio"],
                "floor": 3.0,
                "ratio_range": [gain * end for end in faster["ratio_range"]],
                "microseconds": faster["microseconds"],
                "ess_per_step": {rule: float(np.median(worth[rule])) for rule in worth},
                "repeats": faster["repeats"],
            }
        )
    return rows


def ess_per_step(
    arviz: Any, target: ProjectionDPP, rule: str, triplets: list[Any], quick: bool
) -> Any:
    """Effective draws a step of each triplet's indicator."""
    steps = (1_000_000 if quick else 2_000_000) // (1 if rule == "barker" else 4)
    run = sample(
        target, steps, method="exchange", rule=rule, burn_in=10_000, track=triplets, rng=SEED
    )
    size = arviz.array_stats.ess
    return np.array([float(size(run.tracked[:, :, j])) / steps for j in range(len(triplets))])
