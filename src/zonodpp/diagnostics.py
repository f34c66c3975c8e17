"""Whether chains have converged, and how far off their estimates are.

`psrf` and `psrf_evolution` are the Gelman-Rubin diagnostic as R's CODA computes it, the one in the
paper's figures. `from_arviz` takes the rank-normalised diagnostics of today from arviz-stats. The
others compare draws with what is known exactly.
"""

from __future__ import annotations

from itertools import chain, combinations, islice
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from zonodpp.columns import Floats, Integers
from zonodpp.inputs import as_count, as_positive, check_finite, one_of

if TYPE_CHECKING:
    from zonodpp.samples import Samples
    from zonodpp.targets import VolumeSampling

FIRST = 50  # CODA's gelman.plot starts this many iterations after the first
ENUMERABLE = 10**6  # sets of r items that are few enough to look at each


class Psrf(NamedTuple):
    """The potential scale reduction factor and its upper confidence limit."""

    point: float
    upper: float


class PsrfEvolution(NamedTuple):
    """The potential scale reduction factor of the chains up to each of some iterations."""

    iterations: Integers
    point: Floats
    upper: Floats


class Deciles(NamedTuple):
    """Median, first and last decile across chains."""

    median: Floats
    lower: Floats
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
    return _psrf(_as_chains(x, 2, 2), _as_share(confidence))


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
    values = _as_chains(x, 2, FIRST + 1)
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
    if dfd > 4e5:
        return float(2 * special.gammaincinv(dfn / 2, p) / dfn)
    return float(special.fdtri(dfn, dfd, p))


def from_arviz(name: str, x: ArrayLike) -> float:
    """Bulk ESS, rank-normalised split R-hat or MCSE of a quantity; needs ``zonodpp[stats]``.

    NaN when x is constant: an event that was never seen, or always, tells nothing about the error.
    R-hat is infinite when each chain is constant but not all at the same value.

    Parameters
    ----------
    name : {"ess", "rhat", "mcse"}
    x : (chains, draws) array_like
        At least four draws, and for R-hat at least two chains.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import from_arviz
    >>> x = np.random.default_rng(0).normal(size=(4, 1000))
    >>> round(from_arviz("ess", x), -2), round(from_arviz("mcse", x), 3)
    (3900.0, 0.016)
    """
    method = {"ess": "bulk", "rhat": "rank", "mcse": "mean"}[
        one_of(name, "name", ("ess", "rhat", "mcse"))
    ]
    try:
        from arviz_stats.base.array import array_stats
    except ImportError:
        raise ImportError(
            f"{name} needs arviz-stats; install it with pip install 'zonodpp[stats]'"
        ) from None
    values = _as_chains(x, 2 if name == "rhat" else 1, 4)
    if (values == values[0, 0]).all():
        return float("nan")
    statistics: Any = array_stats
    # Halves of 0/1 chains may be constant, or half ones; arviz-stats then divides by zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(getattr(statistics, name)(values, method=method))


def deciles(x: ArrayLike) -> Deciles:
    """Median, first and last decile across chains, the bands in the paper's figures.

    Parameters
    ----------
    x : (chains, ...) array_like

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import deciles
    >>> deciles(np.arange(11.0)[:, None])
    Deciles(median=array([5.]), lower=array([1.]), upper=array([9.]))
    """
    lower, median, upper = np.quantile(np.asarray(x, dtype=np.float64), [0.1, 0.5, 0.9], axis=0)
    return Deciles(median, lower, upper)


def relative_error(
    samples: Samples, S: ArrayLike, exact: float | None = None, *, tracked: int | None = None
) -> Floats:
    """Error ``|estimate - exact| / exact`` of P(S in B) as the draws of each chain come in.

    Parameters
    ----------
    samples : Samples
    S : array_like of int
        A set of items.
    exact : float, optional
        What to compare with; the target's own ``inclusion(S)`` (power 2) by default.
    tracked : int, optional
        Average this column of ``samples.tracked``, recorded for S, instead of S's presence.

    Returns
    -------
    (chains, draws) array
        Entry [k, t] uses the first t + 1 draws of chain k. `deciles` sums it up across chains.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.diagnostics import deciles, relative_error
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> error = relative_error(sample(target, 2000, chains=20, rng=0), [1, 2])
    >>> bool(deciles(error).upper[-1] < 0.1)
    True
    """
    if exact is None:
        if not _is_whole(samples):
            raise ValueError(
                "the draws were thinned, so the target's inclusion(S) is not theirs; pass exact="
            )
        if samples.target.power != 2:
            raise ValueError(
                f"P(S in B) has no closed form for power {samples.target.power:g}; pass exact="
            )
        exact = float(samples.target.inclusion(S))
        if exact == 0:
            raise ValueError("S is in no basis (P(S in B) = 0), so there is no relative error")
    exact = as_positive(exact, "exact")
    values = samples.trace(S) if tracked is None else samples.trace(tracked=tracked)
    steps = np.arange(1, values.shape[1] + 1)
    return np.asarray(np.abs(np.cumsum(values, axis=1) / steps / exact - 1))


def distinct_subsets(samples: Samples) -> Integers:
    """Count the distinct subsets that each chain has seen so far, (chains, draws).

    Chains taken together have seen ``len(samples.unique()[1])``.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.diagnostics import distinct_subsets
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> distinct_subsets(sample(target, 8, rng=0))
    array([[1, 2, 2, 2, 3, 3, 3, 3]])
    """
    fresh = np.zeros(samples.subsets.shape[:2], dtype=np.int64)
    for k, keys in enumerate(samples._keys()):
        _, first = np.unique(keys, return_index=True)
        fresh[k, first] = 1
    return fresh.cumsum(axis=1)


def total_variation(samples: Samples) -> float:
    """Total variation distance from the law of the draws, all chains together, to the target.

    Independent draws have one too, which falls with the square root of their number.

    Raises
    ------
    ValueError
        When there are more than a million sets of r out of n items: the distance would hardly
        depend on anything but the number of draws.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.diagnostics import total_variation
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> total_variation(sample(target, 10_000, rng=0)) < 0.02
    True
    """
    target = samples.target
    if not _is_whole(samples):
        raise ValueError("the draws were thinned: they no longer follow the target's law")
    if comb(target.n, target.r) > ENUMERABLE:
        raise ValueError(
            f"there are {comb(target.n, target.r):.2g} sets of {target.r} out of {target.n} items, "
            f"more than the {ENUMERABLE:,} for which total variation says anything; "
            "use relative_error(samples, S) for some sets S"
        )
    bases, counts = samples.unique()
    log_prob = target.log_prob(bases)
    if target.power != 2:
        log_prob = log_prob - _log_normaliser(target)
    # Subsets that were never drawn have no excess, so those that were are enough.
    excess = counts / counts.sum() - np.exp(log_prob)
    return float(excess[excess > 0].sum())


def _log_normaliser(target: VolumeSampling) -> float:
    """Log of the sum over all bases of |det A_B|^power * prod(q_B)."""
    every = combinations(range(target.n), target.r)
    step = max(1, 2**22 // target.r)
    total = -np.inf
    while block := list(islice(every, step)):
        bases = np.fromiter(chain.from_iterable(block), np.int64).reshape(-1, target.r)
        total = np.logaddexp(total, special.logsumexp(target.log_prob(bases)))
    return float(total)


def _is_whole(samples: Samples) -> bool:
    return bool((samples.subsets >= 0).all())


def _as_chains(x: ArrayLike, chains: int, draws: int) -> Floats:
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
