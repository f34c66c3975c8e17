"""`check_sampler`: the promises of samplers, and their law, as a test."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import combinations

import numpy as np

from zonodpp._arguments import as_count, spawn
from zonodpp._imports import on_use
from zonodpp._types import Floats, Integers, Rng, SeedLike, Subsets
from zonodpp.chains.contract import Block, Sampler, State
from zonodpp.chains.tracking import NO_SETS, TrackedSets
from zonodpp.numerics.arrays import refreeze
from zonodpp.targets.base import Target

Law = Callable[[Integers], Floats]  # log probabilities, up to a constant, of rows of items

_FEW = 24  # draws, or steps, by which the promises are checked
_CUTS = ([1] * _FEW, [5, 1, 11, 7])  # how they are divided among calls, other than by one
_MOST_SETS = 100_000  # sets that are listed to know the law
_EXPECTED = 5.0  # draws of a cell of the chi-square test, below which it is joined with others
_NEVER = 1e-4  # probability with which the check refuses a sampler that is right
_ENDLESS = 10**6  # calls in a row that finish no draw


def check_sampler(
    sampler: Sampler,
    target: Target | None = None,
    *,
    law: Law | None = None,
    draws: int = 10_000,
    thin: int = 1,
    burn_in: int = 100,
    rng: SeedLike = 0,
) -> None:
    """Check that a sampler keeps the promises of `zonodpp.chains.Sampler`.

    A state is a dict of arrays with an axis for chains. Draws are items in ascending order, filled
    up with -1. The first counter counts draws or steps. How draws are cut into calls changes
    neither draws nor sums. A sampler and its state can be pickled, and ``check`` accepts the state.
    Where the law is known, frequencies of draws are compared with it by a chi-square test, which
    refuses a sampler that is right with a probability of one in ten thousand.

    Parameters
    ----------
    sampler : Sampler
        What ``prepare`` of a method returned.
    target : Target, optional
        What it draws from. If its sets are few enough to be listed, ``target.log_prob`` is the law.
    law : callable, optional
        Takes an array of sets, one a row and each filled up with -1, and returns the logs of their
        probabilities, up to a constant. For samplers without a target: all sets of ``width`` items.
    draws, thin, burn_in : int
        Draws for the comparison with the law. Draws of a chain must be ``thin`` steps apart so that
        they are nearly independent; independent draws ignore ``thin`` and ``burn_in``.
    rng : seed or Generator
        A fixed seed by default, so that a check always has the same result.

    Raises
    ------
    AssertionError
        When a promise is not kept; the message says which.

    See Also
    --------
    zonodpp.chains.Sampler : The promises.

    Examples
    --------
    >>> from zonodpp import Exact, ProjectionDPP
    >>> from zonodpp.diagnostics import check_sampler
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> check_sampler(Exact().prepare(target), target, draws=2000)
    """
    draws, thin = as_count(draws, "draws", 1), as_count(thin, "thin", 1)
    burn_in = as_count(burn_in, "burn_in", 0)
    seeds = spawn(rng, 2)
    if sampler.independent:
        thin, burn_in = 1, 0
    _check_promises(sampler, target, seeds[0])
    sets = _every_set(sampler, target) if law is not None or target is not None else None
    if sets is not None:
        log_prob = law if law is not None else _log_prob_of(target)
        chain = _Chains(sampler, seeds[1], NO_SETS)
        if burn_in:
            chain.fill([1], burn_in)
        subsets, _ = chain.fill([draws], thin)
        _check_law(subsets.reshape(-1, sampler.width), sets, log_prob(sets))


class _Chains:
    """One chain, or on a device two, that makes draws call by call."""

    def __init__(self, sampler: Sampler, rng: Rng, sets: TrackedSets) -> None:
        self.sampler, self.sets = sampler, sets
        self.rngs = copy.deepcopy(rng).spawn(sampler.batch or 2)
        self.state: State = sampler.start(self.rngs, None, sets)

    def fill(self, sizes: list[int], thin: int) -> tuple[Subsets, Floats]:
        """Make draws, so many at a time; return them and the sums of what is tracked."""
        chains, draws = len(self.rngs), sum(sizes)
        item = np.int32 if self.sampler.n < 2**31 else np.int64
        subsets = np.full((chains, draws, self.sampler.width), -7, item)
        tracked = np.zeros((chains, draws, self.sets.size))
        first = 0
        for size in sizes:
            end, waited = first + size, 0
            while first < end:
                block = Block(subsets[:, first:end], tracked[:, first:end], thin)
                made = self.sampler.advance(self.state, self.rngs, block, self.sets)
                _need(
                    isinstance(made, int | np.integer) and 0 <= made <= end - first,
                    f"advance must return how many draws are finished, 0 to {end - first}, "
                    f"got {made!r}",
                )
                waited = 0 if made else waited + 1
                _need(waited < _ENDLESS, f"no draw was finished in {_ENDLESS:,} calls of advance")
                first += int(made)
        return subsets, tracked


def _need(kept: bool, promise: str) -> None:
    """Raise AssertionError with the promise that is not kept."""
    if not kept:
        raise AssertionError(promise)


def _check_promises(sampler: Sampler, target: Target | None, rng: Rng) -> None:
    """Check all but the law."""
    _need(target is None or sampler.n == target.n, "sampler.n must be the target's number of items")
    sets = TrackedSets.of([[0], sorted({0, sampler.n - 1})])
    chains = _Chains(sampler, rng, sets)
    _check_state(sampler, chains.state)
    subsets, tracked = chains.fill([_FEW], 2)
    _check_state(sampler, chains.state)
    _check_draws(subsets, sampler.n)
    first = chains.state["counts"][:, 0]
    expected = _FEW if sampler.independent else 2 * _FEW
    _need(
        (first == expected).all(),
        f"the first counter, {sampler.counters[0]!r}, must count draws of independent samplers and "
        f"steps of others: expected {expected}, got {first.tolist()}",
    )
    if sampler.independent:
        _need(not tracked.any(), "independent draws leave tracked sets to the caller")
    else:
        inside = (tracked > -1e-9) & (tracked < 2 + 1e-9)
        _need(bool(inside.all()), "tracked must grow by 0 to 1 for each step and set")
    for sizes in _CUTS:
        again = _Chains(sampler, rng, sets).fill(list(sizes), 2)
        same = np.array_equal(again[0], subsets) and np.array_equal(again[1], tracked)
        _need(same, f"draws or sums change when they are made by calls of {sizes} draws")
    half = _FEW // 2
    away = _Chains(sampler, rng, sets)
    begun, _ = away.fill([half], 2)
    packed = pickle.dumps((away.sampler, away.state, away.rngs))
    away.sampler, away.state, away.rngs = pickle.loads(packed)
    refreeze(away.sampler)
    ended, _ = away.fill([_FEW - half], 2)
    _need(
        np.array_equal(np.concatenate([begun, ended], axis=1), subsets),
        "draws change when the sampler, its state and its generators are pickled",
    )


def _check_state(sampler: Sampler, state: State) -> None:
    """Check the arrays of a state."""
    _need(isinstance(state, dict) and "counts" in state, "a state is a dict that has 'counts'")
    for name, array in state.items():
        _need(isinstance(array, np.ndarray), f"state[{name!r}] must be an array")
    chains = sampler.batch or 2
    for name, array in state.items():
        _need(
            array.ndim > 0 and len(array) == chains,
            f"state[{name!r}] must have an axis for chains first, of length {chains}",
        )
    shape = chains, len(sampler.counters)
    counts = state["counts"]
    _need(
        counts.shape == shape and counts.dtype.kind == "i",
        f"state['counts'] must be integers of shape {shape}, got {counts.dtype} {counts.shape}",
    )
    sampler.check(state)


def _check_draws(subsets: Subsets, n: int) -> None:
    """Check that rows hold items, ascending, and end in -1."""
    rows = subsets.reshape(-1, subsets.shape[-1])
    _need(
        bool(((rows >= -1) & (rows < n)).all()), f"draws must hold items from 0 to {n - 1}, or -1"
    )
    before, after = rows[:, :-1], rows[:, 1:]
    ascending = (after == -1) | ((before >= 0) & (after > before))
    _need(bool(ascending.all()), "items of a draw must ascend, and -1 must fill up its end")


def _log_prob_of(target: Target | None) -> Law:
    """Return the law of a target, in rows that are filled up with -1."""
    assert target is not None

    def log_prob(sets: Integers) -> Floats:
        found = np.empty(len(sets))
        sizes = (sets >= 0).sum(axis=1)
        for size in np.unique(sizes):
            own = sizes == size
            found[own] = target.log_prob(sets[own, :size])
        return found

    return log_prob


def _every_set(sampler: Sampler, target: Target | None) -> Integers | None:
    """Return all sets that a draw can be, filled up with -1; None if they are too many."""
    sizes = range(sampler.width, sampler.width + 1) if target is None else target.sizes
    most = on_use("scipy.special").comb(sampler.n, np.array(sizes)).sum()
    if most > _MOST_SETS:
        return None
    width = max(sampler.width, *sizes)
    rows = [
        (*items, *[-1] * (width - size))
        for size in sizes
        for items in combinations(range(sampler.n), size)
    ]
    return np.array(rows, np.int64).reshape(len(rows), width)


def _check_law(subsets: Subsets, sets: Integers, log_prob: Floats) -> None:
    """Compare frequencies with probabilities; rare sets share a cell."""
    chances = np.exp(log_prob - log_prob.max())
    chances /= chances.sum()
    place = {tuple(row): k for k, row in enumerate(sets.tolist())}
    filled = np.full((len(subsets), sets.shape[1]), -1, np.int64)
    filled[:, : subsets.shape[1]] = subsets
    counts = np.zeros(len(sets))
    for row in map(tuple, filled.tolist()):
        _need(row in place, f"{row} was drawn, which is no draw of this law")
        counts[place[row]] += 1
    for k in np.flatnonzero((counts > 0) & (chances == 0.0)):
        _need(False, f"{sets[k].tolist()} was drawn, whose probability is zero")
    expected = chances * len(subsets)
    common = expected >= _EXPECTED
    seen = np.append(counts[common], counts[~common].sum())
    mean = np.append(expected[common], expected[~common].sum())
    if mean[-1] < _EXPECTED:  # too few for a cell of their own: they join the rarest one
        seen[:-1][-1:] += seen[-1]
        mean[:-1][-1:] += mean[-1]
        seen, mean = seen[:-1], mean[:-1]
    if len(mean) < 2:
        return
    chance = float(on_use("scipy.stats").chisquare(seen, mean * (seen.sum() / mean.sum())).pvalue)
    _need(
        chance > _NEVER,
        f"frequencies of {len(subsets):,} draws do not follow the law: a sampler that is right "
        f"would be so far off with probability {chance:.2g}; draws of a chain may need a larger "
        "thin or burn_in",
    )
