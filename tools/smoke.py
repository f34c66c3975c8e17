"""A smoke test of an installed package: every public name is there, and the first draws come.

Run it with ``python -P`` in an environment that has the wheel and its extras.
"""

import importlib
import subprocess
import sys

import numpy as np

import zonodpp
from zonodpp import KDPP, ProjectionDPP, Zonotope, apps, find_map, prepare, sample

names = 0
for module in (
    "zonodpp",
    "zonodpp.apps",
    "zonodpp.features",
    "zonodpp.plotting",
    "zonodpp.diagnostics",
    "zonodpp.targets",
    "zonodpp.chains",
    "zonodpp.samples",
    "zonodpp.runs",
    "zonodpp.best",
    "zonodpp.zonotope",
):
    for name in importlib.import_module(module).__all__:
        getattr(importlib.import_module(module), name)
        names += 1

X = np.random.default_rng(0).normal(size=(100, 4))
target = ProjectionDPP.from_features(X)
for method in ("exact", "exchange", "zonotope"):
    assert sample(target, 10, method=method, rng=0).subsets.shape == (1, 10, 4)
assert len(prepare(target).draw(np.random.default_rng(0))) == 4
assert len(find_map(KDPP.from_features(X, 3)).subset) == 3
assert Zonotope(X[:6].T).volume().value > 0
assert len(apps.shortlist(X[:, 0] - X[:, 0].min(), X, 5)) == 5
assert len(apps.LandmarkSelector(3, random_state=0).fit(X).indices_) == 3
assert len(apps.summarize("One bird sang. Two cats slept. Three dogs ran.", 2, rng=0)) == 2
subprocess.run([sys.executable, "-m", "zonodpp", "--help"], check=True, stdout=subprocess.DEVNULL)
print(f"zonodpp {zonodpp.__version__}: {names} public names, and first draws come")
