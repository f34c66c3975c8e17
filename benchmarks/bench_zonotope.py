"""The zonotope: steps of its chain, tiles and chords by themselves, volumes.

Steps are timed on one thread, without the set-up, beside DPPy, which solves three programs a step
by GLPK, from scratch, and beside the same algorithm on HiGHS, which keeps its two models and starts
from the last basis. The programs are timed by themselves too: the tile of a point, the ends of a
line. Ours start from the basis at hand and check their input.

Volumes are seconds until the standard error is below a share of the volume. For scale, volesti
(cooling balls) takes 5 to 8 s for about 5% on Gaussian 10 x 100, and minutes on 50 x 200.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, measured, missing, peer
from benchmarks.peers import HighsOracle
from benchmarks.workloads import NAMES, Chain, dense, targets
from paper.algorithm5 import GlpkOracle, hit_and_run
from zonodpp import Zonotope
from zonodpp.zonotope.volume import estimate_volume


class Case(NamedTuple):
    """What is promised for a workload, and how many steps are timed at once."""

    paper_floor: float
    default_floor: float
    dppy: int
    highspy: int
    paper: int
    default: int


CASES = dict(
    zip(
        NAMES,
        (
            Case(100, 150, 50, 50, 20_000, 20_000),
            Case(100, 150, 50, 50, 20_000, 20_000),
            Case(60, 100, 20, 20, 5_000, 8_000),
            Case(200, 300, 3, 10, 200, 600),
            Case(50, 60, 3, 5, 40, 100),
        ),
        strict=True,
    )
)
START = 1 / 3  # of a step: the peers' calls begin with one more program, for the first tile
PEERS = {
    "dppy": ("DPPy (GLPK)", ("dppy.mcmc_sampling", "cvxopt")),
    "highspy": ("HiGHS, kept model", ("highspy",)),
}
POINTS = dict(zip(NAMES, (20, 20, 20, 2, 2), strict=True))
SOLVERS: dict[str, tuple[str, str, Any]] = {
    "highs": ("HiGHS, kept model", "highspy", HighsOracle),
    "glpk": ("GLPK", "cvxopt", GlpkOracle),
}
SLOW_VOLUME = "Gaussian 100 x 200"


def run(quick: bool) -> list[Row]:
    return [*steps(quick), *programs(quick), *estimates(quick), *against_sums(quick)]


def steps(quick: bool) -> list[Row]:
    """Time a step beside those of the peers."""
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
                row = {
                    "what": what,
                    "picture": "steps",
                    "workload": name,
                    "peer": label,
                    "ours": our,
                }
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
    if "highspy" not in absent:
        call = partial(chain, A, HighsOracle(A, c), case.highspy)
        jobs["highspy"] = Job(call, case.highspy + START)
    jobs["paper"] = Chain(target, "zonotope", preset="paper").job(case.paper)
    jobs["default"] = Chain(target, "zonotope").job(case.default)
    return jobs, absent


def chain(A: Any, oracle: Any, steps: int) -> None:
    hit_and_run(A, oracle, steps, np.random.default_rng(SEED))


def programs(quick: bool) -> list[Row]:
    """Time the tile of a point and the ends of a line."""
    rows = []
    for name in NAMES[::2] if quick else NAMES:
        A: Any = dense(targets()[name])
        rng = np.random.default_rng(SEED)
        c = rng.standard_normal(A.shape[1])
        points = [A @ rng.random(A.shape[1]) for _ in range(POINTS[name])]
        lines = [(x, rng.standard_normal(len(A))) for x in points]
        have = [s for s, (_, module, _) in SOLVERS.items() if peer(module) is not None]
        jobs = {}
        for solver in ("native", *have):
            who: Any = SOLVERS[solver][2](A, c) if solver in SOLVERS else Zonotope(A, c=c)
            tile = who.solve if solver in SOLVERS else who.tile
            jobs[f"{solver} tile"] = Job(partial(tiles, tile, points), len(points))
            jobs[f"{solver} chord"] = Job(partial(chords, who.chord, lines), len(lines))
        seconds = interleaved(jobs, repeats=2 if quick else 3)
        for solver, (label, module, _) in SOLVERS.items():
            for kind in ("tile", "chord"):
                what = f"{name}: {kind} by {label} over ours"
                if solver not in have:
                    rows.append(missing(what, module))
                    continue
                found = compare(seconds, f"{solver} {kind}", f"native {kind}")
                rows.append({"what": what, "workload": name, **found})
    return rows


def tiles(tile: Any, points: list[Any]) -> None:
    for x in points:
        tile(x)


def chords(chord: Any, lines: list[tuple[Any, Any]]) -> None:
    for x, d in lines:
        chord(x, d)


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
        return [measure_volume(*case, repeats=3) for case in cases]
    rows = [measure_volume(*case, repeats=2) for case in cases if case[0] != SLOW_VOLUME]
    return [*rows, left_out(SLOW_VOLUME, "a quick run leaves it out")]


def measure_volume(
    name: str, A: np.ndarray, rel_error: float, at_most: float, *, repeats: int
) -> Row:
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
