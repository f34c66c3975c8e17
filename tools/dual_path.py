"""Draw docs/images/dual_path.png: a walk seen from its multipliers, with a pool and lazily.

Run it from the root of the checkout as ``python -m tools.dual_path``.
"""

import pathlib

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import Zonotope

N, TAU = 46, 0.42
WALK, NEAR, FAR = "#d1495b", "#2a788e", "0.86"

rng = np.random.default_rng(8)
angles = rng.uniform(0, np.pi, N)
E = np.array([np.cos(angles), np.sin(angles)])
costs = rng.uniform(-1, 1, N)
zonotope = Zonotope(E, c=costs)
walk = zonotope.walk(E.sum(axis=1) / 2, [1.0, 0.35])
middle = len(walk.bases) // 2
bases = walk.bases[middle - 5 : middle + 5]
path = np.array([np.linalg.solve(E[:, basis].T, costs[basis]) for basis in bases])
first = path[0]

figure, panels = plt.subplots(1, 2, figsize=(10, 4.9), layout="constrained")
centre, reach = (first + path.mean(axis=0)) / 2, 0.52
met = set(bases.ravel().tolist())
gaps = np.abs(costs - first @ E)
shown = {"pool": set(np.flatnonzero(gaps < TAU).tolist()), "lazy": met}
titles = {
    "pool": "a pool: hyperplanes nearer than tau",
    "lazy": "a lazy tiling: hyperplanes that were met",
}
for panel, kind in zip(panels, shown, strict=True):
    for j in range(N):
        foot = centre + (costs[j] - centre @ E[:, j]) * E[:, j]
        along = np.array([-E[1, j], E[0, j]])
        ends = foot + np.outer([-2, 2], along)
        style = {"color": NEAR, "linewidth": 0.9} if j in shown[kind] else None
        if style is None and kind == "pool":
            style = {"color": FAR, "linewidth": 0.8}
        elif style is None:
            style = {"color": FAR, "linewidth": 0.8, "linestyle": (0, (1, 3))}
        panel.plot(*ends.T, zorder=1, **style)
    panel.plot(*path.T, color=WALK, linewidth=2.2, marker="o", markersize=4.5, zorder=3)
    panel.annotate(
        "$y_0$", first, textcoords="offset points", xytext=(-17, -4), fontsize=13, color=WALK
    )
    panel.annotate(
        "$y$", path[-1], textcoords="offset points", xytext=(8, -3), fontsize=13, color=WALK
    )
    panel.set(
        title=titles[kind],
        xlim=centre[0] + np.array([-reach, reach]),
        ylim=centre[1] + np.array([-reach, reach]),
        xticks=[],
        yticks=[],
        aspect="equal",
    )
panels[0].add_patch(plt.Circle(first, TAU, fill=False, color=NEAR, linestyle="--", linewidth=1.2))
label = first + TAU * np.array([np.cos(1.9), np.sin(1.9)])
panels[0].annotate(
    r"$\tau$", label, textcoords="offset points", xytext=(-14, 4), fontsize=13, color=NEAR
)

folder = pathlib.Path(__file__).parents[1] / "docs" / "images"
figure.savefig(folder / "dual_path.png", dpi=110)
