"""The volume of a zonotope: the sum over all bases, or an unbiased estimate with its error.

Vol Z(A) = sum over bases of |det A_B| (Proposition 1 of the paper). A linear map brings the
columns into Lewis position: they become w_i e_i with unit vectors e_i and sum_i w_i e_i e_i' = I,
the w_i being their l1 Lewis weights. There lengths and anisotropy have dropped out:

- P(B) = |det E_B|^2 prod w_B is a projection DPP, from which bases are drawn exactly;
- the volume is the mean of 1 / |det E_B| over these draws.

That mean has a heavy tail where columns crowd together. So a draw is annealed: the power of
|det E_B| falls from 2 to 1 in small steps with one exchange of items at each, and the logarithms
are averaged along the way (Neal 2001). The mean stays unbiased, the tail goes, and the bases at
the end follow |det A_B| nearly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from zonodpp._jit import announce_compilation, lean
from zonodpp.columns import Floats, Integers
from zonodpp.gram import RankError, factorise
from zonodpp.inputs import as_count, as_matrix, as_positive, check_finite
from zonodpp.samplers import exact
from zonodpp.targets import ProjectionDPP
from zonodpp.zonotope.factor import refactorise
from zonodpp.zonotope.pivots import LARGE, REFRESH, empty_tile, pivot, scratch_for
from zonodpp.zonotope.products import make_engine, tableau_column

MOST_BASES = 5_000_000  # that the exact sum goes through
PILOT = 200  # draws from which the number of exchanges is chosen
GOOD_SHARE = 0.5  # effective share of draws at which more exchanges no longer pay
MOST_MOVES = 256  # exchanges for each item of a basis, at most
DEPENDENT = 1e-12  # |cos(T_s, e_t)| that is rounding noise: t depends on B - s
BURN_IN = 100  # proposals that a chain of independent bases goes through first


@dataclass(frozen=True)
class VolumeEstimate:
    """A volume and its standard error; ``value, stderr = estimate`` unpacks the two.

    Attributes
    ----------
    value, stderr : float
        Infinite or zero where the volume is beyond floating-point numbers.
    log_value, relative : float
        The logarithm of the volume, and the standard error as a share of it: always finite.
    effective_share : float
        Number of draws of equal weight that would be as good, as a share of ``draws``.
    draws : int
        Draws behind the estimate; 0 for an exact sum.
    """

    value: float
    stderr: float
    log_value: float
    relative: float = 0.0
    effective_share: float = 1.0
    draws: int = 0

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.stderr))


def exact_volume(A: Any) -> VolumeEstimate:
    """Sum |det A_B| over all bases, equation (5): Proposition 1 of the paper.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        Columns span the zonotope A [0, 1]^n. At most five million subsets of r columns.

    Examples
    --------
    >>> from zonodpp.zonotope.volume import exact_volume
    >>> round(exact_volume([[1, 0, 1], [0, 1, 1]]).value, 12)  # a hexagon
    3.0
    """
    E, w, log_scale, _ = _lewis_position(A)
    r, n = E.shape
    count = math.comb(n, r)
    if count > MOST_BASES:
        raise ValueError(
            f"the exact volume is a sum over {count:.3g} subsets of {r} of {n} columns, more than "
            f"{MOST_BASES:,}; use the estimate, volume(method='estimate')"
        )
    logs = np.log(w)
    subsets = combinations(range(n), r)
    step = max(1, 2**20 // r**2)
    total = -np.inf
    for start in range(0, count, step):
        size = min(step, count - start)
        flat = chain.from_iterable(islice(subsets, size))
        bases = np.fromiter(flat, np.int64, size * r).reshape(size, r)
        total = np.logaddexp(total, logsumexp(_log_det(E, bases) + logs[bases].sum(axis=1)))
    log_value = float(total) + log_scale
    with np.errstate(over="ignore", under="ignore"):
        return VolumeEstimate(float(np.exp(log_value)), 0.0, log_value)


def lewis_weights(A: Any) -> Floats:
    """Return the l1 Lewis weights of the columns: w_i = sqrt(a_i' (A W^{-1} A')^{-1} a_i).

    They sum to r, and say how much a column counts in the zonotope (a column twice as long counts
    twice, equal columns share). The iteration is a contraction by one half in log w (Cohen, Peng
    2015); it ends when no weight changes by more than a part in 10^12.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        Of full row rank. Zero columns get weight zero.

    Examples
    --------
    >>> from zonodpp.zonotope.volume import lewis_weights
    >>> lewis_weights([[1, 1, 0, 0], [0, 0, 5, 0]]).round(6)
    array([0.5, 0.5, 1. , 0. ])
    """
    _, w, _, items = _lewis_position(A)
    result = np.zeros(np.shape(A)[1])
    result[items] = w
    return result


def _lewis_position(A: Any) -> tuple[Floats, Floats, float, Integers]:
    """Return E, w, log s and items, such that |det A_B| = s |det E_B| prod w_B.

    E has the unit vectors of the non-zero columns, ``items``. Each round whitens the columns
    X_i / sqrt(w_i); the lengths of the new X_i are the next w. So no round starts from worse
    numbers than the last one left, however the lengths differ.
    """
    X = as_matrix(A, "A")
    check_finite(X, "A")
    X = X.toarray() if sp.issparse(X) else X
    heights = np.abs(X).max(axis=1)
    log_scale = float(np.log(heights[heights > 0]).sum())
    X = X / np.where(heights > 0, heights, 1.0)[:, None]
    lengths = np.linalg.norm(X, axis=0)
    items = np.flatnonzero(lengths)
    X, lengths = X[:, items], lengths[items]
    if X.shape[0] > items.size:
        raise ValueError(f"A has {X.shape[0]} rows but {items.size} non-zero columns: {_FLAT}")
    try:  # the rank of unit columns, so that lengths do not decide it
        gram = factorise(X, 1.0 / lengths)
    except RankError as error:
        raise ValueError(f"A has rank {error.args[0]} but {X.shape[0]} rows: {_FLAT}") from None
    w = np.linalg.norm(X := gram.W @ X, axis=0)
    log_scale += gram.logdet / 2
    for _ in range(200):
        gram = factorise(X, w**-0.5, check_rank=False)
        before, w = w, np.linalg.norm(X := gram.W @ X, axis=0)
        log_scale += gram.logdet / 2
        if np.abs(w / before - 1).max() < 1e-12:
            break
    return X / w, w, log_scale, items


_FLAT = "its zonotope is flat, with volume zero; drop rows that depend on others"


def _log_det(E: Floats, bases: Any) -> Floats:
    with np.errstate(divide="ignore"):
        logs: Floats = np.linalg.slogdet(E.T[bases])[1]
    return logs


def estimate_volume(
    A: Any,
    *,
    draws: int | None = None,
    rel_error: float = 0.02,
    max_draws: int = 1_000_000,
    moves: int | None = None,
    rng: Any = None,
) -> VolumeEstimate:
    """Estimate the volume of the zonotope from independent draws, with a standard error.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        Columns span the zonotope A [0, 1]^n.
    draws : int, optional
        Number of draws. If left out: until the standard error is below ``rel_error`` times the
        volume, with at most ``max_draws``.
    moves : int, optional
        Exchanges by which a draw is annealed; 0 is plain importance sampling from the projection
        DPP. If left out, two for each item of a basis, and twice as many until the effective
        share of a few trial draws is good.
    rng : seed or numpy Generator, optional

    Warns
    -----
    RuntimeWarning
        When so few draws carry the estimate that its standard error cannot be trusted, or when
        ``max_draws`` were not enough.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.zonotope.volume import estimate_volume
    >>> A = np.random.default_rng(0).normal(size=(10, 100))
    >>> estimate = estimate_volume(A, rel_error=0.02, rng=1)
    >>> estimate.relative < 0.02
    True
    """
    rel_error = as_positive(rel_error, "rel_error")
    most = as_count(max_draws if draws is None else draws, "draws", 2)
    rng = np.random.default_rng(rng)
    with announce_compilation():
        proposals = _Proposals(A, moves, rng)
        logs = proposals.draw(most if draws is not None else min(500, most), rng)[1]
        while draws is None and logs.size < most:
            relative = _summary(logs)[1]
            if relative < rel_error:
                break
            # A little more than what is missing, lest the last rounds be many and small.
            wanted = int(1.05 * logs.size * (relative / rel_error) ** 2) + 50
            size = min(wanted, 4 * logs.size, most) - logs.size
            logs = np.append(logs, proposals.draw(size, rng)[1])
    log_value, relative, share, doubt = _summary(logs)
    return logs, doubt


def _summary(logs):
    x = np.exp(logs - logs.max())
    mean = x.mean()
    squares = (x - mean) ** 2
    relative = float(np.sqrt(squares.sum() / (x.size - 1) / x.size) / mean)
    share = float(x.sum() ** 2 / (x.size * (x @ x)))
    doubt = float(squares @ squares / squares.sum() ** 2) if relative > 1e-12 else 0.0
    return float(np.log(mean) + logs.max()), relative, share, doubt


class _Proposals:
    def __init__(self, A: Any, moves: int | None, rng: np.random.Generator) -> None:
        E, w, log_scale, self.items = _lewis_position(A)
        target = ProjectionDPP(E, weights=w)
        self.log_scale = log_scale + target.whitening.logdet
        self.sampler = exact.prepare(target)
        self.state = self.sampler.start(rng, None)
        self.engine = make_engine(E, None)
        self.moves = self._choose(rng) if moves is None else as_count(moves, "moves", 0)

    def _choose(self, rng):
        r = self.engine.rows.shape[0]
        self.moves = 2 * r
        while self.moves < MOST_MOVES * r:
            logs = self.draw(PILOT, rng)[1]
            if min(_summary(logs)[2], np.exp(-logs.var())) > GOOD_SHARE:
                break
            self.moves *= 2
        return self.moves

    def draw(self, size, rng):
        r, n = self.engine.rows.shape
        bases = np.empty((size, r), np.int32)
        logs = np.empty(size)
        tile, scratch = empty_tile(r, n), scratch_for(r, n)
        step = max(1, 2**18 // r**2)
        for start in range(0, size, step):
            part = slice(start, start + step)
            self.sampler.advance(self.state, rng, bases[part], np.empty((len(bases[part]), 0)), 1)
            logs[part] = -_log_det(self.engine.rows, bases[part])
            if self.moves:
                done = anneal(
                    rng,
                    self.engine,
                    self.sampler.alias,
                    self.moves,
                    bases[part],
                    logs[part],
                    tile,
                    scratch,
                )
                if done < len(bases[part]):
                    raise ArithmeticError
        return bases, logs + self.log_scale


@lean
def anneal(rng, engine, alias, moves, bases, logs, tile, scratch):
    T, basis, column, dense = tile.T, tile.basis, scratch.column, engine.columns.dense
    n, r = dense.shape
    for k in range(bases.shape[0]):
        for p in range(r):
            basis[p] = bases[k, p]
        if not refactorise(engine, tile, scratch):
            return k
        tile.age[0] = 0
        now = logs[k]
        total = 0.0
        for m in range(moves):
            total += now
            power = 2.0 - (m + 1.0) / moves
            s = min(int(rng.random() * r), r - 1)
            size = 0.0
            for i in range(r):
                size += T[s, i] * T[s, i]
            size = math.sqrt(size)
            while True:
                spot = rng.random() * n
                t = min(int(spot), n - 1)
                if spot - t >= alias[t, 0]:
                    t = int(alias[t, 1])
                entry = 0.0
                for i in range(r):
                    entry += T[s, i] * dense[t, i]
                cosine = abs(entry) / size
                level = rng.random()
                if level < cosine and cosine > DEPENDENT and level < cosine**power:
                    break
            if t == basis[s]:
                continue
            tableau_column(engine, T, t, column)
            pivot(tile, s, t, column, scratch.weights)
            now -= math.log(abs(entry))
            if tile.age[0] >= REFRESH or abs(entry) > LARGE:
                if not refactorise(engine, tile, scratch):
                    return k
                tile.age[0] = 0
        logs[k] = total / moves
        for p in range(r):
            bases[k, p] = basis[p]
    return bases.shape[0]
