"""
A walk through a zonotope
=========================

Seven vectors in the plane span a zonotope. A cost for each vector tiles it with parallelograms,
one for each pair of vectors. One step of hit-and-run draws a direction and crosses every tile on
the line.
"""

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import ProjectionDPP, Zonotope, plotting, sample

angles = np.linspace(0.15, 2.9, 7)
A = np.array([1.0, 0.6, 1.3, 0.8, 1.1, 0.7, 1.0]) * [np.cos(angles), np.sin(angles)]
zonotope = Zonotope(A, rng=3)
start = A.sum(axis=1) / 2 - [0.75, 0.8]

plotting.hit_and_run_step(zonotope, start, [1.0, 0.55], proposal=1.1)
plt.show()

# %%
# Lengths and volumes of the tiles on the line: the next tile is drawn in proportion to their
# product.

walk = zonotope.walk(start, [1.0, 0.55])
for basis, length, log_volume in zip(
    walk.bases, np.diff(walk.breaks), walk.log_volumes, strict=True
):
    print(f"tile {tuple(map(int, basis))}: length {length:.3f}, volume {np.exp(log_volume):.3f}")

# %%
# Tiles as towers whose height is the density. The volume of a tower is the probability of its
# pair.

plotting.skyscrapers(zonotope)
plt.show()

# %%
# The chain draws each vector with the right probability. Every tenth step is kept, so that the
# draws are nearly independent.

samples = sample(ProjectionDPP(A), 20_000, method="zonotope", thin=10, rng=0)
plotting.marginals(samples, exact=samples.target.marginals())
plt.show()
