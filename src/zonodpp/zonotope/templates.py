"""Zonotopes with given directions around a zonotope with centre zero, and which directions to take.

Generators h_i with H C = G, where the absolute values in each row of C add up to one at most, span
a zonotope that contains that of G. With lambda_i the sum for row i, the columns lambda_i h_i are
the smallest that this C allows. The volume to the power 1/r is a concave function of lambda
(Brunn and Minkowski), so it lies below its tangents. Let b_i be its slope along lambda_i: each g_j
is expressed with the least sum of b_i |c_ij|, by a linear program, and the volume falls, or stays.
Then the slopes are computed anew.

The slope along h is the brightness of the zonotope along h: the volume of its shadow times |h|. It
is the mean of |T_p h| over the rows T_p of inverses of bases drawn with probability proportional to
|det H_B|. In Lewis position the brightness is about the same in all directions.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from zonodpp._types import Booleans, Floats, Integers
from zonodpp.numerics.compiled import jit
from zonodpp.zonotope.volume import independent_bases

_BASES = 300  # drawn for slopes; with so few subsets that
_FEW = 10_000  # are all of them taken
_ROUNDS = 4  # of new slopes; later ones change the volume by about one part in a thousand
_LEAST_SLOPE = 1e-6  # of the largest: a slope of zero would let a generator grow for nothing
_PIVOTS = 200  # of a linear program, at most
_ZERO = 1e-11  # an entry of the tableau that counts as zero
_OLDEST = 50  # exchanges after which an inverse is computed anew


def tightened(G: Floats, H: Floats) -> Floats:
    """Return multiples of the columns of H whose zonotope contains that of G, and is small."""
    for _ in range(_ROUNDS):
        slopes = brightness(H)
        everything = np.ones(H.shape[1], np.bool_)
        C = np.zeros((H.shape[1], G.shape[1]))
        _express(H, np.maximum(slopes, _LEAST_SLOPE * slopes.max()), everything, G, C)
        C += np.linalg.pinv(H) @ (G - H @ C)  # rounding errors of the exchanges
        stretch = np.abs(C).sum(axis=1)
        H = np.ascontiguousarray((H * stretch)[:, stretch > 0])
        if np.abs(stretch - 1).max() < 1e-6:
            break
    return H


def brightness(H: Floats) -> Floats:
    """Return the slope of the log volume as each column of H is stretched."""
    bases, shares = weighted_bases(H)
    r, n = H.shape
    if len(bases) == math.comb(n, r):  # the share of the volume in tiles with the generator
        slopes = np.zeros(n)
        np.add.at(slopes, bases.ravel(), np.repeat(shares, r))
        return slopes
    rows = np.linalg.inv(H.T[bases].transpose(0, 2, 1)).reshape(-1, r)
    return np.asarray(np.abs(rows @ H).sum(axis=0) / (len(bases) * (n - r + 1)))


def weighted_bases(H: Floats) -> tuple[Integers, Floats]:
    """Return bases and their shares of the volume: all bases, or some that are drawn."""
    r, n = H.shape
    if math.comb(n, r) > _FEW:
        return independent_bases(H, _BASES, rng=0)[0], np.full(_BASES, 1 / _BASES)
    bases = np.array(list(combinations(range(n), r)))
    sizes = np.abs(np.linalg.det(H.T[bases]))
    return bases, sizes / sizes.sum()


def eliminated(G: Floats, size: int) -> Floats:
    """Return ``size`` generators that are left when others are absorbed, the cheapest first.

    A generator is expressed by others, as above, and they grow. In Lewis position lengths are
    slopes, so the price of this is the sum of what they grow by, less the length of the generator.
    """
    H, lengths = np.ascontiguousarray(G), np.linalg.norm(G, axis=0)
    prices = np.zeros(H.shape[1])
    while H.shape[1] > size:
        lengths, placed = _lewis(H, lengths)
        alive, stretch = np.ones(H.shape[1], np.bool_), np.ones(H.shape[1])
        steps = min(max(1, len(H) // 2), H.shape[1] - size)
        _absorb(placed, lengths, alive, stretch, prices, steps)
        H = np.ascontiguousarray((H * stretch)[:, alive])
        lengths, prices = (lengths * stretch)[alive], prices[alive]
    return H


def _lewis(H: Floats, lengths: Floats) -> tuple[Floats, Floats]:
    """Return lengths closer to those in Lewis position, and the generators there."""
    placed = H
    for _ in range(5):
        gram = (H / lengths) @ H.T
        placed = np.linalg.solve(np.linalg.cholesky(gram), H)
        lengths = np.linalg.norm(placed, axis=0)
    return lengths, np.ascontiguousarray(placed)


@jit
def _absorb(
    H: Floats, lengths: Floats, alive: Booleans, stretch: Floats, prices: Floats, steps: int
) -> None:
    """Let the cheapest generators go, one after another; prices only rise until looked at again."""
    n = H.shape[1]
    fresh = np.zeros(n, np.bool_)
    H, lengths = H.copy(), lengths.copy()
    C = np.zeros((n, 1))
    for _ in range(steps):
        while True:
            j = -1
            for i in range(n):
                if alive[i] and (j < 0 or prices[i] < prices[j]):
                    j = i
            alive[j] = False
            C[:] = 0.0
            prices[j] = _express(H, lengths, alive, H[:, j : j + 1].copy(), C) - lengths[j]
            if fresh[j]:
                break
            alive[j] = fresh[j] = True
        for i in range(n):
            if C[i, 0] != 0.0:
                growth = 1.0 + abs(C[i, 0])
                H[:, i] *= growth
                lengths[i] *= growth
                stretch[i] *= growth
                prices[i], fresh[i] = 0.0, False


@jit
def _first(H: Floats, costs: Floats, alive: Booleans) -> Integers:
    """Return a basis of cheap columns: Gram-Schmidt with the largest remainder first."""
    r, m = H.shape
    rest, basis = H / costs, np.empty(r, np.int64)
    for p in range(r):
        longest = -1.0
        for j in range(m):
            if alive[j]:
                length = 0.0
                for a in range(r):
                    length += rest[a, j] ** 2
                if length > longest:
                    longest, basis[p] = length, j
        axis = rest[:, basis[p]] / math.sqrt(longest)
        for j in range(m):
            share = 0.0
            for a in range(r):
                share += axis[a] * rest[a, j]
            for a in range(r):
                rest[a, j] -= share * axis[a]
    return basis


@jit
def _worthiest(
    columns: Floats, costs: Floats, free: Booleans, y: Floats
) -> tuple[float, int, float]:
    """Return the largest |h_i'y| / costs_i above 1, that i or -1, and the sign of h_i'y."""
    best, entering, sign = 1.0 + 1e-9, -1, 1.0
    for i in range(costs.shape[0]):
        if free[i]:
            worth = 0.0
            for a in range(y.shape[0]):
                worth += columns[i, a] * y[a]
            if abs(worth) > best * costs[i]:
                best, entering = abs(worth) / costs[i], i
                sign = 1.0 if worth > 0 else -1.0
    return best, entering, sign


@jit
def _dual(x: Floats, prices: Floats, T: Floats) -> Floats:
    """Return y with h_i'y = the slope of the costs in each basic coefficient."""
    y = np.zeros(x.shape[0])
    for p in range(x.shape[0]):
        slope = prices[p] if x[p] >= 0 else -prices[p]
        for a in range(x.shape[0]):
            y[a] += slope * T[p, a]
    return y


@jit
def _leaving(
    x: Floats, column: Floats, sign: float, gain: float, prices: Floats
) -> tuple[int, float]:
    """Return the coefficient that leaves, or -1, as the entering one grows, and how far it grows.

    A coefficient that meets zero may change its sign and stay, while the sum still falls.
    """
    r = x.shape[0]
    breaks, places, count = np.empty(r), np.empty(r, np.int64), 0
    for p in range(r):
        speed = sign * column[p]
        if abs(speed) > _ZERO and (x[p] * speed > 0 or (x[p] == 0.0 and speed > 0)):
            breaks[count], places[count] = x[p] / speed, p
            count += 1
    for k in np.argsort(breaks[:count]):
        gain -= 2.0 * abs(column[places[k]]) * prices[places[k]]
        if gain <= 0.0:
            return places[k], breaks[k]
    return -1, 0.0


@jit
def _express(H: Floats, costs: Floats, alive: Booleans, G: Floats, C: Floats) -> float:
    """Fill C with H C = G so that the sum of costs_i |c_ij| is least; return that sum.

    The simplex method. Each program begins with the basis at which the one before ended.
    """
    r = H.shape[0]
    columns = H.T.copy()
    basis = _first(H, costs, alive)
    T = np.linalg.inv(np.ascontiguousarray(H[:, basis]))
    free = alive.copy()  # to enter the basis
    free[basis] = False
    prices = costs[basis]
    total, age = 0.0, 0
    for j in range(G.shape[1]):
        if age > _OLDEST:
            T, age = np.linalg.inv(np.ascontiguousarray(H[:, basis])), 0
        x = T @ np.ascontiguousarray(G[:, j])
        for _ in range(_PIVOTS):
            best, entering, sign = _worthiest(columns, costs, free, _dual(x, prices, T))
            if entering < 0:
                break
            column = T @ columns[entering]
            gain = (best - 1.0) * costs[entering]
            p, length = _leaving(x, column, sign, gain, prices)
            if p < 0:
                break
            x -= length * sign * column
            x[p] = length * sign
            free[basis[p]], free[entering] = True, False
            basis[p], prices[p] = entering, costs[entering]
            pivot_row = T[p] / column[p]
            for i in range(r):
                for a in range(r):
                    T[i, a] -= column[i] * pivot_row[a]
            T[p] = pivot_row
            age += 1
        for p in range(r):
            C[basis[p], j] = x[p]
            total += prices[p] * abs(x[p])
    return total
