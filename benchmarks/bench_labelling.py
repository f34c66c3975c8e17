"""Learning curves: batches to label beside random, margin, k-center and BADGE.

A logistic regression is trained on the rows labelled so far, asks for the next batch, and is
trained again; what counts is the mean accuracy on held-out rows over all batches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks import Row, missing, peer

SEEDS, BATCH, ROUNDS = 20, 10, 15
Strategy = Callable[[np.ndarray, np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]


def run(quick: bool) -> list[Row]:
    """Nothing depends on the visit: see `once`."""
    return []


def once(quick: bool) -> list[Row]:
    if peer("sklearn") is None:
        return [missing("labelling", "scikit-learn")]
    seeds = 2 if quick else SEEDS
    curves = {
        name: np.array([curve(way, seed) for seed in range(seeds)]) for name, way in WAYS.items()
    }
    areas = {name: found.mean(axis=1) for name, found in curves.items()}
    rival = max((name for name in areas if name != OURS), key=lambda name: areas[name].mean())
    doubts = {name: float(found.std(ddof=1) / np.sqrt(seeds)) for name, found in areas.items()}
    return [
        {
            "what": f"digits, batches of {BATCH}: area under the accuracy curve over {rival}'s",
            "ratio": float(areas[OURS].mean() / areas[rival].mean()),
            "floor": 1.0,
            "areas": {name: float(found.mean()) for name, found in areas.items()},
            "standard_errors": doubts,
            "curves": {
                name: found.mean(axis=0).round(4).tolist() for name, found in curves.items()
            },
            "seeds": seeds,
        }
    ]


def curve(way: Strategy, seed: int) -> np.ndarray:
    """Return the accuracy after each batch."""
    linear, select = peer("sklearn.linear_model"), peer("sklearn.model_selection")
    X, y = peer("sklearn.datasets").load_digits(return_X_y=True)
    X, test, y, truth = select.train_test_split(X / 16, y, test_size=0.4, random_state=seed)
    rng = np.random.default_rng(seed)
    labelled = rng.choice(len(X), BATCH, replace=False)  # the same start for all strategies
    found = []
    for _ in range(ROUNDS):
        model = linear.LogisticRegression(C=10.0, max_iter=200).fit(X[labelled], y[labelled])
        found.append(model.score(test, truth))
        labelled = np.append(labelled, way(X, model.predict_proba(X), labelled, BATCH, rng))
    return np.array(found)


def unsure(p: np.ndarray) -> np.ndarray:
    """Return one minus the difference of the two largest probabilities."""
    two = np.sort(p, axis=1)[:, -2:]
    return np.asarray(1 - (two[:, 1] - two[:, 0]))


def ours(X, p, labelled, k, rng):  # type: ignore[no-untyped-def]
    from zonodpp.apps import next_batch

    return next_batch(X, k, uncertainty=unsure(p), labelled=labelled)


def random(X, p, labelled, k, rng):  # type: ignore[no-untyped-def]
    return rng.choice(np.setdiff1d(np.arange(len(X)), labelled), k, replace=False)


def margin(X, p, labelled, k, rng):  # type: ignore[no-untyped-def]
    score = unsure(p)
    score[labelled] = -1
    return np.argsort(-score)[:k]


def k_center(X, p, labelled, k, rng):  # type: ignore[no-untyped-def]
    from zonodpp import pick

    return pick(X, k, kernel="linear", objective="farthest", given=labelled)


def badge(X, p, labelled, k, rng):  # type: ignore[no-untyped-def]
    """Seeds of k-means++ among gradients of the last layer (Ash et al., 2020)."""
    there = np.setdiff1d(np.arange(len(X)), labelled)
    errors = p[there] - np.eye(p.shape[1])[p[there].argmax(axis=1)]
    gradients = (errors[:, :, None] * X[there][:, None, :]).reshape(len(there), -1)
    cluster = peer("sklearn.cluster")
    return there[cluster.kmeans_plusplus(gradients, k, random_state=int(rng.integers(2**31)))[1]]


OURS = "next_batch"
WAYS: dict[str, Strategy] = {
    OURS: ours,
    "random": random,
    "margin": margin,
    "k-center": k_center,
    "BADGE": badge,
}
