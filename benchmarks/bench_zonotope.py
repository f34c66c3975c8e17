"""The programs of a zonotope by themselves: the tile of a point, the ends of a line.

Ours starts from the basis at hand and checks its input; HiGHS keeps its model; GLPK starts from
scratch.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, missing, peer
from benchmarks.oracles import HighsOracle
from benchmarks.workloads import NAMES, dense, targets
from paper.algorithm5 import GlpkOracle
from zonodpp import Zonotope

POINTS = dict(zip(NAMES, (20, 20, 20, 2, 2), strict=True))
SOLVERS: dict[str, tuple[str, str, Any]] = {
    "highs": ("HiGHS, kept model", "highspy", HighsOracle),
    "glpk": ("GLPK", "cvxopt", GlpkOracle),
}


def run(quick: bool) -> list[Row]:
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
