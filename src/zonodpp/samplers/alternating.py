"""Markov chains for k-DPPs: items given eigenvectors, eigenvectors given items.

A k-DPP is the law of B when a pair (B, J) of k items and k eigenvectors has probability
proportional to prod lambda_J det(V_BJ)^2. Given J, B follows a projection DPP; given B, so does J,
among eigenvectors. Each step draws J exactly, then moves B by one step of a chain. Both keep the
law. It serves to check one method against another: exact draws are faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp.inputs import as_items
from zonodpp.matrices.columns import Floats, Integers
from zonodpp.samplers import State, exact
from zonodpp.samplers.tracking import SetTracker
from zonodpp.targets import ProjectionDPP
from zonodpp.targets.kdpp import KDPP


@dataclass(frozen=True)
class Alternating:
    """A chain on pairs of items and eigenvectors."""

    target: KDPP
    inner: Callable[[ProjectionDPP], Any]
    tracker: SetTracker
    counters: tuple[str, ...]
    independent: bool = False

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Begin with a draw from the leading eigenvectors, or with the given items."""
        if init is None:
            basis = _draw(ProjectionDPP(self.target.vectors[:, : self.target.k].T), rng)
        else:
            basis = np.sort(as_items(init, self.target.n, "init"))
            if basis.shape != (self.target.k,) or self.target.log_prob(basis) == -np.inf:
                raise ValueError(
                    f"init must hold k = {self.target.k} items of positive probability, "
                    f"got {init!r}"
                )
        return {"counts": np.zeros(len(self.counters), np.int64), "basis": basis}

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> None:
        """Take ``thin`` steps from draw to draw."""
        basis = state["basis"]
        for k in range(len(subsets)):
            for _ in range(thin):
                basis = self._step(basis, rng, state["counts"])
            subsets[k] = basis
        state["basis"] = basis
        self.tracker.fill(subsets, tracked)

    def _step(self, basis: Integers, rng: np.random.Generator, counts: Integers) -> Integers:
        """Draw the eigenvectors given the items, then move the items."""
        sure = self.target.sure.shape[1]
        always = np.flatnonzero((np.abs(self.target.sure) > 0.5).any(axis=1))
        others = np.setdiff1d(basis, always)
        if not others.size:
            counts[0] += 1
            return basis
        chosen = _draw(ProjectionDPP(self.target.phi[others]), rng)
        chain = self.inner(ProjectionDPP(self.target.vectors[:, sure:][:, chosen].T))
        state = chain.start(rng, others)
        moved = np.empty((1, others.size), np.int32)
        chain.advance(state, rng, moved, np.empty((1, 0)), 1)
        counts += state["counts"]
        return np.asarray(np.sort(np.concatenate([always, moved[0]])))


def _draw(target: ProjectionDPP, rng: np.random.Generator) -> Integers:
    """One exact draw."""
    sampler = exact.prepare(target)
    drawn = np.empty((1, target.r), np.int32)
    sampler.advance(sampler.start(rng, None), rng, drawn, np.empty((1, 0)), 1)
    return np.asarray(drawn[0], dtype=np.int64)


def prepare(target: KDPP, track: Any, inner: Callable[[ProjectionDPP], Any]) -> Alternating:
    """Prepare the chain whose moves of the items ``inner`` makes."""
    leading = inner(ProjectionDPP(target.vectors[:, : target.k].T))
    return Alternating(target, inner, SetTracker.of(track, target.n), leading.counters)
