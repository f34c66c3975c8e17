"""
Volumes of zonotopes in growing dimension
=========================================

The volume of a zonotope is a sum over all bases. Except for small sizes, there are too many bases
to list. Exact draws from a projection DPP give an unbiased estimate with a standard error.
"""

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import Zonotope

rng = np.random.default_rng(0)
small = Zonotope(rng.normal(size=(4, 14)))
exact, estimate = small.volume(method="exact"), small.volume(method="estimate", draws=5000, rng=1)
print(f"4 x 14: exact {exact.value:.2f}, estimate {estimate.value:.2f} +- {estimate.stderr:.2f}")

# %%
# With 2,000 draws each, from dimension 2 to 64: the volume itself, as a logarithm, and the error
# of the estimate relative to it.

dimensions = np.array([2, 4, 8, 16, 32, 64])
volumes = [
    Zonotope(rng.normal(size=(r, 4 * r))).volume(method="estimate", draws=2000, rng=r)
    for r in dimensions
]
values = np.array([v.value for v in volumes])
errors = np.array([v.stderr for v in volumes]) / values
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
panels[0].plot(dimensions, np.log10(values), "o-")
panels[0].set(xlabel="dimension r, with 4 r vectors", ylabel="log10 of the volume")
panels[1].plot(dimensions, 100 * errors, "o-", color="C3")
panels[1].set(
    xlabel="dimension r, with 4 r vectors", ylabel="standard error, percent", ylim=(0, None)
)
plt.show()
