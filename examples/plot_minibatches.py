"""
Minibatches that differ
=======================

Stochastic gradients from uniform minibatches and from minibatches drawn by a DPP (Zhang,
Kjellström, Mandt 2017). Each item is weighted by the inverse of its probability to be drawn, so
both gradients are unbiased; those of the DPP have a smaller variance.
"""

from itertools import count, islice, product

import matplotlib.pyplot as plt
import numpy as np

from zonodpp import ProjectionDPP, prepare

n = 4000
rng = np.random.default_rng(0)
places = rng.random((n, 2))
waves = sorted(product(range(12), repeat=2), key=lambda w: w[0] ** 2 + w[1] ** 2)
features = np.column_stack([np.cos(np.pi * places * wave).prod(axis=1) for wave in waves[:60]])
X = features[:, :10]  # the model uses ten of the features, the DPP all sixty
y = X @ rng.normal(size=10) + 0.5 * np.sin(9 * places[:, 0]) + 0.2 * rng.normal(size=n)

target = ProjectionDPP.from_features(features)
chances = target.marginals()
diverse = prepare(target).stream(np.random.default_rng(1))
uniform = (rng.choice(n, 60, replace=False) for _ in count())  # without end


def gradient(w, batch, chances):
    """Return an unbiased estimate of the gradient of the mean squared error, halved."""
    return X[batch].T @ ((X[batch] @ w - y[batch]) / (n * chances[batch]))


streams = {"at random": (uniform, np.full(n, 60 / n)), "by a DPP": (diverse, chances)}
for name, (batches, p) in streams.items():
    gradients = [gradient(np.zeros(10), batch, p) for batch in islice(batches, 1000)]
    print(f"variance of the gradient, minibatches {name}: {np.var(gradients, axis=0).sum():.4f}")

# %%
# Gradient descent with a large step size, the mean of 30 runs. The noise of the gradient decides
# how small the error can become.

least = np.mean((X @ np.linalg.lstsq(X, y, rcond=None)[0] - y) ** 2)
figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
for name, (batches, p) in streams.items():
    losses = np.zeros((30, 100))
    for run in losses:
        w = np.zeros(10)
        for step, batch in enumerate(islice(batches, 100)):
            w -= 0.8 * gradient(w, batch, p)
            run[step] = np.mean((X @ w - y) ** 2) - least
    panel.semilogy(losses.mean(axis=0), label=name)
panel.set(xlabel="step, with minibatches of 60", ylabel="mean squared error above the least")
panel.legend()
plt.show()
