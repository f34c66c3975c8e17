"""Spanning trees: the law of both walks, their cost, graphs in and networkx trees out."""

import dataclasses
from decimal import Decimal

import networkx as nx
import numpy as np
import one_chain
import pytest
import scipy.sparse as sp
from cases import graphs
from law import THRESHOLD, assert_law, assert_not_law
from scipy import stats

from zonodpp import ProjectionDPP, Trees, VolumeSampling, sample
from zonodpp.chains.methods import best_method
from zonodpp.samples.storage import read_arrays
from zonodpp.targets.blocks import blocks_of
from zonodpp.trees import method as trees
from zonodpp.trees import walks as tree_walks

ALGORITHMS = ("wilson", "aldous-broder")


def weighted(graph, low=-0.7, high=0.7, seed=3):
    """Give all edges weights ``w`` that are uniform in their logarithm."""
    rng = np.random.default_rng(seed)
    for *_, data in graph.edges(data=True):
        data["w"] = 10.0 ** rng.uniform(low, high)
    return graph


def draw(sampler, draws, r, rng=0):
    """Draw from a prepared sampler, as chains do."""
    subsets = np.empty((draws, r), np.int32)
    rng = np.random.default_rng(rng)
    state = one_chain.start(sampler, rng)
    made = 0
    while made < draws:
        made += one_chain.advance(sampler, state, rng, subsets[made:])
    return subsets, state


def ring_of_cliques():
    """A multigraph with bridges, parallel edges, a self-loop and several blocks."""
    graph = nx.MultiGraph(nx.complete_graph(4))
    graph.add_edges_from([(3, 4), (4, 5), (4, 5), (5, 5), (5, 6), (6, 7), (7, 5), (0, 1)])
    return weighted(graph)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", graphs())
def test_law(name, weight, algorithm):
    target = ProjectionDPP.from_graph(graphs()[name], weight=weight)
    samples = sample(target, 20_000, method="trees", algorithm=algorithm, rng=5)
    assert_law(samples.subsets, target)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_law_with_weights_over_twelve_orders(algorithm):
    target = ProjectionDPP.from_graph(weighted(nx.wheel_graph(6), -6, 6, seed=0), weight="w")
    samples = sample(target, 3_000, method="trees", algorithm=algorithm, rng=5)
    assert_law(samples.subsets, target)


@pytest.mark.parametrize("graph", [weighted(nx.grid_2d_graph(3, 4)), ring_of_cliques()])
def test_wilson_aldous_broder_and_exact_agree(graph):
    target = ProjectionDPP.from_graph(graph, weight="w")
    draws = [
        sample(target, 30_000, method="trees", algorithm=algorithm, rng=1).subsets[0]
        for algorithm in ALGORITHMS
    ]
    draws.append(sample(target, 30_000, method="exact", rng=1).subsets[0])
    rows, place = np.unique(np.concatenate(draws), axis=0, return_inverse=True)
    counts = np.zeros((3, len(rows)))
    np.add.at(counts, (np.repeat(np.arange(3), 30_000), place.ravel()), 1)
    common = counts.sum(axis=0) >= 30
    table = np.column_stack([counts[:, common], counts[:, ~common].sum(axis=1) + 1])
    assert stats.chi2_contingency(table).pvalue > THRESHOLD


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_check_sees_a_walk_without_weights(algorithm):
    target = ProjectionDPP.from_graph(graphs()["wheel"], weight="w")
    sampler = Trees(algorithm).prepare(target)
    equal = Trees().prepare(ProjectionDPP.from_graph(graphs()["wheel"])).walk
    broken = dataclasses.replace(
        sampler, walk=sampler.walk._replace(share=equal.share, other=equal.other)
    )
    assert_law(draw(sampler, 20_000, target.r)[0], target)
    assert_not_law(draw(broken, 20_000, target.r)[0], target)


def test_check_sees_weights_that_are_taken_for_lengths():
    graph = graphs()["wheel"]
    for *_, data in graph.edges(data=True):
        data["length"] = 1 / data["w"]
    wrong = ProjectionDPP.from_graph(graph, weight="length")
    subsets = sample(wrong, 20_000, method="trees", rng=0).subsets
    assert_not_law(subsets, ProjectionDPP.from_graph(graph, weight="w"))


def test_check_sees_a_tree_that_grows_by_any_edge():
    """Stop the walk at once: each node hangs on the tree by a random edge, not by a walk's."""
    target = ProjectionDPP.from_graph(nx.wheel_graph(5))
    ends = np.column_stack([target.graph.tail, target.graph.head])
    rng = np.random.default_rng(0)
    subsets = []
    for start in rng.integers(5, size=5_000):
        inside, tree = np.arange(5) == start, []
        while len(tree) < target.r:
            tree.append(rng.choice(np.flatnonzero(inside[ends].sum(axis=1) == 1)))
            inside[ends[tree[-1]]] = True
        subsets.append(np.sort(tree))
    assert_not_law(np.array(subsets), target)


def test_marginals_are_weights_times_resistances():
    graph = weighted(nx.barabasi_albert_graph(12, 3, seed=1))
    target = ProjectionDPP.from_graph(graph, weight="w")
    distance = nx.resistance_distance(graph, weight="w", invert_weight=False)
    expected = [graph[u][v]["w"] * distance[u][v] for u, v in target.labels]
    np.testing.assert_allclose(target.marginals(), expected, rtol=1e-9)
    samples = sample(target, 20_000, method="trees", rng=2)
    np.testing.assert_allclose(samples.marginals(), expected, atol=0.02)


def test_expected_steps_is_the_formula_and_what_is_seen(monkeypatch):
    monkeypatch.setattr(trees, "steps_of_exact", lambda r: 0.0)  # no bound will do
    graph = weighted(nx.grid_2d_graph(5, 5))
    target = ProjectionDPP.from_graph(graph, weight="w")
    degree = dict(graph.degree(weight="w"))
    distance = nx.resistance_distance(graph, weight="w", invert_weight=False)
    root = max(degree, key=degree.get)
    steps = trees._walk_of(target).steps
    assert steps == pytest.approx(sum(degree[v] * distance[root][v] for v in graph), rel=1e-9)
    seen = sample(target, 20_000, method="trees", rng=0).stats["steps"] / 20_000
    assert seen == pytest.approx(steps, rel=0.02)


def test_expected_steps_of_larger_graphs(monkeypatch):
    def steps():
        target = ProjectionDPP.from_graph(weighted(nx.grid_2d_graph(8, 8)), weight="w")
        return trees._walk_of(target).steps

    bound = steps()
    monkeypatch.setattr(trees, "steps_of_exact", lambda r: 0.0)
    exact = steps()
    assert exact < bound < 20 * exact
    monkeypatch.setattr(trees, "LARGE_GRAPH", 10)
    assert np.isnan(steps())


def test_a_light_bridge_costs_one_step():
    graph = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(5))
    nx.set_edge_attributes(graph, 1.0, "w")
    graph.add_edge(0, 7, w=1e-12)
    target = ProjectionDPP.from_graph(graph, weight="w")
    # Shortest paths in place of resistances: four nodes of degree 4, one edge from the root, twice.
    assert trees._walk_of(target).steps == pytest.approx(2 * 4 * 4 + 1)
    for algorithm in ALGORITHMS:
        samples = sample(target, 2_000, method="trees", algorithm=algorithm, rng=0)
        assert samples.stats["steps"][0] < 2_000 * 40
        np.testing.assert_allclose(samples.marginals(), target.marginals(), atol=0.06)


@pytest.mark.parametrize("ratio", [1e10, 1e16, 1e40, 1e300])
def test_a_trapped_walk_is_refused(ratio):
    graph = nx.complete_graph(6)
    nx.set_edge_attributes(graph, 1.0, "w")
    graph[0][1]["w"] = graph[2][3]["w"] = ratio
    with pytest.raises(ValueError, match=r"steps of a random walk.*use method='exact'"):
        sample(ProjectionDPP.from_graph(graph, weight="w"), 1, method="trees")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_long_walk_says_what_it_expects_and_goes_on(monkeypatch, algorithm):
    monkeypatch.setattr(trees, "LARGE_GRAPH", 10)
    target = ProjectionDPP.from_graph(nx.cycle_graph(40))
    plain = sample(target, 3, method="trees", algorithm=algorithm, rng=0)
    monkeypatch.setattr(trees, "MANY_STEPS", 50)
    monkeypatch.setattr(trees, "CALL_STEPS", 10)
    expected = "expected to take 5e.02 steps" if algorithm == "wilson" else "algorithm='wilson'"
    with pytest.warns(UserWarning, match=f"not finished after 5e.01 steps .*{expected}"):
        long = sample(target, 3, method="trees", algorithm=algorithm, rng=0)
    np.testing.assert_array_equal(plain.subsets, long.subsets)
    np.testing.assert_array_equal(plain.stats["steps"], long.stats["steps"])


class ForgetsTheTree(trees.TreeDraws):
    """A broken twin that begins a tree anew when a call ends within it."""

    def advance(self, state, *arguments):
        made = super().advance(state, *arguments)
        state["under_way"][:] = one_chain.start(self, None)["under_way"]
        return made


class ForgetsTheNode(trees.TreeDraws):
    """A broken twin that goes on from the node where the present path began."""

    def advance(self, state, *arguments):
        made = super().advance(state, *arguments)
        [under_way], [tree] = state["under_way"], state["tree"]
        under_way[tree_walks.NODE] = under_way[tree_walks.START] % len(tree)
        return made


# A tree of Wilson's does not depend on the loops that were erased for it: to begin every tree anew
# that takes long would not change the law.
@pytest.mark.parametrize(
    ("algorithm", "broken"), [("wilson", ForgetsTheNode), ("aldous-broder", ForgetsTheTree)]
)
def test_law_of_trees_that_take_several_calls(monkeypatch, algorithm, broken):
    monkeypatch.setattr(trees, "CALL_STEPS", 7)
    target = ProjectionDPP.from_graph(graphs()["wheel"], weight="w")
    sampler = Trees(algorithm).prepare(target)
    assert_law(draw(sampler, 6_000, target.r)[0], target)
    assert_not_law(draw(broken(**vars(sampler)), 6_000, target.r)[0], target)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_draws_do_not_depend_on_the_steps_of_a_call(monkeypatch, algorithm):
    target = ProjectionDPP.from_graph(ring_of_cliques(), weight="w")
    call = {"method": "trees", "algorithm": algorithm, "chains": 2, "track": [[0, 1]], "rng": 4}
    whole = sample(target, 50, **call)
    for steps in (1, 2, 9, 100):
        monkeypatch.setattr(trees, "CALL_STEPS", steps)
        cut = sample(target, 50, **call)
        np.testing.assert_array_equal(whole.subsets, cut.subsets)
        np.testing.assert_array_equal(whole.tracked, cut.tracked)
        for name in ("draws", "steps"):
            np.testing.assert_array_equal(whole.stats[name], cut.stats[name])


@pytest.fixture
def endless(monkeypatch):
    """A graph whose trees take 1e300 steps, of a size at which nobody computes that number."""
    monkeypatch.setattr(trees, "LARGE_GRAPH", 1)
    graph = nx.complete_graph(6)
    nx.set_edge_attributes(graph, 1.0, "w")
    graph[0][1]["w"] = graph[2][3]["w"] = 1e300
    return ProjectionDPP.from_graph(graph, weight="w")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_call_ends_within_a_tree(endless, algorithm):
    sampler = Trees(algorithm).prepare(endless)
    state = one_chain.start(sampler, None)
    subsets, rng = np.empty((3, endless.r), np.int32), np.random.default_rng(0)
    for calls in range(1, 4):
        assert one_chain.advance(sampler, state, rng, subsets) == 0
        assert state["under_way"][0, tree_walks.STEPS] == calls * trees.CALL_STEPS
        sampler.check(state)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_endless_walk_hears_ctrl_c_and_the_clock(endless, algorithm):
    def stop(progress):
        raise KeyboardInterrupt

    call = {"method": "trees", "algorithm": algorithm}
    with pytest.warns(UserWarning, match="interrupted: returning the 0 draws made so far"):
        assert sample(endless, 1, progress=stop, **call).subsets.shape == (1, 0, 5)
    for draws in (None, 7):
        with pytest.warns(UserWarning, match=r"no draws: seconds=0.01 .* the first draw"):
            assert sample(endless, draws, seconds=0.01, **call).subsets.shape == (1, 0, 5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_checkpoint_within_a_tree_goes_on(monkeypatch, tmp_path, algorithm):
    target = ProjectionDPP.from_graph(ring_of_cliques(), weight="w")
    call = {"method": "trees", "algorithm": algorithm, "chains": 2, "rng": 4}
    whole = sample(target, 3, **call)
    monkeypatch.setattr(trees, "CALL_STEPS", 5)
    for module in ("groups", "executors"):
        monkeypatch.setattr(f"zonodpp.runs.{module}.SLICE", 1e-9)  # one call each

    def stop(progress):
        raise KeyboardInterrupt

    found = []
    path = tmp_path / "run"
    while not found or found[-1][0] < 3:
        with pytest.warns(UserWarning, match="interrupted"):
            part = sample(target, 3, checkpoint=path, progress=stop, **call)
        arrays = read_arrays(path, "checkpoint")[1]
        found.append((part.subsets.shape[1], arrays["group1/under_way"][0, tree_walks.STEPS]))
    assert {steps > 0 for _, steps in found} == {True, False}
    np.testing.assert_array_equal(part.subsets, whole.subsets)
    np.testing.assert_array_equal(part.stats["steps"], whole.stats["steps"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_states_that_cannot_be(monkeypatch, algorithm):
    monkeypatch.setattr(trees, "CALL_STEPS", 2)
    target = ProjectionDPP.from_graph(ring_of_cliques(), weight="w")
    sampler = Trees(algorithm).prepare(target)
    fresh = one_chain.start(sampler, None)
    sampler.check(fresh)
    state = {name: array.copy() for name, array in fresh.items()}
    subset = np.empty((1, target.r), np.int32)
    assert one_chain.advance(sampler, state, np.random.default_rng(0), subset) == 0
    sampler.check(state)
    nodes, cells, roots = state["tree"].size, sampler.walk.blocks.edge.size, sampler.walk.roots
    changes = [
        (tree_walks.START, -1),
        (tree_walks.START, nodes),
        (tree_walks.NODE, -1),
        (tree_walks.NODE, nodes),
        (tree_walks.NODE, nodes - 1),  # in another block than the start
        (tree_walks.STEPS, -1),
    ]
    for place, value in changes:
        damaged = {**state, "under_way": state["under_way"].copy()}
        damaged["under_way"][0, place] = value
        with pytest.raises(ValueError, match=r"of the walk must lie|not in one block"):
            sampler.check(damaged)
    for v in range(nodes):
        for value in (cells - 1 if v in roots else cells, cells + 1, -cells - 1, -(2**31)):
            damaged = {**state, "tree": state["tree"].copy()}
            damaged["tree"][0, v] = value
            with pytest.raises(ValueError, match="of the tree must lie between"):
                sampler.check(damaged)


def ring_with_a_trap(nodes=4_000):
    """A ring of pairs of nodes that heavy edges join: the walk goes back and forth in each."""
    graph = nx.cycle_graph(nodes)
    for u, v, data in graph.edges(data=True):
        data["w"] = 1e7 if u % 2 == 0 and v == u + 1 else 1.0
    return ProjectionDPP.from_graph(graph, weight="w")


def test_auto_leaves_a_trap_on_a_large_ring_to_the_exact_sampler():
    target = ring_with_a_trap()
    # From a root, each of m = 2,000 pairs has 2e7 / k(1 - k / m) of conductance to come back by.
    assert trees._walk_of(target).steps == pytest.approx(2e7 * 2_000**2 / 6, rel=1e-2)
    with pytest.warns(UserWarning, match=r"trap .*1e\+13 steps a tree.*method='exact' is used"):
        assert best_method(target) == "exact"
    with pytest.raises(ValueError, match=r"1e\+13 steps of a random walk.*use method='exact'"):
        sample(target, 1, method="trees")


def test_a_plan_is_made_once(monkeypatch):
    calls = []
    cut = trees.blocks_of
    monkeypatch.setattr(trees, "blocks_of", lambda graph: (calls.append(graph), cut(graph))[1])
    target = ProjectionDPP.from_graph(nx.grid_2d_graph(25, 25))
    for _ in range(2):
        sample(target, 1, rng=0)
    assert len(calls) == 1


def test_a_long_walk_is_announced_before_it_begins(monkeypatch):
    monkeypatch.setattr(trees, "MANY_STEPS", 100)
    monkeypatch.setattr(trees, "steps_of_exact", lambda r: 1e9)
    with pytest.warns(UserWarning, match="a spanning tree is expected to take 8e.02 steps"):
        Trees().prepare(ProjectionDPP.from_graph(nx.cycle_graph(40)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e300])
def test_law_of_very_light_and_very_heavy_edges(scale, algorithm):
    """Node 0 hangs by light edges whose ratio matters; nothing traps the walk."""
    graph = nx.complete_graph(5)
    for u, v, data in graph.edges(data=True):
        data["w"] = (1.0 + 2 * v) * scale if u == 0 else 1.0 + u + v
    target = ProjectionDPP.from_graph(graph, weight="w")
    if algorithm == "aldous-broder" or scale > 1:  # the walk is trapped away from node 0
        scaled = {(u, v): data["w"] for u, v, data in graph.edges(data=True)}
        nx.set_edge_attributes(graph, {e: (1.0 + sum(e)) * scale for e in scaled}, "w")
        target = ProjectionDPP.from_graph(graph, weight="w")
    samples = sample(target, 20_000, method="trees", algorithm=algorithm, rng=3)
    assert_law(samples.subsets, target)


@pytest.mark.parametrize("seed", range(8))
def test_blocks_are_those_of_networkx(seed):
    graph = nx.MultiGraph(nx.gnm_random_graph(14, 17, seed=seed))
    graph = nx.MultiGraph(graph.subgraph(max(nx.connected_components(graph), key=len)))
    some = list(graph.edges(keys=False))[::4]
    graph.add_edges_from([*some, (min(graph), min(graph))])
    target = ProjectionDPP.from_graph(graph)
    blocks = blocks_of(target.graph)
    found = set()
    for first, last in zip(blocks.starts[:-1], blocks.starts[1:], strict=True):
        cells = range(blocks.indptr[first], blocks.indptr[last])
        assert all(first <= blocks.neighbour[k] < last for k in cells)
        edges = {blocks.edge[k] for k in cells}
        found.add(frozenset(frozenset(target.labels[e][:2]) for e in edges))
    expected = nx.biconnected_component_edges(nx.Graph(graph))
    assert found == {frozenset(map(frozenset, edges)) for edges in expected} - {frozenset()}
    loops = sum(u == v for u, v, _ in target.labels)
    assert blocks.edge.size == 2 * (target.n - loops)


def assert_valid(samples):
    """All rows ascend and are spanning trees."""
    for row in samples.subsets.reshape(-1, samples.target.r):
        assert (np.diff(row) > 0).all()
        assert samples.target.graph.components(row) == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("graph", [nx.complete_graph(60), nx.path_graph(50), nx.star_graph(30)])
def test_trees_of_dense_and_thin_graphs(graph, algorithm):
    target = ProjectionDPP.from_graph(graph)
    assert_valid(sample(target, 50, method="trees", algorithm=algorithm, rng=0))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_big_grid(algorithm):
    path = sp.diags_array([np.ones(199), np.ones(199)], offsets=[-1, 1])
    target = ProjectionDPP.from_graph(sp.kronsum(path, path))
    assert (target.r, target.n) == (39_999, 79_600)
    samples = sample(target, 1, method="trees", algorithm=algorithm, rng=0)
    assert_valid(samples)
    assert samples.stats["draws"].tolist() == [1]
    assert samples.stats["steps"] >= 39_999


def test_draws_do_not_depend_on_blocks_of_draws_or_workers():
    target = ProjectionDPP.from_graph(ring_of_cliques(), weight="w")
    for algorithm in ALGORITHMS:
        sampler = Trees(algorithm).prepare(target)
        whole, state = draw(sampler, 100, target.r)
        rng, cut = np.random.default_rng(0), np.empty_like(whole)
        pieces = one_chain.start(sampler, rng)
        for first, last in ((0, 1), (1, 8), (8, 60), (60, 100)):
            made = one_chain.advance(sampler, pieces, rng, cut[first:last])
            assert made == last - first
        np.testing.assert_array_equal(whole, cut)
        np.testing.assert_array_equal(state["counts"], pieces["counts"])
    one, two = (
        sample(target, 200, method="trees", chains=3, rng=4, workers=workers).subsets
        for workers in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_tracked_sets():
    target = ProjectionDPP.from_graph(nx.complete_graph(5))
    samples = sample(target, 500, method="trees", track=[[0, 1], [3]], rng=0)
    np.testing.assert_array_equal(samples.tracked[0, :, 0], samples.contains([0, 1])[0])
    np.testing.assert_array_equal(samples.tracked[0, :, 1], samples.contains([3])[0])


def test_nodes_of_any_kind_come_back_as_networkx_trees():
    graph = nx.Graph()
    names = ["a", 7, (1, 2), frozenset({3}), 2.5, b"x"]
    graph.add_edges_from((u, v) for u in names for v in names if str(u) < str(v))
    weighted(graph)
    target = ProjectionDPP.from_graph(graph, weight="w")
    samples = sample(target, 20, method="trees", rng=0)
    for row in samples.subsets[0]:
        tree = target.to_networkx(row)
        assert type(tree) is nx.Graph
        assert nx.is_tree(tree)
        assert list(tree) == list(graph)
        assert all(tree[u][v] == {"w": graph[u][v]["w"]} for u, v in tree.edges)
    fewer = samples.thinned(2, rng=1)
    forest = target.to_networkx(fewer.subsets[0, 0])
    assert forest.number_of_edges() == fewer.sizes[0, 0] < target.r


def test_multigraphs_keep_their_keys():
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", key="road", w=2)
    graph.add_edge("a", "b", key="rail", w=Decimal(3))
    graph.add_edge("b", "c", w=1)
    target = ProjectionDPP.from_graph(graph, weight="w")
    seen = set()
    for row in sample(target, 50, method="trees", rng=0).subsets[0]:
        tree = target.to_networkx(row)
        assert tree.is_multigraph()
        assert nx.is_tree(tree)
        seen |= set(tree.edges(keys=True, data="w"))
    assert seen == {("a", "b", "road", 2.0), ("a", "b", "rail", 3.0), ("b", "c", 0, 1.0)}
    unweighted = ProjectionDPP.from_graph(graph).to_networkx([0, 2])
    assert list(unweighted.edges(data=True)) == [("a", "b", {}), ("b", "c", {})]


def test_sparse_adjacency():
    graph = weighted(nx.wheel_graph(5))
    matrix = nx.to_scipy_sparse_array(graph, weight="w", format="coo")
    target = ProjectionDPP.from_graph(matrix)
    same = ProjectionDPP.from_graph(graph, weight="w")
    assert target.labels[0] == (0, 1)
    assert target.labels[-2:] == list(target.labels)[-2:]
    assert list(target.labels) == [tuple(sorted(edge)) for edge in same.labels]
    assert repr(target.labels).startswith("<8 edges: (0, 1), (0, 2), (0, 3), ...")
    np.testing.assert_allclose(target.marginals(), same.marginals())
    tree = target.to_networkx(sample(target, 1, method="trees", rng=0).subsets[0, 0])
    assert nx.is_tree(tree)
    assert all(data["weight"] == graph[u][v]["w"] for u, v, data in tree.edges(data=True))
    twice = sp.csr_array(([1.0, 1, 2, 2, 2], [1, 1, 0, 2, 1], [0, 2, 4, 5]), shape=(3, 3))
    assert ProjectionDPP.from_graph(twice).weights.tolist() == [2.0, 2.0]


def edges(*pairs):
    return nx.Graph([(u, v, {"w": w}) for u, v, w in pairs])


def matrix(*rows):
    return sp.csr_array(np.array(rows))


@pytest.mark.parametrize(
    ("graph", "weight", "error", "message"),
    [
        (nx.Graph(), None, ValueError, r"0 node\(s\)"),
        (nx.path_graph(1), None, ValueError, r"1 node\(s\)"),
        (nx.Graph([(0, 1), (2, 3)]), None, ValueError, "disconnected: it has 2 components"),
        (nx.empty_graph(3), "w", ValueError, "disconnected: it has 3 components"),
        (nx.DiGraph([(0, 1)]), None, ValueError, "directed; pass"),
        (edges((0, 1, 1), (1, 2, 0)), "w", ValueError, r"edge \(1, 2\) has 0"),
        (edges((0, 1, -2.0)), "w", ValueError, r"positive.*edge \(0, 1\) has -2"),
        (edges((0, 1, float("nan"))), "w", ValueError, "finite.*has nan"),
        (edges((0, 1, float("inf"))), "w", ValueError, "finite.*has inf"),
        (edges((0, 1, 1), (1, 2, "3")), "w", TypeError, r"numbers; edge \(1, 2\) has w='3'"),
        (edges((0, 1, 1), (1, 2, 1j)), "w", TypeError, r"numbers; edge \(1, 2\)"),
        (edges((0, 1, 1), (1, 2, [1, 2])), "w", TypeError, r"numbers; edge \(1, 2\)"),
        (edges((0, 1, 1), (1, 2, None)), "w", ValueError, "no attribute 'w'"),
        (nx.path_graph(3), "w", ValueError, r"edge \(0, 1\) has no attribute 'w'; give every"),
        (nx.path_graph(3), 1, TypeError, "name of an edge attribute, got 1"),
        (np.ones((3, 3)), None, TypeError, "got ndarray.*csr_array"),
        (matrix([0, 1], [1, 0]), "w", ValueError, "leave weight out"),
        (matrix([0, 1], [2, 0]), None, ValueError, "not symmetric"),
        (matrix([0, 1, 1]), None, ValueError, r"square, got \(1, 3\)"),
        (matrix([0, 1j], [1j, 0]), None, TypeError, "real numbers, got complex128"),
        (matrix([0, -1], [-1, 0]), None, ValueError, r"positive.*edge \(0, 1\) has -1"),
        (matrix([0, np.nan], [np.nan, 0]), None, ValueError, "finite.*nan"),
        (matrix([0, np.inf], [np.inf, 0]), None, ValueError, "finite.*inf"),
        (matrix([0, 1, np.nan], [1, 0, 1], [1, 1, 0]), None, ValueError, "finite.*nan"),
        (
            sp.csr_array(([1.0, 1.0, 0.0, 0.0], [1, 0, 2, 1], [0, 1, 3, 4]), shape=(3, 3)),
            None,
            ValueError,
            r"edge \(1, 2\) has 0",
        ),
        (sp.csr_array((0, 0)), None, ValueError, r"0 node\(s\)"),
    ],
)
def test_graphs_that_are_refused(graph, weight, error, message):
    with pytest.raises(error, match=message):
        ProjectionDPP.from_graph(graph, weight=weight)


def test_targets_and_options_that_are_refused():
    target = ProjectionDPP.from_graph(nx.complete_graph(4))
    A = [[1.0, 2, 0, -1], [0, 1, 2, 1]]
    for other in (ProjectionDPP(A), VolumeSampling(A)):
        with pytest.raises(ValueError, match=r"from_graph\(G\); got .*use method='auto'"):
            sample(other, 5, method="trees")
    with pytest.raises(ValueError, match="from_graph"):
        ProjectionDPP(A).to_networkx([0, 1])
    with pytest.raises(ValueError, match="edges must hold item numbers from 0 to 5"):
        target.to_networkx([0, 1, 6])
    with pytest.raises(ValueError, match="'wilson', 'aldous-broder'; got 'prim'"):
        sample(target, 5, method="trees", algorithm="prim")
    with pytest.raises(ValueError, match="init is for Markov chains"):
        sample(target, 5, method="trees", init=[0, 1, 2])
    with pytest.raises(TypeError, match="has no option 'root'"):
        sample(target, 5, method="trees", root=3)
