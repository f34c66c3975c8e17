"""Landmarks among handwritten ones (the paper's appendix A)."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.verdicts import Verdict
from zonodpp._arguments import one_of
from zonodpp._types import Floats
from zonodpp.datasets import mnist_ones
from zonodpp.runs.sample import sample
from zonodpp.targets import ProjectionDPP

TITLE = "Landmarks"
INTRODUCTION = (
    "A thousand handwritten ones, each described by its coordinates along ten leading directions. "
    "Algorithm 5 walks through sets of ten images; the set of largest squared volume on its way "
    "is shown above sets picked uniformly. Exact draws, which the paper did not have at hand, are "
    "there to tell the chain from its target."
)

UNIFORM = 1_000  # uniform sets for the histogram; the first three are shown
SHOWN = 3
ORDERS = 3  # of magnitude: the paper's spread
CLEARLY = 0.9  # share of uniform sets that a typical draw must beat


def run(
    *,
    quick: bool = False,
    rng: Any = None,
    progress: Any = None,
    features: str = "pca",
    steps: int | None = None,
) -> dict[str, Any]:
    """Run the chain on a thousand ones, and draw uniform sets beside it.

    Parameters
    ----------
    quick : bool, default False
        A tenth of the paper's 10,000 steps.
    rng : seed or Generator, optional
    progress : callable, optional
        Told how far the chain is.
    features : {"pca", "isomap"}
        Ten principal directions, or ten coordinates of ISOMAP (needs scikit-learn).
    steps : int, optional
        Another length of the chain.

    Returns
    -------
    dict
        Plain data, for `figures` and `verdicts`.

    Examples
    --------
    >>> from paper import landmarks
    >>> landmarks.run(features="umap")
    Traceback (most recent call last):
    ...
    ValueError: features must be one of 'pca', 'isomap'; got 'umap'
    """
    one_of(features, "features", ("pca", "isomap"))
    generator = np.random.default_rng(rng)
    images, rank = mnist_ones(), 10
    steps = steps or (1_000 if quick else 10_000)
    # A walk along whole chords is slower than long steps here, but its code is compiled already.
    how: dict[str, Any] = {"window": np.inf} if quick else {}
    pixels = images.reshape(len(images), -1)
    if features == "pca":
        target = ProjectionDPP.from_features(pixels, rank=rank)
    else:
        target = ProjectionDPP.from_features(_isomap(pixels, rank))

    chain = sample(
        target, steps, method="zonotope", preset="paper", rng=generator, progress=progress, **how
    )
    exact = sample(target, steps, method="exact", rng=generator)
    sets = [generator.choice(target.n, rank, replace=False) for _ in range(UNIFORM)]
    uniform = np.sort(sets, axis=1)
    rows = np.vstack([chain.best(), uniform[:SHOWN]])
    return {
        "settings": {
            "images": len(images),
            "features": features,
            "rank": rank,
            "steps": steps,
            "uniform sets": UNIFORM,
        },
        "acceptance": chain.acceptance,
        "distinct": len(chain.unique()[1]),
        "seconds": float(chain.stats["seconds"].sum()),
        "log10 chain": _log10(target, chain.subsets[0]),
        "log10 exact": _log10(target, exact.subsets[0]),
        "log10 uniform": _log10(target, uniform),
        "rows": rows,
        "log10 rows": _log10(target, rows),
        "digits": np.round(255 * images[rows]).astype(np.uint8),
    }


def figures(data: dict[str, Any]) -> dict[str, Any]:
    """Draw the sets of digits and the histogram of squared volumes."""
    return {
        "digits": (
            _draw_digits(data),
            "As the figure of appendix A. Top row: the set of largest squared volume in the run. "
            "Below: three sets picked uniformly. Left: log₁₀ of their squared volume over the "
            "top row's.",
        ),
        "volumes": (
            _draw_volumes(data),
            f"Squared volumes of all sets on the way of Algorithm 5, of as many exact draws, and "
            f"of {len(data['log10 uniform']):,} uniform sets, over the largest of the run.",
        ),
    }


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    """Judge the statements of appendix A."""
    chain, uniform = data["log10 chain"], data["log10 uniform"]
    low, middle, high = np.quantile(chain, [0.05, 0.5, 0.95])
    ratios = data["log10 rows"][1:] - data["log10 rows"][0]
    beaten = float((uniform < middle).mean())
    spread, exact = float(np.ptp(chain)), float(np.ptp(data["log10 exact"]))
    return [
        Verdict(
            "squared volumes along the chain span three orders of magnitude",
            "three orders",
            f"{spread:.1f} orders from least to largest ({exact:.1f} in as many exact draws); "
            f"the middle 90% of sets span {high - low:.1f}, volumes not squared {spread / 2:.1f}",
            round(spread) == ORDERS,
        ),
        Verdict(
            "uniform sets are far below the best one",
            "log ratios beyond the three orders within the chain",
            "10 to the power " + ", ".join(f"{ratio:.1f}" for ratio in ratios),
            bool((ratios < -ORDERS).all()),
        ),
        Verdict(
            "the chain picks up diversity that uniform sets lack",
            "by visual inspection: angles, thicknesses, shapes",
            f"a typical set of the chain has a larger squared volume than {beaten:.0%} of "
            "uniform sets",
            beaten > CLEARLY,
        ),
    ]


def _isomap(pixels: Floats, rank: int) -> Floats:
    try:
        from sklearn.manifold import Isomap
    except ImportError:
        raise ImportError(
            "features='isomap' needs scikit-learn; pip install 'zonodpp[ml]'"
        ) from None
    return np.asarray(Isomap(n_neighbors=10, n_components=rank).fit_transform(pixels))


def _log10(target: ProjectionDPP, sets: Any) -> Floats:
    """Log of the squared volume of each set, up to a constant; -inf for dependent ones."""
    return np.asarray(target.log_prob(sets) / np.log(10.0))


def _draw_digits(data: dict[str, Any]) -> Any:
    from paper.drawing import new_figure
    from zonodpp.plotting.style import INK

    digits, logs = data["digits"], data["log10 rows"]
    count, across = digits.shape[:2]
    figure = new_figure((9.6, 1.02 * count))
    axes = figure.subplots(count, across, squeeze=False)
    for row in range(count):
        for column in range(across):
            ax = axes[row, column]
            ax.imshow(digits[row, column], cmap="gray_r", vmin=0, vmax=255)
            ax.set(xticks=[], yticks=[])
            for side in ax.spines.values():
                side.set(color=INK if row == 0 else "0.75", linewidth=1.4 if row == 0 else 0.8)
        ratio = logs[row] - logs[0]
        text = "best\nof the run" if row == 0 else f"{ratio:.1f}".replace("-", "\N{MINUS SIGN}")
        axes[row, 0].set_ylabel(text, rotation=0, ha="right", va="center", labelpad=8)
    return figure


def _draw_volumes(data: dict[str, Any]) -> Any:
    from paper.drawing import new_figure
    from zonodpp.plotting.style import colours

    top = data["log10 chain"].max()
    groups = {
        "Algorithm 5": (data["log10 chain"], "-"),
        "exact draws": (data["log10 exact"], "--"),
        "uniform sets": (data["log10 uniform"], "-."),
    }
    figure = new_figure((7.0, 3.6))
    ax = figure.add_subplot()
    finite = {name: (v[np.isfinite(v)] - top, style) for name, (v, style) in groups.items()}
    low = min(values.min() for values, _ in finite.values())
    high = max(values.max() for values, _ in finite.values())
    edges = np.linspace(low, high, 45)
    for (name, (values, style)), colour in zip(finite.items(), colours(3), strict=True):
        share = np.histogram(values, edges)[0] / len(values)
        ax.stairs(share, edges, color=colour, linewidth=1.8, linestyle=style, label=name)
        ax.stairs(share, edges, color=colour, alpha=0.12, fill=True)
    ax.set(xlabel="log₁₀ of the squared volume over the largest of the run", ylabel="Share of sets")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize="small")
    return figure
