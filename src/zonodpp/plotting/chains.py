"""What chains have seen: errors, convergence, traces, ranks and marginals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp.columns import Floats, Integers
from zonodpp.diagnostics import deciles, psrf_evolution, relative_error
from zonodpp.inputs import as_count, as_items, one_of
from zonodpp.plotting.geometry import INK, axes_for, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonodpp.samples import Samples

POINTS = 400  # of a curve: more could not be told apart
ROUNDING = 1e-9  # errors below are those of floating point
FEW = 8  # chains that are named one by one
STYLES: list[Any] = ["-", "--", "-.", ":", (0, (7, 2, 1, 2, 1, 2)), (0, (3, 1))]


def error_against_steps(
    samples_by_name: Mapping[str, Samples],
    S: ArrayLike,
    ax: Axes | None = None,
    exact: float | None = None,
    *,
    tracked: int | None = None,
) -> Axes:
    """Draw the relative error of P(S in B) against iterations: median and deciles across chains.

    As the paper's figures 2 (a) and 3 (a). An iteration is a draw kept: with ``thin=k`` it is k
    steps of the chain.

    Parameters
    ----------
    samples_by_name : dict of str to Samples
        What to compare; names go into the legend.
    S : array_like of int
        A set of items.
    ax : Axes, optional
        Where to draw.
    exact : float, optional
        P(S in B), where the target does not know it.
    tracked : int, optional
        As in `zonodpp.diagnostics.relative_error`.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.plotting import error_against_steps
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> methods = ("exact", "exchange")
    >>> runs = {name: sample(target, 500, method=name, chains=20, rng=0) for name in methods}
    >>> ax = error_against_steps(runs, [1, 2])
    >>> ax.get_ylabel()
    'Relative error of P({1, 2} in B)'
    """
    runs = _as_runs(samples_by_name)
    errors = {name: relative_error(run, S, exact, tracked=tracked) for name, run in runs.items()}
    curves = {}
    for name, error in errors.items():
        ends = _spread(error.shape[1])
        curves[name] = (ends, error[:, ends - 1])
    return _draw_errors(curves, S, ax, "Iterations")


def error_against_seconds(
    samples_by_name: Mapping[str, Samples],
    S: ArrayLike,
    ax: Axes | None = None,
    exact: float | None = None,
    *,
    tracked: int | None = None,
) -> Axes:
    """Draw the relative error of P(S in B) against wall-clock time, as figures 2 (b) and 3 (b).

    At each moment a chain counts with the draws it had by then, its seconds (burn-in included)
    spread evenly over its draws; curves end with the time of the median chain. Parameters are
    those of `error_against_steps`.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.plotting import error_against_seconds
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> runs = {"exact": sample(target, 500, chains=20, rng=0)}
    >>> ax = error_against_seconds(runs, [1, 2])
    >>> ax.get_xlabel()
    'Wall-clock time of a chain [s]'
    """
    runs = _as_runs(samples_by_name)
    curves = {}
    for name, run in runs.items():
        error = relative_error(run, S, exact, tracked=tracked)
        chains, draws = error.shape
        seconds = np.asarray(run.stats.get("seconds", np.zeros(chains)), dtype=np.float64)
        if not (seconds > 0).all():
            raise ValueError(
                f"the time that the chains of {name!r} took is not known (no stats['seconds']); "
                "use error_against_steps"
            )
        pace = seconds[:, None] / draws
        moments = _spread(draws) / draws * np.median(seconds)
        # A share of a draw is lost to rounding, not a draw.
        had = np.clip(np.floor(moments / pace * (1 + 1e-12)).astype(np.int64), 1, draws)
        curves[name] = (moments, np.take_along_axis(error, had - 1, axis=1))
    return _draw_errors(curves, S, ax, "Wall-clock time of a chain [s]")


def psrf_against_steps(
    samples_by_name: Mapping[str, Samples],
    S: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    tracked: int | None = None,
) -> Axes:
    """Draw the Gelman-Rubin factor and its upper limit against iterations: figures 2 (c), 3 (c).

    Chains agree where the curves have come down to 1; 1.1 is the usual mark.

    Parameters
    ----------
    samples_by_name : dict of str to Samples
        At least two chains of more than 50 draws each.
    S : array_like of int, optional
        A set of items.
    ax : Axes, optional
        Where to draw.
    tracked : int, optional
        In place of S: a column of ``samples.tracked``.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.plotting import psrf_against_steps
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> ax = psrf_against_steps({"exact": sample(target, 500, chains=4, rng=0)}, [1, 2])
    >>> ax.get_xlabel()
    'Iterations'
    """
    runs = _as_runs(samples_by_name)
    found = {n: psrf_evolution(run.trace(S, tracked=tracked)) for n, run in runs.items()}
    ax = axes_for(ax, (5.4, 3.8))
    for level, style in ((1.0, "-"), (1.1, (0, (1, 2)))):
        ax.axhline(level, color="0.6", linewidth=1, linestyle=style, zorder=1)
    highest = 1.0
    looks = zip(_colours(len(found)), _repeat("osD^vP", len(found)), strict=True)
    for (name, (steps, point, upper)), (colour, marker) in zip(found.items(), looks, strict=True):
        look = {"color": colour, "marker": marker, "markersize": 4, "markevery": 0.12}
        ax.plot(steps, point, label=name, **look)
        look.update(linestyle="--", linewidth=1, markerfacecolor="white")
        ax.plot(steps, upper, **look)
        highest = max(highest, *upper[np.isfinite(upper)].tolist(), 1.0)
    ax.plot([], [], color=INK, linestyle="--", linewidth=1, label="upper 95% limits")
    ax.set(xlabel="Iterations", ylabel="Potential scale reduction factor")
    if highest > 3:  # the first factors of slow chains would flatten all others
        ax.set_yscale("function", functions=(_stretch, _unstretch))
        levels = [1.0, 1.1, 1.5, *(m * 10.0**k for k in range(20) for m in (2, 5, 10))]
        shown = [level for level in levels if level <= highest][:12]
        ax.set_yticks(shown, [f"{level:g}" for level in shown])
        ax.minorticks_off()
    _legend_above_data(ax)
    return ax


def trace(
    samples: Samples,
    S: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    tracked: int | None = None,
    kind: str = "mean",
) -> Axes:
    """Draw each chain's presence of S: the running mean, or the values themselves.

    Parameters
    ----------
    samples : Samples
    S : array_like of int, optional
        A set of items.
    ax : Axes, optional
        Where to draw.
    tracked : int, optional
        In place of S: a column of ``samples.tracked``.
    kind : {"mean", "values"}
        All running means over each other, with the exact value where it is known; or the values
        of each chain in a lane of its own, long chains as means of consecutive draws.

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
    what = _name_of(S, tracked)
    if one_of(kind, "kind", ("mean", "values")) == "values":
        return _draw_lanes_of_values(values, what, ax)
    ax = axes_for(ax, (5.4, 3.8))
    ends = np.unique(np.linspace(1, draws, min(draws, POINTS)).round().astype(np.int64))
    means = (np.cumsum(values, axis=1) / np.arange(1, draws + 1))[:, ends - 1]
    few = chains <= FEW
    styles = _repeat(STYLES if few else ["-"], chains)
    for k, (mean, colour) in enumerate(zip(means, _colours(chains), strict=True)):
        name = f"chain {k}" if few else (f"{chains} chains" if k == 0 else None)
        width = 1.4 if few else 0.7
        ax.plot(ends, mean, color=colour, linestyle=styles[k], linewidth=width, label=name)
    settled = means[:, ends >= draws / 20]  # the first few draws say 0 or 1
    low, high = settled.min(), settled.max()
    if S is not None and _has_exact(samples):
        exact = float(samples.target.inclusion(S))
        ax.axhline(exact, color=INK, linewidth=2.2, linestyle=(0, (1, 1)), label="exact", zorder=3)
        low, high = min(low, exact), max(high, exact)
    room = 0.05 * (high - low) or 0.05
    ax.set(xlabel="Iterations", ylabel=f"Running mean of the presence of {what}")
    ax.set_ylim(low - room, high + room)
    _legend_above_data(ax, columns=3)
    return ax


def rank(
    samples: Samples,
    S: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    tracked: int | None = None,
    bins: int = 20,
) -> Axes:
    """Draw a histogram, for each chain, of the ranks of its values among those of all chains.

    Chains that have the same law have flat histograms, near the line. Equal values share their
    ranks evenly; with S, whose presence is 0 or 1, there are two steps: prefer a tracked average.

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
        Of each histogram.

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
    counts, edges = _rank_counts(values, as_count(bins, "bins", 2))
    expected = draws / bins
    ax = axes_for(ax, (5.4, 1.2 + 0.45 * min(chains, 12)))
    unit = 0.85 / max(counts.max(), 1.3 * expected)
    for k, (count, colour) in enumerate(zip(counts, _colours(chains), strict=True)):
        look = {"color": colour, "edgecolor": "white", "linewidth": 0.5, "zorder": 2}
        ax.bar(edges[:-1], unit * count, np.diff(edges), bottom=k, align="edge", **look)
        ax.axhline(k + unit * expected, color=INK, linestyle="--", linewidth=1)
    _name_lanes(ax, chains)
    ax.set(xlabel=f"Rank among all {chains * draws:,} draws", xlim=(0, chains * draws))
    title = f"Ranks of the presence of {_name_of(S, tracked)} (dashed: expected)"
    ax.set_title(title, fontsize="medium", loc="left")
    return ax


def marginals(samples: Samples, ax: Axes | None = None, exact: ArrayLike | None = None) -> Axes:
    """Draw the share of draws that hold each item against its exact probability.

    Bars are two standard errors to each side: from the differences between chains where there are
    four or more, else those of independent draws, which are too short for a slow chain.

    Parameters
    ----------
    samples : Samples
    ax : Axes, optional
        Where to draw.
    exact : (n,) array_like, optional
        P(i in B), where the target does not know it.

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
    known = np.asarray(exact, dtype=np.float64)
    if known.shape != (n,):
        raise ValueError(f"exact must have one entry for each of the {n} items, got {known.shape}")
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
    low = max(0.0, min(known.min(), (share - 2 * error).min()))
    high = min(1.0, max(known.max(), (share + 2 * error).max()))
    room = 0.04 * max(high - low, 0.05)
    ends = (low - room, high + room)
    ax.plot(ends, ends, color="0.5", linewidth=1, linestyle="--", label="equal", zorder=1)
    ax.errorbar(
        known,
        share,
        2 * error,
        fmt="o",
        color=tuple(shades(0.25)),
        ecolor=tuple(shades(0.6)),
        markersize=4,
        elinewidth=1.2,
        capsize=2,
        label=f"items, with {how}",
    )
    ax.set(xlim=ends, ylim=ends)
    ax.set(xlabel="Exact probability of the item", ylabel="Share of draws that hold the item")
    _legend_above_data(ax)
    return ax


def _as_runs(samples_by_name: Mapping[str, Samples]) -> dict[str, Samples]:
    if not isinstance(samples_by_name, Mapping):
        raise TypeError(
            f"expected a dict of names and samples such as {{'exact': samples}}, got a "
            f"{type(samples_by_name).__name__}"
        )
    if not samples_by_name:
        raise ValueError("there is nothing to draw: the dict of samples is empty")
    return dict(samples_by_name)


def _has_exact(samples: Samples) -> bool:
    return samples.target.power == 2 and bool((samples.subsets >= 0).all())


def _name_of(S: ArrayLike | None, tracked: int | None = None) -> str:
    if S is None:
        return f"tracked set {tracked}"
    items = np.atleast_1d(as_items(S, np.iinfo(np.int64).max, "S")).tolist()
    shown = [str(i) for i in items] if len(items) <= 6 else [*map(str, items[:5]), "..."]
    return f"{{{', '.join(shown)}}}"


def _spread(draws: int) -> Integers:
    """Numbers of draws from 1 to all, evenly spread on a logarithmic axis."""
    return np.unique(np.geomspace(1, draws, min(draws, POINTS)).round().astype(np.int64))


def _colours(count: int) -> list[Any]:
    return list(shades(np.linspace(0.0, 0.95, count) if count > 1 else [0.25]))


def _repeat(looks: Any, count: int) -> list[Any]:
    return [looks[k % len(looks)] for k in range(count)]


def _stretch(factor: Any) -> Any:
    """Scale of factors: logarithmic far up, yet 1 and 1.1 stand apart."""
    return np.log(np.maximum(factor, 0.91) - 0.9)


def _unstretch(place: Any) -> Any:
    return np.exp(place) + 0.9


def _draw_errors(
    curves: Mapping[str, tuple[Any, Floats]], S: ArrayLike, ax: Axes | None, across: str
) -> Axes:
    """Draw median and band of errors (chains, points) against x, for each name."""
    ax = axes_for(ax, (5.4, 3.8))
    looks = zip(_colours(len(curves)), _repeat(STYLES, len(curves)), strict=True)
    floors = []
    for (name, (x, error)), (colour, style) in zip(curves.items(), looks, strict=True):
        middle, lower, upper = deciles(error)
        ax.fill_between(x, lower, upper, color=colour, alpha=0.18, linewidth=0)
        for edge in (lower, upper):
            ax.plot(x, edge, color=colour, linewidth=0.6, linestyle=style)
        ax.plot(x, middle, color=colour, linewidth=2, linestyle=style, label=name)
        floors += [_least(lower), 0.03 * _least(middle)]
    ax.set(xscale="log", yscale="log", xlabel=across)
    # An estimate that is exact by chance has error 0, or 1e-16: it leaves the frame below.
    ax.set_ylim(bottom=0.8 * min(map(max, floors[::2], floors[1::2])))
    ax.set_ylabel(f"Relative error of P({_name_of(S)} in B)")
    _legend_above_data(ax, title="median, first to last decile")
    return ax


def _least(error: Floats) -> float:
    """Return the least error that is more than rounding."""
    return float(np.min(error, initial=1.0, where=error > ROUNDING))


def _draw_lanes_of_values(values: Floats, what: str, ax: Axes | None) -> Axes:
    chains, draws = values.shape
    block = -(-draws // POINTS)
    starts = np.arange(0, draws, block)
    sizes = np.diff(np.append(starts, draws))
    means = np.add.reduceat(values, starts, axis=1) / sizes
    ax = axes_for(ax, (5.4, 1.2 + 0.45 * min(chains, 12)))
    unit = 0.8 / max(means.max(), 1e-300)
    edges = np.append(starts, draws)
    for k, (mean, colour) in enumerate(zip(means, _colours(chains), strict=True)):
        ax.axhline(k, color="0.8", linewidth=0.8, zorder=1)
        ax.stairs(k + unit * mean, edges, baseline=k, fill=True, color=colour, linewidth=0)
    _name_lanes(ax, chains)
    of = "" if block == 1 else f", means of {block:,} draws"
    ax.set_title(f"Presence of {what}{of} (0 to {means.max():.3g})", fontsize="medium", loc="left")
    ax.set(xlabel="Iterations", xlim=(0, draws))
    return ax


def _name_lanes(ax: Any, chains: int) -> None:
    step = -(-chains // 16)
    ax.set_yticks(np.arange(0, chains, step) + 0.4, [str(k) for k in range(0, chains, step)])
    ax.tick_params(axis="y", length=0)
    ax.set(ylabel="Chain", ylim=(-0.15, chains))


def _rank_counts(values: Floats, bins: int) -> tuple[Floats, Floats]:
    """Count each chain's draws in equal bins of the pooled ranks; ties share theirs evenly."""
    chains = len(values)
    distinct, group = np.unique(values, return_inverse=True)
    group = group.reshape(values.shape)
    table = np.array([np.bincount(row, minlength=len(distinct)) for row in group])
    pooled = np.append(0, np.cumsum(table.sum(axis=0)))
    edges = np.linspace(0, values.size, bins + 1)
    below = [np.interp(edges, pooled, np.append(0, np.cumsum(table[k]))) for k in range(chains)]
    return np.diff(below, axis=1), edges


def _legend_above_data(ax: Any, columns: int = 1, title: str | None = None) -> None:
    """Put the legend into room made for it above the data."""
    _, labels = ax.get_legend_handles_labels()
    if not labels:
        return
    legend = ax.legend(
        loc="upper right", ncols=columns, frameon=False, fontsize="small", title=title
    )
    legend.set_title(title, prop={"size": "small"})
    lines = -(-len(labels) // columns) + (title is not None)
    size = legend.get_texts()[0].get_fontsize() * ax.figure.dpi / 72
    share = min(0.6, (1.45 * lines + 1.0) * size / ax.get_window_extent().height)
    forward = ax.yaxis.get_transform()
    low, high = forward.transform(np.asarray(ax.get_ylim(), dtype=float))
    top = forward.inverted().transform(np.array([low + (high - low) / (1 - share)]))[0]
    ax.set_ylim(top=top)
