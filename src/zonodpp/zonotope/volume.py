"""The volume of a zonotope: the sum over all bases, or an unbiased estimate with its error.

Vol Z(A) = sum over bases of |det A_B| (Proposition 1 of the paper). A linear map brings the columns
into Lewis position, w_i e_i with |e_i| = 1 and sum_i w_i e_i e_i' = I, where lengths and anisotropy
have dropped out; the w_i are the l1 Lewis weights. Then P(B) = |det E_B|^2 prod w_B is a projection
DPP, and up to the map's determinant the volume is the mean of 1 / |det E_B| over exact draws from it.

Where columns crowd together that mean has a heavy tail. So draws are annealed (Neal 2001): the
power of |det E_B| falls from 2 to 1 in small steps, with an exchange of items at each, and the
logarithm of 1 / |det E_B| is averaged over the steps. The mean stays unbiased and the tail goes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._jit import announce_compilation, lean
from zonodpp.columns import Floats, Integers
from zonodpp.gram import RankError, factorise
from zonodpp.inputs import as_count, as_matrix, as_positive, check_finite
from zonodpp.samplers import exact
from zonodpp.targets import ProjectionDPP
from zonodpp.zonotope.factor import refactorise
from zonodpp.zonotope.pivots import LARGE, REFRESH, Scratch, Tile, empty_tile, pivot, scratch_for
from zonodpp.zonotope.products import Engine, make_engine, tableau_column

MOST_BASES = 5_000_000  # that the exact sum goes through
FIRST = 500  # draws before the error is looked at
PILOT = 200  # draws from which the number of exchanges is chosen
EVEN = 0.5  # effective share of draws at which more exchanges no longer pay
MOST_MOVES = 128  # exchanges for each item of a basis, at most
# Below these, intervals of two standard errors were seen to cover less than nine times in ten.
LEAST_SHARE, LEAST_DRAWS = 0.25, 50
DEPENDENT = 1e-12  # |cos(T_s, e_t)| that is rounding noise: t depends on B - s


@dataclass(frozen=True)
class VolumeEstimate:
    """A volume and its standard error: ``value, stderr = estimate`` unpacks the two.

    Attributes
    ----------
    value, stderr : float
        Infinite or zero when beyond the range of floating-point numbers.
    log_value, relative : float
        The logarithm of the volume, and the standard error as a share of the volume.
    effective_share : float
        How many draws of equal weight would be as good, as a share of ``draws``.
    draws : int
        Draws behind the estimate; 0 for the exact sum.
    """

    value: float
    stderr: float
    log_value: float
    relative: float = 0.0
    effective_share: float = 1.0
    draws: int = 0

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.stderr))

    @classmethod
    def from_logs(cls, logs: Floats, *, exact: bool = False) -> VolumeEstimate:
        """Sum the exponentials of all logs, or take their mean as an estimate."""
        top = float(logs.max())
        weights = np.exp(logs - top)
        count = 1 if exact else logs.size
        log_value = top + math.log(weights.sum() / count)
        with np.errstate(over="ignore", under="ignore"):
            value = float(np.exp(log_value))
            if exact:
                return cls(value, 0.0, log_value)
            # A basis not seen in so many draws may well hold a share 1 / count of the volume.
            spread = float(weights.std(ddof=1) / weights.mean() / math.sqrt(count))
            relative = math.hypot(spread, 1 / count)
            share = float(weights.sum() ** 2 / (count * (weights @ weights)))
            return cls(value, relative * value, log_value, relative, share, count)


def exact_volume(A: Any) -> VolumeEstimate:
    """Sum |det A_B| over all bases, Proposition 1 of the paper.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        The zonotope is A [0, 1]^n. At most five million subsets of r columns.

    Examples
    --------
    >>> from zonodpp.zonotope.volume import exact_volume
    >>> round(exact_volume([[1, 0, 1], [0, 1, 1]]).value, 12)  # a hexagon
    3.0
    """
    place = lewis_position(A)
    n, r = place.engine.columns.dense.shape
    count = math.comb(n, r)
    if count > MOST_BASES:
        raise ValueError(
            f"the exact volume sums over subsets of {r} of {n} columns: at most {MOST_BASES:,} are "
            f"taken, here there are {count:.3g}; use method='estimate'"
        )
    log_lengths = np.log(place.engine.lengths)
    subsets = combinations(range(n), r)
    logs = []
    while True:
        flat = np.fromiter(
            chain.from_iterable(islice(subsets, max(1, 2**20 // r**2))), dtype=np.int64
        )
        if flat.size == 0:
            return VolumeEstimate.from_logs(np.concatenate(logs), exact=True)
        bases = flat.reshape(-1, r)
        dets = np.linalg.slogdet(place.engine.columns.dense[bases])[1]
        logs.append(dets + log_lengths[bases].sum(axis=1) + place.log_scale)


def lewis_weights(A: Any) -> Floats:
    """Return the l1 Lewis weights of the columns, w_i = sqrt(a_i' (A W^{-1} A')^{-1} a_i).

    They sum to r. A column as long as two parallel ones together has the weight of both. The
    iteration halves the error of log w at each step (Cohen, Peng 2015) and ends when no weight
    changes by more than a part in 10^11.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        Of full row rank. Zero columns get weight zero.

    Examples
    --------
    >>> from zonodpp.zonotope.volume import lewis_weights
    >>> lewis_weights([[1, 1, 0, 0], [0, 0, 5, 0]])
    array([0.5, 0.5, 1. , 0. ])
    """
    place = lewis_position(A)
    weights = np.zeros(place.n)
    weights[place.items] = place.engine.lengths
    return weights


class Position(NamedTuple):
    """Columns in Lewis position: log |det A_B| = log |det E_B| + sum log w_B + log_scale."""

    engine: Engine  # unit vectors e_i and lengths w_i, zero columns left out
    log_scale: float
    items: Integers  # the columns of A that they come from
    n: int


def lewis_position(A: Any) -> Position:
    """Bring the columns of A into Lewis position.

    Each step whitens the columns X_i / sqrt(w_i); the lengths of the new X_i are the next w. As
    every step starts from what the last one whitened, lengths may differ by any order.
    """
    X = as_matrix(A, "A")
    check_finite(X, "A")
    X = X.toarray() if sp.issparse(X) else X
    r, n = X.shape
    heights = np.abs(X).max(axis=1)
    heights[heights == 0] = 1.0
    X = X / heights[:, None]
    items = np.flatnonzero(np.linalg.norm(X, axis=0))
    X = X[:, items]
    log_scale = float(np.log(heights).sum())
    scale = 1.0 / np.linalg.norm(X, axis=0)  # unit columns: lengths must not decide the rank
    w = scale**-2
    for step in range(200):
        try:
            gram = factorise(X, scale, check_rank=step == 0)
        except RankError as error:
            raise ValueError(
                f"A has numerical rank {error.args[0]} but {r} rows: its zonotope is flat and has "
                "no volume; drop rows that depend on others"
            ) from None
        X = gram.W @ X
        log_scale += gram.logdet / 2
        former, w = w, np.linalg.norm(X, axis=0)
        if np.all(np.abs(w - former) <= 1e-11 * w):
            break
        scale = 1.0 / np.sqrt(w)
    return Position(make_engine(X, None), log_scale, items, n)


def estimate_volume(
    A: Any,
    *,
    draws: int | None = None,
    rel_error: float = 0.02,
    max_draws: int = 1_000_000,
    moves: int | None = None,
    rng: Any = None,
) -> VolumeEstimate:
    """Estimate the volume of the zonotope from independent draws, without bias.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        The zonotope is A [0, 1]^n.
    draws : int, optional
        Number of draws. If left out: as many as it takes to bring the standard error below
        ``rel_error`` times the volume, at most ``max_draws``.
    moves : int, optional
        Exchanges by which each draw is annealed; 0 is importance sampling from the projection DPP.
        If left out: two for each item of a basis, doubled until trial draws have even weights.
    rng : seed or numpy Generator, optional

    Warns
    -----
    RuntimeWarning
        When the weights of the draws are so uneven, or so few, that the standard error cannot be
        trusted (it is then too small as a rule), and when ``max_draws`` did not reach ``rel_error``.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.zonotope.volume import estimate_volume
    >>> A = np.random.default_rng(0).normal(size=(10, 100))
    >>> estimate_volume(A, rel_error=0.02, rng=1).relative < 0.02
    True
    """
    rel_error = as_positive(rel_error, "rel_error")
    if draws is None:
        most = as_count(max_draws, "max_draws", 2)
    else:
        most = as_count(draws, "draws", 2)
    rng = np.random.default_rng(rng)
    with announce_compilation():
        annealed = Annealed(A, moves, rng)
        _, logs = annealed.draw(most if draws is not None else min(FIRST, most), rng)
        found = VolumeEstimate.from_logs(logs)
        while draws is None and found.draws < most and found.relative >= rel_error:
            # Somewhat more than seems to be missing, lest many small rounds follow.
            wanted = int(1.05 * found.draws * (found.relative / rel_error) ** 2) + 50
            _, more = annealed.draw(min(wanted, 4 * found.draws, most) - found.draws, rng)
            logs = np.append(logs, more)
            found = VolumeEstimate.from_logs(logs)
    even = found.draws * found.effective_share
    if found.effective_share < LEAST_SHARE or even < LEAST_DRAWS:
        warnings.warn(
            f"the standard error of the volume cannot be trusted: the weights of {found.draws} "
            f"draws are as good as {even:.0f} even ones (effective share "
            f"{found.effective_share:.2g}); use more draws, or more than {annealed.moves} moves",
            RuntimeWarning,
            stacklevel=2,
        )
    elif draws is None and found.relative >= rel_error:
        warnings.warn(
            f"max_draws={most} brought the error of the volume to {found.relative:.2g} of it, not "
            f"to rel_error={rel_error:g}; raise max_draws",
            RuntimeWarning,
            stacklevel=2,
        )
    return found


def independent_bases(
    A: Any, size: int, rng: Any = None, *, burn_in: int = 100, thin: int = 1
) -> tuple[Integers, float]:
    """Draw bases with probability proportional to |det A_B|, by independent Metropolis.

    Each proposal is an annealed draw that knows nothing of the bases before it, accepted with the
    ratio of the weights (Andrieu, Doucet, Holenstein 2010). So a basis either repeats the one
    before, with probability about 1 - acceptance, or is independent of it.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
    size : int
        Number of bases.
    rng : seed or numpy Generator, optional
    burn_in : int, default 100
        Proposals before the first basis that is kept. The distance to the law falls by a factor
        for each, at least 1 - 1 / m when the largest weight is m times the mean; m is a few tens.
    thin : int, default 1
        Proposals from one kept basis to the next; more make repeats rarer.

    Returns
    -------
    bases : (size, r) array of int
        Each row ascending.
    acceptance : float
        Share of proposals accepted.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.zonotope.volume import independent_bases
    >>> A = np.random.default_rng(0).normal(size=(3, 12))
    >>> bases, acceptance = independent_bases(A, 1000, rng=0)
    >>> bases.shape, acceptance > 0.7
    ((1000, 3), True)
    """
    size = as_count(size, "size", 1)
    thin = as_count(thin, "thin", 1)
    burn_in = as_count(burn_in, "burn_in", 0)
    rng = np.random.default_rng(rng)
    with announce_compilation():
        annealed = Annealed(A, None, rng)
        bases, logs = annealed.draw(burn_in + size * thin, rng)
    levels = logs + rng.standard_exponential(logs.size)
    states = np.zeros(logs.size, np.int64)
    for k in range(1, logs.size):
        states[k] = k if levels[k] > logs[states[k - 1]] else states[k - 1]
    kept = annealed.items[bases[states[burn_in + thin - 1 :: thin]]]
    return np.sort(kept, axis=1), float(np.mean(np.diff(states) > 0)) if logs.size > 1 else 1.0


class Annealed:
    """Bases drawn from the projection DPP and annealed towards |det A_B|, with their weights."""

    def __init__(self, A: Any, moves: int | None, rng: np.random.Generator) -> None:
        self.engine, self.log_scale, self.items, _ = lewis_position(A)
        target = ProjectionDPP(self.engine.rows, weights=self.engine.lengths)
        self.log_scale += target.whitening.logdet  # zero, up to rounding
        self.sampler = exact.prepare(target)
        self.state = self.sampler.start(rng, None)
        self.moves = 2 * target.r if moves is None else as_count(moves, "moves", 0)
        self.share = self.check(rng)
        while moves is None and self.share < EVEN and self.moves < MOST_MOVES * target.r:
            self.moves *= 2
            self.share = self.check(rng)

    def powers(self):
        return 2.0 - (np.arange(self.moves) + 0.5) / max(1, self.moves)

    def check(self, rng, K=PILOT, eq=None):
        bases, logs = self.draw(K, rng)
        r = bases.shape[1]
        self._walk(bases, np.ones(10 * r + self.moves if eq is None else eq), rng)
        back = self._walk(bases, np.ascontiguousarray(self.powers()[::-1]), rng) + self.log_scale
        f, b = VolumeEstimate.from_logs(logs), VolumeEstimate.from_logs(back)
        self.detail = (f.effective_share, math.exp(f.log_value - b.log_value))
        return min(f.effective_share, math.exp(f.log_value - b.log_value))

    def draw(self, size: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], Floats]:
        """Return bases, and the logarithms of weights whose mean is the volume."""
        bases = np.empty((size, self.engine.rows.shape[0]), np.int32)
        self.sampler.advance(self.state, rng, bases, np.empty((size, 0)), 1)
        return bases, self._walk(bases, self.powers(), rng) + self.log_scale

    def _walk(self, bases, powers, rng):
        r, n = self.engine.rows.shape
        logs = np.empty(len(bases))
        tile, scratch = empty_tile(r, n), scratch_for(r, n)
        step = max(1, 2**18 // r**2)
        for start in range(0, len(bases), step):
            part = slice(start, start + step)
            stack = self.engine.columns.dense[bases[part]]
            logs[part] = -np.linalg.slogdet(stack)[1]
            if powers.size:
                T = np.ascontiguousarray(np.linalg.inv(np.swapaxes(stack, 1, 2)))
                alias = self.sampler.alias
                if not anneal(rng, self.engine, alias, powers, bases[part], logs[part], T, tile, scratch):
                    raise ArithmeticError("a basis is numerically singular; pass moves=0")
        return logs


@lean
def anneal(
    rng: np.random.Generator,
    engine: Engine,
    alias: Floats,
    powers: Floats,
    bases: NDArray[np.int32],
    logs: Floats,
    inverses: Floats,
    tile: Tile,
    scratch: Scratch,
) -> bool:
    """Anneal each basis by exchanges, and average its log, which is -log |det E_B|, on the way.

    An exchange takes away an item s, uniformly, and adds t in proportion to
    |det E_{B - s + t}|^p w_t, that is to |cos(T_s, e_t)|^p w_t. As sum_t w_t cos^2 = 1 and the w_t
    sum to r, proposals from the alias table of w are accepted at least once in r times.
    """
    T, basis, column, units = tile.T, tile.basis, scratch.column, engine.columns.dense
    n, r = units.shape
    for k in range(bases.shape[0]):
        for p in range(r):
            basis[p] = bases[k, p]
            for i in range(r):
                T[p, i] = inverses[k, p, i]
        tile.age[0] = 0
        log = logs[k]
        total = 0.0
        for m in range(powers.shape[0]):
            total += log / 2
            power = powers[m]
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
                    entry += T[s, i] * units[t, i]
                cosine = abs(entry) / size
                level = rng.random()
                if level < cosine and cosine > DEPENDENT and level < cosine**power:
                    break
            if t != basis[s]:
                tableau_column(engine, T, t, column)
                pivot(tile, s, t, column, scratch.weights)
                log -= math.log(abs(entry))
                if tile.age[0] >= REFRESH or abs(entry) > LARGE:
                    if not refactorise(engine, tile, scratch):
                        return False
                    tile.age[0] = 0
            total += log / 2
        logs[k] = total / powers.shape[0]
        for p in range(r):
            bases[k, p] = basis[p]
    return True
