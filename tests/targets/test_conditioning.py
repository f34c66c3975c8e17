"""Conditioning: the law given items in and items out, against enumeration."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from cases import graphs, hard_targets, targets, volume_targets
from law import enumerate_law, p_value

from zonodpp import DPP, KDPP, ProjectionDPP, VolumeSampling, sample

DRAWS = 4000


def restricted_law(target, include, exclude):
    """The law of the unconditioned target, by enumeration, cut down to the condition."""
    bases, probabilities = enumerate_law(target)
    meets = np.ones(len(bases), bool)
    for item in include:
        meets &= (bases == item).any(axis=1)
    for item in exclude:
        meets &= (bases != item).all(axis=1)
    probabilities = np.where(meets, probabilities, 0.0)
    return bases, probabilities / probabilities.sum()


def some_condition(target, seed):
    """Items in and out that leave something to draw: parts of one basis, and of the rest."""
    rng = np.random.default_rng(seed)
    bases, probabilities = enumerate_law(target)
    basis = bases[rng.choice(len(bases), p=probabilities)]
    include = rng.permutation(basis)[: rng.integers(0, len(basis) + 1)]
    others = np.setdiff1d(np.arange(target.n), basis)
    exclude = rng.permutation(others)[: rng.integers(0, len(others) // 2 + 1)]
    return include, exclude


CASES = targets() | hard_targets()


@pytest.mark.parametrize("name", CASES)
def test_probabilities_are_those_of_the_restricted_law(name):
    target = CASES[name]
    for seed in range(4):
        include, exclude = some_condition(target, seed)
        bases, expected = restricted_law(target, include, exclude)
        found = np.exp(target.condition(include, exclude).log_prob(bases))
        np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize("method", ["exact", "exchange", "zonotope"])
@pytest.mark.parametrize(
    "name", ["gaussian", "weighted", "duplicates", "sparse", "graph wheel", "graph parallel"]
)
def test_law_of_draws(name, method):
    target = targets()[name]
    include, exclude = some_condition(target, 5)
    law = restricted_law(target, include, exclude)
    thin = 1 if method == "exact" else 5
    conditioned = target.condition(include, exclude)
    draws = sample(conditioned, DRAWS, method=method, thin=thin, rng=3).subsets
    assert p_value(draws, *law) > 1e-4


@pytest.mark.parametrize("algorithm", ["wilson", "aldous-broder"])
@pytest.mark.parametrize("name", graphs())
def test_trees(name, algorithm):
    target = ProjectionDPP.from_graph(graphs()[name], weight="w")
    include, exclude = some_condition(target, 2)
    law = restricted_law(target, include, exclude)
    conditioned = target.condition(include, exclude)
    draws = sample(conditioned, DRAWS, method="trees", algorithm=algorithm, rng=4)
    assert p_value(draws.subsets, *law) > 1e-4
    assert nx.is_tree(draws.to_networkx())


@pytest.mark.parametrize("power", [1, 3])
def test_other_powers(power):
    for target in volume_targets(power).values():
        include, exclude = some_condition(target, 8)
        law = restricted_law(target, include, exclude)
        draws = sample(target.condition(include, exclude), DRAWS, thin=6, rng=5).subsets
        assert p_value(draws, *law) > 1e-4


def test_broken_twins_are_rejected():
    """Deleting the items that must be in, without projecting, gives another law."""
    target = targets()["gaussian"]
    law = restricted_law(target, [2], [])
    others = np.setdiff1d(np.arange(target.n), [2])
    reduced = ProjectionDPP(np.asarray(target.A)[1:, others])
    draws = others[sample(reduced, DRAWS, rng=0).subsets[0]]
    draws = np.sort(np.column_stack([np.full(DRAWS, 2), draws]), axis=1)
    assert p_value(draws, *law) < 1e-4
    excluded = restricted_law(target, [], [1])
    assert p_value(sample(target, DRAWS, rng=0).subsets, *excluded) < 1e-4


def test_nothing_asked_changes_nothing():
    target = targets()["weighted"]
    bases, expected = enumerate_law(target)
    np.testing.assert_allclose(np.exp(target.condition().log_prob(bases)), expected, atol=1e-12)


def test_conditions_add_up():
    target = targets()["gaussian"]
    bases, expected = restricted_law(target, [0, 3], [1, 2])
    found = target.condition([0]).condition(exclude=[1]).condition([3], [2])
    np.testing.assert_allclose(np.exp(found.log_prob(bases)), expected, atol=1e-12)


def test_kind_labels_and_sparsity_are_kept():
    target = VolumeSampling(np.random.default_rng(0).normal(size=(3, 9)), power=1.5)
    conditioned = target.condition([4], [5])
    assert type(conditioned) is VolumeSampling
    assert conditioned.power == 1.5
    graph = ProjectionDPP.from_graph(nx.grid_2d_graph(5, 5)).condition([3, 4], [8])
    assert graph.labels[3] == ((0, 1), (0, 2))
    assert sp.issparse(graph.A)
    ladder = sp.eye_array(300, 600, format="csc") + sp.eye_array(300, 600, k=250)
    assert ProjectionDPP(ladder).condition([5, 9], [20]).A.nnz < 2 * ladder.nnz


@pytest.mark.parametrize(
    ("include", "exclude", "message"),
    [
        ([0, 5], [], "no draw has the items 0, 5"),
        ([0, 1, 2, 3], [], "a draw has 3 items, these are 4"),
        ([0], [0], "in the draw and not in it"),
        ([0, 0], [], "same item twice"),
        ([9], [], "from 0 to 6"),
        ([], [0, 1, 2, 5, 6], "exclude fewer"),
        ([0.5], [], "integers"),
    ],
)
def test_impossible_conditions(include, exclude, message):
    target = targets()["duplicates"]
    with pytest.raises((ValueError, TypeError), match=message):
        target.condition(include, exclude)


def test_conditions_that_leave_the_empty_draw_alone():
    """It has a probability, but a target of empty draws has nothing to sample."""
    with pytest.raises(ValueError, match=r"every draw would be empty.* exclude fewer items"):
        DPP(L=np.eye(3)).condition(exclude=[0, 1, 2])
    with pytest.raises(ValueError, match="k = 2 items cannot be drawn, only those of 0 to 0"):
        KDPP(np.eye(3), 2).condition(exclude=[0, 1, 2])
    assert DPP(L=np.eye(3)).condition([0], [1, 2]).log_prob([0]) == 0.0


def test_impossible_trees():
    target = ProjectionDPP.from_graph(graphs()["bridge"], weight="w")
    with pytest.raises(ValueError, match="close a cycle"):
        target.condition([0, 1, 2])
    bridge = target.labels.index((2, 3))
    with pytest.raises(ValueError, match="falls into 2 parts"):
        target.condition(exclude=[bridge])


def test_copies_are_refused_after_a_first_condition_too():
    Phi = np.random.default_rng(0).normal(size=(6, 4))
    Phi[2] = 0.3 * Phi[1]
    for target in (DPP.from_features(Phi), KDPP.from_features(Phi, 3)):
        given = target.condition(include=[0])
        with pytest.raises(ValueError, match="linearly dependent"):
            given.condition(include=[1, 2])
        assert given.condition(include=[1]).marginals()[2] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("power", "decades"), [(0.01, 1.5), (0.05, 2), (0.5, 16), (1, 40), (2, 14), (2, 80), (2, 200)]
)
def test_included_items_and_weights_far_apart(power, decades):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        A, weights = rng.normal(size=(3, 7)), 10.0 ** rng.uniform(-decades / 2, decades / 2, 7)
        target = VolumeSampling(A, power=power, weights=weights)
        for include in ([int(weights.argmin())], [0, 1]):
            others = [j for j in range(7) if j not in include]
            rest = combinations(others, 3 - len(include))
            sets = [[*include, *some] for some in rest]
            expected, found = (
                target.log_prob(sets),
                target.condition(include=include).log_prob(sets),
            )
            shift = np.logaddexp.reduce(expected) - np.logaddexp.reduce(found)
            np.testing.assert_allclose(found + shift, expected, atol=1e-9)
