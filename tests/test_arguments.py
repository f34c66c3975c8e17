"""Bad input gets one clear error: what was expected, what came, what to do."""

import traceback

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from zonodpp import Exact, HitAndRun, ProjectionDPP, VolumeSampling, Zonotope, sample
from zonodpp.apps import DesignRegression, LandmarkSelector, shortlist, summarize

A = np.random.default_rng(0).normal(size=(3, 8))
TARGET = ProjectionDPP(A)
from_features = ProjectionDPP.from_features
from_kernel = ProjectionDPP.from_kernel
from_graph = ProjectionDPP.from_graph


def put(array, *places, value=np.nan):
    changed = array.copy()
    for place in places:
        changed[place] = value
    return changed


def refuses(call, kind, *words):
    """Fail unless this raises with all these words, and shows no other error behind it."""
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    for word in words:
        assert word in str(error), f"{word!r} is not in {str(error)!r}"
    shown = "".join(traceback.format_exception(error))
    assert "During handling of" not in shown
    assert "direct cause of" not in shown


ENTRIES = {
    "nan": (
        lambda: ProjectionDPP(put(A, (1, 4))),
        ["A has NaN or infinity in 1", "[1, 4]", "drop"],
    ),
    "two nans": (lambda: ProjectionDPP(put(A, (2, 0), (1, 4))), ["in 2 of its entries", "[1, 4]"]),
    "infinity": (lambda: ProjectionDPP(put(A, (0, 7), value=-np.inf)), ["A has", "[0, 7]"]),
    "sparse": (lambda: ProjectionDPP(sp.csr_array(put(A, (1, 4)))), ["A has", "[1, 4]"]),
    "power 1": (lambda: VolumeSampling(put(A, (1, 4))), ["A has", "[1, 4]"]),
    "weighted": (lambda: ProjectionDPP(put(A, (1, 4)), weights=np.ones(8)), ["A has", "[1, 4]"]),
    "list with None": (lambda: ProjectionDPP([[1.0, None]]), ["A has", "[0, 1]"]),
    "features": (lambda: from_features(put(A.T, (4, 1))), ["X has", "[4, 1]"]),
    "sparse features": (lambda: from_features(sp.csr_array(put(A.T, (4, 1)))), ["X has", "[4, 1]"]),
    "features, rank": (lambda: from_features(put(A.T, (4, 1)), rank=2), ["X has", "[4, 1]"]),
    "features, jitter": (lambda: from_features(put(A.T, (4, 1)), jitter=1.0), ["X has", "[4, 1]"]),
    "data frame": (lambda: from_features(pd.DataFrame(put(A.T, (4, 1)))), ["X has", "[4, 1]"]),
    "kernel": (lambda: from_kernel(put(np.eye(3), (0, 2))), ["K has", "[0, 2]"]),
    "weights": (lambda: ProjectionDPP(A, weights=put(np.ones(8), 5)), ["weights has", "[5]"]),
    "weights, infinity": (
        lambda: ProjectionDPP(A, weights=put(np.ones(8), 5, value=np.inf)),
        ["weights has", "[5]"],
    ),
    "masked": (lambda: ProjectionDPP(np.ma.masked_less(A, 0)), ["masked", "fill or drop"]),
}

SHAPES = {
    "vector": (lambda: ProjectionDPP(np.ones(5)), ["2-d", "1 dimension", "values[:, None]"]),
    "vector of features": (lambda: from_features(np.ones(5)), ["X must be a 2-d", "1 dimension"]),
    "cube": (lambda: ProjectionDPP(np.ones((2, 3, 4))), ["2-d", "3 dimension"]),
    "number": (lambda: ProjectionDPP(3.0), ["2-d", "0 dimension"]),
    "nothing": (lambda: ProjectionDPP(None), ["2-d"]),
    "sparse vector": (lambda: ProjectionDPP(sp.coo_array(np.ones(3))), ["2-d", "1 dimension"]),
    "no rows": (lambda: ProjectionDPP(np.ones((0, 3))), ["A is empty", "(0, 3)"]),
    "no columns": (lambda: from_features(np.ones((3, 0))), ["X is empty", "(3, 0)"]),
    "empty list": (lambda: ProjectionDPP([]), ["2-d"]),
    "empty lists": (lambda: ProjectionDPP([[]]), ["empty"]),
    "empty sparse": (lambda: ProjectionDPP(sp.csr_array((0, 4))), ["empty"]),
    "transposed A": (lambda: ProjectionDPP(A.T), ["items as columns", "8 x 3", "from_features(X)"]),
    "transposed A, power 1": (lambda: VolumeSampling(A.T), ["8 x 3", "from_features(X)"]),
    "transposed X": (lambda: from_features(A), ["items as rows", "3 items", "ProjectionDPP(A)"]),
    "wide X": (lambda: from_features(np.ones((4, 9))), ["4 items with 9 features", "rank="]),
    "kernel not square": (lambda: from_kernel(A), ["n x n", "3 x 8", "from_features"]),
}  # fmt: skip

RANK = {
    "dependent rows": (
        lambda: ProjectionDPP(np.vstack([A, A[0] - A[2]])),
        ["A has numerical rank 3 but 4 rows", "rank=3", "from_features", "jitter=", "drop"],
    ),
    "zero row": (lambda: ProjectionDPP(put(A, 1, value=0.0)), ["rank 2 but 3 rows"]),
    "zero matrix": (lambda: ProjectionDPP(np.zeros((2, 5))), ["rank 0 but 2 rows", "drop"]),
    "sparse": (
        lambda: ProjectionDPP(sp.csr_array(np.vstack([A, A[:1]]))),
        ["numerical rank 3 but 4 rows"],
    ),
    "power 1": (lambda: VolumeSampling(np.vstack([A, A[:1]])), ["numerical rank 3 but 4 rows"]),
    "features": (
        lambda: from_features(np.column_stack([A.T, A.T[:, 0] + A.T[:, 1]])),
        ["X has numerical rank 3 but 4 columns", "pass rank=3", "jitter="],
    ),
    "constant features": (lambda: from_features(np.ones((5, 2))), ["rank 1 but 2 columns"]),
    "zero weights": (
        lambda: ProjectionDPP(A, weights=[1, 1, 0, 0, 0, 0, 0, 0]),
        ["rank 2 but 3 rows after weighting", "more items a positive weight"],
    ),
    "rank above features": (lambda: from_features(A.T, rank=4), ["rank=4", "8", "3", "at most 3"]),
    "rank above items": (
        lambda: from_features(np.random.default_rng(0).normal(size=(4, 9)), rank=4),
        ["rank=4", "at most 3"],
    ),
    "rank above numerical rank": (
        lambda: from_features(np.column_stack([A.T, A.T]), rank=5),
        ["rank=5", "numerical rank 3", "pass rank=3 or less"],
    ),
    "rank of equal rows": (lambda: from_features(np.ones((5, 2)), rank=1), ["rows are the same"]),
    "rank zero": (lambda: from_features(A.T, rank=0), ["rank must be at least 1, got 0"]),
}

VALUES = {
    "negative weight": (
        lambda: ProjectionDPP(A, weights=put(np.ones(8), 2, value=-0.5)),
        ["must not be negative", "weights[2] = -0.5"],
    ),
    "zero weights": (lambda: ProjectionDPP(A, weights=np.zeros(8)), ["all zero"]),
    "number of weights": (lambda: ProjectionDPP(A, weights=np.ones(7)), ["8 items", "(7,)"]),
    "weights of features": (lambda: from_features(A.T, weights=np.ones(3)), ["8 items", "(3,)"]),
    "weight as a number": (lambda: ProjectionDPP(A, weights=2.0), ["8 items", "()"]),
    "weights 2-d": (lambda: ProjectionDPP(A, weights=np.ones((8, 1))), ["8 items", "(8, 1)"]),
    "power zero": (lambda: VolumeSampling(A, power=0), ["power must be a positive finite number"]),
    "power negative": (lambda: VolumeSampling(A, power=-1), ["power", "got -1"]),
    "power nan": (lambda: VolumeSampling(A, power=np.nan), ["power", "nan"]),
    "jitter": (lambda: from_features(A.T, jitter=-1e-3), ["jitter must be a positive"]),
    "kernel asymmetric": (
        lambda: from_kernel(put(np.eye(4), (0, 1), value=0.9)),
        ["not symmetric", "differ by up to 0.9", "(K + K.T) / 2"],
    ),
    "kernel not a projection": (
        lambda: from_kernel(0.7 * TARGET.kernel()),
        ["not an orthogonal projection", "eigenvalue 0.7", "by 0.3", "from_features"],
    ),
    "covariance as kernel": (lambda: from_kernel(A @ A.T), ["not an orthogonal projection"]),
    "zero kernel": (lambda: from_kernel(np.zeros((3, 3))), ["always empty"]),
    "graph disconnected": (
        lambda: from_graph(nx.Graph([(0, 1), (2, 3)])),
        ["disconnected", "2 components"],
    ),
    "graph directed": (lambda: from_graph(nx.DiGraph([(0, 1)])), ["directed", "to_undirected()"]),
    "graph empty": (lambda: from_graph(nx.Graph()), ["0 node"]),
    "graph of one node": (lambda: from_graph(nx.empty_graph(1)), ["1 node", "at least 2"]),
    "graph without edges": (lambda: from_graph(nx.empty_graph(3)), ["disconnected"]),
    "graph, negative weight": (
        lambda: from_graph(nx.Graph([(0, 1, {"w": -2.0}), (1, 2, {"w": 1.0})]), weight="w"),
        ["positive", "(0, 1)", "-2"],
    ),
    "graph, zero weight": (
        lambda: from_graph(nx.Graph([(0, 1, {"w": 0}), (1, 2, {"w": 1.0})]), weight="w"),
        ["positive", "(0, 1)"],
    ),
    "graph, missing weight": (
        lambda: from_graph(nx.Graph([(0, 1, {"w": 1.0}), (1, 2)]), weight="w"),
        ["(1, 2)", "'w'"],
    ),
    "adjacency, asymmetric": (
        lambda: from_graph(sp.csr_array(np.array([[0.0, 1], [2, 0]]))),
        ["not symmetric", "directed"],
    ),
    "adjacency, not square": (lambda: from_graph(sp.csr_array(A)), ["square", "(3, 8)"]),
    "basis of wrong size": (lambda: TARGET.log_prob([0, 1]), ["r = 3 items", "got 2"]),
    "basis out of range": (lambda: TARGET.log_prob([0, 1, 8]), ["from 0 to 7", "8"]),
    "negative item": (lambda: TARGET.inclusion([-1]), ["from 0 to 7", "-1"]),
    "item twice": (lambda: TARGET.inclusion([2, 2]), ["the same item twice"]),
    "ragged sets": (lambda: TARGET.inclusion([[1], [2, 3]]), ["sets of the same size"]),
    "marginals": (lambda: VolumeSampling(A).marginals(), ["power 2 only", "sample(target)"]),
    "inclusion": (lambda: VolumeSampling(A).inclusion([0]), ["power 2 only", "power=1"]),
    "kernel of power 1": (lambda: VolumeSampling(A).kernel(), ["power 2 only", "power=1"]),
}

SAMPLING = {
    "no draws": (lambda: sample(TARGET, 0), ["draws must be at least 1, got 0"]),
    "negative draws": (lambda: sample(TARGET, -3), ["draws must be at least 1, got -3"]),
    "no chains": (lambda: sample(TARGET, 1, chains=0), ["chains must be at least 1, got 0"]),
    "no workers": (lambda: sample(TARGET, 1, workers=0), ["workers must be at least 1, got 0"]),
    "thin": (lambda: sample(TARGET, 1, thin=0), ["thin must be at least 1, got 0"]),
    "burn-in": (lambda: sample(TARGET, 1, burn_in=-1), ["burn_in must be at least 0, got -1"]),
    "no time": (lambda: sample(TARGET, seconds=0), ["seconds must be a positive finite", "got 0"]),
    "negative time": (lambda: sample(TARGET, seconds=-2), ["seconds", "got -2"]),
    "endless": (lambda: sample(TARGET, seconds=np.inf), ["seconds", "finite"]),
    "unknown method": (
        lambda: sample(TARGET, 1, method="mcmc"),
        ["method must be one of 'auto', 'exact'", "got 'mcmc'"],
    ),
    "unknown algorithm": (
        lambda: sample(TARGET, 1, method="exact", algorithm="qr"),
        ["algorithm must be one of 'rejection', 'chain-rule'", "got 'qr'"],
    ),
    "init": (lambda: sample(TARGET, 1, method="exact", init=[0, 1, 2]), ["init", "Markov chains"]),
    "init of other chains": (
        lambda: sample(TARGET, 1, chains=3, init=[[0, 1, 2], [1, 2, 3]]),
        ["init", "3 chains", "(2, 3)"],
    ),
    "ragged init": (lambda: sample(TARGET, 1, init=[[0, 1], [2]]), ["init must hold sets"]),
    "tracked item": (lambda: sample(TARGET, 1, track=[[0, 9]]), ["track", "from 0 to 7", "9"]),
    "tracked twice": (lambda: sample(TARGET, 1, track=[[4, 4]]), ["track", "twice"]),
    "power": (
        lambda: sample(VolumeSampling(A), 1, method="exact"),
        ["power 2", "power 1", "'exchange'"],
    ),
    "thinned too much": (lambda: sample(TARGET, 1).thinned(0), ["expected_size", "positive"]),
    "thinned too little": (lambda: sample(TARGET, 1).thinned(4), ["at most the 3 items", "got 4"]),
}

TYPES = {
    "no method": (lambda: sample(TARGET, 1, method=None), ["method must be one of", "got None"]),
    "class of a method": (lambda: sample(TARGET, 1, method=Exact), ["or an object", "Exact"]),
    "nested track": (lambda: sample(TARGET, 1, track=[[[0, 1], [2, 3]]]), ["a list of sets"]),
    "text": (lambda: ProjectionDPP(np.array([["1", "2"]])), ["A must hold real numbers", "<U1"]),
    "text in a list": (lambda: ProjectionDPP([["a", "b"]]), ["A must hold real numbers"]),
    "objects": (lambda: ProjectionDPP(np.array([[object(), 1]])), ["A must hold real numbers"]),
    "dictionary": (lambda: ProjectionDPP({"a": 1}), ["A must hold real numbers"]),
    "dates": (lambda: ProjectionDPP(np.zeros((1, 2), "M8[D]")), ["real numbers", "datetime64"]),
    "ragged": (lambda: ProjectionDPP([[1, 2], [3]]), ["A must hold real numbers"]),
    "complex": (lambda: ProjectionDPP(A * 1j), ["A must hold real numbers", "complex128"]),
    "sparse complex": (lambda: ProjectionDPP(sp.csr_array(A * 1j)), ["real numbers", "complex128"]),
    "text column": (
        lambda: from_features(pd.DataFrame({"size": [1.0, 2], "name": ["x", "y"]})),
        ["not numeric: name", "encode"],
    ),
    "text weights": (lambda: ProjectionDPP(A, weights=["1"] * 8), ["weights must hold real"]),
    "complex weights": (lambda: ProjectionDPP(A, weights=1j * np.ones(8)), ["complex128"]),
    "power": (lambda: VolumeSampling(A, power="two"), ["power must be a number, got 'two'"]),
    "rank": (lambda: from_features(A.T, rank=1.5), ["rank must be a whole number, got 1.5"]),
    "jitter": (lambda: from_features(A.T, jitter="1"), ["jitter must be a number, got '1'"]),
    "graph": (lambda: from_graph([(0, 1)]), ["networkx", "list"]),
    "basis": (lambda: TARGET.log_prob([0.0, 1.0, 2.0]), ["item numbers (integers", "float64"]),
    "labels as items": (lambda: TARGET.inclusion(["a"]), ["item numbers (integers"]),
    "mask as items": (lambda: TARGET.inclusion(np.ones(8, bool)), ["integers", "bool"]),
    "draws": (lambda: sample(TARGET, 1.5), ["draws must be a whole number, got 1.5"]),
    "draws as text": (lambda: sample(TARGET, "3"), ["draws must be a whole number, got '3'"]),
    "draws as truth": (lambda: sample(TARGET, True), ["draws must be a whole number, got True"]),
    "chains": (lambda: sample(TARGET, 1, chains=2.0), ["chains must be a whole number, got 2.0"]),
    "seconds": (lambda: sample(TARGET, seconds="1"), ["seconds must be a number, got '1'"]),
    "array as target": (lambda: sample(A), ["got ndarray", "from_features(X)", "ProjectionDPP(A)"]),
    "class as target": (lambda: sample(ProjectionDPP), ["sample() draws from a target"]),
    "unknown option": (
        lambda: sample(TARGET, 1, method="exact", algoritm="rejection"),
        ["method 'exact' has no option 'algoritm'", "it knows 'algorithm'"],
    ),
    "unknown options": (
        lambda: sample(TARGET, 1, method="exact", rule="barker", line="gibbs"),
        ["'line', 'rule'", "it knows 'algorithm'"],
    ),
    "track": (lambda: sample(TARGET, 1, track=5), ["list of sets of items", "got 5"]),
    "flat track": (lambda: sample(TARGET, 1, track=[0, 1]), ["such as [[0, 3], [1, 2]]", "[0, 1]"]),
    "track of text": (lambda: sample(TARGET, 1, track=["ab"]), ["list of sets of items"]),
}  # fmt: skip


STREAMS = {
    "weights of one batch too short": (
        lambda: from_features(lambda: [(A.T, np.ones(3))]),
        ["weights of batch 0", "each of its 8 rows", "(3,)"],
    ),
    "weights of a batch that would broadcast": (
        lambda: from_features(lambda: [(A.T, np.ones(1))]),
        ["weights of batch 0", "(1,)"],
    ),
    "weights of a batch as a table": (
        lambda: from_features(lambda: [(A.T, np.ones((8, 2)))]),
        ["weights of batch 0", "(8, 2)"],
    ),
    "weights of a batch as a number": (
        lambda: from_features(lambda: [(A.T, 1.0)]),
        ["weights of batch 0", "()"],
    ),
    "weights in some batches": (
        lambda: from_features(lambda: [(A.T, np.ones(8)), A.T]),
        ["batch 1 has no weights and batch 0 has them", "or none"],
    ),
    "weights in later batches": (
        lambda: from_features(lambda: [A.T, A.T, (A.T, np.ones(8))]),
        ["batch 2 has weights and batch 0 has none"],
    ),
}

NO_BATCHES = {
    "a function that returns nothing": (
        lambda: from_features(lambda: None),
        ["the function must return an iterator over batches", "NoneType", "yield"],
    ),
    "a batch of three": (
        lambda: from_features(lambda: [(A.T, np.ones(8), 1)]),
        ["pair (rows, weights)", "tuple of 3"],
    ),
}

MORE_VALUES = {
    "all items excluded": (
        lambda: ProjectionDPP([[1.0]]).condition(exclude=[0]),
        ["1 excluded items are all that could be drawn", "exclude fewer"],
    ),
    "several sets included": (
        lambda: TARGET.condition(include=[[0, 1], [1, 2]]),
        ["include must be one set of items", "(2, 2)"],
    ),
    "flat zonotope": (
        lambda: Zonotope(np.vstack([A, A[0]])),
        ["the zonotope is flat", "3 of 4 dimensions", "drop rows"],
    ),
    "edges of a cycle": (
        lambda: from_graph(nx.cycle_graph(3)).to_networkx([0, 1, 2]),
        ["edges must be a draw", "close a cycle"],
    ),
    "edge weight beyond floats": (
        lambda: from_graph(nx.Graph([(0, 1, {"w": 10**400})]), weight="w"),
        ["edge weights", "floats can hold", "(0, 1)"],
    ),
    "design of too few rows": (
        lambda: DesignRegression(3).fit(A.T, np.ones(8)),
        ["4 coefficients (3 columns and an intercept)", "from 4 to 8"],
    ),
    "design of too little data": (
        lambda: DesignRegression().fit(A.T[:3], np.ones(3)),
        ["X has 3 rows and the model 4 coefficients", "fit_intercept=False"],
    ),
    "design with a constant column": (
        lambda: DesignRegression().fit(put(A.T, np.s_[:, 1], value=2.0), np.ones(8)),
        ["X with the column of ones of the intercept", "rank 3 but 4", "also constant columns"],
    ),
}

MORE_TYPES = {
    "window": (
        lambda: HitAndRun(window=np.array([1.0, 2.0])),
        ["window must be a number, got array([1., 2.])"],
    ),
    "groups": (
        lambda: shortlist(np.ones(8), A.T, 2, groups=[[1]] * 8, at_most=1),
        ["groups must hold names", "got [1]"],
    ),
    "query": (
        lambda: summarize("Low tide. High tide. No tide.", 1, query=5),
        ["query must be text, got 5"],
    ),
    "kernel_params": (
        lambda: LandmarkSelector(2, kernel_params=3).fit(A.T),
        ["kernel_params must be a dict", "got 3"],
    ),
    "progress": (lambda: sample(TARGET, 1, progress="no"), ["progress must be True or False"]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_batches(name):
    refuses(STREAMS[name][0], ValueError, *STREAMS[name][1])


@pytest.mark.parametrize("name", NO_BATCHES)
def test_what_is_no_batch(name):
    refuses(NO_BATCHES[name][0], TypeError, *NO_BATCHES[name][1])


@pytest.mark.parametrize("name", MORE_VALUES)
def test_values_of_other_entries(name):
    refuses(MORE_VALUES[name][0], ValueError, *MORE_VALUES[name][1])


@pytest.mark.parametrize("name", MORE_TYPES)
def test_types_of_other_entries(name):
    refuses(MORE_TYPES[name][0], TypeError, *MORE_TYPES[name][1])


@pytest.mark.parametrize(
    "power",
    [np.array([2.0]), np.ma.masked, np.complex128(2), np.timedelta64(2, "s"), np.bool_(True)],
)
def test_what_numpy_turns_into_a_number_but_is_none(power):
    refuses(lambda: VolumeSampling(A, power=power), TypeError, "power must be a number, got")


def test_a_number_may_be_an_array_without_dimensions():
    assert VolumeSampling(A, power=np.array(2)).power == 2.0


def test_labels_may_come_one_after_another():
    named = shortlist(np.arange(8.0), A.T, 2, labels=(f"item {i}" for i in range(8)))
    assert named.labels == [f"item {i}" for i in named]


@pytest.mark.parametrize("name", ENTRIES)
def test_entries(name):
    refuses(ENTRIES[name][0], ValueError, *ENTRIES[name][1])


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    refuses(SHAPES[name][0], ValueError, *SHAPES[name][1])


@pytest.mark.parametrize("name", RANK)
def test_rank(name):
    refuses(RANK[name][0], ValueError, *RANK[name][1])


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    refuses(VALUES[name][0], ValueError, *VALUES[name][1])


@pytest.mark.parametrize("name", SAMPLING)
def test_arguments_of_sample(name):
    refuses(SAMPLING[name][0], ValueError, *SAMPLING[name][1])


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    refuses(TYPES[name][0], TypeError, *TYPES[name][1])


def test_only_keywords():
    with pytest.raises(TypeError):
        ProjectionDPP(A, np.ones(8))
    with pytest.raises(TypeError):
        sample(TARGET, 10, "exact")


@pytest.mark.parametrize("n", [20, 20_000])
@pytest.mark.parametrize("seed", range(5))
def test_numerical_rank_is_found_at_any_length(seed, n):
    """Rows that depend on others up to rounding, in any units and any number of items."""
    rng = np.random.default_rng(seed)
    r, rank = 6, int(rng.integers(1, 6))
    deficient = rng.normal(size=(r, rank)) @ rng.normal(size=(rank, n))
    deficient *= 10.0 ** rng.uniform(-9, 9, (r, 1))
    refuses(lambda: ProjectionDPP(deficient), ValueError, f"rank {rank} but 6 rows")


@pytest.mark.parametrize("exponent", [6, 8, 10, 12])
def test_ill_conditioned_is_not_called_deficient(exponent):
    rng = np.random.default_rng(exponent)
    left, right = (np.linalg.qr(rng.normal(size=(5, 5)))[0] for _ in range(2))
    mixed = (left * np.logspace(0, -exponent, 5)) @ right @ rng.normal(size=(5, 40))
    assert ProjectionDPP(mixed).marginals().sum() == pytest.approx(5, abs=1e-2)
