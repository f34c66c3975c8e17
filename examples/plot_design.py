"""
Which runs to make
==================

Twelve of 400 possible experiments with two factors and a quadratic model: a D-optimal design, as
nearly as exchanges find it, and designs drawn with probability proportional to det(X_S' X_S).
"""

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import Design, find_map, sample

points = np.array([(x, y) for x in np.linspace(-1, 1, 20) for y in np.linspace(-1, 1, 20)])
x, y = points.T
X = np.column_stack([np.ones(400), x, y, x * y, x**2, y**2])
target = Design(X, 12)


def efficiency(rows):
    """Return the D-efficiency of a design."""
    return np.linalg.det(X[rows].T @ X[rows]) ** (1 / 6) / 12


best = find_map(target).subset
drawn = sample(target, 2000, rng=1).subsets[0]
rng = np.random.default_rng(3)
uniform = np.array([rng.choice(400, 12, replace=False) for _ in range(2000)])

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
panels[0].scatter(*points.T, s=3, color="0.8")
panels[0].scatter(*points[best].T, s=45, color="C3", edgecolor="white")
panels[0].set(title="the best design found", aspect="equal", xlabel="x", ylabel="y")
for name, designs in {"at random": uniform, "drawn": drawn}.items():
    panels[1].hist([efficiency(rows) for rows in designs], bins=40, alpha=0.6, label=name)
panels[1].axvline(efficiency(best), color="C3", label="best found")
panels[1].set(xlabel="D-efficiency", ylabel="designs")
panels[1].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
plt.show()

# %%
# The mean of least squares fits to drawn designs is the fit to all rows, even if the model is
# wrong. This does not hold for rows that are chosen uniformly at random.

response = np.exp(x + 0.5 * y)
full = np.linalg.lstsq(X, response, rcond=None)[0]
for name, designs in {"drawn": drawn, "at random": uniform}.items():
    fits = [np.linalg.lstsq(X[rows], response[rows], rcond=None)[0] for rows in designs]
    bias = np.mean(fits, axis=0) - full
    error = np.std(fits, axis=0) / np.sqrt(len(fits))
    print(f"{name:10s} largest bias, in standard errors: {np.abs(bias / error).max():.1f}")
