"""`pick` from rows beyond memory: the picks of rows in memory, whatever the source."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from zonodpp import pick
from zonodpp.best import greedy, passes
from zonodpp.targets import batches as sources


@pytest.fixture(name="rows")
def rows_with_copies(monkeypatch):
    """Few rows, but many batches, small pools and many levels."""
    monkeypatch.setattr(sources, "BATCH", 2**7)
    monkeypatch.setattr(passes, "_POOL", 60)
    monkeypatch.setattr(greedy, "_SMALL", 1)
    monkeypatch.setattr(greedy, "_SHARE", 0.4)
    X = np.random.default_rng(0).normal(size=(150, 6))
    X[30] = X[120]
    X[77] = 0.0
    return X


def in_batches(X, count=7):
    return lambda: np.array_split(X, count)


def mapped(X, folder):
    path = folder / "rows.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("options", [{}, {"ridge": 1e-10}, {"objective": "farthest"}], ids=str)
@pytest.mark.parametrize("kernel", ["cosine", "linear"])
def test_picks_are_those_of_rows_in_memory(rows, tmp_path, options, kernel):
    q = np.random.default_rng(1).uniform(0.5, 1.0, size=len(rows))
    options = {**options, "kernel": kernel, "given": [4, 140], "return_gains": True}
    for relevance in (None, q):
        expected, gains = pick(rows, 40, relevance=relevance, **options)
        for source in (mapped(rows, tmp_path), in_batches(rows)):
            found, ours = pick(source, 40, relevance=relevance, **options)
            assert_array_equal(found, expected)
            assert_allclose(ours, gains, rtol=1e-4)


def test_parquet_and_dask(rows, tmp_path):
    pytest.importorskip("pyarrow")
    dask_array = pytest.importorskip("dask.array")
    expected = pick(rows, 20)
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(6)])
    frame.to_parquet(path, row_group_size=40)
    assert_array_equal(pick(path, 20), expected)
    chunks = dask_array.from_array(rows, chunks=(40, 6))
    assert_array_equal(pick(chunks, 20, relevance=np.ones(150)), expected)


def test_all_rows_equal(rows):
    assert_array_equal(pick(in_batches(np.ones((20, 2))), 5), np.arange(5))
    assert_array_equal(pick(in_batches(rows), 0), [])


def test_bad_streams_are_sentences(rows):
    source = in_batches(rows)
    for options in ({"kernel": "rbf"}, {"objective": "coverage"}):
        with pytest.raises(ValueError, match="load them as one array"):
            pick(source, 3, **options)
    for options in ({"window": 2}, {"swaps": 2}):
        with pytest.raises(ValueError, match="load them as one array"):
            pick(source, 3, **options)
    with pytest.raises(ValueError, match="there are 150 items"):
        pick(source, 151)
    with pytest.raises(ValueError, match="each of the 150 items"):
        pick(source, 3, relevance=[1.0])
    with pytest.raises(ValueError, match="no rows"):
        pick(list, 3)
    bad = rows.copy()
    bad[100, 2] = np.nan
    with pytest.raises(ValueError, match="batch 4: features have NaN"):
        pick(in_batches(bad), 3)
    lengths = iter([7, 3, 3, 3])
    with pytest.raises(ValueError, match="same rows each time"):
        pick(lambda: np.array_split(rows, next(lengths)), 3)
