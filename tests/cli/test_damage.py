"""Files that announce too much, or that others write; see also sessions/damage.txt."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import zonodpp.io.guards
from zonodpp.cli.read import open_source, read_array


def test_announced_sizes_are_limited(fails, monkeypatch):
    np.savez_compressed("bomb.npz", np.zeros((10_000, 100)))
    header = "%%MatrixMarket matrix coordinate real general\n9999 9999 1\n1 1 1\n"
    Path("bomb.mtx").write_text(header)
    monkeypatch.setattr(zonodpp.io.guards, "LIMIT", 10**5)
    for name in ("bomb.npz", "bomb.mtx"):
        assert "it announces data of" in fails("info", name)


def test_a_parquet_file_of_repeated_numbers_is_not_unfolded(fails, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": np.zeros(10**6), "b": np.zeros(10**6)}).to_parquet("zeros.parquet")
    monkeypatch.setattr(zonodpp.io.guards, "LIMIT", 10**5)
    assert "it announces data of" in fails("info", "zeros.parquet")


def test_matrix_market_is_read_as_scipy_writes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    full = np.random.default_rng(0).integers(-3, 4, size=(5, 5)).astype(float)
    for matrix, symmetry in ((full[:, :3], "general"), (full + full.T, "symmetric")):
        for found in (matrix, sp.coo_array(matrix), matrix.astype(int)):
            scipy.io.mmwrite("x.mtx", found, comment="a comment", symmetry=symmetry)
            read = read_array(open_source("x.mtx"))
            assert sp.issparse(read) == sp.issparse(found)
            np.testing.assert_array_equal(read.toarray() if sp.issparse(read) else read, matrix)
    scipy.io.mmwrite("x.mtx", sp.coo_array((3, 4)))
    assert read_array(open_source("x.mtx")).shape == (3, 4)
    header = "%%MatrixMarket matrix coordinate pattern symmetric\n%\n\n2 2 2\n1 1\n\n2 1\n"
    Path("x.mtx").write_text(header)
    np.testing.assert_array_equal(read_array(open_source("x.mtx")).toarray(), [[1, 1], [1, 0]])


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("window=1" + "0" * 400, "window must be a number"),
        ("window=" + "[" * 100_000, "-O window: the value is nested too deeply"),
    ],
    ids=["digits", "brackets"],
)
def test_long_options(fails, option, says):
    np.save("x.npy", np.eye(3))
    assert says in fails("sample", "x.npy", "--method", "zonotope", "-O", option)


def test_a_package_that_is_missing_is_named(fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    line = fails("trees", "-", "--out", "t.graphml", stdin=b"a b\n")
    assert "pip install 'zonodpp[graph]'" in line
