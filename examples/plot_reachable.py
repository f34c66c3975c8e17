"""
Where a system can be
=====================

A linear system x' = A x + B u has inputs -1 <= u <= 1 that nobody knows. The states that it can
reach in a step are a zonotope: a linear map of those before, plus one more generator for each
input. After 200 steps there are 204 generators. So the zonotope is reduced on the way, to one with
few generators that contains it. Volumes tell what that costs, with a standard error.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg

from zonodpp import Zonotope, plotting

# Two oscillators, coupled and damped, with a force on the first: x has four coordinates.
A = np.array([[0, 1, 0, 0], [-2, -0.1, 1, 0], [0, 0, 0, 1], [1, 0, -1.5, -0.1]])
B = np.array([[0], [0.6], [0], [0.1]])
STEP, STEPS, ORDER = 0.05, 200, 8

whole = scipy.linalg.expm(STEP * np.block([[A, B], [np.zeros((1, 5))]]))
M, pushed = whole[:4, :4], Zonotope.from_generators(whole[:4, 4:])  # u is constant in a step
exact = reduced = Zonotope.from_generators(0.05 * np.eye(4), center=[1, 0, 0, 0])
tubes = [reduced]
for _ in range(STEPS):
    exact, reduced = M @ exact + pushed, M @ reduced + pushed
    if reduced.n > 2 * ORDER * reduced.r:
        reduced = reduced.reduce(ORDER)
    tubes.append(reduced)

figure, panels = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for tube in tubes[::10]:
    panels[0].fill(*(np.eye(4)[[0, 1]] @ tube).vertices().T, facecolor="none", edgecolor="0.6")
panels[0].set(title="every tenth step", xlabel="Place", ylabel="Speed")
coarse = exact.reduce(1)
plotting.zonotope(
    [exact, reduced, coarse],
    dims=(0, 1),
    ax=panels[1],
    labels=[f"all {exact.n} generators", f"{reduced.n}, reduced on the way", "4, a parallelotope"],
)
panels[1].set(title="after 200 steps", xlabel="Place", ylabel="Speed")
plt.show()

# %%
# Volumes to the power 1/4, so that they are lengths, over that of the exact zonotope.

true = exact.volume(rel_error=0.02, rng=0)
print(f"exact, {exact.n} generators: volume {true.value:.4g} +- {true.stderr:.2g}")
for order in (1, 2, 4):
    for method in ("search", "pca", "girard"):
        value, stderr = exact.reduce(order, method=method).ratio(rel_error=0.02, rng=0)
        print(f"order {order} by {method:7s} {value:.4f} +- {stderr:.4f}")

# %%
# In space: three of the four coordinates.

plotting.zonotope([exact.reduce(4), coarse], dims=(0, 1, 2))
plt.show()
