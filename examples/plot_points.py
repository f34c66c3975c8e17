"""
Points in the plane
===================

Sixty of 3,000 points, at random and by a DPP. The features are the sixty slowest waves on the
square, so that points close to each other have similar features and repel each other.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import ProjectionDPP, sample

rng = np.random.default_rng(7)
X = rng.random((3000, 2))
waves = sorted(product(range(12), repeat=2), key=lambda w: w[0] ** 2 + w[1] ** 2)[:60]
features = np.column_stack([np.cos(np.pi * X * wave).prod(axis=1) for wave in waves])
target = ProjectionDPP.from_features(features)
draws = sample(target, 2000, rng=1).subsets[0]

figure, panels = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
picks = {"at random": rng.choice(3000, 60, replace=False), "by a DPP": draws[0]}
for panel, (title, subset) in zip(panels, picks.items(), strict=True):
    panel.scatter(*X.T, s=2, color="0.85")
    panel.scatter(*X[subset].T, s=34, color="#2a788e", edgecolor="white", linewidth=0.7)
    panel.set(title=f"60 points {title}", xticks=[], yticks=[], aspect="equal")
plt.show()

# %%
# Points that are spread out integrate better. Divide each value by the probability of its point to
# be drawn: then the sum over a draw is an unbiased estimate of the sum over all points. Here its
# error is that of about three times as many points at random.

f = np.exp(-((X - 0.4) ** 2).sum(axis=1) * 4)
diverse = (f / target.marginals())[draws].sum(axis=1)
uniform = np.array([f[rng.choice(3000, 60)].mean() * 3000 for _ in range(2000)])
print(f"sum over all points      {f.sum():8.1f}")
print(f"by 60 points of a DPP    {diverse.mean():8.1f}, standard deviation {diverse.std():6.1f}")
print(f"by 60 points at random   {uniform.mean():8.1f}, standard deviation {uniform.std():6.1f}")
