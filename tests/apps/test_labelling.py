"""Batches to label: weights, rows that are given, the gain by its definition, and the recipes."""

import pathlib
import re

import numpy as np
import pytest

from zonodpp.apps import batches, next_batch

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "labelling.md"
RNG = np.random.default_rng(0)
X = np.repeat(8 * RNG.normal(size=(12, 4)), 25, axis=0) + RNG.normal(size=(300, 4))
GROUPS = np.repeat(np.arange(12), 25)


def test_rows_stand_for_all():
    assert len(set(GROUPS[next_batch(X, 12)])) >= 11


def test_rows_about_which_the_model_is_sure_are_left():
    unsure = np.where(np.isin(GROUPS, (2, 5, 7)), 1.0, 0.0)
    assert set(GROUPS[next_batch(X, 3, uncertainty=unsure)]) == {2, 5, 7}


@pytest.mark.parametrize("known", [[], [2, 7, 11]])
def test_each_pick_takes_most_from_the_weighted_trace(known):
    points, unsure = X[::10], np.random.default_rng(1).random(30)
    gamma = 1 / points.var(axis=0).sum()
    K = np.exp(-gamma * ((points[:, None] - points) ** 2).sum(axis=2))

    def left(B):
        noisy = K[np.ix_(B, B)] + batches._NOISE * np.eye(len(B))
        return unsure**2 @ np.diagonal(K - K[:, B] @ np.linalg.solve(noisy, K[B]))

    picks = next_batch(points, 6, uncertainty=unsure, labelled=known).tolist()
    for place, pick in enumerate(picks):
        before = known + picks[:place]
        gained = [left([*before, j]) for j in range(30) if j not in before]
        assert left([*before, pick]) == pytest.approx(min(gained))
        assert max(gained) > 1.001 * min(gained)  # the check would notice another pick


def test_of_many_rows_a_sample_by_weight_is_compared(monkeypatch):
    monkeypatch.setattr(batches, "_CANDIDATES", 40)
    unsure = (GROUPS == 3).astype(float)
    picks = next_batch(X, 5, uncertainty=unsure)
    np.testing.assert_array_equal(picks, next_batch(X, 5, uncertainty=unsure))
    assert (GROUPS[picks[:3]] == 3).all()
    assert len(set(next_batch(X, 40).tolist())) == 40


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="k = 4 rows asked for, but 3 have no label"):
        next_batch(X[:5], 4, labelled=[0, 1])
    with pytest.raises(ValueError, match="uncertainty must not be negative"):
        next_batch(X[:3], 1, uncertainty=[0, 1, -1])
    assert len(next_batch(X[:5], 5, uncertainty=np.zeros(5))) == 5


def recipe(package):
    for block in re.findall(r"^```py\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.M):
        if package in block:
            names = {"__name__": "recipe"}
            exec(compile(block, PAGE.name, "exec"), names)
            return names
    raise AssertionError(f"no recipe for {package}")


@pytest.mark.filterwarnings("ignore")
def test_modal():
    models = pytest.importorskip("modAL.models")
    forest = pytest.importorskip("sklearn.linear_model").LogisticRegression()
    start = [0, 30, 60]
    strategy = recipe("modAL")["weighted_landmarks"]
    learner = models.ActiveLearner(forest, strategy, X[start], GROUPS[start])
    pool = np.delete(X, start, axis=0)
    picked, rows = learner.query(pool, n_instances=4)
    np.testing.assert_array_equal(pool[picked], rows)
    assert len(set(picked.tolist())) == 4


@pytest.mark.filterwarnings("ignore")
def test_scikit_activeml():
    classifier = pytest.importorskip("skactiveml.classifier")
    linear = pytest.importorskip("sklearn.linear_model")
    names = recipe("skactiveml")
    y = np.full(300, np.nan)
    y[[0, 30, 60]] = [0, 1, 2]
    model = classifier.SklearnClassifier(linear.LogisticRegression(), classes=np.arange(12))
    picked = names["WeightedLandmarks"](random_state=0).query(X, y, model, batch_size=5)
    assert len(set(picked.tolist()) - {0, 30, 60}) == 5
