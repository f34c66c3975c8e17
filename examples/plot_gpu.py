"""
Exact draws on a GPU
====================

Stored results of ``python -m benchmarks.gpu`` on an NVIDIA H200: how many draws of r out of
100,000 items it makes in a second, if they stay on the device and if they are copied to the host.
"""

import json
import pathlib

import matplotlib.pyplot as plt

import zonodpp

root = pathlib.Path(zonodpp.__file__).parents[2]  # a checkout
stored = json.loads((root / "benchmarks/results/gpu/h200.json").read_text())
rows = stored["exact"]
r = [int(row["what"].split("=")[1].split(",")[0]) for row in rows]

figure, panel = plt.subplots(figsize=(6.5, 4), layout="constrained")
for key, name in {
    "device": "left on the device",
    "with copies": "copied to the host",
    "by sample()": "by sample(device='cuda')",
}.items():
    panel.loglog(r, [row[key] for row in rows], "o-", label=name)
panel.set(xlabel="items in a draw, r", ylabel="draws a second", xticks=r)
panel.set_xticklabels(r)
panel.minorticks_off()
panel.legend()
plt.show()

# %%
# The paper's experiment on K10 with 100,000 chains of 100 steps each, from the same run: how fast
# the largest error of the 45 edge probabilities falls, step by step.

figure, panel = plt.subplots(figsize=(6.5, 4), layout="constrained")
names = ("zonotope, the paper's rule", "zonotope, exact line", "exchange, barker")
for row, name in zip(stored["k10"], (*names, "exchange, heat-bath"), strict=True):
    panel.loglog(range(1, 101), row["largest error after each step"], label=name)
panel.axhline(stored["k10"][0]["noise"], color="0.6", label="standard error of one edge")
panel.set(xlabel="steps of each chain", ylabel="largest error of an edge", ylim=(1e-3, None))
panel.legend()
plt.show()
