"""Zonotope hit-and-run: steps against DPPy, effective samples against Algorithm 1, first calls."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
from arviz_stats.base import array_stats

from benchmarks import Job, Row, compare, interleaved, missing, peer
from zonodpp import ProjectionDPP, sample
from zonodpp.datasets import mnist_ones

SEED = 20170411
# what: paper's floor, default's floor, DPPy's steps, our steps with the paper's rule and without
CASES = {
    "K10 weighted, 9 x 45": (100, 150, 200, 100_000, 100_000),
    "BA(20, 2) weighted, 19 x 36": (100, 150, 200, 100_000, 100_000),
    "Gaussian 11 x 64": (60, 100, 100, 10_000, 10_000),
    "MNIST ones, 10 x 1000": (200, 300, 4, 500, 2_000),
    "Gaussian 50 x 500": (50, 60, 4, 200, 500),
}


def run(quick: bool) -> list[Row]:
    return [*against_dppy(quick), *effective_samples(quick), *first_calls(quick)]


def weighted(graph: nx.Graph, rng: np.random.Generator) -> ProjectionDPP:
    """Columns of the incidence matrix times uniform variables, as in the paper."""
    for *_, data in graph.edges(data=True):
        data["weight"] = rng.random() ** 2
    return ProjectionDPP.from_graph(graph, weight="weight")


def targets() -> dict[str, ProjectionDPP]:
    rng = np.random.default_rng(SEED)
    found = [
        weighted(nx.complete_graph(10), rng),
        weighted(nx.barabasi_albert_graph(20, 2, seed=SEED), rng),
        ProjectionDPP(rng.normal(size=(11, 64))),
        ProjectionDPP.from_features(mnist_ones().reshape(1000, -1), rank=10),
        ProjectionDPP(rng.normal(size=(50, 500))),
    ]
    return dict(zip(CASES, found, strict=True))


def dense(target: ProjectionDPP) -> Any:
    A = target.A.toarray() if hasattr(target.A, "toarray") else np.array(target.A)
    return A if target.weights is None else A * np.sqrt(target.weights)


def against_dppy(quick: bool) -> list[Row]:
    """One step, beside DPPy's ``zonotope_sampler`` (GLPK through CVXOPT), one thread."""
    dppy = peer("dppy.mcmc_sampling")
    rows = []
    for name, target in targets().items():
        paper_floor, default_floor, theirs, paper, default = CASES[name]
        if dppy is None or peer("cvxopt") is None:
            rows.append(missing(f"{name}: DPPy's zonotope step over ours", "dppy or cvxopt"))
            continue
        ours = partial(sample, target, method="zonotope", rng=SEED, workers=1)
        call = partial(dppy.zonotope_sampler, dense(target), nb_iter=theirs, random_state=SEED)
        jobs = {
            "dppy": Job(call, theirs),
            "paper": Job(partial(ours, paper, preset="paper"), paper),
            "default": Job(partial(ours, default), default),
        }
        seconds = interleaved(jobs, repeats=2 if quick else 5)
        for kind, floor in (("paper", paper_floor), ("default", default_floor)):
            what = f"{name}: DPPy's zonotope step over ours, {kind}"
            rows.append({"what": what, "floor": floor, **compare(seconds, "dppy", kind)})
    return rows


def effective_samples(quick: bool) -> list[Row]:
    """Effective samples per second of triplets, with averages along the walk, beside barker."""
    rows = []
    for name in list(CASES)[:2]:
        target = targets()[name]
        triplets = typical_triplets(target, 3 if quick else 6)
        kinds = {
            "zonotope": ({"method": "zonotope"}, 5_000 if quick else 20_000),
            "barker": ({"method": "exchange", "rule": "barker"}, 200_000 if quick else 1_000_000),
        }
        ratios = []
        for triplet in triplets:
            rates = {}
            for kind, (options, draws) in kinds.items():
                call = partial(sample, target, draws, track=[triplet], workers=1, **options)
                call(rng=SEED)
                begun = time.perf_counter()
                samples = call(rng=SEED, burn_in=100)
                seconds = time.perf_counter() - begun
                rates[kind] = effective(samples.tracked[:, :, 0], target, triplet) / seconds
            ratios.append(rates["zonotope"] / rates["barker"])
        rows.append(
            {
                "what": f"{name}: effective samples/s of triplets, zonotope over barker",
                "ratio": float(np.median(ratios)),
                "ratio_range": [min(ratios), max(ratios)],
                "floor": 1.0,
                "triplets": triplets,
            }
        )
    return rows


def typical_triplets(target: ProjectionDPP, count: int) -> list[list[int]]:
    rng = np.random.default_rng(SEED)
    found: list[list[int]] = []
    while len(found) < count:
        triplet = sorted(rng.choice(target.n, 3, replace=False).tolist())
        if 0.02 < float(target.inclusion(triplet)) < 0.8:
            found.append(triplet)
    return found


def effective(values: Any, target: ProjectionDPP, triplet: list[int]) -> float:
    """Independent draws of the indicator that would have the same Monte Carlo error."""
    p = float(target.inclusion(triplet))
    mean_ess = float(array_stats.ess(values, chain_axis=0, draw_axis=1, method="mean"))
    return mean_ess * p * (1 - p) / float(values.var())


def first_calls(quick: bool) -> list[Row]:
    """Seconds to the first draw in a fresh process, with a cold cache and with a warm one."""
    script = (
        "import numpy as np; from zonodpp import ProjectionDPP, sample; "
        "A = np.random.default_rng(0).normal(size=(9, 45)); "
        "sample(ProjectionDPP(A), 1, method='zonotope', rng=0)"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, limit in (("cold", 20.0), ("warm", 1.0), ("warm again", 1.0)):
            begun = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", script],
                check=True,
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
            )
            seconds = time.perf_counter() - begun
            what = f"seconds to the first draw of a new process, {kind} cache"
            rows.append({"what": what, "ratio": seconds, "at_most": limit})
    return rows[:2] if quick else rows
