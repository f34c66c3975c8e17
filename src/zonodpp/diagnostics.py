"""Whether chains have converged, and how far off their estimates are.

`psrf` and `psrf_evolution` are the Gelman-Rubin diagnostic as R's CODA computes it, the one in the
paper's figures. `from_arviz` takes the newer, rank-normalised diagnostics from arviz-stats. The
other functions compare draws with exact probabilities; `check_sampler` is for samplers of your own.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_positive, as_reals, one_of
from zonodpp._imports import on_use, optional
from zonodpp._psrf import Psrf, PsrfEvolution, as_chains, psrf, psrf_evolution
from zonodpp._types import Floats, Integers, ItemsLike
from zonodpp.chains.check import check_sampler

if TYPE_CHECKING:
    from zonodpp.samples import Samples

__all__ = [
    "Deciles",
    "Psrf",
    "PsrfEvolution",
    "check_sampler",
    "deciles",
    "distinct_subsets",
    "from_arviz",
    "psrf",
    "psrf_evolution",
    "relative_error",
    "total_variation",
]

_ENUMERABLE = 10**6  # sets of r items that are few enough to look at each


class Deciles(NamedTuple):
    """Median, first and last decile across chains, as `deciles` returns them.

    Attributes
    ----------
    median : array
        The median.
    lower : array
        The first decile: a tenth of the chains is below.
    upper : array
        The last decile: a tenth of the chains is above.

    See Also
    --------
    deciles : The function that makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import deciles
    >>> median, lower, upper = deciles(np.arange(11.0))
    >>> float(median), float(lower), float(upper)
    (5.0, 1.0, 9.0)
    """

    median: Floats
    lower: Floats
    upper: Floats


def from_arviz(name: str, x: ArrayLike) -> float:
    """Compute bulk ESS, rank-normalised split R-hat or MCSE; needs ``zonodpp[stats]``.

    For an event that occurs in no draw, or in every draw, the error cannot be estimated: the result
    is NaN.

    Parameters
    ----------
    name : {"ess", "rhat", "mcse"}
        The diagnostic.
    x : (chains, draws) array_like
        At least four draws, and for R-hat at least two chains.

    Returns
    -------
    float
        NaN when x is constant. R-hat is infinite when each chain is constant but not all chains
        have the same value.

    See Also
    --------
    psrf : The older diagnostic, that of the paper.
    zonodpp.Samples.ess : Bulk ESS of the presence of a set of items.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, "Rank-normalization, folding,
    and localization: an improved R-hat", Bayesian Analysis 16 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import from_arviz
    >>> x = np.random.default_rng(0).normal(size=(4, 1000))
    >>> round(from_arviz("ess", x), -2), round(from_arviz("mcse", x), 3)
    (3900.0, 0.016)
    """
    methods = {"ess": "bulk", "rhat": "rank", "mcse": "mean"}
    method = methods[one_of(name, "name", list(methods))]
    statistics = optional("arviz_stats.base.array", "stats", name).array_stats
    values = as_chains(x, 2 if name == "rhat" else 1, 4)
    if (values == values[0, 0]).all():
        return float("nan")
    # Half of a chain of zeros and ones may be constant, or hold as many zeros as ones: arviz-stats
    # then divides by zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(getattr(statistics, name)(values, method=method))


def deciles(x: ArrayLike) -> Deciles:
    """Compute the median, first and last decile across chains, the bands in the paper's figures.

    Parameters
    ----------
    x : (chains, ...) array_like
        Numbers of each chain, such as `relative_error` returns.

    Returns
    -------
    Deciles
        With ``median``, ``lower`` and ``upper``, each of the shape of one chain's numbers.

    See Also
    --------
    relative_error : Errors to sum up.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, figures 2 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.diagnostics import deciles
    >>> deciles(np.arange(11.0)[:, None])
    Deciles(median=array([5.]), lower=array([1.]), upper=array([9.]))
    """
    values = as_reals(x, "x", finite=True)
    if not values.size:
        raise ValueError(f"x must have numbers of at least one chain, got shape {values.shape}")
    lower, median, upper = np.quantile(np.atleast_1d(values), [0.1, 0.5, 0.9], axis=0)
    return Deciles(median, lower, upper)


def relative_error(
    samples: Samples, S: ItemsLike, exact: float | None = None, *, tracked: int | None = None
) -> Floats:
    """Compute ``|estimate - exact| / exact`` of P(S in B) as the draws of each chain come in.

    Parameters
    ----------
    samples : Samples
        One or more chains.
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

    Raises
    ------
    ValueError
        When the exact value is not known and not given, or is zero.

    See Also
    --------
    deciles : Median and deciles across chains.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, section 4.1.

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
        if not (samples.whole and samples.target.has_inclusion):
            power = f"it has no closed form for power {samples.target.power:g}"
            why = power if samples.whole else "the draws were thinned"
            raise ValueError(f"P(S in B) is not known, since {why}; pass exact=")
        exact = float(samples.target.inclusion(samples.target.items(S)))
        if exact == 0:
            raise ValueError("S is in no basis (P(S in B) = 0), so there is no relative error")
    exact = as_positive(exact, "exact")
    values = samples.trace(S) if tracked is None else samples.trace(tracked=tracked)
    steps = np.arange(1, values.shape[1] + 1)
    return np.asarray(np.abs(np.cumsum(values, axis=1) / steps / exact - 1))


def distinct_subsets(samples: Samples) -> Integers:
    """Count the distinct subsets that each chain has seen so far.

    Chains taken together have seen ``len(samples.unique()[1])``.

    Parameters
    ----------
    samples : Samples
        One or more chains.

    Returns
    -------
    (chains, draws) array of int
        Entry [k, t] counts the first t + 1 draws of chain k.

    See Also
    --------
    zonodpp.Samples.unique : The subsets themselves.

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
    """Compute the total variation distance between the frequencies of draws and the target.

    Draws of all chains count together. It is not zero for independent draws either: it falls
    in proportion to one over the square root of their number.

    Parameters
    ----------
    samples : Samples
        Draws of a target with few enough subsets.

    Returns
    -------
    float
        From 0 (the frequencies are the probabilities) to 1.

    Raises
    ------
    ValueError
        When there are more than a million sets of r out of n items: the distance would hardly
        depend on anything but the number of draws.

    See Also
    --------
    relative_error : For targets with too many subsets.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.diagnostics import total_variation
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> total_variation(sample(target, 10_000, rng=0)) < 0.02
    True
    """
    target = samples.target
    samples._need_draws()
    if not samples.whole:
        raise ValueError("the draws were thinned: they no longer follow the target's law")
    # As a float, infinite from 1e308 on: an integer as large could not be shown in an error.
    sets = on_use("scipy.special").comb(target.n, np.array(target.sizes)).sum()
    if sets > _ENUMERABLE:
        found = f"{sets:.2g} sets that could be drawn out of {target.n} items"
        most = f"the {_ENUMERABLE:,} for which total variation says anything"
        advice = "use relative_error(samples, S) for some sets S"
        raise ValueError(f"there are {found}, more than {most}; {advice}")
    bases, counts = samples.unique()
    log_prob = target.log_prob(bases)
    if not target.has_inclusion:  # then log_prob is known up to a constant only
        every = np.array(list(combinations(range(target.n), target.r)))
        log_prob = log_prob - np.logaddexp.reduce(target.log_prob(every))
    # Subsets that were never drawn have no excess, so those that were are enough.
    excess = counts / counts.sum() - np.exp(log_prob)
    return float(excess[excess > 0].sum())
