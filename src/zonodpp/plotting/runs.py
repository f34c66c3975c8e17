"""One run: traces, ranks and marginals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, ItemsLike
from zonodpp.arguments import as_column, as_count, one_of
from zonodpp.plotting.style import INK, POINTS, Axes, axes_for, colours, looks, name_of, shades
from zonodpp.samples import Samples

_FEW = 8  # chains that are named one by one


def trace(
    samples: Samples,
    S: ItemsLike | None = None,
    ax: Axes | None = None,
    *,
    tracked: int | None = None,
    kind: str = "mean",
) -> Axes:
    """Draw each chain's presence of S: the running mean, or the values themselves.

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
    kind : {"mean", "values"}
        "mean": the running means of all chains in one picture, from a twentieth of the draws on,
        with the exact value where it is known. "values": the values of each chain in a lane of its
        own; for long chains, means of consecutive draws.

    Returns
    -------
    Axes
        The axes that were drawn on.

    See Also
    --------
    rank : A comparison of chains that shows small differences.
    zonodpp.Samples.trace : The numbers behind the picture.

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
    if one_of(kind, "kind", ("mean", "values")) == "values":
        # In its lane, each chain is drawn as means of consecutive draws.
        block = -(-draws // POINTS)
        edges = np.append(np.arange(0, draws, block), draws)
        averages = np.add.reduceat(values, edges[:-1], axis=1) / np.diff(edges)
        of = "" if block == 1 else f", means of {block:,} draws"
        title = f"Presence of {what}{of} (0 to {averages.max():.3g}, dashed: mean)"
        return _draw_lanes(averages, edges, values.mean(), title, "Iterations", ax)
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


def rank(
    samples: Samples,
    S: ItemsLike | None = None,
    ax: Axes | None = None,
    *,
    tracked: int | None = None,
    bins: int = 20,
) -> Axes:
    """Draw a histogram, for each chain, of the ranks of its values among those of all chains.

    Chains that have the same law have flat histograms, near the line. Equal values share their
    ranks evenly. The presence of S is 0 or 1, which gives histograms of two levels: an average that
    was tracked shows more.

    Parameters
    ----------
    samples : Samples
        At least two chains.
    S : array_like of int, optional
        A set of items.
    ax : Axes, optional
        Where to draw.
    tracked : int, optional
        In place of S: a column of ``samples.tracked``.
    bins : int, default 20
        Number of bins of each histogram.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Raises
    ------
    ValueError
        When there is only one chain.

    See Also
    --------
    trace : The chains against iterations.
    zonodpp.Samples.rhat : One number for the agreement of chains.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, "Rank-normalization, folding,
    and localization: an improved R-hat", Bayesian Analysis 16 (2021).

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.plotting import rank
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> samples = sample(target, 500, method="zonotope", chains=4, track=[[1, 2]], rng=0)
    >>> ax = rank(samples, tracked=0)
    >>> ax.get_xlabel()
    'Rank among all 2,000 draws'
    """
    values = samples.trace(S, tracked=tracked)
    chains, draws = values.shape
    if chains < 2:
        raise ValueError("ranks compare chains, and there is one; use sample(..., chains=4)")
    edges = np.linspace(0, values.size, as_count(bins, "bins", 2) + 1)
    distinct, sizes = np.unique(values, return_counts=True)
    # Equal values own consecutive ranks, of which each chain has an even share.
    pooled = np.append(0, np.cumsum(sizes))
    each = [np.append(0, np.searchsorted(np.sort(row), distinct, side="right")) for row in values]
    below = [np.interp(edges, pooled, own) for own in each]
    title = f"Ranks of the presence of {name_of(S, tracked)} (dashed: expected)"
    across = f"Rank among all {chains * draws:,} draws"
    return _draw_lanes(np.diff(below, axis=1), edges, draws / bins, title, across, ax)


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


def _draw_lanes(
    heights: Floats, edges: Floats, level: float, title: str, across: str, ax: Axes | None
) -> Axes:
    """Draw steps (chains, bins) between edges, each chain in a lane of its own, and one level."""
    chains = len(heights)
    ax = axes_for(ax, (5.4, 1.2 + 0.45 * min(chains, 12)))
    unit = 0.85 / max(heights.max(), 1.3 * level, 1e-300)
    for k, colour in enumerate(colours(chains)):
        ax.stairs(k + unit * heights[k], edges, baseline=k, fill=True, color=colour)
        ax.axhline(k + unit * level, color=INK, linestyle="--", linewidth=1)
    step = -(-chains // 16)
    ax.set_yticks(np.arange(0, chains, step) + 0.4, [str(k) for k in range(0, chains, step)])
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel=across, ylabel="Chain", ylim=(-0.15, chains))
    ax.margins(x=0)
    ax.set_title(title, fontsize="medium", loc="left")
    return ax
