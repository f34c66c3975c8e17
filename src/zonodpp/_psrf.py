"""The Gelman-Rubin statistic, exactly as CODA computes it in R."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_count, as_reals
from zonodpp._imports import on_use
from zonodpp._types import Floats, Integers

_FIRST = 50  # iterations before the first value of an evolution, as in gelman.plot


class Psrf(NamedTuple):
    """The potential scale reduction factor and its upper confidence limit.

    Attributes
    ----------
    point : float
        The factor, near 1 if the chains agree.
    upper : float
        The upper end of its confidence interval.

    See Also
    --------
    psrf : The function that makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import psrf
    >>> point, upper = psrf(np.random.default_rng(0).normal(size=(4, 1000)))
    >>> 0.99 < point < upper < 1.01
    True
    """

    point: float
    upper: float


class PsrfEvolution(NamedTuple):
    """The potential scale reduction factor of ever longer beginnings of the chains.

    Attributes
    ----------
    iterations : (m,) array of int
        The lengths of these beginnings.
    point : (m,) array
        The factor of each beginning.
    upper : (m,) array
        The upper ends of the confidence intervals.

    See Also
    --------
    psrf_evolution : The function that makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import psrf_evolution
    >>> iterations, point, upper = psrf_evolution(np.random.default_rng(0).normal(size=(4, 100)))
    >>> iterations.shape == point.shape == upper.shape
    True
    """

    iterations: Integers
    point: Floats
    upper: Floats


def psrf(x: ArrayLike, *, confidence: float = 0.95) -> Psrf:
    """Compute the Gelman-Rubin potential scale reduction factor of one quantity.

    Both numbers are those of CODA's ``gelman.diag(x, autoburnin=FALSE, multivariate=FALSE)``, in
    degenerate cases too: they are NaN when no chain ever moved, or when all chains agree exactly in
    mean and in variance; ``point`` is infinite when each chain is constant but not all at the same
    value.

    Parameters
    ----------
    x : (chains, draws) array_like
        The quantity along at least two chains of at least two draws.
    confidence : float, default 0.95
        ``upper`` is the upper end of an interval that covers with this probability.

    Returns
    -------
    Psrf
        With ``point`` and ``upper``, the upper confidence limit.

    Raises
    ------
    ValueError
        When there are fewer than two chains, or fewer than two draws.

    See Also
    --------
    psrf_evolution : The factor of ever longer beginnings of the chains.
    from_arviz : Rank-normalised diagnostics.

    References
    ----------
    A. Gelman, D. B. Rubin, "Inference from iterative simulation using multiple sequences",
    Statistical Science 7 (1992).

    S. P. Brooks, A. Gelman, "General methods for monitoring convergence of iterative simulations",
    Journal of Computational and Graphical Statistics 7 (1998).

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
    return _psrf(as_chains(x, 2, 2), confidence)


def psrf_evolution(
    x: ArrayLike, bins: int = 50, *, autoburnin: bool = True, confidence: float = 0.95
) -> PsrfEvolution:
    """Compute the Gelman-Rubin factor of ever longer beginnings, as CODA's ``gelman.plot``.

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

    Returns
    -------
    PsrfEvolution
        With ``iterations``, ``point`` and ``upper``.

    Raises
    ------
    ValueError
        When there are fewer than two chains, or at most 50 draws.

    See Also
    --------
    psrf : The factor of whole chains.

    References
    ----------
    A. Gelman, D. B. Rubin, "Inference from iterative simulation using multiple sequences",
    Statistical Science 7 (1992).

    S. P. Brooks, A. Gelman, "General methods for monitoring convergence of iterative simulations",
    Journal of Computational and Graphical Statistics 7 (1998).

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
    values = as_chains(x, 2, _FIRST + 1)
    draws = values.shape[1]
    steps = min(draws - _FIRST, as_count(bins, "bins", 1))
    width = (draws - _FIRST) // steps
    ends = np.append(_FIRST + 1 + width * np.arange(steps), draws)
    parts = (values[:, (end + 1) // 2 if autoburnin else 0 : end] for end in ends)
    found = [_psrf(part, confidence) for part in parts]
    return PsrfEvolution(ends, *np.array(found).T)


def _psrf(x: Floats, confidence: float) -> Psrf:
    """Follow coda::gelman.diag line by line, for one variable."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, such as 0.95; got {confidence!r}")
    m, n = x.shape
    x = _of_size_one(x)
    moved = x - x[:, :1]  # so that a constant chain has variance zero, not rounding noise
    variances = moved.var(axis=1, ddof=1)
    off_w, off_b = _deviations(variances), _deviations(x[:, 0] + moved.mean(axis=1))
    w = variances.mean()
    b = n * np.square(off_b).sum() / (m - 1)
    var_w = np.square(off_w).sum() / (m - 1) / m
    var_b = 2 * b**2 / (m - 1)
    # CODA's cov(s2, xbar^2) - 2 mean(xbar) cov(s2, xbar), without its cancellation.
    cov_wb = n / m * np.sum(off_w * np.square(off_b)) / (m - 1)
    share = 1 + 1 / m
    V = ((n - 1) * w + share * b) / n
    var_V = ((n - 1) ** 2 * var_w + share**2 * var_b + 2 * (n - 1) * share * cov_wb) / n**2
    with np.errstate(divide="ignore", invalid="ignore"):
        df_V = 2 * V**2 / var_V
        adjustment = (df_V + 3) / (df_V + 1)
        fixed, random = (n - 1) / n, share / n * (b / w)
        quantile = _f_quantile((1 + confidence) / 2, m - 1, 2 * w**2 / var_w)
        point = np.sqrt(adjustment * (fixed + random))
        upper = np.sqrt(adjustment * (fixed + quantile * random))
    return Psrf(float(point), float(upper))


def _of_size_one(x: Floats) -> Floats:
    """Return x times a power of two: fourth powers of its deviations are then no overflow.

    The factor has no units: it changes none of the results.
    """
    x = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))
    return np.ldexp(x, -int(np.frexp(np.abs(x - x[0, 0]).max())[1]))


def _deviations(values: Floats) -> Floats:
    """Return values minus their mean; zeros if they differ by rounding alone.

    CODA sums in extended precision, and so sees that such values are equal.
    """
    moved = values - values[0]
    if np.ptp(moved) <= 16 * np.finfo(float).eps * np.abs(values).max():
        return np.zeros_like(values)
    return np.asarray(moved - moved.mean())


def _f_quantile(p: float, dfn: float, dfd: float) -> float:
    """Quantile of the F distribution; beyond dfd = 4e5 the chi-square limit, as R's qf."""
    special = on_use("scipy.special")  # takes a fifth of the time to import this package

    if dfd > 4e5:
        return float(2 * special.gammaincinv(dfn / 2, p) / dfn)
    return float(special.fdtri(dfn, dfd, p))


def as_chains(x: ArrayLike, chains: int, draws: int) -> Floats:
    """Check values of at least so many chains and draws, (chains, draws)."""
    values = as_reals(x, "x", finite=True)
    if values.ndim != 2 or values.shape[0] < chains or values.shape[1] < draws:
        needed = f"(chains, draws) with at least {chains} chain(s) of {draws} draws"
        more = "sample(target, 1000, chains=4) draws four chains of 1000 draws"
        raise ValueError(f"x must be {needed}, got an array of shape {values.shape}; {more}")
    return values
