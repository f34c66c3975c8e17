"""Items may be given by number or by label wherever items are taken."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from zonodpp import DPP, KDPP, ProjectionDPP, sample
from zonodpp.apps import shortlist

A = np.random.default_rng(3).normal(size=(2, 5))


def letters():
    return ProjectionDPP(A).with_labels("abcde")


def wheel():
    return ProjectionDPP.from_graph(nx.wheel_graph(5))


def test_an_edge_is_one_item_in_either_order():
    target = wheel()
    edge = target.labels.index((1, 4))
    for given in ([(1, 4)], [(4, 1)], (1, 4), (4, 1), [edge], edge):
        assert target.items(given).tolist() == [edge]
        found = target.condition(include=given).marginals()
        assert found[edge] == pytest.approx(1.0)
        np.testing.assert_allclose(found, target.condition(include=[edge]).marginals())
    assert target.condition(exclude=[(4, 1)]).marginals()[edge] == 0.0
    two = target.items([(0, 1), (4, 1)])
    assert two.tolist() == [target.labels.index((0, 1)), edge]
    assert target.inclusion([(0, 1), (4, 1)]) == target.inclusion(two)


def test_a_list_of_integers_is_a_list_of_numbers():
    target = wheel()
    assert target.items([0, 5]).tolist() == [0, 5]
    assert target.items(np.array([0, 5])).tolist() == [0, 5]
    assert target.items({5, 0}).tolist() in ([0, 5], [5, 0])
    assert target.items(frozenset([1, 4])).tolist() in ([1, 4], [4, 1])
    assert target.items([[0, 1], [2, 3]]).shape == (2, 2)
    assert target.items(range(3)).tolist() == [0, 1, 2]
    assert target.items(()).size == 0


def test_what_is_unknown_is_refused_by_name():
    with pytest.raises(ValueError, match=r"include: there is no edge \(1, 3\).*\[1, 3\]"):
        wheel().condition(include=[(1, 3)])
    with pytest.raises(ValueError, match=r"no edge \(0, 9\)"):
        wheel().inclusion((0, 9))
    with pytest.raises(ValueError, match="exclude: no item has the label 'x'; labels are 'a', 'b'"):
        letters().condition(exclude=["x"])
    with pytest.raises(ValueError, match="from 0 to 4"):
        letters().condition(exclude=[5])
    with pytest.raises(TypeError, match="these items have no labels"):
        ProjectionDPP(A).inclusion(["a"])
    with pytest.raises(TypeError, match="got True"):
        letters().inclusion([True])


def test_parallel_edges_need_their_key():
    graph = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("c", "a")])
    target = ProjectionDPP.from_graph(graph)
    assert target.labels[target.items(("b", "a", 1))[0]] == ("a", "b", 1)
    assert target.labels[target.items([("c", "b")])[0]] == ("b", "c", 0)
    with pytest.raises(ValueError, match=r"0 \('a', 'b', 0\), 1 \('a', 'b', 1\)"):
        target.inclusion([("a", "b")])


def test_equal_labels_are_refused_with_their_items():
    target = ProjectionDPP(A).with_labels(["x", "y", "x", "z", "x"])
    with pytest.raises(ValueError, match=r"'x' may be any of the items 0, 2, 4 "):
        target.condition(include=["x"])
    assert target.items(["y", 4]).tolist() == [1, 4]


def test_integers_as_labels():
    frame = pd.DataFrame(A.T, index=[10, 20, 1, 3, 40])
    target = ProjectionDPP.from_features(frame)
    assert target.items([20, 40]).tolist() == [1, 4]
    assert target.items([0, 3]).tolist() == [0, 3]  # item 3 has the label 3
    with pytest.raises(ValueError, match="1 is the number of one item and the label of item 2"):
        target.inclusion([1])
    assert target.items(np.array([1])).tolist() == [1]  # an array holds numbers
    samples = sample(target, 50, rng=0)
    assert samples.best().size == 2  # draws are numbers, whatever the labels
    assert np.isfinite(target.log_prob(samples.subsets)).all()
    plain = ProjectionDPP.from_features(pd.DataFrame(A.T))
    assert plain.items([1, 3]).tolist() == [1, 3]


def test_edges_of_a_sparse_matrix_and_of_a_condition():
    ring = nx.to_scipy_sparse_array(nx.cycle_graph(5))
    target = ProjectionDPP.from_graph(ring)
    edge = target.labels[2]
    assert target.items([edge[::-1]]).tolist() == [2]
    conditioned = target.condition(include=[edge])
    assert conditioned.items([edge]).tolist() == [2]
    names = ProjectionDPP.from_graph(sp.csr_array(ring), names="vwxyz")
    assert names.labels[names.items([("w", "v")])[0]] == ("v", "w")


@pytest.mark.parametrize("kind", [DPP, lambda L: KDPP(L, 2)])
def test_kernels_with_labels(kind):
    L = pd.DataFrame(A.T @ A + np.eye(5), columns=list("abcde"))
    target = kind(L)
    assert target.inclusion(["b", "d"]) == target.inclusion([1, 3])
    assert target.log_prob(["d", "b"]) == target.log_prob([1, 3])
    assert target.log_prob([["b", "d"], ["a", "e"]]).shape == (2,)
    assert target.log_prob([[1, 3, -1]]) == target.log_prob([[1, 3]])
    assert target.condition(include="b", exclude=["a"]).marginals()[:2] == pytest.approx([0, 1])


def test_draws_by_label():
    target = wheel()
    tree = [(0, 1), (0, 2), (3, 0), (0, 4)]
    edges = target.items(tree)
    assert target.log_prob(tree) == target.log_prob(edges)
    options = {"method": "exchange", "chains": 2, "rng": 0, "init": tree}
    samples = sample(target, 50, track=[[(1, 0)], (0, 2), [0, 5]], **options)
    np.testing.assert_array_equal(samples.trace([(1, 0)]), samples.trace([0]))
    np.testing.assert_array_equal(samples.tracked[:, :, 1], samples.trace([(2, 0)]))
    assert samples.inclusion([(1, 0)]) == samples.inclusion(edges[:1])
    assert samples.ess([(1, 0)]) == samples.ess(edges[:1])
    first = sample(target, 1, method="exchange", rng=0, init=tree, burn_in=0, rule="barker")
    assert len(set(first.subsets[0, 0].tolist()) & set(edges.tolist())) >= 3
    with pytest.raises(ValueError, match=r"init: there is no edge \(1, 3\)"):
        sample(target, 1, method="exchange", init=[(0, 1), (0, 2), (1, 3), (0, 4)])
    with pytest.raises(ValueError, match=r"track: there is no edge \(1, 3\)"):
        sample(target, 1, track=[[(1, 3)]])


def test_shortlist_by_label():
    values = np.random.default_rng(0).random((6, 3)) + 0.1
    options = {"labels": list("uvwxyz"), "answer": "best"}
    found = shortlist(values[:, 0], values, 2, include=["w"], exclude="u", **options)
    assert "w" in found.labels
    assert list(found) == list(shortlist(values[:, 0], values, 2, include=2, exclude=0, **options))
    with pytest.raises(ValueError, match="exclude: no item has the label 'q'"):
        shortlist(values[:, 0], values, 2, exclude=["q"], **options)
