"""Variance of the gradient of minibatches: one item of each stratum, beside random batches.

The gradient is that of a logistic regression on digits, at the start and after training; k-means
strata, from which one item each is drawn, are the peer.
"""

from __future__ import annotations

import numpy as np

from benchmarks import Row, missing, peer

BATCH, EPOCHS = 32, 20


def run(quick: bool) -> list[Row]:
    """Nothing depends on the visit: see `once`."""
    return []


def once(quick: bool) -> list[Row]:
    from zonodpp.apps import DiverseBatchSampler

    if peer("sklearn") is None:
        return [missing("minibatches", "scikit-learn")]
    X, y = peer("sklearn.datasets").load_digits(return_X_y=True)
    X = X / 16
    rng = np.random.default_rng(0)
    labels = peer("sklearn.cluster").KMeans(BATCH, n_init=1, random_state=0).fit(X).labels_
    strata = [np.flatnonzero(labels == k) for k in range(BATCH)]
    share = np.array([len(stratum) for stratum in strata]) / len(X)
    model = peer("sklearn.linear_model").LogisticRegression(max_iter=500).fit(X, y)
    rows: list[Row] = []
    for when, p in (("at the start", np.full((len(X), 10), 0.1)), ("at the end", proba(model, X))):
        G = ((p - np.eye(10)[y])[:, :, None] * X[:, None, :]).reshape(len(X), -1)
        mean = G.mean(axis=0)
        ways: dict[str, list[np.ndarray]] = {"strata": [], "random": [], "k-means": []}
        sampler = DiverseBatchSampler(X, BATCH, drop_last=True, rng=0)
        for _ in range(2 if quick else EPOCHS):
            ways["strata"] += [G[batch].mean(axis=0) for batch in sampler]
            order = rng.permutation(len(X))[: len(X) // BATCH * BATCH].reshape(-1, BATCH)
            ways["random"] += [G[batch].mean(axis=0) for batch in order]
            draws = [[rng.choice(stratum) for stratum in strata] for _ in range(len(order))]
            ways["k-means"] += [share @ G[batch] for batch in draws]
        spread = {name: float(np.mean((np.array(g) - mean) ** 2)) for name, g in ways.items()}
        rows.append(
            {
                "what": f"digits, batches of {BATCH}: variance of the gradient over random, {when}",
                "ratio": spread["strata"] / spread["random"],
                "at_most": 1.0,
                "k_means_strata": spread["k-means"] / spread["random"],
            }
        )
    return rows


def proba(model, X):  # type: ignore[no-untyped-def]
    return model.predict_proba(X)
