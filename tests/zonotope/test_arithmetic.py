"""Zonotopes with a centre: the same answers in other coordinates, sums, maps and containment."""

import numpy as np
import pytest
from scipy.optimize import linprog

from zonodpp import Zonotope

G = np.random.default_rng(3).normal(size=(3, 8))
CENTER = np.array([5.0, -2.0, 1.0])


@pytest.fixture
def pair():
    """A zonotope with a centre, and the same one moved to A[0,1]^n."""
    moved = Zonotope.from_generators(G, CENTER, rng=0)
    return moved, Zonotope(2 * G, rng=0), CENTER - G.sum(axis=1)


def test_center_and_generators_are_what_was_given(pair):
    moved, plain, origin = pair
    assert np.array_equal(moved.center, CENTER)
    assert np.array_equal(moved.generators, G)
    assert np.allclose(moved.origin, origin)
    assert not plain.origin.any()
    assert np.allclose(plain.center, G.sum(axis=1))
    assert np.array_equal(Zonotope.from_generators(G).center, np.zeros(3))


def test_all_answers_are_in_the_coordinates_of_the_center(pair):
    moved, plain, origin = pair
    rng = np.random.default_rng(0)
    points = plain.sample(30, rng=1)
    assert np.allclose(moved.sample(30, rng=1), points + origin)
    walked = [z.sample(3, "hit-and-run", rng=1) for z in (moved, plain)]
    assert np.allclose(walked[0], walked[1] + origin)
    assert moved.contains(points + origin).all()
    x, d = points[0], rng.normal(size=3)
    assert np.allclose(moved.chord(x + origin, d), plain.chord(x, d))
    ours, theirs = moved.walk(x + origin, d), plain.walk(x, d)
    assert np.array_equal(ours.bases, theirs.bases)
    assert np.allclose(ours.breaks, theirs.breaks)
    tile, same = moved.tile(x + origin), plain.tile(x)
    assert np.array_equal(tile.basis, same.basis)
    assert np.allclose(tile.coordinates, same.coordinates)
    directions = rng.normal(size=(20, 3))
    assert np.allclose(moved.support(directions), plain.support(directions) + directions @ origin)
    assert moved.volume().value == pytest.approx(plain.volume().value)
    by_rows = [np.array(sorted(map(tuple, z.vertices().round(9)))) for z in (moved, plain)]
    assert np.allclose(by_rows[0], by_rows[1] + origin)
    end = CENTER + moved.chord(CENTER, d)[1] * d
    assert moved.contains(CENTER + 0.999 * (end - CENTER))
    assert not moved.contains(CENTER + 1.001 * (end - CENTER))
    with pytest.raises(ValueError, match=r"\[9\. 9\. 9\.\] lies outside .* origin \+ A y"):
        moved.tile([9, 9, 9])


def test_sums_and_maps_have_the_support_that_is_expected(pair):
    moved = pair[0]
    rng = np.random.default_rng(1)
    other, M = Zonotope.from_generators([[1.0], [2], [0]], [1, 0, 0]), rng.normal(size=(2, 3))
    v = np.array([3.0, 0, 0])
    directions = rng.normal(size=(50, 3))
    both = moved + other
    assert np.allclose(
        both.support(directions), moved.support(directions) + other.support(directions)
    )
    for shifted in (moved + v, v + moved, moved + v.tolist()):
        expected = moved.support(directions) + directions @ v
        assert np.allclose(shifted.support(directions), expected)
    image = M @ moved + [1.0, 2.0]
    flat = rng.normal(size=(50, 2))
    assert np.allclose(image.support(flat), moved.support(flat @ M) + flat @ [1.0, 2.0])
    lower, upper = moved.interval_hull()
    assert np.allclose(upper, moved.support(np.eye(3)))
    assert np.allclose(lower, -moved.support(-np.eye(3)))


def test_flat_zonotopes_can_be_added_and_mapped(pair):
    line = Zonotope.from_generators([[1.0], [1], [0]], rng=0)
    assert line.support([1, 1, 0]) == 2.0
    assert len(line.vertices()) == 2
    assert (pair[0] + line).contains(CENTER)
    assert bool((pair[0] + line).contains(pair[0]))
    assert bool(line.contains(Zonotope.from_generators([[0.5], [0.5], [0]])))
    for outside in ([[0.5], [0.4], [0]], [[1.1], [1.1], [0]]):
        assert not line.contains(Zonotope.from_generators(outside))
    for call in (line.volume, line.sample, lambda: line.contains([0, 0, 0])):
        with pytest.raises(ValueError, match=r"flat.*drop rows"):
            call()


def expressed_by_highs(G, H):
    """Whether the sufficient condition holds, as one dense linear program."""
    n, k = G.shape[1], H.shape[1]
    equal = np.kron(np.eye(k), np.hstack([G, -G]))
    rows = np.zeros((n, 2 * n * k))
    for j in range(k):
        rows[:, 2 * n * j : 2 * n * (j + 1)] = np.hstack([np.eye(n), np.eye(n)])
    found = linprog(np.zeros(2 * n * k), rows, np.ones(n), equal, H.T.ravel(), method="highs")
    return found.status == 0


@pytest.mark.parametrize("limit", [200_000, 0])
def test_containment_is_that_of_vertices(limit, monkeypatch):
    """By facets, and without them: then no wrong answer is exact."""
    monkeypatch.setattr("zonodpp.zonotope.containment._MOST_FACETS", limit)
    rng = np.random.default_rng(5)
    answers = []
    for _ in range(40):
        r = int(rng.integers(1, 5))
        outer, inner = rng.normal(size=(r, r + 4)), rng.normal(size=(r, r + 2))
        inner *= rng.uniform(0.1, 1.2)
        shift = 0.2 * rng.normal(size=r)
        big, small = Zonotope.from_generators(outer), Zonotope.from_generators(inner, shift)
        inside = bool(big.contains(small.vertices() * (1 - 1e-9)).all())
        found = big.contains(small)
        assert found.contained == bool(found)
        if found.exact:
            assert bool(found) == inside
        if found.direction is not None:
            assert small.support(found.direction) > big.support(found.direction)
        if limit:
            assert found.method == "facets"
            assert found.exact
        elif found.method == "linear program":
            assert bool(found) == expressed_by_highs(outer, np.column_stack([inner, shift]))
        answers.append(inside)
    assert 5 < sum(answers) < 35


def test_a_zonotope_contains_itself_and_not_a_larger_one():
    rng = np.random.default_rng(2)
    large = Zonotope.from_generators(rng.normal(size=(8, 40)), 1.0)  # too many facets to list
    for scale, inside in ((1.0, True), (1.0 - 1e-6, True), (1.01, False)):
        found = large.contains(Zonotope.from_generators(scale * large.generators, 1.0))
        assert bool(found) == inside
        assert found.exact
        assert found.method == ("linear program" if inside else "direction")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda z: z + Zonotope(np.eye(2)), "same dimension to be added up, got 3 and 2"),
        (lambda z: z + np.ones(2), "the vector must have r = 3 coordinates"),
        (lambda z: np.eye(2) @ z, r"one column for each of the 3 dimensions, got shape \(2, 2\)"),
        (lambda z: np.full((3, 3), np.nan) @ z, "M has NaN"),
        (lambda z: z.contains(Zonotope(np.eye(2))), "r = 3 cannot contain one with r = 2"),
        (
            lambda z: Zonotope.from_generators(G, [1, 2]),
            "center must have r = 3 coordinates as G has rows, or be a number",
        ),
        (lambda z: Zonotope.from_generators(G, np.inf), "center must be finite, got inf"),
        (lambda z: Zonotope.from_generators([1.0, 2.0]), "G must be a 2-d array"),
        (lambda z: z.vertices(at_most=0), "at_most must be at least 1"),
        (lambda z: z.reduce(0.5), "order must be at least 1, got 0.5: .* flat"),
        (lambda z: z.reduce(1, method="box"), "method must be one of 'search', 'girard'"),
        (lambda z: z.reduce(1, method="pca", inner=True), "leave out inner"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(pair, call, message):
    with pytest.raises(ValueError, match=message):
        call(pair[0])
