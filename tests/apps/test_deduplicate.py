"""Duplicates: the rule by its definition, texts, copies, and buckets for many rows."""

import numpy as np
import pytest
import scipy.sparse as sp

import zonodpp.apps.duplicates as duplicates
from zonodpp.apps import deduplicate


def by_definition(X, threshold):
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    near = unit @ unit.T >= threshold - 1e-12
    kept, groups = [], []
    for i in range(len(X)):
        before = [j for j in kept if near[i, j]]
        groups.append(before[0] if before else i)
        if not before:
            kept.append(i)
    return kept, groups


def noisy_copies(n, copies, d=12, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n, d)), copies, axis=0)
    X += noise * rng.normal(size=X.shape)
    return X[rng.permutation(len(X))]


@pytest.mark.parametrize("threshold", [0.7, 0.97, 1.0])
def test_a_row_is_kept_unless_it_is_near_one_that_is(monkeypatch, threshold):
    monkeypatch.setattr(duplicates, "_BLOCK", 64)
    X = noisy_copies(100, 4)
    X[7] = X[300] = X[3]
    kept, groups = by_definition(X, threshold)
    for items in (X, 1e200 * X, sp.csr_array(X), X.astype(np.float32)):
        found = deduplicate(items, threshold)
        if threshold < 1:
            assert found.indices.tolist() == kept
            assert found.groups.tolist() == groups
        assert found.groups[300] == found.groups[7] == found.groups[3]


def test_a_pair_just_below_the_threshold_is_kept():
    angle = np.arccos(0.97)
    for shift, count in ((1e-9, 2), (-1e-9, 1)):
        X = [[1.0, 0.0], [np.cos(angle + shift), np.sin(angle + shift)]]
        assert len(deduplicate(X)) == count


def test_buckets_find_nearly_all_that_is_near():
    X = noisy_copies(400, 3, d=32)
    exact, found = deduplicate(X, 0.97), deduplicate(X, 0.97, exact=False)
    assert len(exact) <= len(found) <= 1.02 * len(exact)
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    assert (np.einsum("ij,ij->i", unit, unit[found.groups]) >= 0.97 - 1e-9).all()
    assert set(found.groups.tolist()) == set(found.indices.tolist())


def test_texts():
    pytest.importorskip("sklearn")
    texts = ["The ship sailed at dawn.", "!!!", "???", "Whales swim.", "the ship sailed, at dawn"]
    texts += ["!!!"]
    found = deduplicate(texts)
    assert found.indices.tolist() == [0, 1, 2, 3]
    assert found.groups.tolist() == [0, 1, 2, 3, 0, 1]
    assert deduplicate(np.array(texts)).indices.tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="must all be texts"):
        deduplicate(["a", 1])


def test_tables(tmp_path):
    pd = pytest.importorskip("pandas")
    X = noisy_copies(20, 3)
    expected = deduplicate(X).indices
    table = pd.DataFrame({"name": "x", "embedding": list(X)})
    np.testing.assert_array_equal(deduplicate(table, columns="embedding").indices, expected)
    path = tmp_path / "table.parquet"
    table.to_parquet(path)
    for where in (path, str(path)):
        np.testing.assert_array_equal(deduplicate(where, columns="embedding").indices, expected)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="threshold must be above 0 and at most 1"):
        deduplicate(np.eye(2), 1.5)
    with pytest.raises(TypeError, match="columns= names columns of a table"):
        deduplicate(np.eye(2), columns=["a"])
    with pytest.raises(ValueError, match="exact=False is for dense rows"):
        deduplicate(sp.csr_array(np.eye(2)), exact=False)
