"""The Gelman-Rubin statistic, exactly as CODA computes it in R."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers
from zonodpp.arguments import as_count, as_positive, check_finite

FIRST = 50  # iterations before the first value of an evolution, as gelman.plot takes


class Psrf(NamedTuple):
    """The potential scale reduction factor and its upper confidence limit."""

    point: float
    upper: float


class PsrfEvolution(NamedTuple):
    """The potential scale reduction factor of the chains up to each of some iterations."""

    iterations: Integers
    point: Floats
    upper: Floats


def psrf(x: ArrayLike, *, confidence: float = 0.95) -> Psrf:
    """Gelman-Rubin potential scale reduction factor of one quantity, with its confidence limit.

    The figures are those of CODA's ``gelman.diag(x, autoburnin=FALSE, multivariate=FALSE)``, in
    doubtful cases too: both are NaN when no chain ever moved, or when all chains agree exactly in
    mean and in variance; the point is infinite when each chain is constant but not all at the same
    value.

    Parameters
    ----------
    x : (chains, draws) array_like
        The quantity along at least two chains of at least two draws.
    confidence : float, default 0.95
        ``upper`` is the upper end of an interval that covers with this probability.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import psrf
    >>> x = np.random.default_rng(0).normal(size=(4, 1000))
    >>> psrf(x).upper < 1.01
    True
    >>> psrf(x + [[0], [0], [0], [2]]).point > 1.2  # one chain is somewhere else
    True
    """
    return _psrf(as_chains(x, 2, 2), _as_share(confidence))


def psrf_evolution(
    x: ArrayLike, bins: int = 50, *, autoburnin: bool = True, confidence: float = 0.95
) -> PsrfEvolution:
    """Gelman-Rubin factor of ever longer beginnings of the chains, as CODA's ``gelman.plot``.

    Parameters
    ----------
    x : (chains, draws) array_like
        The quantity along at least two chains of more than 50 draws.
    bins : int, default 50
        Number of steps from iteration 51 to the last (fewer if there are fewer iterations);
        ``max.bins`` in CODA.
    autoburnin : bool, default True
        Leave out the first half of each beginning.
    confidence : float, default 0.95
        As in `psrf`.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import psrf_evolution
    >>> x = np.random.default_rng(0).normal(size=(4, 1000))
    >>> evolution = psrf_evolution(x, bins=3)
    >>> evolution.iterations
    array([  51,  367,  683, 1000])
    >>> evolution.point.round(2)
    array([1., 1., 1., 1.])
    """
    values = as_chains(x, 2, FIRST + 1)
    share = _as_share(confidence)
    draws = values.shape[1]
    steps = min(draws - FIRST, as_count(bins, "bins", 1))
    width = (draws - FIRST) // steps
    ends = np.append(FIRST + 1 + width * np.arange(steps), draws)
    found = [_psrf(values[:, (end + 1) // 2 if autoburnin else 0 : end], share) for end in ends]
    return PsrfEvolution(ends, *np.array(found).T)


def _psrf(x: Floats, confidence: float) -> Psrf:
    """Follow coda::gelman.diag line by line, for one variable."""
    m, n = x.shape
    moved = x - x[:, :1]  # so that a constant chain has variance zero, not rounding noise
    shift = moved.mean(axis=1, keepdims=True)
    variances = _settled(np.square(moved - shift).sum(axis=1) / (n - 1))
    means = _settled(x[:, 0] + shift[:, 0])
    centred = means - means.mean()
    w = variances.mean()
    b = n * _variance(means)
    var_w = _variance(variances) / m
    var_b = 2 * b**2 / (m - 1)
    # CODA's cov(s2, xbar^2) - 2 mean(xbar) cov(s2, xbar), without its cancellation.
    cov_wb = n / m * np.sum((variances - w) * centred**2) / (m - 1)
    V = (n - 1) * w / n + (1 + 1 / m) * b / n
    var_V = (
        (n - 1) ** 2 * var_w + (1 + 1 / m) ** 2 * var_b + 2 * (n - 1) * (1 + 1 / m) * cov_wb
    ) / n**2
    with np.errstate(divide="ignore", invalid="ignore"):
        df_V = 2 * V**2 / var_V
        adjustment = (df_V + 3) / (df_V + 1)
        fixed = (n - 1) / n
        random = (1 + 1 / m) / n * (b / w)
        quantile = _f_quantile((1 + confidence) / 2, m - 1, 2 * w**2 / var_w)
        point = np.sqrt(adjustment * (fixed + random))
        upper = np.sqrt(adjustment * (fixed + quantile * random))
    return Psrf(float(point), float(upper))


def _settled(values: Floats) -> Floats:
    """Make values equal that differ by rounding alone; CODA sums in extended precision."""
    if np.ptp(values) <= 16 * np.finfo(float).eps * np.abs(values).max():
        return np.full_like(values, values[0])
    return values


def _variance(values: Floats) -> Any:
    return np.var(values - values[0], ddof=1)


def _f_quantile(p: float, dfn: float, dfd: float) -> float:
    """Quantile of the F distribution; beyond dfd = 4e5 the chi-square limit, as R's qf."""
    from scipy import special  # takes a third of a second to import

    if dfd > 4e5:
        return float(2 * special.gammaincinv(dfn / 2, p) / dfn)
    return float(special.fdtri(dfn, dfd, p))


def as_chains(x: ArrayLike, chains: int, draws: int) -> Floats:
    """Check values of at least so many chains and draws, (chains, draws)."""
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] < chains or values.shape[1] < draws:
        raise ValueError(
            f"x must be (chains, draws) with at least {chains} chain(s) of {draws} draws, "
            f"got an array of shape {values.shape}"
        )
    check_finite(values, "x")
    return values


def _as_share(confidence: float) -> float:
    share = as_positive(confidence, "confidence")
    if share >= 1:
        raise ValueError(f"confidence must be between 0 and 1, such as 0.95; got {share:g}")
    return share
