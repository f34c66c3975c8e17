"""
A billion rows
==============

Exact draws from rows that do not fit into memory take two passes over them. The first part runs
here, on rows that are made a batch at a time; the second shows stored measurements of
``python -m benchmarks streams``.
"""

import json
import pathlib

import matplotlib.pyplot as plt
import numpy as np

import zonodpp
from zonodpp import ProjectionDPP, sample

BATCHES, ROWS = 20, 50_000


def batches():
    """Yield the same million rows in every pass, in batches."""
    for number in range(BATCHES):
        rng = np.random.default_rng(number)
        yield rng.standard_normal((ROWS, 2)).astype(np.float32) @ [[1.0, 0.6], [0.0, 0.8]]


def features():
    """Yield ten polynomials of the coordinates: a draw has ten rows, spread over the plane."""
    for x, y in (batch.T for batch in batches()):
        yield np.column_stack([x**i * y**j for i in range(4) for j in range(4 - i)])


target = ProjectionDPP.from_features(features)
subset = sample(target, 1, rng=0).subsets[0, 0]
print(f"{target.n:,} rows; drawn: {subset}")

places = list(batches())
drawn = np.array([places[i // ROWS][i % ROWS] for i in subset])
figure, panel = plt.subplots(figsize=(5, 5), layout="constrained")
panel.scatter(*places[0][:5000].T, s=1, color="0.8")
panel.scatter(*drawn.T, s=50, color="C3", edgecolor="white")
panel.set(aspect="equal", title="10 of a million rows")
plt.show()

# %%
# Time grows in proportion to the number of rows, and memory does not grow. The picture shows what
# was measured on two cores, extrapolated to 10^11 rows; docs/streams.md has the details.

root = pathlib.Path(zonodpp.__file__).parents[2]  # a checkout
stored = json.loads((root / "benchmarks/results/streams.json").read_text())
growth = next(row for row in stored["rows"] if "exponent" in row)
cluster = next(row for row in stored["rows"] if "workers" in row["what"])
rows = np.array([1e7, 1e11])
pace = growth["seconds"][-1] / growth["sizes"][-1]

figure, panel = plt.subplots(figsize=(6.5, 4), layout="constrained")
panel.loglog(rows, pace * rows, "--", color="0.6", label=f"{1e9 * pace:.0f} ns a row")
panel.loglog(growth["sizes"], growth["seconds"], "o", label="memory map, one process")
seconds = cluster["microseconds"]["target and draws"] / 1e6
panel.loglog(1e8, seconds, "s", color="C3", label="Dask, two processes of 1 GiB")
for n, name in ((1e9, "10^9 rows"), (1e11, "10^11 rows")):
    panel.annotate(f"{name}: {pace * n / 60:,.1f} min ", (n, pace * n), ha="right", va="bottom")
panel.set(xlabel="rows of 16 numbers", ylabel="seconds for a target and 100 draws")
panel.set_ylim(0.5, 5e4)
panel.legend()
plt.show()
