"""Geometry of zonotopes against HiGHS, GLPK and first principles."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from zonodpp import Zonotope
from zonodpp.zonotope.oracles import HighsOracle

PAPER = np.array([[1.0, 2, 0, -1], [0, 1, 2, 1]])


def incidence(graph, rng):
    A = nx.incidence_matrix(graph, oriented=True)[:-1]
    return (A @ np.diag(rng.uniform(0.1, 1, A.shape[1]))) if hasattr(A, "toarray") else A


@st.composite
def matrices(draw):
    """Random, graph-derived and degenerate generators."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["gaussian", "integers", "graph", "duplicates", "lengths"]))
    if kind == "graph":
        nodes = draw(st.integers(3, 7))
        graph = nx.cycle_graph(nodes)
        extra = rng.integers(0, nodes, size=(nodes, 2))
        graph.add_edges_from((int(u), int(v)) for u, v in extra if u != v)
        dense = nx.incidence_matrix(graph, oriented=True).toarray()[:-1]
        return dense * rng.uniform(0.1, 1, dense.shape[1]), rng
    r = draw(st.integers(1, 5))
    n = draw(st.integers(r, r + 9))
    if kind == "integers":
        A = rng.integers(-2, 3, size=(r, n)).astype(float)
        A[:, :r] = np.eye(r)
    else:
        A = rng.normal(size=(r, n))
    if kind == "duplicates":
        A = np.column_stack([A, A[:, 0], -A[:, -1], np.zeros(r)])
    if kind == "lengths":
        A *= 10.0 ** rng.uniform(-3, 3, n)
    return A, rng


@settings(max_examples=150, deadline=None, derandomize=True)
@given(matrices())
def test_the_tile_solves_the_linear_program(case):
    A, rng = case
    r, n = A.shape
    c = rng.normal(size=n)
    zonotope = Zonotope(A, c=c)
    x = A @ rng.random(n)
    tile = zonotope.tile(x)
    y = np.zeros(n)
    y[tile.at_upper] = 1.0
    y[tile.basis] = tile.coordinates
    scale = np.abs(A).max()
    assert np.abs(A @ y - x).max() < 1e-9 * scale * n
    assert ((y >= 0) & (y <= 1)).all()
    assert len(set(tile.basis)) == r
    assert np.abs(np.linalg.det(A[:, tile.basis])) > 0
    assert c @ y == pytest.approx(c @ HighsOracle(A, c).solve(x), abs=1e-7)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(matrices())
def test_the_chord_is_that_of_highs(case):
    A, rng = case
    r, n = A.shape
    zonotope = Zonotope(A, c=rng.normal(size=n))
    x, d = A @ rng.random(n), rng.normal(size=r)
    d /= np.linalg.norm(d)
    ours = np.array(zonotope.chord(x, d))
    theirs = np.array(HighsOracle(A, zonotope.c).chord(x, d))
    assert np.abs(ours - theirs).max() < 1e-9 * max(1.0, np.abs(theirs).max())
    assert zonotope.contains(x + 0.999 * ours[1] * d)
    assert not zonotope.contains(x + (1.001 * ours[1] + 1e-6 * np.abs(A).max()) * d)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(matrices())
def test_the_walk_visits_the_tiles_that_programs_find(case):
    A, rng = case
    r, n = A.shape
    zonotope = Zonotope(A, c=rng.normal(size=n))
    x, d = A @ rng.random(n), rng.normal(size=r)
    walk = zonotope.walk(x, d)
    chord = zonotope.chord(x, d)
    span = chord[1] - chord[0]
    assert np.allclose(walk.breaks[[0, -1]], chord, atol=1e-8 * max(1.0, span))
    assert (np.diff(walk.breaks) >= -1e-12 * span).all()
    assert len(walk.bases) == len(walk.log_volumes) == len(walk.breaks) - 1
    for k in np.flatnonzero(np.diff(walk.breaks) > 1e-6 * span):
        middle = x + (walk.breaks[k] + walk.breaks[k + 1]) / 2 * d
        assert zonotope.tile(middle).basis.tolist() == walk.bases[k].tolist()
        volume = np.linalg.slogdet(A[:, walk.bases[k]])[1]
        assert walk.log_volumes[k] == pytest.approx(volume, abs=1e-7)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(matrices())
def test_tiles_fill_the_zonotope(case):
    A, rng = case
    zonotope = Zonotope(A, rng=rng)
    volumes = [abs(np.linalg.det(A[:, tile.basis])) for tile in zonotope.tiles()]
    assert sum(volumes) == pytest.approx(zonotope.volume("exact").value, rel=1e-9)
    # Tiles do not overlap: the centre of each is found in it and in no other.
    for tile in zonotope.tiles()[:20]:
        if abs(np.linalg.det(A[:, tile.basis])) < 1e-6 * max(volumes):
            continue
        centre = A[:, tile.at_upper].sum(axis=1) + A[:, tile.basis] @ tile.coordinates
        found = zonotope.tile(centre)
        assert found.basis.tolist() == tile.basis.tolist()
        assert found.at_upper.tolist() == tile.at_upper.tolist()


@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_oracles_agree_with_the_native_solver(solver):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 15))
    c = rng.normal(size=15)
    native, oracle = Zonotope(A, c=c), Zonotope(A, c=c, solver=solver)
    for _ in range(20):
        x, d = A @ rng.random(15), rng.normal(size=4)
        mine, theirs = native.tile(x), oracle.tile(x)
        assert mine.basis.tolist() == theirs.basis.tolist()
        assert mine.at_upper.tolist() == theirs.at_upper.tolist()
        assert np.allclose(mine.coordinates, theirs.coordinates, atol=1e-6)
        assert np.allclose(native.chord(x, d), oracle.chord(x, d), atol=1e-7)
        outside = A @ (10 * rng.random(15) + 5)
        assert native.contains(outside) == oracle.contains(outside)


def test_many_chords_of_larger_zonotopes():
    rng = np.random.default_rng(1)
    for r, n in [(10, 200), (30, 60), (9, 45)]:
        A = rng.normal(size=(r, n)) * rng.lognormal(0, 1, n)
        zonotope = Zonotope(A, rng=0)
        oracle = HighsOracle(A, zonotope.c)
        for _ in range(40):
            x, d = A @ rng.random(n), rng.normal(size=r)
            theirs = oracle.chord(x, d)
            assert np.allclose(
                zonotope.chord(x, d), theirs, rtol=0, atol=1e-9 * max(np.abs(theirs))
            )


def test_a_point_outside_is_an_error_that_says_so():
    zonotope = Zonotope(PAPER, rng=0)
    for call in (
        zonotope.tile,
        lambda x: zonotope.chord(x, [1, 0]),
        lambda x: zonotope.walk(x, [1, 0]),
    ):
        with pytest.raises(ValueError, match="outside the zonotope"):
            call([10.0, 10.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda z: z.tile([1, 2, 3]), "x must have r = 2 coordinates"),
        (lambda z: z.chord([1, 2], [0, 0]), "d must not be zero"),
        (lambda z: z.tile([np.nan, 0]), "NaN"),
        (lambda z: z.sample(0), "size must be at least 1"),
        (lambda z: z.sample(5, "gibbs"), "method must be one of"),
        (lambda z: z.volume("guess"), "method must be one of"),
        (lambda z: Zonotope(PAPER, c=[1, 2]), "one entry for each of the 4"),
        (lambda z: Zonotope(PAPER, solver="cplex"), "solver must be one of"),
        (lambda z: Zonotope([[1.0, 2], [2, 4]]), "numerical rank 1"),
        (lambda z: Zonotope(np.ones((20, 60)) + np.eye(20, 60)).tiles(), "not listed"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(Zonotope(PAPER, rng=0))


def test_rows_in_odd_units_and_nearly_dependent_rows():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 9))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    c = rng.normal(size=9)
    plain = Zonotope(A, c=c)
    for M in (np.diag([1e8, 1.0, 1e-8]), turn * np.array([1.0, 1e-4, 1e-8])):
        other = Zonotope(M @ A, c=c)
        for _ in range(10):
            x, d = A @ rng.random(9), rng.normal(size=3)
            assert plain.tile(x).basis.tolist() == other.tile(M @ x).basis.tolist()
            assert np.allclose(plain.chord(x, d), other.chord(M @ x, M @ d), atol=1e-6)


@pytest.mark.parametrize("method", ["independence", "hit-and-run"])
def test_points_are_uniform(method):
    zonotope = Zonotope(PAPER, rng=0)
    points = zonotope.sample(6000, method, rng=1)
    assert points.shape == (6000, 2)
    tiles = zonotope.tiles()
    places = {tuple(tile.basis): k for k, tile in enumerate(tiles)}
    counts, inside = np.zeros(len(tiles)), []
    for x in points:
        tile = zonotope.tile(x)
        counts[places[tuple(tile.basis)]] += 1
        inside.append(tile.coordinates)
    volumes = np.array([abs(np.linalg.det(PAPER[:, tile.basis])) for tile in tiles])
    expected = 6000 * volumes / volumes.sum()
    # Neighbours of a chain are not quite independent: 6000 points count as 2000.
    assert stats.chisquare(counts / 3, expected / 3).pvalue > 1e-4
    assert stats.kstest(np.concatenate(inside[::3]), "uniform").pvalue > 1e-4
    # The same check sees points that are not uniform.
    skewed = volumes**2 / (volumes**2).sum() * 6000
    assert stats.chisquare(counts / 3, skewed / 3).pvalue < 1e-4


def test_points_of_an_ill_scaled_zonotope_lie_inside():
    A = PAPER * np.array([[1e6], [1e-6]])
    zonotope = Zonotope(A, rng=0)
    for method in ("independence", "hit-and-run"):
        assert all(zonotope.contains(x) for x in zonotope.sample(20, method, rng=2))


def test_what_does_not_move_meets_no_bound():
    square = Zonotope(np.eye(2), rng=0)
    walk = square.walk([0.5, np.nextafter(1, 2)], [1, 0])
    assert walk.breaks == pytest.approx([-0.5, 0.5])


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_ends_of_a_line_scale_with_its_direction(size):
    zonotope = Zonotope(np.array([[1, 2, 0, -1], [0, 1, 2, 1]]), rng=0)
    ends = zonotope.chord([1, 2], [1, 0.4])
    assert np.array(zonotope.chord([1, 2], [size, 0.4 * size])) * size == pytest.approx(ends)


def test_costs_are_copied():
    c = np.array([1.0, 2.0, 4.0, 8.0])
    zonotope = Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=c)
    c[:] = [8.0, 4.0, 2.0, 1.0]
    assert zonotope.c.tolist() == [1.0, 2.0, 4.0, 8.0]
