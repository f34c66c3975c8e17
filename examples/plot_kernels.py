"""
What a bandwidth does
=====================

The most diverse 25 of 2,000 points under a Gaussian kernel, for three bandwidths. With a wide
kernel (a small gamma) all points look alike, and the set goes to the rim; with a narrow one no two
points look alike, and almost any set is as good as another. The median rule of
``zonodpp.features.median_gamma`` is in between.
"""

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import DPP, find_map
from zonodpp.features import median_gamma, rp_cholesky

rng = np.random.default_rng(2017)
centres = np.array([[-3.0, 0.0], [3.0, 0.5], [0.0, 4.0]])
X = centres[rng.choice(3, 2000, p=[0.6, 0.3, 0.1])] + rng.normal(size=(2000, 2))

gamma = median_gamma(X)
picked = {"25 at random": rng.choice(2000, 25, replace=False)}
for factor in (0.01, 1, 1000):
    target = DPP.from_features(rp_cholesky(X, 200, gamma=factor * gamma, rng=0))
    picked[f"{factor:,} x median gamma"] = find_map(target, k=25, ridge=1e-6).subset

figure, panels = plt.subplots(
    1, 4, figsize=(12, 3.2), sharex=True, sharey=True, layout="constrained"
)
for panel, (name, subset) in zip(panels, picked.items(), strict=True):
    panel.scatter(*X.T, s=2, color="0.8")
    panel.scatter(*X[subset].T, s=22, color="C3", edgecolor="white", linewidth=0.5)
    panel.set(title=name, xticks=[], yticks=[], aspect="equal")
plt.show()
