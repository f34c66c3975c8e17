from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from law import THRESHOLD, p_value
from numpy.testing import assert_allclose, assert_array_equal

from zonodpp.apps import Shortlist, shortlist
from zonodpp.apps.shortlist_law import item_features


@pytest.fixture(scope="module")
def items():
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 1, 60), rng.normal(size=(60, 9))


def law(relevance, features, k, diversity, include=(), exclude=()):
    """All sets that meet the condition and their probabilities, from logarithms alone."""
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    V = np.linalg.svd(unit)[0][:, :k]
    bases = np.array(
        [
            basis
            for basis in combinations(range(len(relevance)), k)
            if set(include) <= set(basis) and not set(exclude) & set(basis)
        ]
    )
    logs = 2 * np.linalg.slogdet(V[bases])[1]
    free = np.where(np.isin(bases, include), 1.0, relevance[bases])
    logs += 2 / diversity * np.log(free).sum(axis=1)
    chance = np.exp(logs - logs.max())
    return bases, chance / chance.sum()


def draws(count, *args, **settings):
    return np.sort([shortlist(*args, rng=seed, **settings).indices for seed in range(count)])


SMALL = (np.array([0.9, 0.5, 1.0, 0.7, 0.3, 0.8]), np.random.default_rng(4).normal(size=(6, 4)))


@pytest.mark.parametrize("diversity", [0.02, 1.0, np.inf])
def test_law(diversity):
    found = draws(400, *SMALL, 3, diversity=diversity)
    assert p_value(found, *law(*SMALL, 3, diversity)) > THRESHOLD


def test_an_item_of_no_relevance_is_impossible_however_much_difference_counts():
    relevance = np.where(np.arange(6) == 2, 0.0, SMALL[0])
    found = draws(400, relevance, SMALL[1], 3, diversity=np.inf)
    assert p_value(found, *law(*SMALL, 3, np.inf, exclude=[2])) > THRESHOLD
    # Included it is drawn, and nothing else changes.
    kept = draws(400, relevance, SMALL[1], 3, diversity=np.inf, include=[2])
    assert p_value(kept, *law(*SMALL, 3, np.inf, include=[2])) > THRESHOLD


def test_law_under_a_condition():
    condition = {"include": [4], "exclude": [2]}
    found = draws(400, *SMALL, 3, diversity=0.7, **condition)
    assert p_value(found, *law(*SMALL, 3, 0.7, **condition)) > THRESHOLD
    # A broken twin: the weights of a knob at half its place.
    twin = draws(400, *SMALL, 3, diversity=0.35, **condition)
    assert p_value(twin, *law(*SMALL, 3, 0.7, **condition)) < THRESHOLD
    # Another: draw freely, then put the item in for the last one.
    free = draws(400, *SMALL, 3, diversity=0.7, exclude=[2])
    forced = np.sort([row if 4 in row else [*row[:2], 4] for row in free])
    assert p_value(forced, *law(*SMALL, 3, 0.7, **condition)) < THRESHOLD


def test_log_prob():
    bases, chance = law(*SMALL, 3, 1.0, include=[1])
    found = shortlist(*SMALL, 3, include=[1], rng=0)
    place = bases.tolist().index(np.sort(found.indices).tolist())
    assert found.log_prob == pytest.approx(np.log(chance[place]), abs=1e-9)


def test_the_knob_is_monotone(items):
    features = items[1]
    knob = [0, 0.03, 0.1, 0.3, 1, 3, np.inf]
    lists = [
        [shortlist(*items, 5, diversity=diversity, rng=seed) for seed in range(60)]
        for diversity in knob
    ]
    worth = [np.mean([np.log(found.relevance).sum() for found in row]) for row in lists]
    assert (np.diff(worth) < 0).all()
    V = item_features(features, 5).features
    volume = [np.mean([np.linalg.slogdet(V[f.indices])[1] for f in row]) for row in lists]
    assert (np.diff(volume)[:4] > 0).all()
    assert volume[-1] > volume[3]


def test_no_diversity_is_the_most_relevant(items):
    relevance, features = items
    top = np.argsort(-relevance)[:7]
    found = shortlist(*items, 7, diversity=0)
    assert_array_equal(found.indices, top)
    assert found.log_prob == 0.0
    assert_array_equal(shortlist(*items, 7, diversity=1e-6, rng=0).indices, top)
    twins = np.repeat(features[:1], 60, axis=0)
    assert_array_equal(shortlist(relevance, twins, 7, diversity=0).indices, top)
    kept = shortlist(*items, 7, diversity=0, include=[int(np.argmin(relevance))], exclude=top[:2])
    assert kept.indices[-1] == np.argmin(relevance)
    assert not set(kept) & set(top[:2].tolist())


def test_ties_are_drawn_however_much_relevance_counts():
    relevance = np.array([1.0, 0.5, 0.5, 0.5, 0.1, 0.1])
    found = draws(300, relevance, SMALL[1], 3, diversity=1e-4)
    bases, chance = law(relevance, SMALL[1], 3, 0.01)
    assert p_value(found, bases, chance) > THRESHOLD
    assert 0 in found[0]
    assert len(np.unique(found, axis=0)) == 3


def test_order_and_labels(items):
    relevance, features = items
    names = [f"item {i}" for i in range(60)]
    found = shortlist(*items, 5, labels=names, rng=0)
    assert isinstance(found, Shortlist)
    assert (np.diff(found.relevance) <= 0).all()
    assert_array_equal(found.relevance, relevance[found.indices])
    assert found.labels == [names[i] for i in found]
    assert len(found) == 5
    frame = pd.DataFrame(features, index=names)
    assert shortlist(relevance, frame, 5, rng=0).labels == found.labels
    assert f"1. {found.labels[0]}" in str(found)
    assert repr(found).startswith(f"Shortlist(5 items: {found.labels[0]}")
    assert shortlist(*items, 5, rng=0).labels == found.indices.tolist()


@pytest.mark.parametrize("answer", ["draw", "best"])
def test_conditions_are_kept(items, answer):
    for diversity in (0.01, 1.0, 100.0):
        found = shortlist(
            *items, 5, diversity=diversity, include=[3, 8], exclude=range(20, 60), answer=answer
        )
        assert {3, 8} <= set(found)
        assert max(found) < 20
    assert set(shortlist(*items, 3, include={1, 2, 3})) == {1, 2, 3}


def test_included_items_need_no_relevance(items):
    relevance, features = items
    relevance = relevance.copy()
    relevance[:50] = 0.0
    found = shortlist(relevance, features, 4, include=[7], rng=0)
    assert 7 in found
    assert min(set(found) - {7}) >= 50
    assert set(shortlist(np.zeros(60), features, 2, include=[4, 5])) == {4, 5}


def test_best_is_the_most_likely(items):
    best = shortlist(*items, 4, answer="best")
    some = [shortlist(*items, 4, rng=seed).log_prob for seed in range(50)]
    many = shortlist(*items, 4, n_draws=50, rng=0)
    assert best.log_prob >= max(some)
    assert many.log_prob > np.median(some)


def test_features_of_any_width(items):
    relevance, features = items
    for width in (1, 2, 5, 9):
        found = shortlist(relevance, features[:, :width], 5, rng=0)
        assert len(set(found)) == 5
        assert 0 <= found.diversity <= 2
    wide = np.random.default_rng(0).normal(size=(60, 500))
    assert len(shortlist(relevance, wide, 5, rng=0)) == 5
    sparse = sp.csr_array(features)
    assert_array_equal(
        shortlist(relevance, sparse, 5, rng=0).indices, shortlist(*items, 5, rng=0).indices
    )
    assert shortlist(relevance, features, 1, rng=0).diversity == 1.0
    price = np.linspace(0, 1, 60)[:, None]
    spread = shortlist(np.ones(60), price, 6, answer="best")
    assert np.diff(np.sort(price[spread.indices].ravel())).min() > 0.1


def test_equal_items_are_not_picked_together(items):
    relevance, features = items
    for table in (features, features[:, :2]):  # as they are, and lifted
        doubled = np.vstack([table, table])
        for seed in range(20):
            found = shortlist(np.tile(relevance, 2), doubled, 5, diversity=0.1, rng=seed)
            assert len({i % 60 for i in found}) == 5
    with pytest.raises(ValueError, match=r"no draw has the items 0, 60 .*in it: .*dependent"):
        shortlist(np.tile(relevance, 2), np.vstack([features] * 2), 5, include=[0, 60])


def test_scale_of_relevance_and_features_does_not_matter(items):
    relevance, features = items
    lengths = np.logspace(-100, 100, 60)[:, None]
    expected = shortlist(*items, 5, rng=0)
    found = shortlist(relevance * 1e-200, features * lengths, 5, rng=0)
    assert_array_equal(found.indices, expected.indices)
    assert_allclose(found.log_prob, expected.log_prob, atol=1e-8)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1"),
        ({"k": 61}, ValueError, "only 60 of 60 can be picked"),
        ({"k": "3"}, TypeError, "k must be a whole number"),
        ({"diversity": -1}, ValueError, "diversity must be zero or more"),
        ({"diversity": np.nan}, ValueError, "diversity must be zero or more"),
        ({"diversity": "much"}, TypeError, "diversity must be a number"),
        ({"include": [1, 2, 3, 4]}, ValueError, "include names 4 items, but k=3"),
        ({"include": [1], "exclude": [1]}, ValueError, "item 1 .* is to be in the draw and not"),
        ({"include": [60]}, ValueError, "item numbers from 0 to 59"),
        ({"exclude": [-1]}, ValueError, "item numbers from 0 to 59"),
        ({"include": [2, 2]}, ValueError, "same item twice"),
        ({"exclude": range(58)}, ValueError, "only 2 of 60 can be picked"),
        ({"labels": ["a"]}, ValueError, "labels must name each of the 60 items, got 1"),
        ({"answer": "vote"}, ValueError, "answer must be one of 'draw', 'best'"),
        ({"n_draws": 0}, ValueError, "n_draws must be at least 1"),
    ],
)
def test_bad_settings(items, settings, error, message):
    with pytest.raises(error, match=message):
        shortlist(*items, **({"k": 3} | settings))


def test_bad_input(items):
    relevance, features = items
    with pytest.raises(ValueError, match=r"relevance\[2\] = -1"):
        shortlist([1, 1, -1], np.eye(3), 2)
    with pytest.raises(ValueError, match="relevance has NaN"):
        shortlist([1, np.nan, 1], np.eye(3), 2)
    with pytest.raises(ValueError, match="one entry for each of the 60 items"):
        shortlist(relevance[:5], features, 2)
    with pytest.raises(ValueError, match="features has NaN"):
        shortlist([1, 1], [[1.0, np.inf], [0, 1]], 1)
    with pytest.raises(ValueError, match="only 0 of 3 can be picked"):
        shortlist(np.zeros(3), np.eye(3), 2)
    with pytest.raises(ValueError, match="tell only 1 items apart"):
        shortlist(np.ones(4), np.ones((4, 3)), 2)
    with pytest.raises(ValueError, match="only 1 independent directions"):
        shortlist(np.ones(4), [[1, 0], [2, 0], [3, 0], [0, 1]], 2, exclude=[3])
