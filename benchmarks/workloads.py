"""The five inputs on which samplers are compared, what their samples are worth, peak memory."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from functools import cache, partial
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from benchmarks import SEED, Job
from zonodpp import ProjectionDPP
from zonodpp.chains import Block, TrackedSets
from zonodpp.chains.methods import method_class
from zonodpp.datasets import mnist_ones

GRAPHS = ("K10 weighted, 9 x 45", "BA(20, 2) weighted, 19 x 36")
LIKELY = 12  # items whose triplets are taken where all are rare
RARE = 0.005  # chance below which a triplet is too rare to be judged by itself
BATCHES = 25
RESAMPLES = 100
TINY = np.finfo(float).tiny
NAMES = (*GRAPHS, "Gaussian 11 x 64", "MNIST ones, 10 x 1000", "Gaussian 50 x 500")


@cache
def targets() -> dict[str, ProjectionDPP]:
    """Two graphs, two Gaussian matrices and the ten first principal directions of MNIST ones."""
    rng = np.random.default_rng(SEED)
    found = [
        weighted(nx.complete_graph(10), rng),
        weighted(nx.barabasi_albert_graph(20, 2, seed=SEED), rng),
        ProjectionDPP(rng.normal(size=(11, 64))),
        ProjectionDPP.from_features(mnist_ones().reshape(1000, -1), rank=10),
        ProjectionDPP(rng.normal(size=(50, 500))),
    ]
    return dict(zip(NAMES, found, strict=True))


def weighted(graph: nx.Graph, rng: np.random.Generator) -> ProjectionDPP:
    """Return the target of a graph with columns times uniform variables, as in the paper.

    The weight of an edge is the square of its variable.
    """
    for *_, data in graph.edges(data=True):
        data["weight"] = rng.random() ** 2
    return ProjectionDPP.from_graph(graph, weight="weight")


def dense(target: ProjectionDPP) -> Any:
    """Return the columns with their weights, as an array for the peers."""
    A = target.A.toarray() if hasattr(target.A, "toarray") else np.array(target.A)
    return A if target.weights is None else A * np.sqrt(target.weights)


def typical_triplets(target: ProjectionDPP, count: int = 12) -> list[list[int]]:
    """Return triplets that are neither rare nor nearly certain.

    Where n is much larger than r all are rare: then all triplets of the likeliest items, whose
    Monte Carlo errors are added up.
    """
    rng = np.random.default_rng(SEED)
    found: list[list[int]] = []
    while (target.r / target.n) ** 3 > 0.5 * RARE and len(found) < count:
        triplet = sorted(rng.choice(target.n, 3, replace=False).tolist())
        if RARE < float(target.inclusion(triplet)) < 0.8:
            found.append(triplet)
    if found:
        return found
    likely = np.sort(np.argsort(-target.marginals())[:LIKELY])
    return [list(items) for items in combinations(likely.tolist(), 3)]


def indicators(subsets: Any, triplets: list[list[int]]) -> Any:
    """Return for each draw, and each triplet, whether the draw holds it; (draws, triplets)."""
    items, places = np.unique(triplets, return_inverse=True)
    present = np.stack([(subsets == item).any(axis=-1) for item in items], axis=-1)
    return present[..., places.reshape(-1, 3)].all(axis=-1)


def worth_of_steps(values: Any, chances: Any, *, thin: int = 1, batches: int = BATCHES) -> Any:
    """Return how many independent draws a step is worth for each set, (1 + RESAMPLES, sets).

    ``values`` are (chains, draws, sets): indicators of sets whose chances are known, or averages
    with the same mean, one for each ``thin`` steps. A step is worth the variance that independent
    indicators have over what the chain's mean has, times its length; the latter from means of
    batches. The first row is the estimate; the others come from batches drawn again with
    replacement, and show its error. Rare sets are summed into one.
    """
    values, chances = np.asarray(values, dtype=float), np.asarray(chances, dtype=float)
    chains, draws, sets = values.shape
    length = draws // batches
    if length < 1:
        raise ValueError(f"{draws} draws do not make {batches} batches; draw more")
    means = values[:, : length * batches].reshape(chains, batches, length, sets).mean(axis=2)
    squares = ((means - means.mean(axis=1, keepdims=True)) ** 2).reshape(-1, sets)
    noise = squares * batches / (batches - 1) * length * thin
    picks = np.random.default_rng(SEED).integers(len(noise), size=(RESAMPLES, len(noise)))
    picks = np.concatenate([np.arange(len(noise))[None], picks])
    if chances.min() >= RARE:
        return chances * (1 - chances) / np.maximum(noise[picks].mean(axis=1), TINY)
    # With few hits, noise goes with their number: so compare it with the share of hits seen.
    seen = means.reshape(-1, sets)[picks].mean(axis=1)
    plain = (seen * (1 - seen)).sum(axis=1, keepdims=True)
    return plain / np.maximum(noise[picks].mean(axis=1).sum(axis=1, keepdims=True), TINY)


class Chain:
    """A chain that goes on from call to call, so that only steps are timed, not the set-up."""

    def __init__(self, target: ProjectionDPP, method: str, track: Any = None, **options: Any):
        self.sampler = method_class(method)(**options).prepare(target)
        self.rng, self.sets = np.random.default_rng(SEED), TrackedSets.of(track or [])
        self.state = self.sampler.start([self.rng], None, self.sets)

    def advance(self, steps: int) -> None:
        """Take so many steps, or independent draws."""
        subsets = np.empty((1, steps, self.sampler.width), np.int32)
        tracked = np.zeros((1, steps, self.sets.size))
        made = 0
        while made < steps:  # a call may end early, if draws take long
            rest = Block(subsets[:, made:], tracked[:, made:], thin=1)
            made += self.sampler.advance(self.state, [self.rng], rest, self.sets)

    def job(self, steps: int) -> Job:
        """Return the job that makes so many steps."""
        return Job(partial(self.advance, steps), steps)

    def count(self, name: str) -> int:
        """Return one of the sampler's counters."""
        return int(self.state["counts"][0, self.sampler.counters.index(name)])


NO_PROC = "/proc (Linux)"  # what is missing where `peak_memory` returns None
PEAK = """
import numpy as np

def held(name):
    with open("/proc/self/status") as lines:
        return 1024 * int(lines.read().split(name + ":")[1].split()[0])

{before}
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak of imports and of compilation
begun = held("VmRSS")
{work}
print(held("VmHWM") - begun)
"""


def peak_memory(before: str, work: str) -> float | None:
    """Return the peak of memory in bytes that the work takes beyond what a new process held before.

    A process of its own, since the peak of this one belongs to all that it has done. None where the
    system is not Linux.
    """
    if not pathlib.Path("/proc/self/clear_refs").exists():
        return None
    program = PEAK.format(before=before, work=work)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout)
