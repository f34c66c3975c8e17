"""
Five foods that differ
======================

Exact draws from a projection DPP, with the foods that come with the package. Each of 32 foods is
described by five nutrients, so a draw has five foods. Foods that resemble each other are seldom
drawn together.
"""

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import ProjectionDPP, plotting, sample
from zonodpp.datasets import foods

table = foods()
target = ProjectionDPP.from_features(table.values)
samples = sample(target, 10_000, method="exact", rng=2017)

print("probability   five diverse foods")
for subset in samples.subsets[0, :6]:
    names = ", ".join(table.names[i] for i in subset)
    print(f"{np.exp(target.log_prob(subset)):11.1e}   {names}")
print("\nmost likely set drawn:", ", ".join(table.names[i] for i in samples.best()))

# %%
# The shares of the draws in which a food occurs agree with the exact probabilities.

plotting.marginals(samples, exact=target.marginals())
plt.show()
