"""Five foods out of 32 that differ as much as they can: exact draws from a projection DPP."""

import numpy as np

from zonodpp import ProjectionDPP, sample
from zonodpp.datasets import foods

table = foods()
target = ProjectionDPP.from_features(table.values)
samples = sample(target, 10_000, method="exact", rng=2017)

print(f"{target}\n{samples}\n")
print("probability   five diverse foods")
for subset in samples.subsets[0, :8]:
    names = ", ".join(table.names[i] for i in subset)
    print(f"{np.exp(target.log_prob(subset)):11.1e}   {names}")

print("\nmost likely set drawn:", ", ".join(table.names[i] for i in samples.best()))

print("\nitem               exact   drawn")
exact, drawn = target.marginals(), samples.marginals()
for i in np.argsort(-exact)[:8]:
    print(f"{table.names[i]:17s} {exact[i]:6.3f}  {drawn[i]:6.3f}")
