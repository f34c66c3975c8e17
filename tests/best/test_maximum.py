"""MAP: greedy agrees with its definition, exchanges end where no exchange helps."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from cases import graphs, hard_targets, matrices, targets, volume_targets
from hypothesis import given, settings
from hypothesis import strategies as st
from law import enumerate_law

from zonodpp import DPP, KDPP, ProjectionDPP, VolumeSampling
from zonodpp.best import find_map
from zonodpp.best.exchanges import climb
from zonodpp.best.search import maximise
from zonodpp.numerics.determinant import items_of, pick_greedily

TARGETS = targets() | hard_targets()
EXAMPLES = settings(deadline=None, max_examples=60, derandomize=True)


def log_det(L, S):
    """Of L_S, after bringing its diagonal to ones: wild scales underflow otherwise."""
    S = list(S)
    if not S:
        return 0.0
    scale = np.sqrt(np.diagonal(L)[S])
    if (scale == 0).any():
        return -np.inf
    eigenvalues = np.linalg.eigvalsh(L[np.ix_(S, S)] / np.outer(scale, scale))
    if eigenvalues[0] < 1e-13:
        return -np.inf
    return np.log(eigenvalues).sum() + 2 * np.log(scale).sum()


def naive_greedy(L, k):
    """Return the picks in order, and False if two additions were as good as each other."""
    picks, clear = [], True
    for _ in range(k):
        rest = [j for j in range(len(L)) if j not in picks]
        values = np.array([log_det(L, [*picks, j]) for j in rest])
        top = np.sort(values)[-2:]
        clear &= len(rest) == 1 or top[1] - top[0] > 1e-7
        picks.append(rest[int(np.argmax(values))])
    return picks, clear


def neighbours(S, n, *, free_size=False):
    """All sets one exchange away (and one addition or removal, if the size is free)."""
    S, rest = set(S), set(range(n)) - set(S)
    yield from (S - {i} | {j} for i in S for j in rest)
    if free_size:
        yield from (S - {i} for i in S)
        yield from (S | {j} for j in rest)


def assert_one_swap_optimal(L, S, *, free_size=False, slack=1e-6):
    here = log_det(L, S)
    best = max((log_det(L, T) for T in neighbours(S, len(L), free_size=free_size)), default=here)
    assert best <= here + slack


# Volume targets, against enumeration.


@pytest.mark.parametrize("name", [name for name in TARGETS if not name.startswith("graph")])
def test_projection_targets_end_at_an_optimum(name):
    target = TARGETS[name]
    found = find_map(target)
    assert (np.diff(found.subset) > 0).all()
    assert found.subset.size == target.r
    bases, law = enumerate_law(target)
    place = {tuple(basis): p for basis, p in zip(bases.tolist(), law, strict=True)}
    here = place[tuple(found.subset.tolist())]
    assert here > 0
    near = [place[tuple(sorted(S))] for S in neighbours(found.subset.tolist(), target.n)]
    slack = 1e-4 if "condition" in name else 1e-6
    assert max(near, default=0.0) <= here * (1 + slack)


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_other_powers(power):
    for target in volume_targets(power).values():
        found = find_map(target)
        assert found.log_weight == pytest.approx(float(target.log_prob(found.subset)), abs=1e-8)
        here = target.log_prob(found.subset)
        near = [sorted(S) for S in neighbours(found.subset.tolist(), target.n)]
        if near:
            assert target.log_prob(near).max() <= here + 1e-8


def test_weight_is_the_unnormalised_probability():
    A, q = matrices()["weighted"]
    for power in (1.0, 2.0):
        found = find_map(VolumeSampling(A, power=power, weights=q))
        B = found.subset
        expected = power * np.log(abs(np.linalg.det(A[:, B]))) + np.log(q[B]).sum()
        assert found.log_weight == pytest.approx(expected)


def test_weights_of_zero_are_never_picked():
    A, q = matrices()["zero weight"]
    assert (q[find_map(ProjectionDPP(A, weights=q)).subset] > 0).all()


def test_coordinates_do_not_matter():
    A = np.random.default_rng(0).normal(size=(4, 30))
    M = np.random.default_rng(1).normal(size=(4, 4)) * np.array([1e8, 1, 1e-8, 1])[:, None]
    assert (find_map(ProjectionDPP(A)).subset == find_map(ProjectionDPP(M @ A)).subset).all()


def test_sparse_and_dense_agree():
    A = sp.random_array((5, 40), density=0.5, random_state=np.random.default_rng(3)) + sp.eye_array(
        5, 40
    )
    sparse, dense = find_map(ProjectionDPP(A)), find_map(ProjectionDPP(A.toarray()))
    assert (sparse.subset == dense.subset).all()


def test_conditions_hold():
    target = ProjectionDPP(np.random.default_rng(5).normal(size=(4, 25)))
    free = find_map(target).subset
    found = find_map(target.condition(include=[7], exclude=free[:1])).subset
    assert 7 in found
    assert free[0] not in found


# Trees.


@pytest.mark.parametrize("name", graphs())
def test_heaviest_tree(name):
    target = ProjectionDPP.from_graph(graphs()[name], weight="w")
    found = find_map(target)
    bases, law = enumerate_law(target)
    assert found.subset.tolist() == bases[np.argmax(law)].tolist()
    assert found.optimal == "global"
    assert found.log_weight == pytest.approx(np.log(target.weights[found.subset]).sum())


def test_heaviest_tree_of_equal_edges_and_of_a_condition():
    graph = nx.complete_graph(6)
    target = ProjectionDPP.from_graph(graph)
    assert target.graph.components(find_map(target).subset) == 1
    found = find_map(target.condition(include=[14], exclude=[0, 1, 2])).subset
    assert target.graph.components(found) == 1
    assert 14 in found
    assert not set(found) & {0, 1, 2}


def test_heaviest_tree_of_a_large_graph_is_that_of_networkx():
    graph = nx.grid_2d_graph(30, 30)
    rng = np.random.default_rng(2)
    for *_, data in graph.edges(data=True):
        data["w"] = rng.random()
    target = ProjectionDPP.from_graph(graph, weight="w")
    tree = nx.maximum_spanning_tree(graph, weight="w")
    expected = np.log([data["w"] for *_, data in tree.edges(data=True)]).sum()
    assert find_map(target).log_weight == pytest.approx(expected)


# DPPs, by their features.


def all_sets(n, sizes):
    return [list(S) for size in sizes for S in combinations(range(n), size)]


@pytest.mark.parametrize("seed", range(6))
def test_general_dpps_end_at_an_optimum(seed):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(8, 4)) * rng.uniform(0.5, 2)
    free, fixed = DPP.from_features(Phi), KDPP.from_features(Phi, 3)
    for target in (free, fixed, DPP(L=Phi @ Phi.T), DPP(K=free.kernel()), free.scaled(2.0)):
        found = find_map(target)
        near = neighbours(found.subset.tolist(), 8, free_size=target is not fixed)
        values = [target.log_prob(sorted(S)) for S in near if S]
        assert max(values) <= target.log_prob(found.subset) + 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_sure_items_and_directions(seed):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(8, 4))
    vectors = np.linalg.qr(rng.normal(size=(8, 4)))[0]
    ones = DPP(K=(vectors * np.array([1.0, 1.0, 0.7, 0.4])) @ vectors.T)
    conditioned = DPP.from_features(Phi).condition(include=[5], exclude=[0])
    fixed = KDPP.from_features(Phi, 3).condition(include=[5], exclude=[0])
    for target in (ones, conditioned, fixed):
        found = find_map(target)
        here = target.log_prob(found.subset)
        near = neighbours(found.subset.tolist(), 8, free_size=target is not fixed)
        values = [target.log_prob(sorted(S)) for S in near if S]
        assert max(values) <= here + 1e-8
        assert found.log_weight == pytest.approx(here + target._log_normaliser, abs=1e-8)
    for target in (conditioned, fixed):
        found = find_map(target, ridge=0.01).subset
        assert 5 in found
        assert 0 not in found
    with pytest.raises(ValueError, match="2 items are in every draw"):
        find_map(ones, k=1)


def test_k_equal_to_the_rank_over_hundreds_of_orders():
    vectors = np.linalg.qr(np.random.default_rng(3).normal(size=(9, 4)))[0]
    Phi = vectors * 10.0 ** np.array([150, 50, -50, -150])
    target = KDPP.from_features(Phi, 4)
    sets = all_sets(9, [4])
    best = sets[int(np.argmax([abs(np.linalg.det(vectors[S])) for S in sets]))]
    assert find_map(target).subset.tolist() == best


@EXAMPLES
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(1, 5), st.sampled_from([0, 0.1, 2.0]))
def test_greedy_is_greedy(seed, n, m, ridge):
    Phi = np.random.default_rng(seed).normal(size=(n, m))
    k = min(n, m) if ridge == 0 else n
    L = Phi @ Phi.T + ridge * np.eye(n)
    expected, clear = naive_greedy(L, k)
    picks = pick_greedily(items_of(Phi, ridge), k).tolist()
    if clear:
        assert picks == expected
    assert sorted(picks) == sorted(set(picks))
    found = maximise(Phi, k=k, ridge=ridge, swaps=False)
    assert found.log_weight == pytest.approx(log_det(L, picks))
    assert (found.swaps, found.optimal) == (0, "greedy")


@EXAMPLES
@given(
    st.integers(0, 10**6),
    st.integers(3, 10),
    st.integers(1, 5),
    st.sampled_from([0, 1e-6, 0.1, 2.0]),
    st.booleans(),
)
def test_exchanges_end_at_an_optimum(seed, n, m, ridge, free_size):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, m)) * rng.choice([0.5, 1, 3])
    Phi[rng.random(n) < 0.1] = 0.0
    Phi[rng.random(n) < 0.1] = Phi[0]
    L = Phi @ Phi.T + ridge * np.eye(n)
    rank = n if ridge else np.linalg.matrix_rank(Phi)
    k = None if free_size else int(rng.integers(1, rank + 1)) if rank else 0
    found = maximise(Phi, k=k, ridge=ridge)
    greedy = maximise(Phi, k=k, ridge=ridge, swaps=False)
    assert found.log_weight >= greedy.log_weight - 1e-9
    assert found.log_weight == pytest.approx(log_det(L, found.subset), abs=1e-6)
    assert_one_swap_optimal(L, found.subset.tolist(), free_size=free_size)
    assert k is None or found.subset.size == k


def test_exchanges_mend_any_start():
    rng = np.random.default_rng(11)
    Phi = rng.normal(size=(60, 8))
    items = items_of(Phi, 0.5)
    L = Phi @ Phi.T + 0.5 * np.eye(60)
    for k in (1, 5, 8, 20):
        start = rng.choice(60, k, replace=False)
        members, value, steps, _ = climb(items, start, free_size=False)
        assert steps > 0
        assert value == pytest.approx(log_det(L, members))
        assert_one_swap_optimal(L, members.tolist())
        members, value, _, _ = climb(items, start, free_size=True)
        assert value == pytest.approx(log_det(L, members))
        assert_one_swap_optimal(L, members.tolist(), free_size=True)


def test_the_check_sees_a_search_that_stops_early():
    rng = np.random.default_rng(11)
    Phi = rng.normal(size=(60, 8))
    with pytest.raises(AssertionError):
        assert_one_swap_optimal(Phi @ Phi.T, rng.choice(60, 5, replace=False).tolist())


def test_small_cases_reach_the_best_subset_often():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(40):
        Phi = rng.normal(size=(10, 3))
        L = Phi @ Phi.T
        best = max(log_det(L, S) for S in combinations(range(10), 3))
        value = maximise(Phi, k=3).log_weight
        assert value <= best + 1e-9
        hits += value > best - 1e-9
    assert hits >= 32


def test_free_size_stops_when_nothing_grows():
    Phi = np.diag([2.0, 3.0, 0.5, 1.0, 0.0])
    assert maximise(Phi).subset.tolist() == [0, 1]
    assert maximise(Phi / 10).subset.size == 0
    assert maximise(Phi / 10).log_weight == 0.0
    free, fixed = DPP.from_features(Phi), KDPP.from_features(Phi, 4)
    assert find_map(free).subset.tolist() == [0, 1]
    assert find_map(free, k=3).subset.tolist() == [0, 1, 3]
    assert find_map(fixed).subset.tolist() == [0, 1, 2, 3]
    assert find_map(fixed, k=4).subset.tolist() == [0, 1, 2, 3]


def test_ridge_lets_k_exceed_the_rank():
    Phi = np.random.default_rng(0).normal(size=(50, 3))
    found = find_map(DPP.from_features(Phi), k=20, ridge=0.2)
    assert found.subset.size == 20
    assert_one_swap_optimal(Phi @ Phi.T + 0.2 * np.eye(50), found.subset.tolist())


def test_all_zero_features_with_and_without_a_ridge():
    zeros = np.zeros((6, 2))
    assert maximise(zeros).subset.size == 0
    found = maximise(zeros, k=2, ridge=3.0)
    assert found.log_weight == pytest.approx(2 * np.log(3))
    assert maximise(zeros, ridge=3.0).subset.tolist() == [0, 1, 2, 3, 4, 5]


def test_ties_take_the_first_item():
    assert maximise(np.ones((5, 1)), k=1).subset.tolist() == [0]
    assert maximise(np.repeat(np.eye(2), 3, axis=0), k=2).subset.tolist() == [0, 3]


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_units_do_not_matter(scale):
    Phi = np.random.default_rng(4).normal(size=(30, 4))
    here, there = maximise(Phi, k=4), maximise(Phi * scale, k=4)
    assert (here.subset == there.subset).all()
    assert there.log_weight == pytest.approx(here.log_weight + 8 * np.log(scale))


def test_items_over_hundreds_of_orders():
    rng = np.random.default_rng(4)
    Phi = rng.normal(size=(40, 4))
    sizes = 10.0 ** rng.uniform(-300, 300, 40)
    found = maximise(Phi * sizes[:, None], k=4)
    # Sizes differ so much that they alone decide: the four largest items are the best set.
    assert found.subset.tolist() == sorted(np.argsort(-sizes)[:4].tolist())
    sure = np.eye(3) * np.array([1e-200, 1.0, 1e200])
    assert maximise(sure, k=3).log_weight == pytest.approx(0.0, abs=1e-9)


def test_near_dependence_keeps_its_digits():
    rng = np.random.default_rng(4)
    base = rng.normal(size=3)
    Phi = base + 1e-7 * rng.normal(size=(20, 3))
    found = maximise(Phi, k=3)
    # The best of 3-subsets, from exact differences: |det| = det of rows minus their first.
    best = max(abs(np.linalg.det(Phi[list(S)])) for S in combinations(range(20), 3))
    assert np.exp(found.log_weight / 2) == pytest.approx(best, rel=0.3)
    assert pick_greedily(items_of(np.tile(base, (5, 1)) * rng.random((5, 1))), 3).size == 1


def test_float32_frames_and_sparse_features():
    pd = pytest.importorskip("pandas")
    Phi = np.random.default_rng(4).normal(size=(30, 4)).astype(np.float32)
    expected = maximise(Phi.astype(float), k=3).subset
    for given_as in (Phi, pd.DataFrame(Phi), sp.csr_array(Phi), Phi.tolist()):
        assert (find_map(DPP.from_features(given_as), k=3).subset == expected).all()


def test_many_items_are_scanned_in_chunks(monkeypatch):
    rng = np.random.default_rng(4)
    items = items_of(rng.lognormal(size=(500, 6)), 0.01)
    start = rng.choice(500, 10, replace=False)
    whole = climb(items, start, free_size=False)
    monkeypatch.setattr("zonodpp.best.exchanges.ENTRIES", 70)
    members, value, steps, _ = climb(items, start, free_size=False)
    assert sorted(members) == sorted(whole[0])
    assert value == pytest.approx(whole[1])
    assert steps == whole[2] > 0


def test_many_items_are_searched_through_the_most_promising():
    rng = np.random.default_rng(8)
    Phi = rng.normal(size=(6000, 4))
    start = rng.choice(6000, 3, replace=False)
    members, value, steps, _ = climb(items_of(Phi), start, free_size=False)
    assert steps > 0
    exchanged = np.repeat(members[None, None], 6000, axis=0).repeat(3, axis=1)
    exchanged[:, np.arange(3), np.arange(3)] = np.arange(6000)[:, None]
    rows = Phi[exchanged]
    dets = np.linalg.det(rows @ np.swapaxes(rows, -1, -2))
    assert np.log(dets.max()) <= value + 1e-8


# Bad input.


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda t: find_map(t, k=3), ValueError, "r = 2"),
        (lambda t: find_map(t, ridge=0.1), ValueError, "ridge is for DPP"),
        (lambda t: find_map(t, ridge=-1), ValueError, "zero or more"),
        (lambda t: find_map(t, ridge="a"), TypeError, "must be a number"),
        (lambda t: find_map(np.eye(3)), TypeError, "expects a target"),
        (lambda t: find_map(KDPP(np.eye(3), 2), k=1), ValueError, "k = 2"),
        (lambda t: maximise(np.eye(3), k=4), ValueError, "there are 3"),
        (lambda t: maximise(np.eye(3), k=1.5), TypeError, "whole number"),
        (lambda t: maximise(np.eye(3)[:, :2], k=3), ValueError, "numerical rank 2"),
    ],
)
def test_bad_input(call, kind, message):
    target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    with pytest.raises(kind, match=message):
        call(target)


@pytest.mark.parametrize("size", [1e-16, 1e-3, 1e16])
def test_included_items_stay_whatever_the_size_of_the_kernel(size):
    conditioned = DPP(L=size * np.eye(3)).condition(include=[0])
    assert 0 in find_map(conditioned).subset
    assert find_map(conditioned, k=2).subset.size == 2
