"""Draw the pictures of the README and of docs/mathematics.md.

Writes docs/images/diverse.png, what diverse means and the walk behind it, and
docs/images/tiles.png, the tiles of a zonotope and the density on them. `tools.dual_path` draws
docs/images/dual_path.png, the path of the multipliers. Run it from the root of the checkout as
``python -m tools.pictures``.
"""

import pathlib
from itertools import product

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from paper.geometry_figures import hit_and_run_step, skyscrapers
from zonodpp import ProjectionDPP, Zonotope, sample
from zonodpp.plotting import tiling

rng = np.random.default_rng(7)
X = rng.random((3000, 2))
waves = sorted(product(range(12), repeat=2), key=lambda w: w[0] ** 2 + w[1] ** 2)[:60]
features = np.column_stack([np.cos(np.pi * X * wave).prod(axis=1) for wave in waves])
target = ProjectionDPP.from_features(features)
picks = {
    "60 of 3,000 at random": rng.choice(3000, 60, replace=False),
    "60 of 3,000, diverse": sample(target, 1, rng=1).subsets[0, 0],
}

figure, panels = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for panel, (title, subset) in zip(panels[:2], picks.items(), strict=True):
    panel.scatter(*X.T, s=2, color="0.85")
    panel.scatter(*X[subset].T, s=34, color="#2a788e", edgecolor="white", linewidth=0.7)
    panel.set(title=title, xticks=[], yticks=[], aspect="equal", xlim=(0, 1), ylim=(0, 1))

angles = np.linspace(0.15, 2.9, 7)
lengths = np.array([1.0, 0.6, 1.3, 0.8, 1.1, 0.7, 1.0])
zonotope = Zonotope(lengths * [np.cos(angles), np.sin(angles)], rng=3)
centre = lengths @ np.column_stack([np.cos(angles), np.sin(angles)]) / 2
hit_and_run_step(
    zonotope, centre - [0.4, 0.6], [1.0, 0.55], panels[2], proposal=1.1, names=False, colorbar=False
)
panels[2].set(title="one step of zonotope hit-and-run", xticks=[], yticks=[], xlabel="", ylabel="")
for side in panels[2].spines.values():
    side.set_visible(False)

folder = pathlib.Path(__file__).parents[1] / "docs" / "images"
figure.get_layout_engine().set(h_pad=0.08)
figure.savefig(folder / "diverse.png", dpi=110)

figure = plt.figure(figsize=(10, 4.6), layout="constrained")
flat, towers = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
tiling(zonotope, flat)
skyscrapers(zonotope, towers)
figure.savefig(folder / "tiles.png", dpi=110)
