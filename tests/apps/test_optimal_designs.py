"""Optimal designs beside enumeration, with runs given, with replicates and without, of tables."""

import itertools

import numpy as np
import pytest

from zonodpp.apps import optimal_design

X = np.random.default_rng(0).normal(size=(9, 3)) * [1.0, 5.0, 0.2]


def loss(criterion, rows):
    M = rows.T @ rows
    if np.linalg.matrix_rank(rows) < rows.shape[1]:
        return np.inf
    if criterion == "D":
        return -np.linalg.slogdet(M)[1]
    return np.trace(np.linalg.solve(M, np.eye(3) if criterion == "A" else X.T @ X))


@pytest.mark.parametrize("criterion", ["D", "A", "I"])
@pytest.mark.parametrize("replicates", [True, False])
@pytest.mark.parametrize("given", [None, X[[0, 1]], X[[3, 3, 4, 5]]])
def test_small_designs_are_the_best_of_all(criterion, replicates, given):
    k = 4 if given is None else 2
    runs = np.zeros((0, 3)) if given is None else given
    ways = itertools.combinations_with_replacement if replicates else itertools.combinations
    losses = [loss(criterion, np.append(runs, X[list(S)], axis=0)) for S in ways(range(9), k)]
    found = optimal_design(X, k, given=given, criterion=criterion, replicates=replicates)
    assert len(found) == k
    assert replicates or len(set(found.tolist())) == k
    mine = loss(criterion, np.append(runs, X[found], axis=0))
    assert mine == pytest.approx(min(losses), rel=1e-9)
    assert sorted(losses)[1] > mine + 1e-12  # another design would be noticed


def test_one_run_completes_those_given():
    assert len(optimal_design(X, 1, given=X[:5])) == 1
    assert len(optimal_design(X, 1, given=X[:2])) == 1


def test_tables_with_categories_and_formulas():
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("formulaic")
    levels = itertools.product([-1.0, 0.0, 1.0], ["red", "blue", "green"])
    table = pd.DataFrame(list(levels), columns=["dose", "the colour"])
    found = table.iloc[optimal_design(table, 6)]
    assert sorted(found["the colour"].value_counts()) == [2, 2, 2]
    assert set(found["dose"]) == {-1.0, 1.0}
    curved = table.iloc[optimal_design(table, 3, formula="dose + {dose**2}")]
    assert sorted(curved["dose"]) == [-1.0, 0.0, 1.0]
    more = table.iloc[optimal_design(table, 3, given=table[table["the colour"] != "red"])]
    assert set(more["the colour"]) == {"red"}


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="fewer than the 3 terms of the model"):
        optimal_design(X, 2)
    with pytest.raises(ValueError, match="there are 9 candidates"):
        optimal_design(X, 10, replicates=False)
    with pytest.raises(ValueError, match="linearly dependent"):
        optimal_design(X[:, [0, 1, 1]], 4)
    with pytest.raises(ValueError, match="given must have the 3 columns"):
        optimal_design(X, 4, given=X[:, :2])
    with pytest.raises(TypeError, match="formula= is for a table"):
        optimal_design(X, 4, formula="a")
    with pytest.raises(ValueError, match="criterion must be one of"):
        optimal_design(X, 4, criterion="E")
