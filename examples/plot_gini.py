"""
How much firms differ
=====================

Each firm of an industry is a vector: what it uses and what it makes. These vectors span a zonotope
between zero and the industry as a whole. If all firms had the same technique, the vectors would be
parallel and the zonotope a line. So its volume, over that of the box with the same diagonal,
measures how much techniques differ: the Gini volume of Dosi, Grazzi, Marengo and Settepanella
(2016).
"""

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import Zonotope, plotting

# A made-up industry: capital, labour and output of 400 firms, at two times.
rng = np.random.default_rng(1)
size = rng.lognormal(0, 1.0, 400)


def industry(spread):
    """Return capital, labour and output, one firm a column: techniques vary by ``spread``."""
    capital, labour = size * np.exp(spread * rng.standard_normal((2, 400)))
    output = capital**0.3 * labour**0.7 * np.exp(0.5 * spread * rng.standard_normal(400))
    return np.array([capital, labour, output])


def gini_volume(firms, rng):
    """Return the volume over that of the box with the same diagonal, and its standard error."""
    value, stderr = Zonotope(firms).volume(rel_error=0.005, rng=rng)
    return np.array([value, stderr]) / firms.sum(axis=1).prod()


early, late = industry(0.3), industry(0.6)
for name, firms in {"early": early, "late": late}.items():
    value, stderr = gini_volume(firms, rng=0)
    print(f"{name}: Gini volume {value:.5f} +- {stderr:.5f}")

# %%
# Seen from above, capital and labour: the wider the zonotope, the more the mixes of firms differ.

ax = plotting.zonotope([Zonotope(late), Zonotope(early)], labels=["late", "early"])
ax.set(xlabel="Capital", ylabel="Labour")
plt.show()

# %%
# Without the ten largest firms the measure hardly changes: it is not made by a few of them.

largest = np.argsort(-size)[:10]
value, stderr = gini_volume(np.delete(late, largest, axis=1), rng=0)
print(f"late, without the ten largest firms: {value:.5f} +- {stderr:.5f}")
