"""`pick` on arrays of other libraries: equal picks, of the kind and on the device that came in."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from zonodpp import pick
from zonodpp.best import greedy

strict = pytest.importorskip("array_api_strict")
pytest.importorskip("array_api_compat")
try:
    import torch
except ImportError:
    torch = None
torch_only = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

MAKE = {"strict": strict.asarray}
if torch is not None:
    MAKE["torch"] = torch.tensor
X = np.random.default_rng(0).normal(size=(50, 6))
Q = np.random.default_rng(1).uniform(0.5, 2, size=50)
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 4)
OPTIONS = [
    {},
    {"ridge": 1e-9},
    {"kernel": "linear", "objective": "farthest"},
    {"objective": "coverage"},
    {"window": 3},
    {"window": 3, "objective": "farthest"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.25, "objective": "coverage"},
    {"swaps": 5},
]


@pytest.fixture(params=sorted(MAKE), name="make")
def library(request):
    return MAKE[request.param]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_picks_are_those_of_numpy(make, options, monkeypatch):
    monkeypatch.setattr(greedy, "_SMALL", 1)
    monkeypatch.setattr(greedy, "_SHARE", 0.4)
    options = {**options, "given": [3, 7]}
    expected, gains = pick(X, 12, relevance=Q, return_gains=True, **options)
    for relevance in (Q, make(Q)):
        found, ours = pick(make(X), 12, relevance=relevance, return_gains=True, **options)
        assert type(found) is type(ours) is type(make(X))
        assert found.device == make(X).device
        assert_array_equal(np.asarray(found), expected)
        assert_allclose(np.asarray(ours), gains, rtol=1e-6)


def test_kernel_matrices_functions_and_batches(make):
    expected = pick(K, 12, kernel="precomputed")
    found = pick(make(K), 12, kernel="precomputed", given=make(np.array([], dtype=np.int64)))
    assert_array_equal(np.asarray(found), expected)

    def product(A, B):
        return A @ B.T

    found = pick(make(X), 12, kernel=product)
    assert_array_equal(np.asarray(found), pick(X, 12, kernel="linear"))
    batch = np.stack([X, X[::-1]])
    relevance = np.stack([Q, Q])
    for data in (X, batch):
        found = pick(make(data.copy()), 9, relevance=make(relevance))
        assert type(found) is type(make(X))
        assert_array_equal(np.asarray(found), pick(data, 9, relevance=relevance))


def test_float32_stays_float32(make):
    data = make(X.astype(np.float32))
    found, gains = pick(data, 9, relevance=Q, return_gains=True)
    assert gains.dtype == data.dtype
    expected = pick(X.astype(np.float32), 9, relevance=Q)
    assert_array_equal(np.asarray(found), expected)
    _, gains = pick(make((10 * X).astype(np.int64)), 3, return_gains=True)
    assert "float32" in str(gains.dtype)


def test_complex_numbers_are_refused(make):
    with pytest.raises(TypeError, match="real numbers"):
        pick(make(X * 1j), 2)


def test_nan_is_refused(make):
    bad = X.copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match="first is row 4"):
        pick(make(bad), 2)
    with pytest.raises(ValueError, match="n x n"):
        pick(make(X), 2, kernel="precomputed")
    with pytest.raises(ValueError, match="is for NumPy arrays"):
        pick(make(X), 2, kernel="laplacian")


def test_neither_an_offset_nor_a_unit_changes_a_distance(make):
    """Entries are such that an offset is added without rounding."""
    rows = np.random.default_rng(2).integers(-999, 999, size=(1500, 12)) / 256
    expected = pick(rows, 20, kernel="rbf")
    for same in (rows + 2.0**30, rows * 1e-30, rows * 1e130):
        assert_array_equal(np.asarray(pick(make(same), 20, kernel="rbf")), expected)
    single = (rows * 1e-30).astype(np.float32)
    assert_array_equal(np.asarray(pick(make(single), 20, kernel="rbf")), expected)


@torch_only
def test_half_precision_and_gradients():
    for kind in (torch.float16, torch.bfloat16):
        half = torch.tensor(X).to(kind)
        found, gains = pick(half, 9, relevance=torch.tensor(Q).to(kind), return_gains=True)
        assert gains.dtype == torch.float32
        relevance = torch.tensor(Q).to(kind).float().numpy()
        assert_array_equal(found.numpy(), pick(half.float().numpy(), 9, relevance=relevance))
    learned = torch.tensor(X, requires_grad=True)
    _, gains = pick(learned * 2, 9, return_gains=True)
    assert not gains.requires_grad


@torch_only
def test_libraries_are_not_mixed():
    with pytest.raises(TypeError, match="one library"):
        pick(X, 2, relevance=torch.tensor(Q))
    with pytest.raises(TypeError, match="one library and device"):
        pick(torch.tensor(X), 2, relevance=strict.asarray(Q))
    with pytest.raises(TypeError, match="one library and device"):
        pick(torch.tensor(X), 2, relevance=torch.tensor(Q, device="meta"))


def test_numpy_alone_needs_no_other_library():
    script = (
        "import sys, numpy, zonodpp; zonodpp.pick(numpy.eye(4), 2);"
        "assert not {'torch', 'cupy', 'jax', 'dask'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
