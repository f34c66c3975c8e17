import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.linalg.interpolative as scipy_id
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.linalg import aslinearoperator
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from zonodpp.apps import ColumnSelector, cur, interpolative
from zonodpp.apps.columns import coordinates as column_coordinates
from zonodpp.apps.columns.coordinates import as_operand, coordinates
from zonodpp.apps.columns.pivots import draw_pivots, oblique_coefficients
from zonodpp.apps.columns.search import ColumnCoordinates, ColumnSearch

METHODS = ["search", "arp", "osinsky", "qdeim"]


@pytest.fixture(scope="module", name="A")
def decaying():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(60, 40)) * 0.8 ** np.arange(40)) @ rng.normal(size=(40, 40))


def squared_error(A, columns):
    Q, _ = np.linalg.qr(A[:, columns])
    rest = A - Q @ (Q.T @ A)
    return ((rest - Q @ (Q.T @ rest)) ** 2).sum()


def best_error(A, k):
    return (np.linalg.svd(A, compute_uv=False)[k:] ** 2).sum()


@pytest.mark.parametrize("method", METHODS)
def test_errors_are_what_they_say(A, method):
    found = interpolative(A, 7, method=method, rng=0)
    assert found.coefficients.shape == (7, 40)
    left = A - A[:, found.columns] @ found.coefficients
    assert_allclose([(left**2).sum(), squared_error(A, found.columns)], found.error)
    assert_allclose(found.best_error, best_error(A, 7))
    assert_array_equal(found.coefficients[:, found.columns], np.eye(7))
    assert (np.diff(found.columns) > 0).all()


def skewed_matrix():
    rng = np.random.default_rng(107)  # errors vary little between draws
    sizes = np.exp(rng.normal(size=12))
    return (rng.normal(size=(15, 8)) * 0.5 ** np.arange(8)) @ (rng.normal(size=(8, 12)) * sizes)


def test_the_bound_by_enumeration():
    """Over all sets, with their probabilities, the mean error is k + 1 times the best."""
    A, k = skewed_matrix(), 3
    V = np.linalg.svd(A)[2][:k].T
    sets = np.array(list(combinations(range(12), k)))
    chances = np.linalg.det(V[sets]) ** 2
    errors = [((A - A[:, S] @ oblique_coefficients(V, S)) ** 2).sum() for S in sets]
    assert_allclose([chances.sum(), chances @ errors], [1, (k + 1) * best_error(A, k)])


def mean_error(A, pick, draws=1000, k=3):
    """Return the mean squared error over the best of rank k, with coefficients of the bound."""
    given = coordinates(as_operand(A), 0, np.random.default_rng(0))
    V = given.C[:, :k] / np.sqrt(given.squares[:k])
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(draws):
        S = pick(V, given.C[:, k:], rng)
        errors.append(((A - A[:, S] @ oblique_coefficients(V, S)) ** 2).sum())
    return np.mean(errors) / best_error(A, k)


def test_mean_error_of_adaptive_randomized_pivoting_is_that_of_its_bound():
    """The mean is k + 1 times the best; the same check rejects columns picked uniformly."""
    A = skewed_matrix()

    def is_that_of_the_bound(pick):
        return abs(mean_error(A, pick) - 4) < 0.8  # four standard errors

    assert is_that_of_the_bound(draw_pivots)
    assert not is_that_of_the_bound(lambda V, rest, rng: rng.choice(12, 3, replace=False))


def test_the_method_arp_follows_its_law(A):
    """With coefficients of least squares, the mean error is below the bound."""
    errors = [interpolative(A, 4, method="arp", rng=seed).error for seed in range(100)]
    assert np.mean(errors) < 5 * best_error(A, 4)
    assert len(set(errors)) > 50


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_bound_of_osinsky_holds_for_every_matrix(k):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = (rng.normal(size=(30, 20)) * 0.7 ** np.arange(20)) @ rng.standard_cauchy((20, 25))
        given = coordinates(as_operand(A), 0, rng)
        V = given.C[:, :k] / np.sqrt(given.squares[:k])
        S = interpolative(A, k, method="osinsky").columns
        left = A - A[:, S] @ oblique_coefficients(V, S)
        assert (left**2).sum() <= (k + 1) * best_error(A, k) * (1 + 1e-9)


def naive_search(A, S):
    """Return the errors of all sets that differ from S in one column."""
    others = np.setdiff1d(np.arange(A.shape[1]), S)
    return [squared_error(A, [*np.delete(S, i), j]) for i in range(len(S)) for j in others]


def test_no_exchange_of_one_column_is_better(A):
    for k in (1, 4, 9):
        found = interpolative(A, k)
        assert min(naive_search(A, found.columns)) > found.error * (1 - 2e-3)


def small_tail(rng):
    """Columns in six coordinates, each with a part of its own beyond them."""
    _, values, V = np.linalg.svd(rng.normal(size=(6, 15)), full_matrices=False)
    tail = rng.uniform(0.1, 2.0, 15)
    given = ColumnCoordinates((values[:, None] * V).T, values**2, tail, np.zeros((6, 0)))
    whole = np.vstack([given.C.T, np.diag(np.sqrt(tail))])  # the columns that this stands for
    return given, whole


def test_numbers_of_the_search_are_those_of_the_columns():
    """Residuals, gains, losses and errors, with parts left out and without, and with targets."""
    rng = np.random.default_rng(3)
    given, whole = small_tail(rng)
    exact = coordinates(as_operand(rng.normal(size=(9, 15)), rng.normal(size=(9, 2))), 0, rng)
    for one, weight in ((given, 1.0), (exact, 0.3), (exact, 0.0)):
        search = ColumnSearch(one, 5, weight)
        targets = np.vstack([one.targets, np.zeros((15, one.targets.shape[1]))])
        A = whole if one is given else np.vstack([one.C.T, np.zeros((15, 15))])

        def error(S, A=A, targets=targets, weight=weight):
            Q, _ = np.linalg.qr(A[:, S])
            rest = targets - Q @ (Q.T @ targets)
            return weight * squared_error(A, S) + (rest**2).sum()

        for place in range(5):
            gain = search._gains(search.left, search.square, search.valid)
            j = int(np.argmax(gain))
            before = error(search.chosen) if place else weight * (A**2).sum() + (targets**2).sum()
            search._put(place, j)
            if one is exact:
                assert_allclose(gain[j], before - error(search.chosen))
                assert_allclose(search.error(), error(search.chosen))
        left, square = search.left.copy(), search.square.copy()
        search._compute()
        assert_allclose(left, search.left, rtol=1e-6, atol=1e-9)
        assert_allclose(square, search.square, rtol=1e-6, atol=1e-9)
        if one is exact:
            _, _, loss = search._without(np.arange(5), search._directions(np.arange(5)))
            others = [error(np.delete(search.chosen, i)) for i in range(5)]
            assert_allclose(loss, np.array(others) - error(search.chosen))


def test_errors_near_rounding():
    """Gains are not differences of squared lengths, and so survive 25 digits below the norm."""
    A = scipy.linalg.hilbert(60)
    for k in (3, 8, 13):
        found = interpolative(A, k)
        assert_allclose(found.error, squared_error(A, found.columns), rtol=0.01)
        assert found.error < 1.5 * best_error(A, k)
        assert found.error <= squared_error(A, scipy_id.interp_decomp(A, k, rng=None)[0][:k])
    found = interpolative(A, 40)  # more than there are to floating-point numbers
    assert len(found.columns) < 20
    assert found.error < 1e-24


@pytest.mark.parametrize("method", METHODS)
def test_zero_columns_duplicates_and_low_rank(method):
    rng = np.random.default_rng(0)
    core = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 8))
    A = np.hstack([np.zeros((20, 2)), core, core, np.zeros((20, 1))])
    for k in (3, 5):
        found = interpolative(A, k, method=method, rng=0)
        assert len(found.columns) == 3
        assert not {0, 1, 18} & set(found.columns.tolist())
        assert_allclose(A[:, found.columns] @ found.coefficients, A, atol=1e-9)
    nothing = interpolative(np.zeros((4, 5)), 2, method=method)
    assert nothing.columns.size == nothing.error == nothing.best_error == 0
    assert nothing.coefficients.shape == (0, 5)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (5, 5), (3, 40), (40, 3)])
@pytest.mark.parametrize("method", METHODS)
def test_shapes(shape, method):
    A = np.random.default_rng(0).normal(size=shape)
    one = interpolative(A, 1, method=method, rng=0)
    assert one.columns.shape == (1,)
    whole = interpolative(A, min(shape), method=method, rng=0)
    assert_allclose(A[:, whole.columns] @ whole.coefficients, A, atol=1e-9)
    assert whole.error <= 1e-20


def test_the_same_columns_whatever_they_come_in(A, tmp_path):
    expected = interpolative(A, 5)
    np.save(tmp_path / "A.npy", A)
    np.save(tmp_path / "wide.npy", A.T[:, :30])
    sources = [
        A.tolist(),
        np.asfortranarray(A),
        sp.csr_array(A),
        sp.coo_matrix(A),
        pd.DataFrame(A),
        lambda: iter([A[:7], A[7:40], A[40:]]),
        np.load(tmp_path / "A.npy", mmap_mode="r"),
    ]
    for source in sources:
        found = interpolative(source, 5)
        assert_array_equal(found.columns, expected.columns)
        assert_allclose(found.coefficients, expected.coefficients, atol=1e-8)
        assert_allclose([found.error, found.best_error], [expected.error, expected.best_error])
    wide = interpolative(np.load(tmp_path / "wide.npy", mmap_mode="r"), 5)
    assert_array_equal(wide.columns, interpolative(A.T[:, :30], 5).columns)


def test_products_alone(A, monkeypatch):
    found = interpolative(aslinearoperator(A), 5, rng=0)
    assert found.error == pytest.approx(squared_error(A, found.columns), rel=0.5)
    assert squared_error(A, found.columns) < 2 * best_error(A, 5)
    both = cur(aslinearoperator(A), 5, rng=0)
    left = A - A[:, both.columns] @ both.middle @ A[both.rows]
    assert (left**2).sum() < 4 * best_error(A, 5)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, aslinearoperator])
def test_large_matrices_by_random_products(kind, monkeypatch):
    """Every matrix counts as large here: coordinates leave something out."""
    monkeypatch.setattr(column_coordinates, "_SMALL", 0)
    monkeypatch.setattr(column_coordinates, "_NARROW", 0)
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(150, 90)) / np.arange(1, 91)) @ rng.normal(size=(90, 120))
    X += rng.normal(size=X.shape) / 20
    for k in (3, 10):
        found = interpolative(kind(X), k, rng=0)
        error = squared_error(X, found.columns)
        assert error < 1.6 * best_error(X, k)
        if kind is not aslinearoperator:
            assert_allclose(found.error, error)
            assert best_error(X, k) * 0.999 < found.best_error < 1.1 * best_error(X, k)
    found = interpolative(kind(X), tol=0.3, rng=0)
    assert squared_error(X, found.columns) < 0.35**2 * (X**2).sum()
    assert len(found.columns) < 30


@pytest.mark.parametrize("method", METHODS)
def test_tolerance(A, method):
    counts = []
    for tol in (0.9, 0.3, 0.01, 1e-6):
        found = interpolative(A, tol=tol, method=method, rng=0)
        counts.append(len(found.columns))
        if method != "arp":  # whose bound is that of a mean
            assert found.error <= tol**2 * (A**2).sum()
    assert counts == sorted(counts)
    if method == "search":  # one column less is not enough
        fewer = interpolative(A, counts[2] - 1)
        assert fewer.error > 0.01**2 * (A**2).sum()


def test_columns_and_rows(A):
    for method in METHODS:
        found = cur(A, 6, method=method, rng=0)
        left = A - A[:, found.columns] @ found.middle @ A[found.rows]
        assert_allclose(found.error, (left**2).sum(), rtol=1e-6)
        assert found.best_error <= found.error
    best = cur(A, 6)
    assert best.error < 2.5 * best_error(A, 6)
    C, R = A[:, best.columns], A[best.rows]
    assert_allclose(best.middle, np.linalg.pinv(C) @ A @ np.linalg.pinv(R), atol=1e-8)
    assert_array_equal(cur(sp.csr_array(A), 6).rows, best.rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A: interpolative(A), "pass k"),
        (lambda A: interpolative(A, 3, 0.1), "not both"),
        (lambda A: interpolative(A, 0), "at least 1"),
        (lambda A: interpolative(A, 41), "at most 40"),
        (lambda A: interpolative(A, tol=-1.0), "positive"),
        (lambda A: interpolative(A, 3, method="svd"), "method must be one of 'search'"),
        (lambda A: interpolative(A * np.nan, 3), "A has NaN"),
        (lambda A: interpolative(A * 1e200, 3), "scale A first"),
        (lambda A: interpolative(A * 1e-200, 3), "scale A first"),
        (lambda A: interpolative(lambda: iter([]), 3), "no rows"),
        (lambda A: cur(lambda: iter([A]), 3), "read in passes; load it"),
        (lambda A: cur(A, 50), "at most 40"),
        (lambda A: ColumnSelector(target_weight=2).fit(A), "target_weight must be from 0 to 1"),
        (lambda A: ColumnSelector(3).fit(A, [1, 2]), "one entry for each of the 60 rows"),
        (
            lambda A: ColumnSelector(3).fit(A).inverse_transform(A),
            r"3 column\(s\), got shape \(60, 40\)",
        ),
    ],
)
def test_errors_in_arguments(A, call, message):
    with pytest.raises(ValueError, match=message):
        call(A)


CHECKS = [
    pair
    for estimator in (ColumnSelector(), ColumnSelector(2, target_weight=0.0))
    for pair in estimator_checks_generator(estimator)
]


@pytest.mark.filterwarnings("ignore:k=")
@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[f"{each}-{check.func.__name__}" for each, check in CHECKS]
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def test_selector_keeps_frames_and_means(A):
    frame = pd.DataFrame(A + 100.0, columns=[f"x{j}" for j in range(40)])
    selector = ColumnSelector(6).set_output(transform="pandas").fit(frame)
    picked = selector.transform(frame)
    assert list(picked.columns) == list(selector.get_feature_names_out())
    pd.testing.assert_frame_equal(picked, frame.loc[:, selector.get_support()])
    back = selector.inverse_transform(picked)
    assert_allclose(((back - frame.to_numpy()) ** 2).sum(), selector.error_)
    centred = A - A.mean(axis=0)
    assert_array_equal(selector.columns_, interpolative(centred, 6).columns)
    assert_allclose(selector.best_error_, best_error(centred, 6))
    sparse = ColumnSelector(6).fit(sp.csr_array(A))
    assert_array_equal(sparse.columns_, selector.columns_)


def test_a_wide_sparse_table_is_centred_without_being_made_dense(A):
    wide = sp.csr_array(A.T[:, :30] + 3.0 * (A.T[:, :30] > 1))[:20]
    dense = wide.toarray()
    found = ColumnSelector(5).fit(wide)
    assert_array_equal(found.columns_, ColumnSelector(5).fit(dense).columns_)
    assert_allclose(found.error_, ColumnSelector(5).fit(dense).error_)


def r_squared(X, y, columns):
    return LinearRegression().fit(X[:, columns], y).score(X[:, columns], y)


def test_columns_that_serve_a_prediction():
    X, y = load_diabetes(return_X_y=True)
    scores = [
        r_squared(X, y, ColumnSelector(3, target_weight=w).fit(X, y).columns_) for w in (0, 0.9, 1)
    ]
    assert scores[0] < scores[1] - 0.05
    best = max(r_squared(X, y, [i, j, k]) for i in range(10) for j in range(i) for k in range(j))
    assert scores[2] > best - 1e-3
    # Targets in other units, and two at once, change nothing.
    same = ColumnSelector(3).fit(X, y).columns_
    assert_array_equal(ColumnSelector(3).fit(X, 1e6 * y - 5).columns_, same)
    assert_array_equal(ColumnSelector(3).fit(X, np.column_stack([y, -y])).columns_, same)
    assert_array_equal(
        ColumnSelector(3).fit(X, np.ones(len(X))).columns_, ColumnSelector(3).fit(X).columns_
    )


def test_columns_that_serve_a_classification():
    X, y = load_breast_cancer(return_X_y=True)
    Z = StandardScaler().fit_transform(X)
    by_number = ColumnSelector(3).fit(Z, y).columns_
    by_name = ColumnSelector(3).fit(Z, np.array(["benign", "malignant"])[y]).columns_
    assert_array_equal(by_number, by_name)
    assert r_squared(Z, y, by_number) > r_squared(Z, y, ColumnSelector(3).fit(Z).columns_) + 0.02
    model = make_pipeline(StandardScaler(), ColumnSelector(3), LinearRegression()).fit(X, y)
    assert_array_equal(model[1].columns_, by_number)


def test_the_command(call, fails, tmp_path):
    def says(*words):
        code, out, err = call(*words)
        assert (code, err) == (0, "")
        return out

    foods = says("info", "--example", "foods")
    (tmp_path / "foods.csv").write_text(foods, "utf-8")
    words = ("columns", "foods.csv", "--id", "food", "--standardize")
    names = says(*words, "-k", 3).split()
    frame = pd.read_csv(tmp_path / "foods.csv", index_col="food")
    Z = StandardScaler().fit_transform(frame)
    assert names == [frame.columns[j] for j in interpolative(Z, 3).columns]
    facts = json.loads(says(*words, "-k", 2, "--target", "protein", "--json"))
    found = ColumnSelector(2).fit(StandardScaler().fit_transform(frame.iloc[:, 1:]), frame.protein)
    assert facts["columns"] == [frame.columns[1 + j] for j in found.columns_]
    assert facts["error"] == pytest.approx(found.error_)
    table = says(*words, "-k", 2, "--csv").splitlines()
    assert table[0].startswith("item,")
    assert len(table) == 33
    assert "5 columns" in fails(*words, "-k", 6)
    says(*words, "-k", 2, "--out", "picked.npy")
    assert np.load("picked.npy").shape == (2,)


@pytest.mark.parametrize(
    "y",
    [
        np.ma.array([1.0, 2.0, 3.0, 4.0], mask=[1, 0, 0, 0]),
        np.array([1, 2, 3, 1j]),
        np.array(["2020-01-01"] * 4, dtype="M8[D]"),
        np.array([1, 2, 3, 4], dtype="m8[D]"),
        np.array([1.0, np.nan, 2.0, 3.0]),
        np.array([1.0, None, 2.0, 3.0], dtype=object),
        np.array(["a", None, "b", "a"], dtype=object),
        np.array(["a", 1, "b", 2], dtype=object),
        [[1.0], [2.0, 3.0], [4.0], [5.0]],
        [1.0, 2.0, 3.0],
        np.ones((4, 1, 1)),
    ],
)
def test_targets_that_are_neither_numbers_nor_classes_are_refused(y):
    X = np.random.default_rng(0).normal(size=(4, 3))
    with pytest.raises((TypeError, ValueError)) as caught:
        ColumnSelector(1).fit(X, y)
    assert "y" in str(caught.value)
    assert caught.value.__cause__ is None
    for classes in (["a", "b", "a", "b"], [True, False, True, True], [1, 2, 3, 4]):
        assert len(ColumnSelector(1).fit(X, classes).columns_) == 1
