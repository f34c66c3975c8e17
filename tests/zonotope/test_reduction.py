"""Order reduction: containment by support functions, few generators, small volume."""

import numpy as np
import pytest

from zonodpp import Zonotope
from zonodpp.zonotope.enclosure import parallelotope
from zonodpp.zonotope.reduction import METHODS
from zonodpp.zonotope.templates import tightened

NAMES = ("search", *METHODS)


def random_zonotope(r, n, seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(r, n)) * rng.lognormal(0, 0.7, n)
    axes = np.linalg.qr(rng.normal(size=(r, r)))[0]
    return Zonotope.from_generators(axes * np.exp(rng.normal(size=r)) @ G, rng.normal(size=r))


def around(outer, inner, count=1000):
    """Whether one contains the other as far as random directions tell, whitened."""
    rng = np.random.default_rng(0)
    W = np.linalg.inv(np.linalg.cholesky(inner.generators @ inner.generators.T))
    directions = rng.normal(size=(count, inner.r)) @ W
    return bool((outer.support(directions) >= inner.support(directions)).all())


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("order", [1, 1.5, 2, 4])
def test_what_is_reduced_contains_the_original(method, order):
    for r, n in ((1, 5), (2, 20), (3, 15), (5, 30), (8, 60)):
        zonotope = random_zonotope(r, n, seed=r)
        reduced = zonotope.reduce(order, method=method)
        assert reduced.n <= order * r
        assert reduced.method == method
        assert reduced.original is zonotope
        assert np.array_equal(reduced.center, zonotope.center)
        assert around(reduced, zonotope)
        if r < 5:
            assert bool(reduced.contains(zonotope))
        smaller = Zonotope.from_generators(0.5 * reduced.generators, reduced.center)
        assert method != "search" or not around(smaller, zonotope)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_search_finds_smaller_zonotopes_than_the_methods_of_the_field(order):
    ratios = {method: [] for method in NAMES}
    for seed in range(6):
        r = 2 + seed % 3
        zonotope = random_zonotope(r, r * (5 + seed), seed)
        for method, found in ratios.items():
            value, stderr = zonotope.reduce(order, method=method).ratio()
            assert stderr == 0.0
            found.append(value)
    assert min(ratios["search"]) >= 1.0
    means = {method: float(np.mean(found)) for method, found in ratios.items()}
    assert means.pop("search") < min(means.values())


@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_zonotope_within_lies_within(order):
    for r, n in ((1, 6), (2, 20), (4, 40), (6, 50)):
        zonotope = random_zonotope(r, n, seed=r)
        inner = zonotope.reduce(order, inner=True)
        assert inner.n <= order * r
        assert around(zonotope, inner)
        if r < 5:
            assert bool(zonotope.contains(inner))
        value, _ = inner.ratio(rel_error=0.05, rng=0)
        assert 0.25 < value < 1.0 + 1e-9


def test_a_zonotope_within_is_larger_than_that_of_the_longest_generators():
    for seed in range(5):
        zonotope = random_zonotope(3, 24, seed)
        G = zonotope.generators
        longest = G[:, np.argsort(-np.linalg.norm(G, axis=0))[:6]]
        inner = zonotope.reduce(2, inner=True)
        assert inner.volume().value > Zonotope.from_generators(longest).volume().value


def test_the_parallelotope_is_as_small_as_the_smallest_of_many():
    """In the plane a smallest parallelogram has the normals of two edges: try all pairs."""
    for seed in range(10):
        G = random_zonotope(2, 9, seed).generators
        edges = np.stack([-G[1], G[0]], axis=1)
        reach = np.abs(edges @ G).sum(axis=1)
        areas = [
            4 * reach[i] * reach[j] / abs(np.linalg.det(edges[[i, j]]))
            for i in range(9)
            for j in range(i)
        ]
        found = 4 * abs(np.linalg.det(parallelotope(G, np.random.default_rng(0))))
        assert found == pytest.approx(min(areas), rel=1e-9)


def test_tightening_never_makes_a_template_larger():
    """A template that contains G is the start; what is made of it contains G, too."""
    rng = np.random.default_rng(1)
    for seed in range(6):
        zonotope = random_zonotope(3, 12, seed)
        start = np.column_stack([zonotope.reduce(2, method="girard").generators])
        found = Zonotope.from_generators(tightened(zonotope.generators, start), zonotope.center)
        before = Zonotope.from_generators(start).volume().value
        assert found.volume().value <= before * (1 + 1e-9)
        directions = rng.normal(size=(500, 3))
        reach = zonotope.support(directions)
        assert (found.support(directions) >= reach - 1e-9 * np.abs(reach)).all()


def test_nothing_is_lost_where_few_generators_are_left():
    G = np.random.default_rng(0).normal(size=(3, 4))
    doubled = Zonotope.from_generators(np.column_stack([G, -2 * G, np.zeros(3)]), 1.0)
    reduced = doubled.reduce(2)
    assert reduced.n == 4  # parallel generators are merged
    assert reduced.ratio().value == pytest.approx(1.0)
    flat = Zonotope.from_generators(np.outer([1.0, 2, 0], np.arange(1, 9)))
    assert flat.reduce(1).n == 1
    rng = np.random.default_rng(2)
    plate = Zonotope.from_generators(rng.normal(size=(3, 2)) @ rng.normal(size=(2, 12)))
    for method in NAMES:
        reduced = plate.reduce(1, method=method)
        assert reduced.n <= 3
        directions = rng.normal(size=(200, 3))
        assert (reduced.support(directions) >= plate.support(directions) * (1 - 1e-9)).all()
    for seed in range(40):  # flat in all ways: rounding errors lead out of their spans
        rng = np.random.default_rng(seed)
        r = int(rng.integers(3, 6))
        span = rng.normal(size=(r, int(rng.integers(1, r))))
        plate = Zonotope.from_generators(span @ rng.normal(size=(span.shape[1], 12)))
        assert bool(plate.reduce(1).contains(plate))
        assert not plate.contains(plate + 1e-6 * np.ones(r))
    with pytest.raises(ValueError, match="flat"):
        plate.reduce(1).ratio()


def test_the_ratio_has_the_error_of_both_volumes():
    zonotope = random_zonotope(6, 48, seed=3)
    reduced = zonotope.reduce(1)
    exact = reduced.volume().log_value
    value, stderr = reduced.ratio(rel_error=0.02, rng=0)
    estimate = zonotope.volume(rel_error=0.005, rng=7)
    true = np.exp((exact - estimate.log_value) / 6)
    assert 0 < stderr < 0.02 * value / 6
    assert abs(value - true) < 5 * np.hypot(stderr, true * estimate.relative / 6)
    assert reduced.ratio(rel_error=0.02, rng=0) == (value, stderr)


def test_the_same_zonotope_is_reduced_to_the_same_one():
    first, second = (random_zonotope(5, 30, 0).reduce(2).generators for _ in range(2))
    assert np.array_equal(first, second)
