"""One run: running means of its chains, and marginals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_column
from zonodpp._types import ItemsLike
from zonodpp.plotting.style import INK, POINTS, Axes, axes_for, looks, name_of, shades
from zonodpp.samples import Samples

_FEW = 8  # chains that are named one by one


def trace(
    samples: Samples,
    S: ItemsLike | None = None,
    ax: Axes | None = None,
    *,
    tracked: int | None = None,
) -> Axes:
    """Draw the running mean of each chain's presence of S, and the exact value where it is known.

    The curves begin after a twentieth of the draws. If the chains are long enough, all curves end
    close to the exact value, and so to each other.

    Parameters
    ----------
    samples : Samples
        One or more chains.
    S : array_like of int, optional
        A set of items.
    ax : Axes, optional
        Where to draw.
    tracked : int, optional
        In place of S: a column of ``samples.tracked``.

    Returns
    -------
    Axes
        The axes that were drawn on.

    See Also
    --------
    zonodpp.Samples.trace : The numbers behind the picture.
    zonodpp.Samples.to_arviz : For the pictures that ArviZ draws of chains, such as ranks.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.plotting import trace
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> ax = trace(sample(target, 500, chains=4, rng=0), [1, 2])
    >>> ax.get_ylabel()
    'Running mean of the presence of {1, 2}'
    """
    values = samples.trace(S, tracked=tracked)
    chains, draws = values.shape
    what = name_of(S, tracked)
    ax = axes_for(ax, (5.4, 3.8))
    # The first twentieth is left out: the first few means are 0 or 1, and would set the scale.
    ends = np.unique(np.linspace(-(-draws // 20), draws, min(draws, POINTS)).astype(np.int64))
    means = (np.cumsum(values, axis=1) / np.arange(1, draws + 1))[:, ends - 1]
    few = chains <= _FEW
    for k, (colour, style) in enumerate(looks(chains)):
        name = f"chain {k}" if few else (f"{chains} chains" if k == 0 else None)
        line = {"linestyle": style, "linewidth": 1.4} if few else {"linewidth": 0.7}
        ax.plot(ends, means[k], color=colour, label=name, **line)
    if S is not None and _has_exact(samples):
        exact = float(samples.target.inclusion(samples.target.items(S)))
        ax.axhline(exact, color=INK, linewidth=2.2, linestyle=(0, (1, 1)), label="exact", zorder=3)
    ax.set(xlabel="Iterations", ylabel=f"Running mean of the presence of {what}")
    ax.legend(fontsize="small", ncols=3)
    return ax


def marginals(samples: Samples, ax: Axes | None = None, exact: ArrayLike | None = None) -> Axes:
    """Draw the share of draws that hold each item against its exact probability.

    Bars are two standard errors to each side. With four chains or more, these come from the
    differences between chains; otherwise they are those of independent draws, which are too small
    for a chain that mixes slowly.

    Parameters
    ----------
    samples : Samples
        One or more chains.
    ax : Axes, optional
        Where to draw.
    exact : (n,) array_like, optional
        P(i in B), where the target does not know it.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Raises
    ------
    ValueError
        When the exact probabilities are not known and ``exact`` is not given.

    See Also
    --------
    edge_marginals : Probabilities of edges, drawn in their graph.
    zonodpp.Samples.marginals : The shares of draws.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.plotting import marginals
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> ax = marginals(sample(target, 500, chains=4, rng=0))
    >>> ax.get_ylabel()
    'Share of draws that hold the item'
    """
    n = samples.target.n
    if exact is None:
        if not _has_exact(samples):
            raise ValueError("exact marginals of these draws are not known; pass exact=")
        exact = samples.target.marginals()
    known = as_column(exact, n, "exact")
    chains, draws = samples.subsets.shape[:2]
    share = samples.marginals()
    if chains >= 4:
        each = [np.bincount(c[c >= 0], minlength=n) / draws for c in samples.subsets]
        error = np.std(each, axis=0, ddof=1) / np.sqrt(chains)
        how = "2 standard errors, between chains"
    else:
        error = np.sqrt(share * (1 - share) / (chains * draws))
        how = "2 standard errors of independent draws"
    ax = axes_for(ax, (4.8, 4.6))
    middle = (known.mean(), known.mean())
    ax.axline(middle, slope=1, color="0.5", linewidth=1, linestyle="--", label="equal", zorder=1)
    dark, light = shades([0.25, 0.6])
    look = {"color": dark, "markersize": 4, "ecolor": light, "elinewidth": 1.2, "capsize": 2}
    ax.errorbar(known, share, 2 * error, fmt="o", label=f"items, with {how}", **look)
    ax.set(xlabel="Exact probability of the item", ylabel="Share of draws that hold the item")
    ax.legend(fontsize="small")
    return ax


def _has_exact(samples: Samples) -> bool:
    return samples.target.has_inclusion and samples.whole
