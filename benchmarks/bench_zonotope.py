"""The programs of a zonotope by themselves: the tile of a point, the ends of a line.

Ours starts from the basis at hand; HiGHS keeps its model; GLPK starts from scratch. Calls go
through `Zonotope`, so that checks of the input are in all of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, missing, peer
from benchmarks.workloads import NAMES, dense, targets
from zonodpp import Zonotope

POINTS = dict(zip(NAMES, (20, 20, 20, 2, 2), strict=True))
SOLVERS = {"highs": ("HiGHS, kept model", "highspy"), "glpk": ("GLPK", "cvxopt")}


def run(quick: bool) -> list[Row]:
    rows = []
    for name in NAMES[::2] if quick else NAMES:
        A: Any = dense(targets()[name])
        rng = np.random.default_rng(SEED)
        c = rng.standard_normal(A.shape[1])
        points = [A @ rng.random(A.shape[1]) for _ in range(POINTS[name])]
        lines = [(x, rng.standard_normal(len(A))) for x in points]
        have = [s for s, (_, module) in SOLVERS.items() if peer(module) is not None]
        jobs = {}
        for solver in ("native", *have):
            zonotope = Zonotope(A, c=c, solver=solver)
            jobs[f"{solver} tile"] = Job(partial(tiles, zonotope, points), len(points))
            jobs[f"{solver} chord"] = Job(partial(chords, zonotope, lines), len(lines))
        seconds = interleaved(jobs, repeats=2 if quick else 3)
        for solver, (label, module) in SOLVERS.items():
            for kind in ("tile", "chord"):
                what = f"{name}: {kind} by {label} over ours"
                if solver not in have:
                    rows.append(missing(what, module))
                    continue
                found = compare(seconds, f"{solver} {kind}", f"native {kind}")
                rows.append({"what": what, "workload": name, **found})
    return rows


def tiles(zonotope: Zonotope, points: list[Any]) -> None:
    for x in points:
        zonotope.tile(x)


def chords(zonotope: Zonotope, lines: list[tuple[Any, Any]]) -> None:
    for x, d in lines:
        zonotope.chord(x, d)
