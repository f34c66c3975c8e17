"""Random spanning trees: Algorithm 5 against Algorithm 1 (the paper's figures 2 and 3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from paper.algorithm5 import GlpkOracle, hit_and_run
from paper.spanning_trees_figures import figures
from paper.spanning_trees_verdicts import verdicts
from zonodpp._types import Floats
from zonodpp.chains.tracking import TrackedSets, presence
from zonodpp.diagnostics import psrf_evolution
from zonodpp.runs.sample import sample
from zonodpp.samples import Samples
from zonodpp.targets import ProjectionDPP
from zonodpp.zonotope import Zonotope

__all__ = ["INTRODUCTION", "SAMPLERS", "TITLE", "figures", "run", "verdicts"]

TITLE = "Spanning trees"
INTRODUCTION = (
    "Spanning trees of two small graphs with random edge weights, drawn by Algorithm 5 (hit-and-"
    "run on the zonotope) and by Algorithm 1 (exchange of one edge) from the same first trees. "
    "Their quality is read off an estimate whose true value is known: the probability that three "
    "given edges are in the tree. Three edges are typical if their probability is the median over "
    "all triplets."
)

STEPS = 50_000  # of Algorithm 5 in the paper's 70 seconds
RATIO = 20  # Algorithm 1 made a million steps in that time
POINTS = 100  # of a curve
TRIPLETS = 9  # at the deciles of their probabilities; the middle one is the typical one
BLOCK = 1_000_000  # draws held at once
TIMED = 0.05  # seconds of a run that is timed
LONGEST = 200  # times the steps of Algorithm 5 that Algorithm 1 may make in the same time

Draw = Callable[..., Samples]


def _algorithm_5(target: ProjectionDPP, draws: int, *, c: Floats, sets: Any, **how: Any) -> Samples:
    return sample(target, draws, method="zonotope", preset="paper", c=c, **how)


def _algorithm_1(target: ProjectionDPP, draws: int, *, c: Floats, sets: Any, **how: Any) -> Samples:
    return sample(target, draws, method="exchange", rule="barker", **how)


def _exact_line(target: ProjectionDPP, draws: int, *, c: Floats, sets: Any, **how: Any) -> Samples:
    return sample(target, draws, method="zonotope", **how)


def _averaged(target: ProjectionDPP, draws: int, *, c: Floats, sets: Any, **how: Any) -> Samples:
    return sample(target, draws, method="zonotope", reflect=False, track=sets, **how)


def _heat_bath(target: ProjectionDPP, draws: int, *, c: Floats, sets: Any, **how: Any) -> Samples:
    return sample(target, draws, method="exchange", rule="heat-bath", **how)


def _exact(target: ProjectionDPP, draws: int, *, c: Floats, sets: Any, **how: Any) -> Samples:
    how.pop("init")
    return sample(target, draws, method="exact", **how)


SAMPLERS: dict[str, Draw] = {
    "Algorithm 5": _algorithm_5,
    "Algorithm 1": _algorithm_1,
    "exact line": _exact_line,
    "exact line, averaged": _averaged,
    "heat-bath": _heat_bath,
    "exact draws": _exact,
}


def run(
    *,
    quick: bool = False,
    rng: Any = None,
    progress: Any = None,
    chains: int | None = None,
    steps: int | None = None,
    samplers: Mapping[str, Draw | None] | None = None,
) -> dict[str, Any]:
    """Draw trees of K10 and of a Barabasi-Albert graph with every sampler.

    Parameters
    ----------
    quick : bool, default False
        20 chains of 10,000 steps instead of the paper's 100 chains of 50,000.
    rng : seed or Generator, optional
        Graphs and weights come first, so that they are the same for quick and full runs.
    progress : callable, optional
        Told in words what comes next.
    chains, steps : int, optional
        Other sizes than those. Algorithm 1 makes twenty times the steps, as in the paper's time,
        or as many as it can in the time of Algorithm 5 here, whichever is more.
    samplers : dict of str to callable, optional
        Replacements for entries of `SAMPLERS`, called in the same way; None leaves one out, except
        for Algorithm 5 and Algorithm 1.

    Returns
    -------
    dict
        Plain data, for `figures` and `verdicts`.

    Examples
    --------
    >>> from paper import spanning_trees
    >>> data = spanning_trees.run(chains=4, steps=200, rng=0)
    >>> list(data["graphs"]), round(data["graphs"]["K10"]["bases"])
    (['K10', 'BA(20, 2)'], 100000000)
    """
    generator = np.random.default_rng(rng)
    chains = chains or (20 if quick else 100)
    steps = steps or (10_000 if quick else STEPS)
    makers = {key: make for key, make in {**SAMPLERS, **(samplers or {})}.items() if make}
    targets = _targets(generator)
    graphs = {}
    for name, target in targets.items():
        graphs[name] = _compare(name, target, makers, chains, steps, generator, progress)
    return {
        "settings": {
            "chains": chains,
            "steps": steps,
            "edge weights": "uniform on [0, 1]; columns of the incidence matrix times their root",
            "rows of the incidence matrix": "all but the last",
        },
        "graphs": graphs,
    }


def _targets(rng: np.random.Generator) -> dict[str, ProjectionDPP]:
    try:
        import networkx as nx
    except ImportError:
        raise ImportError("this experiment needs networkx; pip install 'zonodpp[graph]'") from None
    seed = int(rng.integers(2**31))
    graphs = {"K10": nx.complete_graph(10), "BA(20, 2)": nx.barabasi_albert_graph(20, 2, seed=seed)}
    targets: dict[str, ProjectionDPP] = {}
    for name, graph in graphs.items():
        for edge in graph.edges:
            graph.edges[edge]["weight"] = 1.0 - rng.random()  # never zero
        targets[name] = ProjectionDPP.from_graph(graph, weight="weight")
    return targets


def _compare(
    name: str,
    target: ProjectionDPP,
    makers: Mapping[str, Draw],
    chains: int,
    steps: int,
    rng: np.random.Generator,
    progress: Any,
) -> dict[str, Any]:
    """Run every sampler on one graph, from the same first trees."""
    incidence = target.A.toarray()
    weights = np.ones(target.n) if target.weights is None else target.weights
    matrix = incidence * np.sqrt(weights)
    c = rng.standard_normal(target.n)
    zonotope = Zonotope(matrix, c=c)
    first = [zonotope.tile(matrix @ rng.random(target.n)).basis for _ in range(chains)]
    sets, exact = _triplets(target)
    how = {"c": c, "sets": sets}

    pace = {key: _seconds_per_step(maker, target, first[0], how) for key, maker in makers.items()}
    in_time = int(np.clip(steps * pace["Algorithm 5"] / pace["Algorithm 1"], 1, LONGEST * steps))
    found = {}
    # A generator for each: how long Algorithm 1 runs depends on the machine, other draws must not.
    generators = rng.spawn(len(makers) + 1)
    for (key, maker), generator in zip(makers.items(), generators, strict=False):
        if progress is not None:
            progress(f"{name}: {chains} chains, {key}")
        longest = max(in_time, RATIO * steps) if key == "Algorithm 1" else steps
        curve = _follow(maker, target, np.array(first), steps, longest, exact, how, generator)
        found[key] = {"seconds per step": pace[key], **curve}
    return {
        "nodes": target.r + 1,
        "edges": [list(edge) for edge in target.labels or ()],
        "weights": weights,
        "bases": float(np.linalg.det(incidence @ incidence.T)),
        "triplets": np.array(sets),
        "probabilities": exact,
        "steps in the paper's time": RATIO * steps,  # of Algorithm 1
        "steps in equal time": in_time,
        "samplers": found,
        "solver": _solver_pace(matrix, c, generators[-1]),
    }


def _triplets(target: ProjectionDPP) -> tuple[list[list[int]], Floats]:
    """Triplets at the deciles of the probabilities of all that can occur, rarest first."""
    K = target.kernel()
    every = np.array(list(combinations(range(target.n), 3)))
    probability = np.linalg.det(K[every[:, :, None], every[:, None, :]])
    possible = every[probability > 1e-12]
    order = np.argsort(probability[probability > 1e-12], kind="stable")
    shares = np.arange(1, TRIPLETS + 1) / (TRIPLETS + 1)
    chosen = possible[order[(shares * len(order)).astype(int)]]
    return chosen.tolist(), np.array([float(target.inclusion(S)) for S in chosen])


def _seconds_per_step(maker: Draw, target: ProjectionDPP, init: Any, how: Any) -> float:
    """Least time for a step of one chain, by itself, over a few short runs."""
    steps, pace = 200, np.inf
    for attempt in range(5):  # the first compiles, the second tells how many steps to time
        begun = time.perf_counter()
        samples = maker(target, steps, chains=1, init=init, rng=attempt, workers=1, **how)
        wall = time.perf_counter() - begun
        pace = min(pace, float(np.sum(samples.stats.get("seconds", wall))) / steps)
        if attempt == 1:
            steps = int(np.clip(TIMED / pace, 200, BLOCK))
    return pace


def _follow(
    maker: Draw,
    target: ProjectionDPP,
    first: Any,
    steps: int,
    longest: int,
    exact: Floats,
    how: dict[str, Any],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Run chains, a few at a time, and keep running means of the triplets at some points.

    A run longer than ``steps`` goes on from the last tree of each chain, so that no more than
    BLOCK draws are held: right for chains whose trees are all their state, as Algorithm 1's.
    """
    chains, typical = len(first), len(exact) // 2
    marks = [steps, RATIO * steps // 10, RATIO * steps, longest]
    points = np.geomspace(1, longest, POINTS).round().astype(np.int64)
    points = np.unique([*points, *(mark for mark in marks if mark <= longest)])
    means = np.empty((chains, len(points)))
    final = np.empty((chains, len(exact)))
    trace = np.empty((chains, steps), np.float32)
    counts = {"steps": 0, "accepted": 0, "moved": 0}
    together = max(1, BLOCK // steps)
    starts = range(0, chains, together)
    for begin, generator in zip(starts, rng.spawn(len(starts)), strict=True):
        init, done = first[begin : begin + together], 0
        sums = np.zeros(len(init))
        while done < longest:
            draws = min(steps, longest - done)
            samples = maker(target, draws, chains=len(init), init=init, rng=generator, **how)
            for key in counts if done == 0 else ():
                counts[key] += int(np.sum(samples.stats.get(key, 0)))
            within = (points > done) & (points <= done + draws)
            for k in range(len(init)):
                presence = _presence(samples, k, how["sets"], None if done == 0 else typical)
                if done == 0:
                    final[begin + k] = presence.mean(axis=0)
                    presence = presence[:, typical]
                    trace[begin + k] = presence
                so_far = sums[k] + presence.cumsum()
                means[begin + k, within] = so_far[points[within] - done - 1] / points[within]
                sums[k] = so_far[-1]
            init, done = samples.subsets[:, -1], done + draws
    evolution = psrf_evolution(trace)
    return {
        "points": points,
        "errors": np.abs(means / exact[typical] - 1).astype(np.float32),
        "estimates": final,
        "acceptance": counts["accepted"] / counts["steps"] if counts["accepted"] else None,
        "moved": counts["moved"] / counts["steps"] if counts["moved"] else None,
        "psrf": dict(zip(evolution._fields, evolution, strict=True)),
    }


def _presence(samples: Samples, chain: int, sets: list[list[int]], only: int | None) -> Floats:
    """Presence of all triplets or of one in each draw, or averages along lines where known."""
    if samples.tracked.shape[2]:
        found = samples.tracked[chain]
        return np.asarray(found if only is None else found[:, only])
    wanted = sets if only is None else [sets[only]]
    found = presence(samples.subsets[chain], TrackedSets.of(wanted))
    return found if only is None else found[:, 0]


def _solver_pace(matrix: Floats, c: Floats, rng: np.random.Generator) -> dict[str, Any] | None:
    """Time a step of Algorithm 5 as the paper makes it: three programs for GLPK."""
    try:
        oracle = GlpkOracle(matrix, c)
    except ImportError:
        return None
    steps = 100
    begun = time.perf_counter()
    hit_and_run(matrix, oracle, steps, rng)
    return {"name": "glpk", "seconds per step": (time.perf_counter() - begun) / steps}
