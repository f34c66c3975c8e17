"""Targets agree with enumeration, whatever they were made from."""

import operator
import pickle
from fractions import Fraction
from itertools import combinations, islice

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import (
    extreme_matrices,
    graphs,
    hard_matrices,
    hard_targets,
    matrices,
    targets,
    volume_targets,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from law import enumerate_law, exact_law

from zonodpp import ProjectionDPP, VolumeSampling, find_map, sample
from zonodpp.numerics.arrays import accurate_product

TARGETS = targets() | hard_targets()
EXAMPLES = settings(deadline=None, max_examples=60, derandomize=True)


def tolerance(name):
    """Digits that the input itself leaves: a condition number of 1e10 takes ten of them."""
    return 1e-5 if "condition" in name else 1e-9


# Against enumeration.


@pytest.mark.parametrize("name", TARGETS)
def test_log_prob(name):
    target = TARGETS[name]
    bases, law = enumerate_law(target)
    logs = target.log_prob(bases)
    assert logs.shape == (len(bases),)
    assert np.exp(logs) == pytest.approx(law, abs=tolerance(name))
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=tolerance(name))
    assert (logs[law == 0] < -50).all()
    likely = law > 0
    assert logs[likely] == pytest.approx(np.log(law[likely]), abs=1e3 * tolerance(name))


@pytest.mark.parametrize("name", TARGETS)
def test_inclusion_of_all_sets(name):
    target = TARGETS[name]
    bases, law = enumerate_law(target)
    member = np.zeros((len(bases), target.n), bool)
    np.put_along_axis(member, bases, True, axis=1)
    for size in range(min(target.r + 1, target.n) + 1):
        sets = np.array(list(islice(combinations(range(target.n), size), 400)), int)
        expected = [law[member[:, S].all(axis=1)].sum() for S in sets]
        assert target.inclusion(sets) == pytest.approx(np.array(expected), abs=tolerance(name))


@pytest.mark.parametrize("name", TARGETS)
def test_marginals_and_kernel(name):
    target = TARGETS[name]
    bases, law = enumerate_law(target)
    expected = np.bincount(bases.ravel(), np.repeat(law, target.r), target.n)
    marginals = target.marginals()
    K = target.kernel()
    near = {"abs": tolerance(name)}
    assert marginals == pytest.approx(expected, **near)
    assert marginals.min() >= 0
    assert marginals.max() <= 1
    assert marginals.sum() == pytest.approx(target.r, **near)
    assert K.shape == (target.n, target.n)
    assert pytest.approx(K.T, **near) == K
    assert pytest.approx(K @ K, **near) == K
    assert np.diagonal(K) == pytest.approx(expected, **near)
    # Pairs fix the kernel up to signs: P(i, j) = K_ii K_jj - K_ij^2.
    pairs = np.array(list(combinations(range(target.n), 2)), int).reshape(-1, 2)
    member = np.zeros((len(bases), target.n), bool)
    np.put_along_axis(member, bases, True, axis=1)
    together = np.array([law[member[:, S].all(axis=1)].sum() for S in pairs])
    i, j = pairs.T
    assert K[i, i] * K[j, j] - K[i, j] ** 2 == pytest.approx(together, abs=3 * tolerance(name))


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_log_prob_of_other_powers_is_relative(power):
    for target in volume_targets(power).values():
        bases, law = enumerate_law(target)
        logs = target.log_prob(bases)
        likely = law > 0
        assert np.ptp(logs[likely] - np.log(law[likely])) < 1e-9
        assert (logs[~likely] == -np.inf).all()


def test_log_prob_of_other_powers_is_the_log_volume():
    A = np.array([[2.0, 0, 1], [0, 3, 1]])
    target = VolumeSampling(A, power=3, weights=[1, 4, 1])
    assert target.log_prob([0, 1]) == pytest.approx(3 * np.log(6) + np.log(4))
    assert target.log_prob([0, 2]) == pytest.approx(3 * np.log(2))


def test_power_two_is_the_projection_dpp():
    A = np.random.default_rng(0).normal(size=(3, 6))
    bases = list(combinations(range(6), 3))
    family = VolumeSampling(A, power=2)
    assert family.log_prob(bases) == pytest.approx(ProjectionDPP(A).log_prob(bases))
    assert family.marginals() == pytest.approx(ProjectionDPP(A).marginals())


def test_dependent_items_have_log_prob_of_minus_infinity():
    target = TARGETS["duplicates"]
    assert target.log_prob([0, 5, 2]) == -np.inf
    assert target.log_prob([1, 6, 2]) == -np.inf
    assert TARGETS["zero columns"].log_prob([0, 1, 6]) == -np.inf
    assert TARGETS["graph bridge"].log_prob([0, 1, 2, 4, 5]) == -np.inf


def test_shapes_of_sets():
    target = TARGETS["gaussian"]
    assert isinstance(target.log_prob([0, 1, 2]), float)
    assert isinstance(target.inclusion([0]), float)
    assert target.inclusion(3) == target.inclusion([3])
    assert target.inclusion({3, 1}) == target.inclusion([1, 3])
    assert target.inclusion([3, 1]) == pytest.approx(target.inclusion([1, 3]))
    assert target.log_prob([2, 0, 1]) == pytest.approx(target.log_prob([0, 1, 2]))
    assert target.log_prob(np.zeros((0, 3), int)).shape == (0,)
    assert target.log_prob([[[0, 1, 2], [1, 2, 3]]]).shape == (1, 2)
    assert target.inclusion(np.zeros((0, 2), int)).shape == (0,)
    assert target.inclusion([]) == 1.0
    assert target.inclusion(np.zeros((4, 0), int)).tolist() == [1.0] * 4
    assert target.inclusion([[[0, 1], [1, 2]]]).shape == (1, 2)


def test_many_bases_at_once():
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(40, 60)))
    bases = sample(target, 4000, rng=0, method="exact").subsets[0]
    logs = target.log_prob(bases)
    assert logs[[0, 3999]] == pytest.approx([target.log_prob(bases[k]) for k in (0, 3999)])


# What a target can be made from.


MATRIX = np.random.default_rng(11).integers(-3, 4, size=(3, 7))


@pytest.mark.parametrize(
    "form",
    [
        np.ndarray.tolist,
        lambda A: [tuple(row) for row in A.tolist()],
        lambda A: A.astype(np.int8),
        lambda A: A.astype(np.float32),
        lambda A: A.astype(np.longdouble),
        lambda A: A.astype(object),
        lambda A: np.asfortranarray(A, dtype=float),
        lambda A: np.repeat(A.astype(float), 2, axis=1)[:, ::2],
        lambda A: np.ma.masked_array(A),
        pd.DataFrame,
        sp.csr_array,
        sp.csc_matrix,
        sp.coo_array,
        sp.lil_array,
        sp.dia_array,
        lambda A: sp.csr_array(A.astype(np.int8)),
    ],
)
def test_every_form_of_a_matrix(form):
    expected = ProjectionDPP(MATRIX.astype(float)).kernel()
    target = ProjectionDPP(form(MATRIX))
    assert target.kernel() == pytest.approx(expected, abs=1e-12)
    features = ProjectionDPP.from_features(form(MATRIX.T))
    assert features.kernel() == pytest.approx(expected, abs=1e-12)
    assert target.A.dtype == np.float64
    assert sample(features, 10, rng=0, method="exact").subsets.shape == (1, 10, 3)


def test_booleans_and_read_only_arrays():
    A = np.array([[True, False, True, True], [False, True, True, False]])
    expected = ProjectionDPP(A.astype(float)).kernel()
    assert ProjectionDPP(A).kernel() == pytest.approx(expected)
    fixed = A.astype(float)
    fixed.flags.writeable = False
    assert sample(ProjectionDPP(fixed), 5, rng=0, method="exact").subsets.shape == (1, 5, 2)
    sparse = sp.csc_array(fixed)
    sparse.data.flags.writeable = False
    assert ProjectionDPP(sparse).kernel() == pytest.approx(expected)


def test_sparse_with_duplicate_entries_is_summed_and_left_alone():
    entries = (np.array([1.0, 2, 3, 4, 5]), ([0, 0, 1, 0, 1], [0, 0, 1, 2, 2]))
    given = sp.coo_array(entries, shape=(2, 3))
    assert ProjectionDPP(given).kernel() == pytest.approx(ProjectionDPP(given.toarray()).kernel())
    assert given.nnz == 5


def test_float64_arrays_are_not_copied():
    A = np.random.default_rng(0).normal(size=(3, 50))
    assert np.shares_memory(ProjectionDPP(A).A, A)
    X = np.random.default_rng(0).normal(size=(50, 3))
    target = ProjectionDPP.from_features(X)
    assert np.shares_memory(target.A, X)
    assert np.shares_memory(target.columns.dense, X)  # nor when laid out for compiled code
    F = np.asfortranarray(A)
    assert np.shares_memory(ProjectionDPP(F).columns.dense, F)


def test_input_is_left_as_it_was():
    A = np.random.default_rng(0).normal(size=(3, 50))
    q = np.ones(50)
    target = ProjectionDPP(A, weights=q)
    before = A.copy()
    sample(target, 10, rng=0, method="exact")
    assert np.array_equal(A, before)
    q[0] = 5.0  # weights are small and copied
    assert target.weights[0] == 1.0
    assert A.flags.writeable


def test_data_frame_labels_are_kept():
    X = pd.DataFrame(MATRIX.T, index=list("tuvwxyz"), columns=["a", "b", "c"])
    features = ProjectionDPP.from_features(X)
    assert list(features.labels) == list("tuvwxyz")
    assert list(ProjectionDPP(X.T).labels) == list("tuvwxyz")
    assert list(VolumeSampling(X.T).labels) == list("tuvwxyz")
    assert list(ProjectionDPP.from_features(X, rank=2).labels) == list("tuvwxyz")
    assert list(ProjectionDPP.from_features(X, jitter=0.1, rng=0).labels) == list("tuvwxyz")
    K = pd.DataFrame(features.kernel(), index=X.index, columns=X.index)
    assert list(ProjectionDPP.from_kernel(K).labels) == list("tuvwxyz")
    [[drawn]] = sample(features, 1, rng=0, method="exact").labelled()
    assert set(drawn) <= set("tuvwxyz")
    assert ProjectionDPP(MATRIX).labels is None


def test_data_frame_with_weights_as_series():
    X = pd.DataFrame(MATRIX.T.astype(float))
    q = pd.Series(np.arange(1.0, 8))
    expected = ProjectionDPP(MATRIX.astype(float), weights=q.to_numpy()).marginals()
    assert ProjectionDPP.from_features(X, weights=q).marginals() == pytest.approx(expected)


def test_graph_labels_are_edges():
    target = ProjectionDPP.from_graph(graphs()["parallel"])
    assert target.n == 5
    assert target.r == 3
    assert set(target.labels) == {
        ("a", "b", 0), ("a", "b", 1), ("b", "c", 0), ("a", "c", 0), ("c", "d", 0)
    }  # fmt: skip


@pytest.mark.parametrize("name", graphs())
def test_graph_targets_draw_spanning_trees(name):
    graph = graphs()[name]
    for weight in (None, "w"):
        target = ProjectionDPP.from_graph(graph, weight=weight)
        for tree in sample(target, 20, rng=0).labelled()[0]:
            found = nx.MultiGraph()
            found.add_nodes_from(graph)
            found.add_edges_from(edge[:2] for edge in tree)
            assert nx.is_tree(found)


def test_kernel_round_trip():
    for name in ("gaussian", "weighted", "duplicates", "all of n", "one of n", "graph wheel"):
        target = TARGETS[name]
        K = target.kernel()
        for form in (K, K.tolist(), sp.csr_array(K)):
            again = ProjectionDPP.from_kernel(form)
            assert again.kernel() == pytest.approx(K, abs=1e-10)
            assert again.r == target.r


def test_kernel_with_a_little_noise_is_taken():
    K = TARGETS["gaussian"].kernel()
    noise = 1e-8 * np.random.default_rng(0).normal(size=K.shape)
    again = ProjectionDPP.from_kernel(K + noise)
    assert again.kernel() == pytest.approx(K, abs=1e-6)
    single = ProjectionDPP.from_kernel(K.astype(np.float32))
    assert single.kernel() == pytest.approx(K, abs=1e-5)


# Principal directions and jitter.


def scores(X, rank):
    """Centred principal scores by the singular value decomposition."""
    U, singular, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return U[:, :rank] * singular[:rank]


@pytest.mark.parametrize("shape", [(30, 8), (30, 30), (12, 40), (9000, 5)])
@pytest.mark.parametrize("rank", [1, 4])
def test_rank_takes_leading_principal_directions(shape, rank):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * rng.uniform(0.1, 3, shape[1]) + 5.0
    expected = ProjectionDPP(scores(X, rank).T)
    pairs = list(combinations(range(9), 2))
    for form in (X, sp.csr_array(X), sp.csc_array(X), pd.DataFrame(X)):
        target = ProjectionDPP.from_features(form, rank=rank)
        assert target.r == rank
        assert target.marginals() == pytest.approx(expected.marginals(), abs=1e-9)
        assert target.inclusion(pairs) == pytest.approx(expected.inclusion(pairs), abs=1e-9)


def test_rank_equals_scikit_learn():
    decomposition = pytest.importorskip("sklearn.decomposition")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 10)) @ rng.normal(size=(10, 10))
    Z = decomposition.PCA(4, svd_solver="full").fit_transform(X)
    expected = ProjectionDPP.from_features(Z).kernel()
    assert ProjectionDPP.from_features(X, rank=4).kernel() == pytest.approx(expected, abs=1e-10)
    assert ProjectionDPP.from_features(sp.csr_array(X), rank=4).kernel() == pytest.approx(
        expected, abs=1e-10
    )


def test_rank_of_sparse_counts():
    X = sp.random_array(
        (300, 60), density=0.05, random_state=np.random.default_rng(3), format="csr"
    )
    dense = ProjectionDPP.from_features(X.toarray(), rank=5)
    assert ProjectionDPP.from_features(X, rank=5).kernel() == pytest.approx(
        dense.kernel(), abs=1e-9
    )


def test_rank_keeps_small_directions():
    """Directions whose spread is 1e-8 of the largest would drown in X'X."""
    rng = np.random.default_rng(4)
    U = np.linalg.qr(rng.normal(size=(50, 4)) - 0.0)[0]
    U -= U.mean(axis=0)
    X = (U * np.array([1, 1e-3, 1e-6, 1e-8])) @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    target = ProjectionDPP.from_features(X, rank=4)
    expected = ProjectionDPP.from_features(U).kernel()
    assert target.kernel() == pytest.approx(expected, abs=1e-5)


def test_jitter_reaches_full_rank_and_is_seeded():
    X = np.tile(np.random.default_rng(5).normal(size=(20, 2)), 2)
    with pytest.raises(ValueError, match="numerical rank 2 but 4 columns"):
        ProjectionDPP.from_features(X)
    first, again, other = (ProjectionDPP.from_features(X, jitter=1e-3, rng=s) for s in (0, 0, 1))
    assert first.r == 4
    assert np.array_equal(first.A, again.A)
    assert not np.array_equal(first.A, other.A)
    assert (first.A.T - X).std() == pytest.approx(1e-3, rel=0.3)
    assert np.abs(first.A.T - X).max() > 0
    sparse = ProjectionDPP.from_features(sp.csr_array(X), jitter=1e-3, rng=0)
    assert pytest.approx(first.A) == sparse.A
    generator = np.random.default_rng(0)
    assert np.array_equal(ProjectionDPP.from_features(X, jitter=1e-3, rng=generator).A, first.A)


def test_tiny_jitter_still_works():
    X = np.ones((30, 3))
    target = ProjectionDPP.from_features(X, jitter=1e-9, rng=0)
    assert target.marginals().sum() == pytest.approx(3, abs=1e-5)
    assert sample(target, 10, rng=0, method="exact").subsets.shape == (1, 10, 3)


# Hard but legal numbers.


@pytest.mark.parametrize("rows", [(1e9, 1e-9), (1e150, 1e-150), (1e-150, 1e-150), (1e150, 1e150)])
def test_units_of_features_do_not_matter(rows):
    A = np.random.default_rng(6).normal(size=(2, 9))
    scaled = ProjectionDPP(A * np.array(rows)[:, None])
    assert scaled.kernel() == pytest.approx(ProjectionDPP(A).kernel(), abs=1e-12)
    assert scaled.log_prob([2, 5]) == pytest.approx(ProjectionDPP(A).log_prob([2, 5]))


def test_weights_equal_columns_times_their_square_roots():
    for name in ("weighted", "weights over twelve orders", "zero weight"):
        A, q = matrices()[name]
        direct = ProjectionDPP(A * np.sqrt(q))
        assert ProjectionDPP(A, weights=q).kernel() == pytest.approx(direct.kernel(), abs=1e-9)


def test_scale_of_weights_does_not_matter():
    A, q = matrices()["weighted"]
    for factor in (1e-200, 1e-12, 1e200):
        scaled = ProjectionDPP(A, weights=q * factor)
        assert scaled.marginals() == pytest.approx(ProjectionDPP(A, weights=q).marginals())


def test_targets_cannot_be_changed():
    target = TARGETS["weighted"]
    with pytest.raises(AttributeError, match="immutable"):
        target.A = np.eye(3)
    with pytest.raises(ValueError, match="read-only"):
        target.weights[0] = 1.0


@pytest.mark.parametrize("name", ["gaussian", "sparse, weighted", "graph parallel"])
def test_targets_survive_pickling(name):
    again = pickle.loads(pickle.dumps(TARGETS[name]))
    assert again.kernel() == pytest.approx(TARGETS[name].kernel())
    assert again.labels == TARGETS[name].labels
    assert repr(again) == repr(TARGETS[name])


def test_repr_tells_what_it_is():
    assert repr(TARGETS["weighted"]) == "ProjectionDPP(r=3, n=8, power=2, weighted)"
    assert repr(VolumeSampling(MATRIX, power=0.5)) == "VolumeSampling(r=3, n=7, power=0.5)"


# Properties.


@st.composite
def full_rank(draw):
    """Integer matrices of full row rank, duplicates and zero columns among them."""
    r = draw(st.integers(1, 4))
    n = draw(st.integers(r, r + 4))
    entries = st.lists(st.integers(-3, 3), min_size=r * n, max_size=r * n)
    A = np.array(draw(entries), dtype=float).reshape(r, n)
    if np.linalg.matrix_rank(A) < r:
        A[:, :r] += 10 * np.eye(r)
    return A


@st.composite
def invertible(draw, r):
    """Matrices M with a condition number up to about 1e4."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(r, r)))[0] for _ in range(2))
    return (left * 10 ** rng.uniform(-2, 2, r)) @ right


@EXAMPLES
@given(st.data())
def test_law_depends_on_the_row_space_alone(data):
    A = data.draw(full_rank())
    M = data.draw(invertible(len(A)))
    bases = list(combinations(range(A.shape[1]), len(A)))
    direct, mixed = ProjectionDPP(A), ProjectionDPP(M @ A)
    assert mixed.marginals() == pytest.approx(direct.marginals(), abs=1e-8)
    assert np.exp(mixed.log_prob(bases)) == pytest.approx(np.exp(direct.log_prob(bases)), abs=1e-8)


@EXAMPLES
@given(full_rank(), st.data())
def test_probabilities_add_up(A, data):
    r, n = A.shape
    orders = data.draw(st.lists(st.floats(-6, 6), min_size=n, max_size=n))
    for q in (None, 10.0 ** np.array(orders)):
        target = ProjectionDPP(A, weights=q)
        assert target.marginals().sum() == pytest.approx(r, abs=1e-7)
        bases = list(combinations(range(n), r))
        assert np.exp(target.log_prob(bases)).sum() == pytest.approx(1.0, abs=1e-7)
        pairs = list(combinations(range(n), 2))
        if pairs:
            assert target.inclusion(pairs).sum() == pytest.approx(r * (r - 1) / 2, abs=1e-7)


@EXAMPLES
@given(full_rank(), st.sampled_from([1e-150, 1e-30, 1e30, 1e150]))
def test_scale_does_not_matter(A, factor):
    target = ProjectionDPP(A * factor)
    assert target.kernel() == pytest.approx(ProjectionDPP(A).kernel(), abs=1e-9)
    sample(target, 3, rng=0, method="exact")


@EXAMPLES
@given(full_rank())
def test_scaling_an_item_equals_weighting_it(A):
    factors = np.linspace(0.5, 2, A.shape[1])
    scaled = ProjectionDPP(A * factors)
    weighted = ProjectionDPP(A, weights=factors**2)
    assert weighted.kernel() == pytest.approx(scaled.kernel(), abs=1e-9)


@EXAMPLES
@given(full_rank())
def test_sparse_equals_dense(A):
    assert ProjectionDPP(sp.csr_array(A)).kernel() == pytest.approx(
        ProjectionDPP(A).kernel(), abs=1e-10
    )


@EXAMPLES
@given(full_rank())
def test_order_of_items_does_not_matter(A):
    order = np.random.default_rng(0).permutation(A.shape[1])
    shuffled = ProjectionDPP(A[:, order]).marginals()
    assert shuffled == pytest.approx(ProjectionDPP(A).marginals()[order], abs=1e-9)


def test_every_hard_matrix_has_both_layouts():
    """A sparse A gives what a dense one gives, on all hard matrices."""
    for name, (A, q) in hard_matrices().items():
        if not sp.issparse(A):
            sparse = ProjectionDPP(sp.csc_array(A), weights=q)
            assert sparse.marginals() == pytest.approx(
                TARGETS[name].marginals(), abs=tolerance(name)
            )


# Large graphs have no dense matrices.


def test_large_graph_by_elimination(monkeypatch):
    graph = nx.wheel_graph(6)
    dense = ProjectionDPP.from_graph(graph)
    monkeypatch.setattr("zonodpp.targets.spanning_trees.DENSE_GRAPH", 3)
    monkeypatch.setattr("zonodpp.targets.spanning_trees.LARGE_GRAPH", 3)
    sparse = ProjectionDPP.from_graph(graph)
    trees = enumerate_law(dense)[0]
    assert sparse.marginals() == pytest.approx(dense.marginals())
    assert np.exp(sparse.log_prob(trees)) == pytest.approx(np.exp(dense.log_prob(trees)))
    with pytest.raises(ValueError, match="method='trees'"):
        sample(sparse, 1, method="exact")


def test_an_adjacency_matrix_may_be_off_by_rounding():
    matrix = sp.csr_array(np.array([[0.0, 0.1 + 0.2, 1.0], [0.3, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    assert ProjectionDPP.from_graph(matrix).n == 3
    matrix[0, 1] = 0.31
    with pytest.raises(ValueError, match="not symmetric"):
        ProjectionDPP.from_graph(matrix)


@pytest.mark.parametrize("back", [0.0, 2e-14])
def test_light_edges_of_an_adjacency_matrix_are_compared_with_themselves(back):
    """Node 2 hangs on two edges of weight 1e-14: each is in half of the trees."""
    light = 1e-14
    matrix = np.array([[0.0, 1.0, light], [1.0, 0.0, light], [light, light, 0.0]])
    target = ProjectionDPP.from_graph(sp.csr_array(matrix))
    assert target.marginals() == pytest.approx([1.0, 0.5, 0.5])
    matrix[2, 1] = back
    for directed in (matrix, matrix.T):
        with pytest.raises(ValueError, match="not symmetric"):
            ProjectionDPP.from_graph(sp.csr_array(directed))


def test_repeated_names_of_nodes_are_refused():
    path = sp.csr_array(nx.to_scipy_sparse_array(nx.path_graph(4)))
    with pytest.raises(ValueError, match="several nodes have the name x; give each"):
        ProjectionDPP.from_graph(path, names=["x", "x", "y", "z"])


def test_edges_under_other_names_make_no_networkx_tree():
    target = ProjectionDPP.from_graph(nx.cycle_graph(4)).with_labels(["ab", "bc", "cd", "da"])
    samples = sample(target, 1, rng=0)
    assert set(samples.labelled()[0][0]) < {"ab", "bc", "cd", "da"}
    with pytest.raises(ValueError, match=r"a name of its own, '..'"):
        samples.to_networkx()


def test_targets_of_large_graphs_are_pickled(monkeypatch):
    monkeypatch.setattr("zonodpp.targets.spanning_trees.DENSE_GRAPH", 3)
    target = ProjectionDPP.from_graph(nx.cycle_graph(9))
    marginals = target.marginals()
    assert pickle.loads(pickle.dumps(target)).marginals() == pytest.approx(marginals)


def test_noise_is_not_the_data_again():
    """Data, noise and draws made with one seed must have nothing in common."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    noise = ProjectionDPP.from_features(X, jitter=1.0, rng=0).A.T - X
    assert abs(np.corrcoef(X.ravel(), noise.ravel())[0, 1]) < 0.4
    chain = np.random.default_rng(0).spawn(1)[0].normal(size=X.shape)  # what sample(rng=0) uses
    assert abs(np.corrcoef(chain.ravel(), noise.ravel())[0, 1]) < 0.4


def test_thinning_does_not_follow_the_data():
    numbers = np.random.default_rng(0).random((200, 3))
    thinned = sample(ProjectionDPP(np.eye(3)), 200, rng=5).thinned(1.5, rng=0)
    assert not np.array_equal(thinned.sizes[0], (numbers < 0.5).sum(axis=1))


# The law does not depend on units, and keeps its digits.


@pytest.mark.parametrize("power", [2.0, 1.0, 0.5])
@pytest.mark.parametrize("name", extreme_matrices())
def test_extreme_sizes(name, power):
    A, weights = extreme_matrices()[name]
    target = VolumeSampling(A, power=power, weights=weights)
    if not sp.issparse(A):
        assert target.A is A  # what was given stays what it was
    bases, expected = exact_law(target)
    found = target.log_prob(bases)
    if power != 2:
        found, expected = found - found.max(), expected - expected.max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    if power != 2:
        return
    chances = np.exp(expected)
    marginals = [chances[(bases == i).any(axis=1)].sum() for i in range(target.n)]
    np.testing.assert_allclose(target.marginals(), marginals, atol=1e-11)
    pairs = list(combinations(range(target.n), 2))
    both = [chances[[set(S) <= set(B) for B in bases.tolist()]].sum() for S in pairs]
    np.testing.assert_allclose(target.inclusion(np.array(pairs)), both, atol=1e-11)
    likely = bases[np.argmax(chances)]
    assert target.log_prob(find_map(target).subset) == pytest.approx(expected.max())
    given = target.condition(include=likely[:1])
    holds = (bases == likely[0]).any(axis=1)
    np.testing.assert_allclose(
        np.exp(given.log_prob(bases[holds])), chances[holds] / chances[holds].sum(), atol=1e-9
    )


@pytest.mark.parametrize("digits", [8, 10, 11, 12, 13])
def test_ill_conditioned_features_keep_their_digits(digits):
    """A QR factorisation of A would leave 2e-5 at a condition number of 1e12."""
    rng = np.random.default_rng(digits)
    turns = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2))
    A = (next(turns) * np.logspace(0, -digits, 4)) @ next(turns) @ rng.normal(size=(4, 8))
    target = ProjectionDPP(A)
    bases, expected = exact_law(target)
    chances = np.exp(expected)
    marginals = [chances[(bases == i).any(axis=1)].sum() for i in range(8)]
    np.testing.assert_allclose(target.marginals(), marginals, atol=1e-9)
    np.testing.assert_allclose(np.exp(target.log_prob(bases)), chances, atol=1e-9)


def test_accurate_product():
    """W X is the identity but for rounding of W, and 1e9 cancels on the way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3)) @ rng.normal(size=(3, 9)) + 1e-9 * np.eye(9)
    W = np.linalg.inv(X)
    found, error = accurate_product(W, X)
    rows, columns = [[Fraction(v) for v in w] for w in W], [[Fraction(v) for v in x] for x in X.T]
    exact = [[sum(map(operator.mul, w, x)) for x in columns] for w in rows]
    misses = np.array(
        [float(abs(Fraction(found[i, j]) - exact[i][j])) for i in range(9) for j in range(9)]
    ).reshape(9, 9)
    assert (misses <= error + 2.0**-53 * np.abs(found)).all()
    assert np.abs(W @ X - found).max() > 1e4 * misses.max()


def test_columns_of_dataframes_by_name():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(6, 4)), columns=[*"abcq"])
    table.insert(0, "key", [*"uvwxyz"])
    target = ProjectionDPP.from_features(table, columns=["c", "a"], ids="key", weights="q")
    assert target.labels == [*"uvwxyz"]
    expected = ProjectionDPP.from_features(table[["c", "a"]], weights=table["q"])
    np.testing.assert_array_equal(target.A, expected.A)
    np.testing.assert_array_equal(target.marginals(), expected.marginals())
    assert ProjectionDPP.from_features(table, ids="key", weights="q").r == 3
    with pytest.raises(ValueError, match="there is no column 'nonsense'; there are key, a, b"):
        ProjectionDPP.from_features(table, ids="nonsense")
    for option in ({"columns": ["a"]}, {"ids": "key"}):
        with pytest.raises(TypeError, match="an array has no names"):
            ProjectionDPP.from_features(rng.normal(size=(6, 2)), **option)
