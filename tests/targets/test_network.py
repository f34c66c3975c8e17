"""Probabilities of edges against rational arithmetic, whatever the weights; parts of graphs."""

import functools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from cases import graphs
from law import assert_law, determinant, enumerate_law

from zonodpp import ProjectionDPP, sample
from zonodpp.targets import network, spanning_trees
from zonodpp.targets.network import FEW, Network, halve_edges

RANGES = (1, 12, 150, 300)  # weights from 10^-x to 10^x


@functools.cache
def total(target, contracted=()):
    """Sum the weights of all spanning trees exactly, by the matrix-tree theorem."""
    tail, head = target.graph.tail.tolist(), target.graph.head.tolist()
    part = list(range(target.graph.nodes))
    for e in contracted:
        u, v = part[tail[e]], part[head[e]]
        if u == v:
            return Fraction(0)
        part = [u if p == v else p for p in part]
    names = sorted(set(part))
    L = [[Fraction(0)] * len(names) for _ in names]
    for a, b, w in zip(tail, head, target.weights.tolist(), strict=True):
        u, v = names.index(part[a]), names.index(part[b])
        for i, j, sign in ((u, u, 1), (v, v, 1), (u, v, -1), (v, u, -1)):
            L[i][j] += sign * Fraction(w)
    return determinant([row[1:] for row in L[1:]])


def chance(target, edges):
    """Probability that all these edges are in the tree, exactly."""
    product = math.prod(Fraction(float(target.weights[e])) for e in edges)
    return float(product * total(target, tuple(edges)) / total(target))


def random_graph(seed, orders, nodes=14, edges=22):
    """A multigraph with a loop, parallel edges and perhaps bridges, and weights of all sizes."""
    rng = np.random.default_rng(seed)
    graph = nx.gnm_random_graph(nodes, edges, seed=seed)
    graph = nx.MultiGraph(graph.subgraph(max(nx.connected_components(graph), key=len)))
    graph.add_edges_from([*list(graph.edges(keys=False))[:3], (min(graph), min(graph))])
    for *_, data in graph.edges(data=True):
        data["w"] = 10.0 ** rng.uniform(-orders, orders)
    return ProjectionDPP.from_graph(graph, weight="w")


@pytest.fixture
def no_dense_matrices(monkeypatch):
    """Graphs of any size are eliminated."""
    monkeypatch.setattr(spanning_trees, "DENSE_GRAPH", 1)


@pytest.mark.usefixtures("no_dense_matrices")
@pytest.mark.parametrize("orders", RANGES)
@pytest.mark.parametrize("seed", range(2))
def test_probabilities_keep_their_digits(seed, orders):
    target = random_graph(seed, orders)
    expected = np.array([chance(target, [e]) for e in range(target.n)])
    np.testing.assert_allclose(target.marginals(), expected, rtol=1e-12)
    assert target.marginals().sum() == pytest.approx(target.r, rel=1e-12)
    np.testing.assert_allclose(target.inclusion([[3], [5]]), expected[[3, 5]], rtol=1e-9)
    rng = np.random.default_rng(seed)
    sets = np.array([rng.choice(target.n, 3, replace=False) for _ in range(20)])
    expected = np.array([chance(target, edges) for edges in sets])
    np.testing.assert_allclose(target.inclusion(sets), expected, rtol=1e-9)
    tree = sample(target, 1, method="exchange", burn_in=50, rng=seed).subsets[0, 0]
    exact = chance(target, tree)
    if exact > 0:
        assert target.log_prob(tree) == pytest.approx(math.log(exact), abs=1e-8)


@pytest.mark.parametrize("orders", RANGES)
@pytest.mark.parametrize("seed", range(2))
def test_kernel_and_conditions_keep_their_digits(seed, orders):
    target = random_graph(seed, orders)
    marginals = np.array([chance(target, [e]) for e in range(target.n)])
    K = target.kernel()
    np.testing.assert_allclose(np.diagonal(K), marginals, atol=1e-9)
    np.testing.assert_allclose(K @ K, K, atol=1e-9)
    first, second = np.argsort(-np.where(marginals < 1 - 1e-9, marginals, 0))[:2]
    given = target.condition(include=[first], exclude=[second])
    without = chance(target, [first]) - chance(target, [first, second])
    if without > 1e-3:
        expected = [
            (chance(target, {first, e}) - chance(target, {first, second, e})) / without
            for e in range(target.n)
        ]
        np.testing.assert_allclose(given.marginals(), expected, atol=1e-9)


@pytest.mark.parametrize("orders", RANGES[2:])
@pytest.mark.parametrize("seed", range(2))
def test_coordinates_about_a_tree_are_exact(seed, orders):
    target = random_graph(seed, orders)
    T, A = target.coordinates.plain, target.A.toarray()
    assert set(np.unique(T)) <= {-1.0, 0.0, 1.0}
    tree = target.heaviest_tree()
    np.testing.assert_array_equal(A[:, tree] @ T, A)
    logs = math.log(total(target).numerator) - math.log(total(target).denominator)
    where = target.coordinates
    assert 2 * where.log_factor + where.gram.logdet == pytest.approx(logs, rel=1e-12, abs=1e-9)


@pytest.mark.usefixtures("no_dense_matrices")
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", graphs())
def test_small_graphs_have_the_dense_probabilities(name, weight, monkeypatch):
    target = ProjectionDPP.from_graph(graphs()[name], weight=weight)
    trees, law = enumerate_law(target)
    expected = np.zeros(target.n)
    np.add.at(expected, trees.ravel(), np.repeat(law, target.r))
    np.testing.assert_allclose(target.marginals(), expected, atol=1e-12)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(target.log_prob(trees)), law, atol=1e-12)
    monkeypatch.setattr(spanning_trees, "DENSE_GRAPH", 1000)
    dense = ProjectionDPP.from_graph(graphs()[name], weight=weight)
    np.testing.assert_allclose(dense.marginals(), expected, atol=1e-12)


def test_marginals_of_bridges_are_one_and_of_loops_zero():
    graph = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 3), (3, 4)])
    for k, (*_, data) in enumerate(graph.edges(data=True)):
        data["w"] = (1e12, 1, 1e-12, 1e-12, 5, 1e12)[k]
    target = ProjectionDPP.from_graph(graph, weight="w")
    at = {label: e for e, label in enumerate(target.labels)}
    marginals = target.marginals()
    assert marginals[at[2, 3]] == marginals[at[3, 4]] == 1.0
    assert marginals[at[3, 3]] == 0.0


def grid(side, low, high):
    path = sp.diags_array([np.ones(side - 1), np.ones(side - 1)], offsets=[-1, 1])
    upper = sp.triu(sp.kronsum(path, path)).tocoo()
    upper.data = 10.0 ** np.random.default_rng(0).uniform(low, high, upper.nnz)
    return ProjectionDPP.from_graph((upper + upper.T).tocsr())


def test_a_large_grid_with_weights_that_lie_far_apart():
    """The sum of all probabilities is r, and single ones agree with another elimination."""
    target = grid(70, -12, 12)
    marginals = target.marginals()
    assert marginals.sum() == pytest.approx(target.r, rel=1e-12)
    assert marginals.min() >= 0
    few = np.arange(0, target.n, 701)
    np.testing.assert_allclose(target.inclusion(few[:, None]), marginals[few], rtol=1e-9)


def test_resistances_are_those_of_networkx():
    graph = nx.grid_2d_graph(7, 6)
    for k, (*_, data) in enumerate(graph.edges(data=True)):
        data["w"] = 0.5 + k % 5
    target = ProjectionDPP.from_graph(graph, weight="w")
    net = Network(target.graph.nodes, target.graph.tail, target.graph.head, target.weights)
    distance = nx.resistance_distance(graph, weight="w", invert_weight=False)
    names = list(graph)
    for root in (0, 17):
        expected = [distance[names[root]][name] for name in names]
        np.testing.assert_allclose(net.resistances(root), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "graph",
    [
        nx.grid_2d_graph(10, 10),
        nx.complete_graph(20),
        nx.star_graph(60),
        nx.random_regular_graph(3, 80, seed=0),
        nx.full_rary_tree(3, 80),
        nx.barbell_graph(12, 20),
    ],
)
def test_boundaries_are_the_nodes_shared_with_other_edges(graph):
    target = ProjectionDPP.from_graph(graph)
    nodes, tail, head = target.graph[:3]
    top = [0, 7]
    degree = np.bincount(np.concatenate([tail, head]), minlength=nodes)
    degree[top] += 1
    whole = halve_edges(np.array([tail, head]), np.arange(target.n), degree)
    for part in whole.all_sets():
        edges, boundary, halves = part.edges, part.boundary, part.halves
        inside = np.union1d(tail[edges], head[edges])
        others = np.setdiff1d(np.arange(target.n), edges)
        outside = np.concatenate([tail[others], head[others], top])
        np.testing.assert_array_equal(boundary, np.intersect1d(inside, outside))
        assert bool(halves) == (edges.size > FEW)
        if halves:
            parts = [half.edges for half in halves]
            np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.sort(edges))
            assert abs(parts[0].size - parts[1].size) <= 1
    np.testing.assert_array_equal(whole.edges, np.arange(target.n))
    np.testing.assert_allclose(target.marginals().sum(), target.r)


@pytest.mark.parametrize("width", [6, 30])
def test_a_grid_is_halved_across_wherever_its_node_of_lowest_degree_is(width):
    graph = nx.grid_2d_graph(width, 60)
    graph.add_edge((width // 2, 30), "leaf")
    target = ProjectionDPP.from_graph(graph)
    ends = np.array([target.graph.tail, target.graph.head])
    whole = halve_edges(ends, np.arange(target.n), np.bincount(ends.ravel()))
    assert all(half.boundary.size <= width + 2 for half in whole.halves)


def test_a_dense_graph_with_weights_that_lie_far_apart():
    """Halves of a complete graph touch few nodes, so that its elimination is quick too."""
    rng = np.random.default_rng(0)
    upper = np.triu(10.0 ** rng.uniform(-12, 12, (90, 90)), 1)
    target = ProjectionDPP.from_graph(sp.csr_array(upper + upper.T))
    marginals = target.marginals()
    assert marginals.sum() == pytest.approx(target.r, rel=1e-12)
    likely = np.argsort(-marginals)[:: target.n // 20]
    np.testing.assert_allclose(target.inclusion(likely[:, None]), marginals[likely], rtol=1e-9)


@pytest.mark.parametrize("orders", RANGES)
def test_exact_draws_follow_the_law(orders):
    target = random_graph(5, orders, nodes=6, edges=8)
    assert_law(sample(target, 5_000, method="exact", rng=1).subsets, target)
    assert_law(sample(target, 5_000, method="auto", rng=1).subsets, target)


def test_cost_is_announced_and_memory_is_refused(monkeypatch):
    target = grid(40, 0, 1)
    monkeypatch.setattr(network, "LONG", 0.0)
    with pytest.warns(UserWarning, match=r"1,600 nodes take about .* minutes.*estimates"):
        target.marginals()
    monkeypatch.setattr(network, "physical_memory", lambda: 1)
    with pytest.raises(MemoryError, match="GiB, this machine has 0"):
        grid(40, 0, 1).marginals()


def test_work_is_cut_so_that_an_interrupt_is_heard(monkeypatch):
    calls = []
    join = network._join
    monkeypatch.setattr(network, "_join", lambda *a: (calls.append(a), join(*a))[1])
    grid(40, -1, 1).marginals()
    assert len(calls) > 20


def test_resistances_of_the_largest_weights():
    tail, head = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 1])
    weights = np.array([1e308, 1e308, 1e-300, 1e308])
    found = Network(3, tail, head, weights).resistances(0)
    np.testing.assert_allclose(found * 1e308, [0.0, 0.5, 1.5])


def test_parallel_edges_are_eliminated_as_one():
    tail, head = np.zeros(5000, np.int64), np.ones(5000, np.int64)
    many = Network(2, tail, head, np.ones(5000))
    assert many.conductance.tolist() == [5000.0]
    np.testing.assert_allclose(many.marginals(), 1 / 5000)
