"""
A walk through a zonotope
=========================

Seven vectors in the plane span a zonotope. A cost for each vector tiles it with parallelograms,
one for each pair of vectors. One step of hit-and-run draws a direction and crosses every tile on
the line, from one end of the zonotope to the other.
"""

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import ProjectionDPP, Zonotope, plotting, sample

angles = np.linspace(0.15, 2.9, 7)
A = np.array([1.0, 0.6, 1.3, 0.8, 1.1, 0.7, 1.0]) * [np.cos(angles), np.sin(angles)]
zonotope = Zonotope(A, rng=3)
start, direction = A.sum(axis=1) / 2 - [0.75, 0.8], np.array([1.0, 0.55])
walk = zonotope.walk(start, direction)

ax = plotting.tiling(zonotope)
stops = start + walk.breaks[:, None] * direction
for place in range(len(walk.bases)):
    ax.plot(*stops[place : place + 2].T, linewidth=4)
ax.plot(*start, "ko", markersize=9)
plt.show()

# %%
# Lengths and volumes of the tiles on the line: the next tile is drawn in proportion to their
# product.

for basis, length, log_volume in zip(
    walk.bases, np.diff(walk.breaks), walk.log_volumes, strict=True
):
    print(f"tile {tuple(map(int, basis))}: length {length:.3f}, volume {np.exp(log_volume):.3f}")

# %%
# The chain draws each vector with the right probability. Every tenth step is kept, so that the
# draws are nearly independent.

samples = sample(ProjectionDPP(A), 20_000, method="zonotope", thin=10, rng=0)
plotting.marginals(samples, exact=samples.target.marginals())
plt.show()
