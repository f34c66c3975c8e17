"""Steps of the zonotope chain beside DPPy, and beside the same algorithm on HiGHS.

All on one thread, and steps alone: our set-up is outside. DPPy solves three programs a step by
GLPK, from scratch; scipy three by HiGHS, from scratch; highspy keeps its two models and starts
from the last basis.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, missing, peer
from benchmarks.oracles import HighsOracle, LinprogOracle
from benchmarks.workloads import NAMES, Chain, dense, targets
from paper.algorithm5 import hit_and_run


class Case(NamedTuple):
    """What is promised for a workload, and how many steps are timed at once."""

    paper_floor: float
    default_floor: float
    dppy: int
    linprog: int
    highspy: int
    paper: int
    default: int


CASES = dict(
    zip(
        NAMES,
        (
            Case(100, 150, 50, 10, 50, 20_000, 20_000),
            Case(100, 150, 50, 10, 50, 20_000, 20_000),
            Case(60, 100, 20, 10, 20, 5_000, 8_000),
            Case(200, 300, 3, 3, 10, 200, 600),
            Case(50, 60, 3, 3, 5, 40, 100),
        ),
        strict=True,
    )
)
START = 1 / 3  # of a step: the peers' calls begin with one more program, for the first tile
PEERS = {
    "dppy": ("DPPy (GLPK)", ("dppy.mcmc_sampling", "cvxopt")),
    "linprog": ("HiGHS by scipy", ()),
    "highspy": ("HiGHS, kept model", ("highspy",)),
}


def run(quick: bool) -> list[Row]:
    rows = []
    for name in NAMES:
        jobs, absent = jobs_of(name)
        seconds = interleaved(jobs, repeats=2 if quick else 4)
        for their, (label, _) in PEERS.items():
            for our in ("paper", "default"):
                what = f"{name}: step of {label} over ours, {our}"
                if their in absent:
                    rows.append(missing(what, absent[their]))
                    continue
                row = {"what": what, "workload": name, "peer": label, "ours": our}
                if their == "dppy":
                    row["floor"] = getattr(CASES[name], f"{our}_floor")
                rows.append({**row, **compare(seconds, their, our)})
    return rows


def jobs_of(name: str) -> tuple[dict[str, Job], dict[str, str]]:
    """Return what is timed on a workload, and the packages that peers lack."""
    case, target = CASES[name], targets()[name]
    A: Any = dense(target)
    absent = {}
    for their, (_, modules) in PEERS.items():
        lacking = [module.split(".")[0] for module in modules if peer(module) is None]
        if lacking:
            absent[their] = " and ".join(lacking)
    jobs = {}
    if "dppy" not in absent:
        theirs = peer("dppy.mcmc_sampling").zonotope_sampler
        call = partial(theirs, A, nb_iter=case.dppy, random_state=SEED)
        jobs["dppy"] = Job(call, case.dppy - 1 + START)  # its first iteration is the start
    c = np.random.default_rng(SEED).standard_normal(A.shape[1])
    oracles: dict[str, Any] = {"linprog": LinprogOracle(A, c)}
    if "highspy" not in absent:
        oracles["highspy"] = HighsOracle(A, c)
    for their, oracle in oracles.items():
        steps = getattr(case, their)
        jobs[their] = Job(partial(chain, A, oracle, steps), steps + START)
    jobs["paper"] = Chain(target, "zonotope", preset="paper").job(case.paper)
    jobs["default"] = Chain(target, "zonotope").job(case.default)
    return jobs, absent


def chain(A: Any, oracle: Any, steps: int) -> None:
    hit_and_run(A, oracle, steps, np.random.default_rng(SEED))
