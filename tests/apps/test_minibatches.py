"""Minibatches: every item once, one of each stratum, less variance; in a DataLoader."""

import numpy as np
import pytest

from zonodpp.apps import DiverseBatchSampler

X = np.random.default_rng(0).normal(size=(103, 5)) * [9, 3, 1, 1, 1]


@pytest.mark.parametrize("size", [1, 8, 32, 103])
def test_an_epoch_has_every_item_once(size):
    sampler = DiverseBatchSampler(X, size, rng=0)
    first, second = list(sampler), list(sampler)
    for batches in (first, second):
        assert len(batches) == len(sampler)
        assert sorted(item for batch in batches for item in batch) == list(range(103))
        assert {len(batch) for batch in batches[:-1]} <= {size}
    assert first != second
    assert first == list(DiverseBatchSampler(X, size, rng=0))
    whole = DiverseBatchSampler(X, size, drop_last=True, rng=0)
    assert {len(batch) for batch in whole} == {size}
    assert len(list(whole)) == len(whole) == 103 // size


def test_means_of_batches_vary_less_than_those_of_random_ones():
    rng = np.random.default_rng(1)
    sampler = DiverseBatchSampler(X, 10, drop_last=True, rng=0)
    ours = np.array([X[batch].mean(axis=0) for _ in range(20) for batch in sampler])
    random = np.array([X[rng.permutation(103)[:10]].mean(axis=0) for _ in range(200)])
    assert ours.var(axis=0).sum() < 0.5 * random.var(axis=0).sum()


def test_a_loader_of_torch():
    data = pytest.importorskip("torch.utils.data")
    torch = pytest.importorskip("torch")
    dataset = data.TensorDataset(torch.arange(103))
    loader = data.DataLoader(dataset, batch_sampler=DiverseBatchSampler(X, 16, rng=0))
    seen = torch.cat([batch for (batch,) in loader])
    assert sorted(seen.tolist()) == list(range(103))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="batch_size must be at most 103"):
        DiverseBatchSampler(X, 104)
