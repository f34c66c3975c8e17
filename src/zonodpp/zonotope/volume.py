"""The volume of a zonotope: the sum over all bases, or an unbiased estimate with its error.

Vol Z(A) = sum over bases of |det A_B| (Proposition 1 of the paper). A linear map brings the columns
into Lewis position, w_i e_i with |e_i| = 1 and sum_i w_i e_i e_i' = I, where lengths and anisotropy
have dropped out; the w_i are the l1 Lewis weights. Then P(B) = |det E_B|^2 prod w_B is a projection
DPP, and up to the map's determinant the volume is the mean of 1 / |det E_B| over exact draws.

Where columns crowd together this mean has a heavy tail. So draws are annealed (Neal 2001): the
power of |det E_B| falls from 2 to 1 in small steps, with an exchange of items at each, and the
logarithms are averaged over the steps. The mean stays unbiased, and the heavy tail disappears.

Draws cannot show how much of a tail they have missed. Annealing run backwards can: it starts from
bases that follow |det A_B| and meets each path in proportion to the path's weight. So its mean
weight, divided by the volume, is the relative second moment of the weights (Grosse, Ancha, Roy
2016).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, combinations, islice

import numpy as np

from zonodpp._arguments import as_count, as_positive, spawn
from zonodpp._types import Floats, Integers, MatrixLike, SeedLike
from zonodpp.chains.columns import unit_vectors
from zonodpp.zonotope.annealing import ENTRIES_AT_ONCE, Annealed, log_mean, read_columns

_MOST_BASES = 5_000_000  # that the exact sum goes through
FIRST = 500  # draws from which the error is first estimated
_MOST_DRAWS = 1_000_000  # that are made if their number is not given
# Least effective share and least effective number of draws. Below either, an interval of two
# standard errors on both sides contains the volume less than nine times in ten.
_LEAST_SHARE, _LEAST_DRAWS = 0.25, 50
# Proposals before the first basis that is kept. Each multiplies the distance to the law by at most
# 1 - 1 / m, where no weight exceeds m times the mean; m is often about ten, and 0.9^100 is 3e-5.
_BURN_IN = 100


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

    See Also
    --------
    zonodpp.Zonotope.volume : Computes one.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> value, stderr = Zonotope([[1, 0, 1], [0, 1, 1]]).volume()  # a hexagon
    >>> round(value, 12), stderr
    (3.0, 0.0)
    """

    value: float
    stderr: float
    log_value: float
    relative: float = 0.0
    effective_share: float = 1.0
    draws: int = 0

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.stderr))


def exact_volume(A: MatrixLike) -> VolumeEstimate:
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
    X, shift, _, _ = read_columns(A)
    r, n = X.shape
    count = math.comb(n, r)
    if count > _MOST_BASES:
        raise ValueError(
            f"the exact volume goes through subsets of {r} of {n} columns: {_MOST_BASES:,} at "
            f"most, but there are {Decimal(count):.3g}; use method='estimate'"
        )
    units, lengths = unit_vectors(X)
    subsets = combinations(range(n), r)
    step = max(1, ENTRIES_AT_ONCE // r**2)
    log_value = -np.inf
    for _ in range(0, count, step):
        bases = np.fromiter(chain.from_iterable(islice(subsets, step)), np.int64).reshape(-1, r)
        logs = np.linalg.slogdet(units.T[bases])[1] + np.log(lengths)[bases].sum(axis=1)
        log_value = np.logaddexp(log_value, np.logaddexp.reduce(logs))
    log_value = float(log_value) + shift * math.log(2)
    return VolumeEstimate(_exp(log_value), 0.0, log_value)


def estimate_volume(
    A: MatrixLike,
    *,
    draws: int | None = None,
    rel_error: float = 0.01,
    moves: int | None = None,
    rng: SeedLike = None,
) -> VolumeEstimate:
    """Estimate the volume of the zonotope from independent draws; unbiased for given ``draws``.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        The zonotope is A [0, 1]^n.
    draws : int, optional
        Number of draws. If left out: as many as it takes to bring the standard error below
        ``rel_error`` times the volume, at most a million.
    moves : int, optional
        Exchanges by which a draw is annealed; 0 is importance sampling from the projection DPP. If
        left out: two for each item of a basis, doubled until trial draws have even weights.
    rng : seed or numpy Generator, optional

    Warns
    -----
    RuntimeWarning
        When weights are so uneven, or draws so few, that the standard error cannot be trusted, and
        when a million of them did not reach ``rel_error``.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.zonotope.volume import estimate_volume
    >>> A = np.random.default_rng(0).normal(size=(10, 100))
    >>> estimate_volume(A, rel_error=0.02, rng=1).relative < 0.02
    True
    """
    rel_error = as_positive(rel_error, "rel_error")
    most = _MOST_DRAWS if draws is None else as_count(draws, "draws", 2)
    [rng] = spawn(rng, purpose="volume")
    annealed = Annealed(A, moves, rng)
    logs = annealed.draw(min(FIRST, most) if draws is None else most, rng)[1]
    found = _summary(annealed, logs)
    while draws is None and found.draws < most and found.relative >= rel_error:
        # Somewhat more than the estimate asks for, so that there are no further small rounds.
        wanted = int(1.05 * found.draws * (found.relative / rel_error) ** 2) + 50
        more = annealed.draw(min(wanted, 4 * found.draws, most) - found.draws, rng)[1]
        logs = np.append(logs, more)
        found = _summary(annealed, logs)
    even = found.draws * found.effective_share
    problem = ""
    if found.effective_share < _LEAST_SHARE or even < _LEAST_DRAWS:
        problem = (
            f"the standard error of the volume cannot be trusted: {found.draws} draws with "
            f"{annealed.moves} moves each count as {even:.0f} of even weight (effective share "
            f"{found.effective_share:.2g}); pass a larger number of draws"
        )
    elif draws is None and found.relative >= rel_error:
        problem = (
            f"{most:,} draws brought the error of the volume to {found.relative:.2g} of it, not to "
            f"rel_error={rel_error:g}; pass a larger number of draws"
        )
    if problem:
        warnings.warn(problem, RuntimeWarning, stacklevel=3)  # the caller of `Zonotope.volume`
    return found


def _summary(annealed: Annealed, logs: Floats) -> VolumeEstimate:
    variance, count, log_value = annealed.variance(logs), logs.size, log_mean(logs)
    # A basis not met in so many draws may well hold a share 1 / count of the volume.
    relative = math.hypot(math.sqrt(variance / count), 1 / count)
    value, share = _exp(log_value), 1.0 / (1.0 + variance)
    return VolumeEstimate(value, relative * value, log_value, relative, share, count)


def _exp(log_value: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp(log_value))


def independent_bases(A: MatrixLike, size: int, rng: SeedLike = None) -> tuple[Integers, float]:
    """Draw bases with probability proportional to |det A_B|, by independent Metropolis.

    Each proposal is an annealed draw that knows nothing of the bases before it, accepted with the
    ratio of the weights (Andrieu, Doucet, Holenstein 2010). So a basis either repeats the one
    before, as one in four or five does, or is drawn anew.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
    size : int
        Number of bases.
    rng : seed or numpy Generator, optional

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
    [rng] = spawn(rng, purpose="bases")
    annealed = Annealed(A, None, rng)
    bases, logs = annealed.draw(1 + _BURN_IN + size, rng)
    levels = logs + rng.standard_exponential(logs.size)
    states = np.zeros(logs.size, np.int64)
    for k in range(1, logs.size):
        states[k] = k if levels[k] > logs[states[k - 1]] else states[k - 1]
    kept = annealed.items[bases[states[1 + _BURN_IN :]]]
    return np.sort(kept, axis=1), float(np.mean(np.diff(states) > 0))
