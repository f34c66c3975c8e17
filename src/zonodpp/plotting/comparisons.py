"""Samplers side by side: errors and convergence against steps and seconds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, ItemsLike
from zonodpp.diagnostics import deciles, psrf_evolution, relative_error
from zonodpp.plotting.style import INK, POINTS, Axes, Look, axes_for, looks, name_of
from zonodpp.samples import Samples

_Errors = Mapping[str, tuple[ArrayLike, Floats, Look]]  # by name: x, (chains, points), a look
_ROUNDING = 1e-9  # errors below this are those of floating-point numbers
_LARGE = 3.0  # a factor on a linear axis up to which 1 and 1.1 can be told apart
_LEVELS = [1, 1.1, 1.5, 2, 5, 10, 20, 50, 100, 1000, 10**4, 10**5]  # ticks of a stretched axis


def error_against_steps(
    samples_by_name: Mapping[str, Samples],
    S: ItemsLike,
    ax: Axes | None = None,
    exact: float | None = None,
    *,
    tracked: int | None = None,
) -> Axes:
    """Draw the relative error of P(S in B) against iterations: median and deciles across chains.

    An iteration is a draw that was kept: with ``thin=k`` it is k steps of the chain.

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

    Returns
    -------
    Axes
        The axes that were drawn on.

    See Also
    --------
    error_against_seconds : The same errors against wall-clock time.
    psrf_against_steps : Whether the chains agree with each other.
    zonodpp.diagnostics.relative_error : The numbers behind the picture.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, figures 2 (a) and 3 (a).

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
    curves = {}
    for name, run, look in _with_looks(samples_by_name):
        error = relative_error(run, S, exact, tracked=tracked)
        draws = _spread(error.shape[1])
        curves[name] = (draws, error[:, draws - 1], look)
    return _draw_errors(curves, S, ax, "Iterations")


def error_against_seconds(
    samples_by_name: Mapping[str, Samples],
    S: ItemsLike,
    ax: Axes | None = None,
    exact: float | None = None,
    *,
    tracked: int | None = None,
) -> Axes:
    """Draw the relative error of P(S in B) against wall-clock time: median and deciles.

    At each moment a chain counts with the draws that it had by then. Its seconds, burn-in
    included, are spread evenly over its draws. Curves end with the time of the median chain.

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

    Returns
    -------
    Axes
        The axes that were drawn on.

    Raises
    ------
    ValueError
        When the time that chains took is not known.

    See Also
    --------
    error_against_steps : The same errors against iterations.
    zonodpp.diagnostics.relative_error : The numbers behind the picture.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, figures 2 (b) and 3 (b).

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
    curves = {}
    for name, run, look in _with_looks(samples_by_name):
        error = relative_error(run, S, exact, tracked=tracked)
        chains, draws = error.shape
        seconds = np.asarray(run.stats.get("seconds", np.zeros(chains)), dtype=np.float64)
        if not (seconds > 0).all():
            raise ValueError(f"the time that {name!r} took is not known; use error_against_steps")
        pace = seconds[:, None] / draws
        moments = _spread(draws) / draws * np.median(seconds)
        # The factor keeps rounding errors from taking away a whole draw.
        had = np.clip(np.floor(moments / pace * (1 + 1e-12)).astype(np.int64), 1, draws)
        curves[name] = (moments, np.take_along_axis(error, had - 1, axis=1), look)
    return _draw_errors(curves, S, ax, "Wall-clock time of a chain [s]")


def psrf_against_steps(
    samples_by_name: Mapping[str, Samples],
    S: ItemsLike | None = None,
    ax: Axes | None = None,
    *,
    tracked: int | None = None,
) -> Axes:
    """Draw the Gelman-Rubin factor of each run, and its upper limit, against iterations.

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

    Returns
    -------
    Axes
        The axes that were drawn on.

    See Also
    --------
    error_against_steps : Errors of the estimates.
    zonodpp.diagnostics.psrf_evolution : The numbers behind the picture.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, figures 2 (c) and 3 (c).

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.plotting import psrf_against_steps
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> ax = psrf_against_steps({"exact": sample(target, 500, chains=4, rng=0)}, [1, 2])
    >>> ax.get_xlabel()
    'Iterations'
    """
    curves = {
        name: (*psrf_evolution(run.trace(S, tracked=tracked)), look)
        for name, run, look in _with_looks(samples_by_name)
    }
    ax = axes_for(ax, (5.4, 3.8))
    draw_psrf(ax, curves)
    ax.plot([], [], color=INK, linewidth=0.8, label="thin: upper 95% limits")
    ax.set_xlabel("Iterations")
    ax.legend(fontsize="small")
    return ax


def draw_errors(ax: Axes, curves: _Errors, *, bands: bool = True) -> None:
    """Draw the median over chains of errors (chains, points) against x, on logarithmic axes.

    With ``bands`` the range from the first to the last decile is filled.
    """
    lowest = np.inf
    for name, (x, errors, (colour, style)) in curves.items():
        median, lower, upper = deciles(errors)
        if bands:
            ax.fill_between(x, lower, upper, color=colour, alpha=0.18, linewidth=0)
            ax.plot(x, np.transpose([lower, upper]), color=colour, linewidth=0.6, linestyle=style)
        ax.plot(x, median, color=colour, linewidth=2, linestyle=style, label=name)
        lowest = min(lowest, float(np.min(median, initial=1.0, where=median > _ROUNDING)))
    ax.set(xscale="log", yscale="log")
    # An estimate that is almost exact by chance may lie below the frame.
    ax.set_ylim(bottom=(0.15 if bands else 0.7) * lowest)


def draw_psrf(ax: Axes, curves: Mapping[str, tuple[ArrayLike, ArrayLike, Floats, Look]]) -> None:
    """Draw the Gelman-Rubin factor and, as a thin line, its upper limit against iterations.

    Each curve is (iterations, factor, upper limit, look). Lines mark 1 and 1.1. Where slow chains
    have large factors, the axis is stretched near 1.
    """
    ax.axhline(1.0, color="0.6", linewidth=1, zorder=1)
    ax.axhline(1.1, color="0.6", linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    highest = 1.2
    for name, (steps, point, upper, (colour, style)) in curves.items():
        ax.plot(steps, point, color=colour, linestyle=style, linewidth=2, label=name)
        ax.plot(steps, upper, color=colour, linestyle=style, linewidth=0.8)
        highest = float(np.max(upper, initial=highest, where=np.isfinite(upper)))
    ax.set(ylabel="Potential scale reduction factor", ylim=(0.99, None))
    if highest > _LARGE:  # stretched near 1, and logarithmic for large factors
        stretch = (lambda level: np.log(np.maximum(level, 0.91) - 0.9), lambda at: np.exp(at) + 0.9)
        ax.set_yscale("function", functions=stretch)
        ax.set_yticks([level for level in _LEVELS if level <= highest])


def _with_looks(samples_by_name: Mapping[str, Samples]) -> list[tuple[str, Samples, Look]]:
    """Return each name and its samples with a look of their own."""
    if not isinstance(samples_by_name, Mapping):
        kind = type(samples_by_name).__name__
        raise TypeError(f"expected a dict of names and samples, {{'exact': samples}}, got a {kind}")
    if not samples_by_name:
        raise ValueError("there is nothing to draw: the dict of samples is empty")
    styles = looks(len(samples_by_name))
    return [(*pair, look) for pair, look in zip(samples_by_name.items(), styles, strict=True)]


def _spread(draws: int) -> Integers:
    """Numbers of draws from 1 to all, evenly spread on a logarithmic axis."""
    return np.unique(np.geomspace(1, draws, min(draws, POINTS)).round().astype(np.int64))


def _draw_errors(curves: _Errors, S: ItemsLike, ax: Axes | None, across: str) -> Axes:
    """Draw median and band of errors (chains, points) against x, for each name."""
    ax = axes_for(ax, (5.4, 3.8))
    draw_errors(ax, curves)
    ax.set(xlabel=across, ylabel=f"Relative error of P({name_of(S)} in B)")
    ax.legend(fontsize="small", title="median, first to last decile", title_fontsize="small")
    return ax
