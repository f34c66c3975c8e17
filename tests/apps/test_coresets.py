"""Coresets: clusters covered, weights and radius by definition, the same answer from any source."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import zonodpp.apps.coresets as coresets
from zonodpp.apps import LandmarkSelector, coreset
from zonodpp.targets.batches import array_rows


def clusters(n, count, d=16, seed=0, spread=0.2):
    """Return rows in clusters of very unequal size, each with two rows or more."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, count + 1)
    labels = np.concatenate([np.arange(count), np.arange(count)])
    labels = np.append(labels, rng.choice(count, n - 2 * count, p=shares / shares.sum()))
    rng.shuffle(labels)
    centres = 3 * rng.normal(size=(count, d))
    return centres[labels] + spread * rng.normal(size=(n, d)), labels


def by_definition(X, found):
    apart = cdist(X, X[found.indices])
    counts = np.bincount(apart.argmin(axis=1), minlength=len(found))
    np.testing.assert_array_equal(found.weights, counts)
    assert found.radius == pytest.approx(apart.min(axis=1).max())
    np.testing.assert_array_equal(found.rows, X[found.indices])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_cluster_is_covered(dtype):
    X, labels = clusters(20_000, 100)
    X = X.astype(dtype)
    found = coreset(X, 160)
    assert len(set(labels[found.indices])) == 100
    assert len(set(found.indices.tolist())) == 160
    random = np.random.default_rng(0).choice(len(X), 160, replace=False)
    assert len(set(labels[random])) < 80  # the check would notice a random choice
    by_definition(X.astype(np.float64), found)


def test_a_cluster_that_has_nearly_all_rows_leaves_room_for_others():
    rng = np.random.default_rng(1)
    labels = np.concatenate([np.zeros(30_010, int), np.repeat(np.arange(1, 200), 10)])
    X = 3 * rng.normal(size=(200, 24))[labels] + 0.5 * rng.normal(size=(32_000, 24))
    selector = LandmarkSelector(300, objective="coverage").fit(X)
    assert len(set(labels[selector.indices_])) >= 190
    assert len(set(labels[coreset(X, 300).indices])) >= 190


@pytest.mark.parametrize("objective", ["coverage", "volume", "trace"])
def test_weights_and_radius_are_as_defined(objective):
    X, _ = clusters(700, 20, d=3)
    found = coreset(X, 40, objective=objective, rng=0)
    assert len(set(found.indices.tolist())) == 40
    by_definition(X, found)


def test_the_radius_is_near_that_of_the_farthest_point_rule():
    X = np.random.default_rng(3).normal(size=(4000, 5))
    picks, left = [0], cdist(X, X[:1])[:, 0]
    while len(picks) < 50:
        picks.append(int(left.argmax()))
        left = np.minimum(left, cdist(X, X[picks[-1:]])[:, 0])
    np.testing.assert_array_equal(coresets.far_apart(X, 50, 1.0), picks)
    found = coresets.cover(batches_of(X, 30), 50)
    assert found.radius < 1.5 * left.max()  # the rule itself is at most twice the best radius


def batches_of(X, rows):
    """Return X in batches of so many rows, as tables with small row groups come."""
    from zonodpp.targets.batches import Batch, RowSource

    starts = range(0, len(X), rows)
    return RowSource(tuple((lambda s=s: Batch(X[s : s + rows], None)) for s in starts))


def test_batches_that_fill_the_memory_are_thinned(monkeypatch):
    X, labels = clusters(3000, 40)
    monkeypatch.setattr(coresets, "_MEMORY", 16 * 150)
    found = coresets.cover(batches_of(X, 100), 60)
    assert len(set(labels[found.indices])) == 40
    by_definition(X, found)


def test_all_sources_have_the_same_answer(tmp_path):
    X, _ = clusters(900, 20, d=4)
    expected = coreset(X, 30)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for source in (mapped, tmp_path / "X.npy", sp.csr_array(X), lambda: [X], X.tolist()):
        found = coreset(source, 30)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.weights, expected.weights)


def test_tables_of_any_library_and_lists_in_their_cells(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pd = pytest.importorskip("pandas")
    X, _ = clusters(900, 20, d=4)
    expected = coreset(X, 30).indices
    named = {f"x{k}": X[:, k] for k in range(4)}
    lists = pa.table({"id": np.arange(900), "embedding": list(X)})
    plain = pa.table(named)
    tables = [
        (plain, None),
        (lists, "embedding"),
        (pd.DataFrame(named), None),
        (pd.DataFrame({"embedding": list(X)}), "embedding"),
    ]
    pq.write_table(plain, tmp_path / "plain.parquet")
    pq.write_table(lists, tmp_path / "lists.parquet")
    tables += [(tmp_path / "plain.parquet", None), (str(tmp_path / "lists.parquet"), "embedding")]
    try:
        import narwhals  # noqa: F401
        import polars as pl

        tables += [(pl.DataFrame(named), None), (pl.from_arrow(lists), ["embedding"])]
        tables += [(pl.from_arrow(plain).lazy(), None)]
    except ImportError:
        pass
    for table, columns in tables:
        np.testing.assert_array_equal(coreset(table, 30, columns=columns).indices, expected)


def test_lists_of_unequal_length_are_refused(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"embedding": [[1.0, 2.0], [3.0]]})
    pq.write_table(table, tmp_path / "lists.parquet")
    for source in (table, tmp_path / "lists.parquet"):
        with pytest.raises(ValueError, match=r"'embedding' .* must have lists of the same length"):
            coreset(source, 1, columns="embedding")


@pytest.mark.parametrize("objective", ["coverage", "trace"])
def test_dask_has_the_same_answer_whatever_the_workers(objective):
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    X, _ = clusters(900, 20, d=4)
    rows = da.from_array(X, chunks=(200, 4))
    found = []
    for scheduler, workers in (("synchronous", 1), ("threads", 1), ("threads", 3)):
        with dask.config.set(scheduler=scheduler, num_workers=workers):
            found.append(coreset(rows, 30, objective=objective, rng=0))
    for other in found[1:]:
        np.testing.assert_array_equal(other.indices, found[0].indices)
        np.testing.assert_array_equal(other.weights, found[0].weights)
        assert other.radius == found[0].radius
    by_definition(X, found[0])


def test_copies_are_picked_last():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 5, axis=0)
    found = coreset(X, 12)
    assert len(np.unique(X[found.indices], axis=0)) == 10
    assert len(set(found.indices.tolist())) == 12
    assert found.weights.sum() == 50
    assert found.radius == 0
    assert len(coreset(X, 50)) == 50


def test_offsets_change_nothing():
    X = np.random.default_rng(0).integers(0, 1000, size=(300, 3)).astype(float)
    np.testing.assert_array_equal(coreset(X, 20).indices, coreset(X + 2.0**27, 20).indices)


def test_rows_of_weight_zero_are_left_out():
    X, _ = clusters(300, 10, d=3)
    weights = np.ones(300)
    weights[::2] = 0
    found = coreset(lambda: [(X, weights)], 20)
    assert (found.indices % 2 == 1).all()
    assert found.weights.sum() == 150
    indices = LandmarkSelector(20, objective="coverage").fit(X, sample_weight=weights).indices_
    assert (indices % 2 == 1).all()


def test_what_cannot_be_is_refused():
    X = np.zeros((5, 2))
    with pytest.raises(ValueError, match="k = 6 rows asked for, but there are 5"):
        coreset(X, 6)
    with pytest.raises(ValueError, match="objective must be one of"):
        coreset(X, 2, objective="farthest")
    with pytest.raises(ValueError, match="bring the columns to a scale"):
        coreset(X + 1e200, 2)
    with pytest.raises(ValueError, match="has no column z; there are x, y"):
        coreset(pytest.importorskip("pandas").DataFrame(X, columns=["x", "y"]), 2, columns=["z"])
    with pytest.raises(ValueError, match="transformer"):
        LandmarkSelector(2, objective="coverage", transformer="pca").fit(X)


def test_landmarks_by_coverage_are_read_in_passes(tmp_path):
    X, labels = clusters(2000, 30, d=6)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    whole = LandmarkSelector(50, objective="coverage").fit(X)
    for source in (mapped, lambda: [X[:900], X[900:]]):
        found = LandmarkSelector(50, objective="coverage").fit(source)
        assert len(set(labels[found.indices_])) == 30
        assert found.gamma_ == pytest.approx(whole.gamma_)
        assert found.transform(X[:3]).shape == (3, 50)


def test_a_source_of_rows_is_taken():
    X, _ = clusters(300, 10, d=3)
    np.testing.assert_array_equal(coreset(array_rows(X, None), 20).indices, coreset(X, 20).indices)
