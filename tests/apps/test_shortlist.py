"""Shortlists: relevance kept, distance gained, limits, draws and their law."""

import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from law import THRESHOLD, p_value
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from zonodpp import KDPP
from zonodpp.apps import Shortlist, near_duplicates, shortlist
from zonodpp.apps.shortlists import search as shortlist_search
from zonodpp.apps.shortlists.candidates import Candidates
from zonodpp.apps.shortlists.limits import Limits
from zonodpp.apps.shortlists.search import diversify, most_relevant


@pytest.fixture(scope="module")
def items():
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 1, 60), rng.normal(size=(60, 9))


@pytest.fixture(scope="module")
def digits():
    """Images, and how alike they are to one of them."""
    X = load_digits().data[:800]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return unit[1:] @ unit[0], X[1:]


def share_given_up(relevance, k, chosen):
    top = np.sort(relevance)[-k:].mean()
    return (top - relevance[chosen].mean()) / (top - relevance.mean())


# The best list.


@pytest.mark.parametrize("diversity", [0, 0.02, 0.1, 0.3, 0.6, 1])
def test_no_more_relevance_is_given_up_than_asked_for(items, digits, diversity):
    for relevance, features in (items, digits):
        for scores in (relevance, -1 / relevance, 1e6 + 1e-3 * relevance):
            found = shortlist(scores, features, 8, diversity=diversity, duplicates=None)
            assert share_given_up(scores, 8, found.indices) <= diversity + 1e-6
            assert found.given_up == pytest.approx(
                share_given_up(scores, 8, found.indices), abs=1e-5
            )


def test_diversity_grows_with_the_share(digits):
    lists = [shortlist(*digits, 10, diversity=t, duplicates=None) for t in (0, 0.1, 0.3, 0.6, 1)]
    assert (np.diff([found.diversity for found in lists]) > 0).all()
    assert_array_equal(np.sort(lists[0].indices), np.sort(np.argsort(-digits[0])[:10]))


def greedy_marginal(relevance, unit, k, weight):
    """Maximal marginal relevance, as it is usually written."""
    chosen = [int(np.argmax(relevance))]
    while len(chosen) < k:
        score = (1 - weight) * relevance - weight * (unit @ unit[chosen].T).max(axis=1)
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
    return np.array(chosen)


def test_lists_are_more_diverse_than_those_of_marginal_relevance():
    X = load_digits().data[:800]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    gains = []
    for query in range(6):
        rest = np.delete(np.arange(800), query)
        relevance, rows = unit[rest] @ unit[query], unit[rest]
        for weight in (0.4, 0.45, 0.5):
            peer = greedy_marginal(relevance, rows, 10, weight)
            share = share_given_up(relevance, 10, peer)
            found = shortlist(relevance, rows, 10, diversity=share, duplicates=None)
            assert relevance[found.indices].mean() >= relevance[peer].mean() - 1e-6
            distances = 1 - (rows[peer] @ rows[peer].T)[np.triu_indices(10, 1)]
            gains.append((found.diversity - distances.mean(), found.nearest - distances.min()))
    assert (np.mean(gains, axis=0) > 0).all()


def test_exchanges_reach_the_best_list_of_few_items():
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        relevance, rows = rng.uniform(size=9), rng.normal(size=(9, 5))
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        sets = np.array(list(combinations(range(9), 3)))
        energy = sum(
            (1 - np.einsum("ij,ij->i", unit[sets[:, a]], unit[sets[:, b]])) ** -1.25
            for a, b in ((0, 1), (0, 2), (1, 2))
        )
        top = np.sort(relevance)[-3:].mean()
        level = top - 0.5 * (top - relevance.mean())
        best = energy[relevance[sets].mean(axis=1) >= level - 1e-12].min()
        chosen = np.sort(shortlist(relevance, rows, 3, diversity=0.5, duplicates=None).indices)
        found.append(energy[(sets == chosen).all(axis=1)][0] / best)
    assert np.mean(np.array(found) < 1.02) > 0.5
    assert np.mean(found) < 1.1


def test_energies_are_kept_up_to_date(monkeypatch):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 6))
    relevance = np.sort(rng.uniform(size=200))[::-1]
    pool = Candidates.of(rows, np.arange(200), relevance, 6, None)
    assert_array_equal(most_relevant(pool, 8, 0, None), np.arange(8))
    exact = diversify(pool, np.arange(8), 0, 2.0, None)
    monkeypatch.setattr(shortlist_search, "_TABLE", 200)  # all energies computed beforehand
    assert_array_equal(exact, diversify(pool, np.arange(8), 0, 2.0, None))
    assert relevance[:8].sum() - relevance[exact].sum() <= 2.0 + 1e-6


def test_given_arrays_stay_as_they_are(items):
    relevance, features = items
    before = features.copy()
    shortlist(relevance, features, 60)
    near_duplicates(relevance, features, 5)
    assert_array_equal(features, before)


def test_near_duplicates_are_never_picked_together(items):
    relevance, features = items
    noise = 0.05 * np.random.default_rng(1).normal(size=features.shape)
    copies = np.vstack([features, features + noise])
    unit = copies / np.linalg.norm(copies, axis=1, keepdims=True)
    for diversity in (0, 0.1, 0.5, 1):
        for answer in ("best", "draw"):
            found = shortlist(
                np.tile(relevance, 2), copies, 5, diversity=diversity, answer=answer, rng=0
            )
            alike = unit[found.indices] @ unit[found.indices].T
            assert alike[np.triu_indices(5, 1)].max() < 0.97
    both = shortlist(np.tile(relevance, 2), copies, 4, diversity=0, duplicates=None)
    assert {i % 60 for i in both} == set(np.argsort(-relevance)[:2].tolist())


def test_a_list_is_shorter_where_all_else_are_near_duplicates():
    assert shortlist(np.arange(5), np.ones((5, 3)), 3).indices.tolist() == [4]
    assert len(shortlist(np.arange(5), np.ones((5, 3)), 3, duplicates=None)) == 3
    many = np.repeat(np.eye(4), 100, axis=0)  # the first copies fill the pool of candidates
    found = shortlist(np.linspace(1, 0, 400), many, 4, diversity=0)
    assert sorted(i // 100 for i in found) == [0, 1, 2, 3]


def test_features_of_any_kind(items):
    relevance, features = items
    expected = shortlist(relevance, features, 5).indices
    for same in (sp.csr_array(features), sp.csc_matrix(features), features.tolist()):
        assert_array_equal(shortlist(relevance, same, 5).indices, expected)
    assert_array_equal(shortlist(relevance, features.astype(np.float32), 5).indices, expected)
    lengths = np.logspace(-160, 160, 60)[:, None]
    assert_array_equal(shortlist(relevance, features * lengths, 5).indices, expected)
    frame = pd.DataFrame(features, index=[f"item {i}" for i in range(60)])
    assert shortlist(relevance, frame, 5).labels == [f"item {i}" for i in expected]
    for width in (1, 2, 4):
        found = shortlist(relevance, features[:, :width], 5, diversity=0.5)
        assert len(set(found)) == 5
        assert 0 < found.nearest <= found.diversity < 1
    price = np.linspace(0, 1, 60)[:, None]
    spread = shortlist(np.ones(60), price, 6)
    assert np.diff(np.sort(price[spread.indices].ravel())).min() > 0.1
    zero = np.vstack([np.zeros((1, 9)), features[1:]])
    assert len(shortlist(relevance, zero, 5)) == 5
    assert len(shortlist(np.arange(60)[::-1], sp.csr_array(zero), 5)) == 5


def test_equal_relevance_leaves_all_to_diversity(items):
    found = shortlist(np.ones(60), items[1], 5, diversity=0)
    assert found.diversity > 1.0
    assert found.given_up == 0.0


def test_result(items):
    relevance, features = items
    names = [f"item {i}" for i in range(60)]
    found = shortlist(*items, 5, labels=names)
    assert isinstance(found, Shortlist)
    assert (np.diff(found.relevance) <= 0).all()
    assert_array_equal(found.relevance, relevance[found.indices])
    assert found.labels == [names[i] for i in found]
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    alike = unit[found.indices] @ unit[found.indices].T
    assert_allclose(found.similarity, alike, atol=1e-12)
    assert found.diversity == pytest.approx(1 - alike[np.triu_indices(5, 1)].mean())
    assert found.nearest == pytest.approx(1 - alike[np.triu_indices(5, 1)].max())
    assert f"1. {found.labels[0]}" in str(found)
    assert repr(found).startswith(f"Shortlist(5 items: {found.labels[0]}")
    assert shortlist(*items, 5).labels == found.indices.tolist()
    assert shortlist(*items, 1).indices.tolist() == [int(np.argmax(relevance))]
    assert found.log_prob is None


@pytest.mark.parametrize("answer", ["best", "draw"])
def test_items_in_and_out(items, answer):
    for diversity in (0, 0.1, 1.0):
        options = {"diversity": diversity, "answer": answer, "rng": 0}
        found = shortlist(*items, 5, include=[3, 8], exclude=range(20, 60), **options)
        assert {3, 8} <= set(found)
        assert max(found) < 20
        assert (np.diff(found.relevance) <= 0).all()
    assert set(shortlist(*items, 3, include={1, 2, 3}, answer=answer)) == {1, 2, 3}


def test_near_duplicates_of_included_items_stay_out(items):
    relevance, features = items
    doubled = np.vstack([features, features])
    found = shortlist(np.tile(relevance, 2), doubled, 5, include=[7])
    assert 67 not in found
    both = shortlist(np.tile(relevance, 2), doubled, 5, include=[7, 67])
    assert {7, 67} <= set(both)


def test_batches(items):
    rng = np.random.default_rng(2)
    relevance, features = rng.uniform(size=(4, 30)), rng.normal(size=(4, 30, 8))
    for answer in ("best", "draw"):
        lists = shortlist(relevance, features, 5, answer=answer, rng=0)
        assert [len(found) for found in lists] == [5] * 4
    expected = [shortlist(r, X, 5).indices for r, X in zip(relevance, features, strict=True)]
    got = [found.indices for found in shortlist(relevance, features, 5)]
    assert_array_equal(got, expected)
    for wrong in (relevance[:3], relevance[:, :9], relevance[0]):
        with pytest.raises(ValueError, match=r"for each list, \(4, 30\), got shape"):
            shortlist(wrong, features, 5)


# Limits.


def test_a_batch_may_share_features(items):
    relevance, features = items
    queries = np.stack([relevance, relevance[::-1]])
    for many in (queries, queries.tolist()):
        found = shortlist(many, pd.DataFrame(features), 5)
        single = [shortlist(each, features, 5).indices for each in queries]
        assert_array_equal([each.indices for each in found], single)
    with pytest.raises(ValueError, match="one row of scores for each list"):
        shortlist(queries[:, :5], features, 3)


def test_without_candidates_the_list_is_empty():
    for relevance, features in (([], []), (np.zeros(0), np.zeros((0, 3)))):
        found = shortlist(relevance, features, 5)
        assert len(found) == 0
        assert list(found) == found.labels == []
        assert "0 items" in repr(found)
    assert [len(each) for each in shortlist(np.zeros((2, 0)), np.zeros((2, 0, 3)), 5)] == [0, 0]


@pytest.mark.parametrize("kind", ["cosine", "distance", "sparse"])
def test_lists_differ_from_what_is_given(kind):
    """Two clusters of equally relevant items, all of one of them near what was shown."""
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(2) * 3 + 1, 10, axis=0)
    features = centres + 0.1 * rng.normal(size=(20, 2))
    if kind != "distance":
        features = np.hstack([features, np.zeros((20, 9))])
    if kind == "sparse":
        features = sp.csr_array(features)
    how = {"diversity": 1, "duplicates": None}
    found = shortlist(np.ones(20), features, 3, given=[0, 4], **how)
    assert not {0, 4} & set(found)
    assert sum(item >= 10 for item in found) >= 2
    last = shortlist(np.ones(20), features, 1, given=[15, 4], window=1, **how)
    assert 15 not in list(last)
    assert last.indices[0] >= 10
    first = shortlist(np.ones(20), features, 1, given=[4, 15], window=1, **how)
    assert first.indices[0] < 10
    assert list(
        shortlist(np.ones(20), features, 3, given=["b"], labels=list("abcdefghijklmnopqrst"))
    ) == list(shortlist(np.ones(20), features, 3, given=[1]))


def test_near_duplicates_of_what_is_given_stay_out(items):
    relevance, features = items
    twice = np.vstack([features, features])
    scores = np.append(relevance, relevance)
    best = shortlist(scores, twice, 6)
    more = shortlist(scores, twice, 6, given=best.indices)
    assert not set(best.indices % 60) & set(more.indices % 60)
    kept = shortlist(scores, twice, 6, given=best.indices, include=[(best.indices[0] + 60) % 120])
    assert (best.indices[0] + 60) % 120 in list(kept)  # what must be picked is
    assert len(shortlist([2, 1], [[1.0, 0], [2.0, 0]], 1, given=[0])) == 0
    with pytest.raises(ValueError, match="in include and in given"):
        shortlist(relevance, features, 3, given=[1], include=[1])
    with pytest.raises(ValueError, match="given needs answer='best'"):
        shortlist(relevance, features, 3, given=[1], answer="draw")


@pytest.mark.parametrize("width", [2, 12])
def test_the_beginning_of_a_picked_order_is_the_better_shorter_list(width):
    rng = np.random.default_rng(1)
    relevance, features = rng.uniform(size=40), rng.normal(size=(40, width))
    found = shortlist(relevance, features, 8, order="picked", diversity=0.5)
    plain = shortlist(relevance, features, 8, diversity=0.5)
    assert sorted(found) == sorted(plain)
    assert_array_equal(found.relevance, relevance[found.indices])
    q = found.relevance - relevance.min()
    L = found.similarity * np.outer(q, q)
    L += 0.1 * L.diagonal().mean() * np.eye(8)
    for count in range(1, 8):  # each item is the best addition to those before it
        added = [
            np.linalg.det(L[np.ix_([*range(count), item], [*range(count), item])])
            for item in range(count, 8)
        ]
        assert np.argmax(added) == 0
    again = shortlist(
        relevance, features, 8, order="picked", diversity=0.5, given=found.indices[:2]
    )
    assert len(again) == 8
    assert list(shortlist(np.ones(3), np.eye(3), 2, order="picked")) == [0, 1]


def test_quotas_look_at_enough_items():
    """A short pool gives lists as diverse as all items do, at the same relevance."""
    rng = np.random.default_rng(0)
    relevance, features = rng.uniform(size=400), rng.normal(size=(400, 16))
    groups = [i % 4 for i in range(400)]
    limits = {"groups": groups, "at_most": 3, "at_least": {1: 2}}
    found = shortlist(relevance, features, 10, **limits)
    members = np.bincount(found.indices % 4, minlength=4)
    assert members.max() <= 3
    assert members[1] >= 2
    everything = shortlist(relevance, features, 10, costs=np.zeros(400), budget=1.0, **limits)
    assert found.given_up <= 0.1 + 1e-9
    assert found.diversity > everything.diversity - 0.02


def test_budget(items):
    costs = np.random.default_rng(3).uniform(1, 5, 60)
    for diversity in (0, 0.2, 1):
        found = shortlist(*items, costs=costs, budget=20, diversity=diversity)
        assert costs[found.indices].sum() <= 20
        assert len(found) >= 4
        assert len(shortlist(*items, 3, costs=costs, budget=20, diversity=diversity)) == 3
    plain = shortlist(*items, 5, diversity=0.2)
    free = shortlist(*items, 5, costs=np.ones(60), budget=1e9, diversity=0.2)
    assert_allclose(free.diversity, plain.diversity, rtol=0.05)


def test_quotas(items):
    groups = ["abc"[i % 3] for i in range(60)]
    for diversity in (0, 0.3, 1):
        found = shortlist(
            *items, 9, groups=groups, at_least={"a": 4}, at_most={"b": 1}, diversity=diversity
        )
        picked = [groups[i] for i in found]
        assert picked.count("a") >= 4
        assert picked.count("b") <= 1
        even = shortlist(*items, 9, groups=groups, at_most=3, diversity=diversity)
        assert {groups[i] for i in even} == set("abc")
        assert max([groups[i] for i in even].count(g) for g in "abc") == 3


def test_limits_allow_the_exchanges_that_keep_them():
    costs, groups = np.array([1.0, 2.0, 3.0, 1.0]), np.array([0, 0, 1, 1])
    limits = Limits(costs, 4.0, groups, np.array([1, 0]), np.array([2, 1]), ("a", "b"))
    chosen = np.array([0, 2])
    allowed = limits.exchanges(chosen)
    for slot, item in ((slot, item) for slot in range(2) for item in (1, 3)):
        after = np.where(np.arange(2) == slot, item, chosen)
        assert allowed[slot, item] == limits.kept(after)
    assert allowed.any()
    assert not allowed.all()


def test_lists_keep_to_limits_wherever_a_list_can():
    """All sets of items tell whether there is a list, how long it may be and how relevant."""
    rng = np.random.default_rng(5)
    relevance, features = rng.random(8), rng.normal(size=(8, 6))
    masks = np.array(list(product([False, True], repeat=8)))[1:]
    found, impossible = 0, 0
    for trial in range(400):
        groups = rng.integers(0, 3, 8)
        include, exclude = np.split(rng.permutation(8)[:4], [rng.integers(0, 3)])
        k = int(rng.integers(len(include) + 1, 9 - len(exclude)))
        at_least = {g: int(rng.integers(0, 3)) for g in np.unique(groups) if rng.random() < 0.5}
        at_most = {g: int(rng.integers(0, 4)) for g in np.unique(groups) if rng.random() < 0.5}
        costs = rng.integers(0, 6, 8)
        budget = int(rng.integers(2, 14)) if trial % 2 else np.inf
        kept = masks.sum(axis=1) <= k
        kept &= masks[:, include].all(axis=1) & ~masks[:, exclude].any(axis=1)
        kept &= masks @ costs <= budget
        for group in range(3):
            members = masks[:, groups == group].sum(axis=1)
            kept &= (at_least.get(group, 0) <= members) & (members <= at_most.get(group, 8))
        settings = {
            "include": include,
            "exclude": exclude,
            "costs": costs,
            "budget": budget,
            "groups": groups,
            "at_least": at_least,
            "at_most": at_most,
            "duplicates": None,
            "diversity": (0.0, 0.3, 1.0)[trial % 3],
        }
        if not kept.any():
            impossible += 1
            with pytest.raises(ValueError, match="no list keeps to the limits: "):
                shortlist(relevance, features, k, **settings)
            continue
        found += 1
        chosen = np.isin(np.arange(8), shortlist(relevance, features, k, **settings).indices)
        assert kept[(masks == chosen).all(axis=1)][0]
        if budget == np.inf:
            longest = masks.sum(axis=1) == masks[kept].sum(axis=1).max()
            assert longest[(masks == chosen).all(axis=1)][0]
            if settings["diversity"] == 0.0:
                best = (masks[kept & longest] @ relevance).max()
                assert chosen @ relevance == pytest.approx(best)
    assert min(found, impossible) > 80


def test_groups_that_need_items_leave_room_in_the_budget():
    groups, costs = ["a", "a", "b", "b"], [9, 1, 5, 2]
    settings = {"groups": groups, "at_least": {"a": 1, "b": 1}, "costs": costs}
    for budget, expected in ((3, {1, 3}), (6, {1, 2}), (11, {0, 3}), (14, {0, 2})):
        found = shortlist([4, 3, 2, 1], np.eye(4), 2, diversity=0, budget=budget, **settings)
        assert set(found) == expected
    with pytest.raises(ValueError, match="cost 3 or more, and the budget is 2"):
        shortlist([4, 3, 2, 1], np.eye(4), 2, budget=2, **settings)
    # A copy of the most relevant item is the only one of its group.
    copies = {"groups": ["a", "b"], "at_least": {"a": 1, "b": 1}}
    with pytest.raises(ValueError, match=r"found no list .* duplicates=None allows them"):
        shortlist([2, 1], np.ones((2, 3)), 2, **copies)
    assert len(shortlist([2, 1], np.ones((2, 3)), 2, duplicates=None, **copies)) == 2


# Draws.


SMALL = (np.array([0.9, 0.5, 1.0, 0.7, 0.3, 0.8]), np.random.default_rng(4).normal(size=(6, 4)))


def law(relevance, features, k, level, include=()):
    """All sets with the items included, and their chances at the strength that meets the level."""
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    sets = np.array([s for s in combinations(range(len(relevance)), k) if set(include) <= set(s)])
    logs = np.linalg.slogdet((unit @ unit.T)[sets[:, :, None], sets[:, None]])[1]
    sums = relevance[sets].sum(axis=1)

    def chances(strength):
        weights = np.exp(logs + strength * sums - (logs + strength * sums).max())
        return weights / weights.sum()

    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if chances(middle) @ sums < level else (low, middle)
    return sets, chances(low)


def draws(count, *args, **settings):
    return np.sort(
        [shortlist(*args, answer="draw", rng=s, **settings).indices for s in range(count)]
    )


@pytest.mark.parametrize("include", [(), (4,)])
def test_draws_follow_the_k_dpp_of_the_level(include):
    relevance, _ = SMALL
    free = 3 - len(include)
    best = np.sort(np.delete(relevance, include))[-free:].sum()
    lift = best - free * relevance.mean()
    level = best - 0.6 * lift + relevance[list(include)].sum()
    found = draws(150, *SMALL, 3, diversity=0.6, include=include)
    assert p_value(found, *law(*SMALL, 3, level, include)) > THRESHOLD
    # A broken twin: draws of another level.
    twin = draws(150, *SMALL, 3, diversity=0.1, include=include)
    assert p_value(twin, *law(*SMALL, 3, level, include)) < THRESHOLD


def test_draws_give_up_the_share_on_average(items):
    for diversity in (0.2, 0.5):
        lost = [
            shortlist(*items, 5, diversity=diversity, answer="draw", rng=s).given_up
            for s in range(100)
        ]
        assert abs(np.mean(lost) - diversity) < 0.06


def test_log_prob_of_a_draw(items):
    found = shortlist(*SMALL, 3, diversity=1, answer="draw", rng=0)
    unit = SMALL[1] / np.linalg.norm(SMALL[1], axis=1, keepdims=True)
    if found.given_up > 0:
        uniform = float(KDPP.from_features(unit, 3).log_prob(np.sort(found.indices)))
        assert found.log_prob == pytest.approx(uniform, abs=1.0)
    some = [shortlist(*items, 4, answer="draw", rng=s).log_prob for s in range(20)]
    many = shortlist(*items, 4, answer="draw", n_draws=50, rng=0)
    assert many.log_prob > np.median(some)


# The report, errors, and the start.


def test_report_of_near_duplicates(items):
    relevance, features = items
    doubled = np.vstack([features, features[:5]])
    report = near_duplicates(np.append(relevance, relevance[:5]), doubled, 5)
    assert report.pairs.tolist() == [[i, 60 + i] for i in range(5)]
    assert report.helps
    assert "near-duplicates: 5 pairs, 10 items" in str(report)
    assert not near_duplicates(np.arange(8.0), np.eye(8), 4).helps
    top = int(np.argmax(relevance))
    copied = near_duplicates(
        np.append(relevance, relevance[top]), np.vstack([features, features[[top]]]), 5
    )
    assert copied.repeated == 1
    with pytest.raises(ValueError, match="threshold must be above 0 and at most 1, got 2"):
        near_duplicates(relevance, features, 5, threshold=2)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1"),
        ({"k": 61}, ValueError, "k=61 items asked for, but there are 60"),
        ({"k": "3"}, TypeError, "k must be a whole number"),
        ({"k": None}, TypeError, "k must be a whole number"),
        ({"diversity": -1}, ValueError, "diversity must be from 0 to 1"),
        ({"diversity": 1.5}, ValueError, "diversity must be from 0 to 1"),
        ({"diversity": np.nan}, ValueError, "diversity must be from 0 to 1"),
        ({"diversity": "much"}, TypeError, "diversity must be a number"),
        ({"duplicates": 1.5}, ValueError, "duplicates must be above 0"),
        ({"include": [1, 2, 3, 4]}, ValueError, "include names 4 items, but k=3"),
        ({"include": [1], "exclude": [1]}, ValueError, "item 1 .* is to be in the draw and not"),
        ({"include": [60]}, ValueError, "item numbers from 0 to 59"),
        ({"exclude": [-1]}, ValueError, "item numbers from 0 to 59"),
        ({"include": [2, 2]}, ValueError, "same item twice"),
        ({"exclude": range(58)}, ValueError, "only 2 of 60 can be picked"),
        (
            {"k": None, "costs": np.ones(60), "budget": 9, "exclude": range(60)},
            ValueError,
            "exclude names all 60 items",
        ),
        ({"labels": ["a"]}, ValueError, "labels must be one for each of the 60 items, got 1"),
        ({"answer": "vote"}, ValueError, "answer must be one of 'best', 'draw'"),
        ({"answer": "draw", "n_draws": 0}, ValueError, "n_draws must be at least 1"),
        ({"costs": np.ones(60)}, ValueError, "costs and budget come together"),
        ({"costs": np.ones(3), "budget": 1}, ValueError, "one entry for each of the 60 items"),
        ({"costs": np.ones(60), "budget": 0.5}, ValueError, "no list keeps to the limits"),
        ({"costs": np.ones(60), "budget": "9"}, TypeError, "budget must be a number"),
        ({"costs": np.ones(60), "budget": np.nan}, ValueError, "budget must be a finite number"),
        ({"at_most": 2}, ValueError, "pass groups too"),
        (
            {"groups": [1] * 59, "at_most": 2},
            ValueError,
            "groups must be one for each of the 60 items",
        ),
        ({"groups": [1] * 60, "at_most": {7: 1}}, ValueError, "no item is in the group 7"),
        ({"groups": [1] * 60, "at_least": {1: 4}}, ValueError, "need 4 items, and k is 3"),
        ({"groups": [1] * 60, "at_least": {1: 1.5}}, TypeError, "must be a whole number, got 1.5"),
        ({"groups": [1] * 60, "at_least": {1: -1}}, ValueError, "must be at least 0, got -1"),
        ({"groups": [1] * 60, "at_least": 2}, TypeError, "at_least must be a dict from group"),
        ({"groups": [1] * 60, "at_most": 2.5}, TypeError, "at_most must be a whole number"),
        ({"groups": [1] * 60, "at_most": 0}, ValueError, "no list keeps to the limits: no item"),
        (
            {"groups": [1] * 60, "at_most": np.int64(1), "include": [0, 1]},
            ValueError,
            "include has 2 of group 1, and at_most is 1",
        ),
        (
            {"groups": [1] * 60, "at_most": {1: 1}, "at_least": {1: 2}},
            ValueError,
            "at_least is 2 for group 1, and at_most is 1",
        ),
        (
            {"answer": "draw", "groups": [1] * 60, "at_most": 3},
            ValueError,
            "costs and groups need answer='best'",
        ),
    ],
)
def test_bad_settings(items, settings, error, message):
    with pytest.raises(error, match=message):
        shortlist(*items, **({"k": 3} | settings))


def test_bad_input(items):
    relevance, features = items
    with pytest.raises(ValueError, match="relevance has NaN"):
        shortlist([1, np.nan, 1], np.eye(3), 2)
    with pytest.raises(ValueError, match="one entry for each of the 60 items"):
        shortlist(relevance[:5], features, 2)
    with pytest.raises(ValueError, match="features is empty"):
        shortlist(np.ones(3), np.zeros((3, 0)), 2)
    for shape in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match="features is empty"):
            near_duplicates(np.ones(shape[0]), np.zeros(shape))
    with pytest.raises(ValueError, match="each of the 0 items"):
        shortlist([1.0], [], 2)
    with pytest.raises(ValueError, match="features has NaN"):
        shortlist([1, 1], [[1.0, np.inf], [0, 1]], 1)
    with pytest.raises(ValueError, match="features has NaN"):
        shortlist([1, 1, 1], [[1.0], [np.nan], [2.0]], 2)


def test_rounding_errors_of_costs_do_not_exceed_the_budget(items):
    limits = {"costs": np.full(60, 0.1), "budget": 0.3}
    assert len(shortlist(*items, 3, **limits)) == 3
    assert shortlist(*items, 3, include=[5, 6, 7], **limits).indices.size == 3
    assert len(shortlist(*items, 3, costs=np.full(60, 0.1001), budget=0.3)) == 2


@pytest.mark.parametrize("kind", [np.float32, np.float64, sp.csr_array])
def test_equal_rows_have_similarity_one(kind):
    rng = np.random.default_rng(0)
    for _ in range(50):
        features = rng.normal(size=(10, 5))
        features[1] = features[0]
        features = kind(features) if kind is sp.csr_array else features.astype(kind)
        assert {0, 1} - set(shortlist([9, 9, *range(8)], features, 3, duplicates=1.0))


def test_very_short_rows_have_the_same_similarities(items):
    relevance, features = items
    expected = shortlist(relevance, features, 5).similarity
    for size in (1e-160, 1e-300):  # squares have few digits, or underflow
        found = shortlist(relevance, features * size, 5).similarity
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("d", [2, 5])  # similarities of distances, and cosines
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_items_that_cannot_be_picked_may_have_unknown_features(d, kind):
    rows = np.random.default_rng(0).normal(size=(6, d))
    rows[0] = 0.0
    expected = shortlist(np.arange(6), kind(rows), 3, exclude=[4])
    rows[4] = np.nan
    found = shortlist(np.arange(6), kind(rows), 3, exclude=[4])
    assert_array_equal(found.indices, expected.indices)
    with pytest.raises(ValueError, match=r"the first at \[4, 0\]"):
        shortlist(np.arange(6), kind(rows), 3, exclude=[5])


def test_the_best_list_needs_numpy_alone():
    code = """
import sys
import numpy as np
from zonodpp.apps import shortlist
rng = np.random.default_rng(0)
shortlist(rng.random(100), rng.normal(size=(100, 384)), 10)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"scipy", "numba", "sklearn"}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_draws_of_the_most_relevant_items():
    rng = np.random.default_rng(0)
    features, relevance = rng.normal(size=(15, 4)), rng.normal(size=15)
    found = shortlist(relevance, features, 4, diversity=0, answer="draw", rng=0)
    assert set(found.indices) == set(np.argsort(-relevance)[:4])


# Budgets and relevance of every size.


def test_no_item_is_picked_twice():
    tiny = np.array([5.0, 4, 3, 2, 1]) * 1e-200
    found = shortlist(tiny, np.eye(5), 3, costs=[2, 2, 2, 1, 1], budget=3.0)
    assert len(set(found)) == len(found) == 2
    assert sum([2, 2, 2, 1, 1][i] for i in found) <= 3


def test_free_items_are_picked_and_nothing_is_given_up_below_zero():
    rows = [[-1.0, 1], [1, 1], [-1, -1], [-1, 0], [0, 1]]
    settings = {"diversity": 0.5, "duplicates": None, "costs": [2.0, 1, 2, 1, 0], "budget": 2.0}
    found = shortlist([3.0, 3, 1, 3, 2], rows, 3, **settings)
    assert set(found) == {1, 3, 4}
    assert found.given_up == 0.0


def some_limits(rng, n):
    """Return random limits of n items, and a function that tells whether a list keeps to them."""
    costs = rng.integers(0, 4, n) * rng.choice([1.0, 0.1, 1e-200, 1e200])
    budget = float(rng.integers(0, 8)) * (costs.max() or 1.0) / 3
    include = rng.permutation(n)[: rng.integers(0, 2)].tolist()
    exclude = [i for i in range(n) if i not in include and rng.random() < 0.1]
    groups = rng.integers(0, 3, n)
    at_least = {g: 1 for g in np.unique(groups).tolist() if rng.random() < 0.2}
    at_most = int(rng.integers(1, 4))

    def kept(items):
        counts = np.bincount(groups[items], minlength=3)
        return (
            costs[items].sum() <= budget * (1 + 1e-12)
            and set(include) <= set(items)
            and not set(exclude) & set(items)
            and all(counts[g] >= least for g, least in at_least.items())
            and counts.max() <= at_most
        )

    limits = {"costs": costs, "budget": budget, "include": include, "exclude": exclude}
    return limits | {"groups": groups, "at_least": at_least, "at_most": at_most}, kept


def test_every_list_under_limits_is_sound():
    """No item twice, all limits kept, no room left for another item, between 0 and all given up."""
    rng = np.random.default_rng(0)
    seen, best = 0, []
    for _ in range(1500):
        n = int(rng.integers(2, 7))
        relevance = rng.choice(
            [
                rng.integers(0, 6, n).astype(float),
                rng.normal(size=n),
                rng.integers(1, 5, n) * 10.0 ** rng.integers(-300, 300, n),
                1e15 + rng.integers(0, 5, n),
            ]
        )
        features = rng.integers(-2, 3, (n, int(rng.integers(1, 4)))) * rng.choice([1.0, 1e-170])
        limits, kept = some_limits(rng, n)
        can = n - len(limits["exclude"])
        share, k = float(rng.choice([0.0, 0.1, 1.0])), int(rng.integers(1, n + 1))
        if k > can or k < len(limits["include"]):
            continue
        lists = [s for m in range(1, k + 1) for s in combinations(range(n), m) if kept(list(s))]
        settings = {"diversity": share, "duplicates": None} | limits
        if not lists:
            with pytest.raises(ValueError, match="no list keeps to the limits"):
                shortlist(relevance, features, k, **settings)
            continue
        seen += 1
        found = shortlist(relevance, features, k, **settings)
        items = sorted(found)
        assert tuple(items) in lists
        assert 0.0 <= found.given_up <= share + 1e-9
        assert len(items) == k or not any(set(items) < set(s) for s in lists)
        above = relevance - relevance[[i for i in range(n) if i not in limits["exclude"]]].min()
        most = max(above[list(s)].sum() for s in lists)
        if share == 0.0 and most > 0:
            best.append(above[items].sum() / most)
    assert seen > 500
    assert np.mean(best) > 0.99  # a search, under a budget


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e300])
def test_only_differences_of_relevance_count(items, size):
    relevance, features = items
    relevance = np.round(relevance * 2**20) / 2**20
    costs = np.random.default_rng(3).uniform(1, 5, 60)
    for limits in ({"k": 6}, {"costs": costs, "budget": 20}):
        for diversity in (0.0, 0.2, 1.0):
            expected = shortlist(relevance, features, diversity=diversity, **limits)
            for same in (relevance * size, relevance + 2.0**30, (relevance - 1.0) * size):
                found = shortlist(same, features, diversity=diversity, **limits)
                assert_array_equal(np.sort(found.indices), np.sort(expected.indices))
                assert found.given_up == pytest.approx(expected.given_up, abs=1e-6)
                assert_array_equal(found.relevance, same[found.indices])


def test_similarities_of_distances_do_not_depend_on_offset_or_unit(items):
    relevance, features = items
    rows = np.round(features[:, :3] * 2**10) / 2**10
    expected = shortlist(relevance, rows, 5, diversity=0.5)
    for same in (rows + 2.0**40, rows * 1e-300, rows * 1e-170, rows * 1e150):
        found = shortlist(relevance, same, 5, diversity=0.5)
        assert_array_equal(found.indices, expected.indices)
        assert_allclose(found.similarity, expected.similarity, atol=1e-9)
