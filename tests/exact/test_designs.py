"""Designs: P(S) proportional to det(X_S' X_S), their maxima, and least squares on them."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from law import THRESHOLD, p_value

from zonodpp import Design, Samples, diagnostics, find_map, sample
from zonodpp.exact import designs as sampler

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(5)
X = RNG.normal(size=(8, 3))
Q = np.array([1.0, 0.2, 3.0, 0.0, 1.0, 2.0, 0.5, 1.0])
DEGENERATE = np.array([[1, 0], [1, 0], [0, 0], [2, 1], [0, 3], [-4, -2], [1, 1]], dtype=float)
CASES = {
    "k = d": Design(X, 3),
    "k > d": Design(X, 5),
    "k = n": Design(X, 8),
    "n = d": Design(X[:3], 3),
    "d = 1": Design(X[:, :1], 3),
    "weighted": Design(X, 5, weights=Q),
    "equal, parallel and zero rows": Design(DEGENERATE, 4),
    "sparse": Design(sp.csr_array(DEGENERATE), 3),
    "weights over twelve orders": Design(X, 4, weights=np.logspace(-6, 6, 8)),
}


def rows_of(target):
    A = target.base.A
    rows = (A.toarray() if sp.issparse(A) else A).T
    return rows if target.weights is None else rows * np.sqrt(target.weights)[:, None]


def enumerate_designs(target):
    """All sets of k rows and their probabilities, from determinants alone."""
    rows = rows_of(target)
    sets = np.array(list(combinations(range(target.n), target.k)))
    gram = np.einsum("sij,sik->sjk", rows[sets], rows[sets])
    dets = np.linalg.det(gram)
    dets[dets < 1e-13 * dets.max()] = 0.0
    return sets, dets / dets.sum()


@pytest.fixture(params=CASES)
def target(request):
    return CASES[request.param]


def test_draws_follow_the_law(target):
    draws = sample(target, 4000, rng=1).subsets
    assert p_value(draws, *enumerate_designs(target)) > THRESHOLD


def by_leverage(rng, items, n, count):
    others = np.setdiff1d(np.arange(n), items)
    scores = CASES["k > d"].base.marginals()[others]
    return rng.choice(others, count, replace=False, p=scores / scores.sum())


def by_modulo(rng, items, n, count):
    """Take a remainder of a random number for a uniform item: small remainders come too often."""
    others = np.setdiff1d(np.arange(n), items)
    chances = np.bincount(np.arange(8) % others.size) / 8
    return rng.choice(others, count, replace=False, p=chances)


@pytest.mark.parametrize("broken", [by_leverage, by_modulo])
def test_the_check_rejects_others_that_are_not_uniform(broken, monkeypatch):
    monkeypatch.setattr(sampler, "uniform_others", broken)
    target = CASES["k > d"]
    draws = sample(target, 4000, rng=1).subsets
    assert p_value(draws, *enumerate_designs(target)) < THRESHOLD


def test_the_check_rejects_uniform_sets():
    target = CASES["k > d"]
    rng = np.random.default_rng(0)
    draws = [np.sort(rng.choice(8, 5, replace=False)) for _ in range(4000)]
    assert p_value(draws, *enumerate_designs(target)) < THRESHOLD


def test_log_prob_is_normalised_and_equals_the_law(target):
    sets, probabilities = enumerate_designs(target)
    found = np.exp(target.log_prob(sets))
    assert np.abs(found - probabilities).max() < 1e-10
    assert (found[probabilities == 0] < 1e-12).all()


def test_rows_that_do_not_span_all_directions_have_probability_zero():
    assert np.isneginf(CASES["equal, parallel and zero rows"].log_prob([[0, 1, 2, 6]])).sum() == 0
    assert np.isneginf(Design(DEGENERATE, 3).log_prob([[0, 1, 2], [2, 3, 5]])).all()


def test_marginals_and_inclusion_equal_the_law(target):
    sets, probabilities = enumerate_designs(target)
    for size in range(target.n + 1):
        asked = list(combinations(range(target.n), size))
        exact = [probabilities[np.isin(sets, S).sum(axis=1) == size].sum() for S in asked]
        found = target.inclusion(np.array(asked, dtype=int))
        assert np.abs(found - exact).max() < 1e-10
        if size == 1:
            assert np.abs(target.marginals() - exact).max() < 1e-10


def test_probabilities_of_large_designs_are_finite():
    rows = np.random.default_rng(0).normal(size=(20_000, 10))
    target = Design(rows, 5000)
    assert target.marginals().sum() == pytest.approx(5000)
    assert np.isfinite(target.log_prob(np.arange(5000)))
    assert 0 < target.inclusion(np.arange(30)) < target.inclusion(np.arange(29))


def test_draws_are_compared_with_the_target_by_diagnostics():
    draws = sample(CASES["k > d"], 4000, rng=2)
    assert np.abs(draws.marginals() - draws.target.marginals()).max() < 0.04
    assert diagnostics.total_variation(draws) < 0.1


def test_rows_have_the_labels_of_a_table(tmp_path):
    table = pd.DataFrame(X, index=list("abcdefgh"))
    target = Design(table, 4, weights=Q)
    assert repr(target) == "Design(k=4, d=3, n=8, weighted)"
    assert target.inclusion(["a", "c"]) == target.inclusion([0, 2])
    draws = sample(target, 3, rng=0)
    draws.save(tmp_path / "draws.npz")
    again = Samples.load(tmp_path / "draws.npz")
    assert isinstance(again.target, Design)
    assert again.labelled() == draws.labelled()
    assert again.target.log_prob([0, 1, 2, 4]) == target.log_prob([0, 1, 2, 4])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Design(X, 2), "k = 2 rows asked for, but X has 3 columns"),
        (lambda: Design(X, 9), "k = 9 rows asked for, but X has 8"),
        (lambda: Design(X.T, 3), "3 items with 8 features"),
        (lambda: Design(np.ones((5, 2)), 3), "rank 1 but 2 columns"),
        (lambda: Design([[1.0], [np.nan]], 1), r"X has NaN or infinity .* \[1, 0\]"),
        (lambda: Design(X, 5).log_prob([0, 1, 2]), "k = 5 items, got 3"),
        (lambda: Design(X, 5).condition(exclude=[0]), r"Design\(X\[kept\], k\)"),
        (lambda: sample(Design(X, 5), 1, method="zonotope"), "method='exact'"),
        (lambda: find_map(Design(X, 5), k=4), "k = 5 items, got k = 4"),
        (lambda: find_map(Design(X, 5), ridge=0.1), "a ridge is for DPP and KDPP"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_maximum_equals_that_of_enumeration(target):
    _, probabilities = enumerate_designs(target)
    found = find_map(target)
    assert found.optimal == "swaps"
    rows = rows_of(target)[found.subset]
    assert found.log_weight == pytest.approx(np.linalg.slogdet(rows.T @ rows)[1], abs=1e-8)
    assert np.exp(target.log_prob(found.subset)) == pytest.approx(probabilities.max())


def coarse_rows():
    """Yield rows of few distinct values, of which many sets of k are singular."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.integers(-1, 2, size=(8, 3)).astype(float)
        if np.linalg.matrix_rank(rows) == 3:
            yield from ((rows, k) for k in (3, 4, 5))
    yield np.array([[1, 0], [1, 0], [0, 1], [1, 1], [0, 0], [1, -1]], dtype=float), 2
    yield np.repeat(np.eye(5), 3, axis=0), 6
    factors = np.repeat(np.eye(3), 4, axis=0), np.tile(np.eye(4)[:, 1:], (3, 1))
    yield np.hstack(factors), 7


def test_singular_random_designs_do_no_harm():
    for rows, k in coarse_rows():
        _, probabilities = enumerate_designs(Design(rows, k))
        found = find_map(Design(rows, k))
        assert np.exp(Design(rows, k).log_prob(found.subset)) == pytest.approx(probabilities.max())


def best_factor(rows, members):
    """By what the best exchange multiplies the determinant, each by a determinant of its own."""
    before = np.linalg.slogdet(rows[members].T @ rows[members])[1]
    best = -np.inf
    for i in range(len(members)):
        kept = np.delete(members, i)
        for j in np.setdiff1d(np.arange(len(rows)), members):
            trial = rows[np.append(kept, j)]
            best = max(best, np.linalg.slogdet(trial.T @ trial)[1])
    return np.exp(best - before)


@pytest.mark.parametrize("k", [4, 6, 11])
def test_no_exchange_improves_the_maximum_but_some_improve_the_greedy_set(k):
    rows = np.random.default_rng(k).normal(size=(120, 4))
    greedy, best = find_map(Design(rows, k), swaps=False), find_map(Design(rows, k))
    assert greedy.optimal == "greedy"
    assert best.log_weight >= greedy.log_weight
    assert best_factor(rows, best.subset) < 1 + 1e-8
    shifted = np.append(best.subset[1:], np.setdiff1d(np.arange(120), best.subset)[0])
    assert best_factor(rows, shifted) > 1


def test_many_rows_are_searched_in_parts():
    rows = np.random.default_rng(0).normal(size=(5000, 6))
    found = find_map(Design(rows, 15))
    inverse = np.linalg.inv(rows[found.subset].T @ rows[found.subset])
    across = rows @ inverse @ rows.T[:, found.subset]
    own = np.einsum("ij,jk,ik->i", rows, inverse, rows)
    factors = np.outer(1 + own, 1 - own[found.subset]) + across**2
    factors[found.subset] = 0
    assert factors.max() < 1 + 1e-8
    assert found.optimal == "swaps"


# Least squares. Two rows have most of the leverage, and labels are far from linear.
POSITIONS = np.array([-6.0, -1.0, -0.6, -0.3, 0.0, 0.2, 0.4, 0.7, 1.0, 1.2, 1.3, 7.0])
LINE = np.column_stack([np.ones(12), POSITIONS])
LABELS = POSITIONS**2 + np.array([3, 0, -1, 0, 2, 0, 0, 1, 0, -2, 0, 4.0])
FULL = np.linalg.lstsq(LINE, LABELS)[0]


def fit_rows(S):
    return np.linalg.lstsq(LINE[S], LABELS[S])[0]


def test_least_squares_on_designs_is_unbiased_and_on_uniform_rows_it_is_not():
    sets, probabilities = enumerate_designs(Design(LINE, 4))
    fits = np.array([fit_rows(S) for S in sets])
    assert np.abs(probabilities @ fits - FULL).max() < 1e-10
    assert np.abs(fits.mean(axis=0) - FULL).max() > 0.1


def standard_errors_off(fits):
    errors = fits.std(axis=0, ddof=1) / np.sqrt(len(fits))
    return np.abs(fits.mean(axis=0) - FULL) / errors


@pytest.mark.parametrize("rescaled", [False, True])
def test_the_estimator_is_unbiased(rescaled):
    apps = pytest.importorskip("zonodpp.apps.designs")
    state = np.random.RandomState(3)
    model = apps.DesignRegression(4, rescaled=rescaled, random_state=state)
    fits = []
    for _ in range(600):
        model.fit(POSITIONS[:, None], LABELS)
        fits.append([model.intercept_, *model.coef_])
    assert standard_errors_off(np.array(fits)).max() < 3


def test_the_same_check_sees_that_uniform_rows_are_biased():
    rng = np.random.default_rng(3)
    uniform = [fit_rows(rng.choice(12, 4, replace=False)) for _ in range(600)]
    assert standard_errors_off(np.array(uniform)).max() > 5


@pytest.mark.parametrize("rescaled", [False, True])
def test_only_labels_of_drawn_rows_are_read(rescaled):
    apps = pytest.importorskip("zonodpp.apps.designs")
    model = apps.DesignRegression(6, rescaled=rescaled, random_state=0)
    asked = []

    def measure(rows):
        asked.append(rows)
        return LABELS[rows]

    model.fit(POSITIONS[:, None], measure)
    assert model.indices_.size == 6
    assert np.array_equal(asked[0], np.unique(model.indices_))
    known = np.full((12, 2), np.nan)
    known[model.indices_] = np.column_stack([LABELS, -LABELS])[model.indices_]
    both = apps.DesignRegression(6, rescaled=rescaled, random_state=0)
    both.fit(POSITIONS[:, None], known)
    assert both.coef_[:, 0] == pytest.approx([model.coef_[0], -model.coef_[0]])
    assert both.predict([[2.0]])[0, 0] == pytest.approx(model.predict([[2.0]])[0])
    with pytest.raises(ValueError, match="y has NaN"):
        model.fit(POSITIONS[:, None], np.full(12, np.nan))
    with pytest.raises(ValueError, match="got an array of shape"):
        model.fit(POSITIONS[:, None], lambda rows: 1.0)


def test_scikit_learn_accepts_the_estimator():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    from zonodpp.apps import DesignRegression

    found = checks.check_estimator(DesignRegression(), on_fail=None, on_skip=None)
    failed = {c["check_name"]: c["exception"] for c in found if c["status"] == "failed"}
    assert not failed
