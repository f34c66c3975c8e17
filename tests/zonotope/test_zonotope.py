"""Geometry of zonotopes against HiGHS, GLPK and first principles."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law import determinant, enumerate_law, p_value
from oracles import HighsOracle
from scipy import sparse as sp
from scipy import stats
from scipy.spatial import ConvexHull

from paper.algorithm5 import GlpkOracle
from zonodpp import ProjectionDPP, VolumeSampling, Zonotope, sample
from zonodpp.zonotope import frame

PAPER = np.array([[1.0, 2, 0, -1], [0, 1, 2, 1]])


def incidence(graph, rng):
    A = nx.incidence_matrix(graph, oriented=True)[:-1]
    return A @ np.diag(rng.uniform(0.1, 1, A.shape[1]))


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


@pytest.mark.parametrize("solver", [HighsOracle, GlpkOracle])
def test_general_solvers_find_the_same_tiles_and_chords(solver):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 15))
    c = rng.normal(size=15)
    zonotope, oracle = Zonotope(A, c=c), solver(A, c)
    for _ in range(20):
        x, d = A @ rng.random(15), rng.normal(size=4)
        tile, y = zonotope.tile(x), oracle.solve(x)
        assert np.flatnonzero((y > 1e-9) & (y < 1 - 1e-9)).tolist() == tile.basis.tolist()
        assert np.flatnonzero(y >= 1 - 1e-9).tolist() == tile.at_upper.tolist()
        assert np.allclose(tile.coordinates, y[tile.basis], atol=1e-6)
        assert np.allclose(zonotope.chord(x, d), oracle.chord(x, d), atol=1e-7)
        outside = A @ (10 * rng.random(15) + 5)
        assert zonotope.contains(outside) == (oracle.solve(outside) is not None)


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
        (lambda z: Zonotope(PAPER, c=[1, 2, np.inf, 0]), "c has NaN or infinity"),
        (lambda z: z.chord([1, 2], [5e-324, 0]), "d is too short"),
        (lambda z: z.walk([1, 2], [0, -1e-310]), "d is too short"),
        (lambda z: Zonotope(1e-300 * PAPER).chord([0, 0], [1e300, 1]), "d is too long"),
        (lambda z: Zonotope([[1.0, 2], [2, 4]]), "zonotope is flat.* 1 of 2 dim"),
        (lambda z: Zonotope(np.ones((20, 60)) + np.eye(20, 60)).tiles(), "not listed"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(Zonotope(PAPER, rng=0))


@pytest.mark.parametrize(
    ("c", "error", "message"),
    [
        ("abcd", TypeError, "c must hold real numbers"),
        (np.ma.masked_equal([1, 2, 3, 4], 2), ValueError, "c has masked entries"),
    ],
)
def test_an_objective_that_is_no_array_of_numbers(c, error, message):
    with pytest.raises(error, match=message):
        Zonotope(PAPER, c=c)
    with pytest.raises(error, match=message):
        sample(ProjectionDPP(PAPER), 1, method="zonotope", preset="paper", c=c)


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


# A tiling covers each point once


def tiles_that_hold(A, tiles, x):
    """Count the tiles that hold a point in general position."""
    held = 0
    for tile in tiles:
        rest = x - A[:, tile.at_upper].sum(axis=1)
        u = np.linalg.solve(A[:, tile.basis], rest)
        held += bool(((u > 0) & (u < 1)).all())
    return held


def covers_once(zonotope, A, rng):
    points = [A @ rng.random(A.shape[1]) for _ in range(30)]
    tiles = zonotope.tiles()
    return all(tiles_that_hold(A, tiles, x) == 1 for x in points)


def uniform(A, points):
    """P-value of a chi-square test of points, by the tiles of a tiling that has no ties."""
    judge = Zonotope(A, c=np.sqrt(np.arange(2, 2 + A.shape[1])))
    # Neighbours of the chain are not quite independent: every third point counts.
    bases = np.array([judge.tile(x).basis for x in points[::3]])
    return p_value(bases, *enumerate_law(VolumeSampling(A)))


def test_the_default_objective_is_no_row_of_a_matrix_of_the_same_seed():
    A = np.random.default_rng(0).normal(size=(3, 10))
    zonotope = Zonotope(A, rng=0)
    c = zonotope.c
    assert np.linalg.norm(c - A.T @ np.linalg.lstsq(A.T, c)[0]) > 0.1 * np.linalg.norm(c)
    assert covers_once(zonotope, A, np.random.default_rng(1))
    assert uniform(A, zonotope.sample(3000, rng=2)) > 1e-4


def with_ties():
    """Name -> (A, c), where c alone does not tell the tiles apart."""
    k4 = ProjectionDPP.from_graph(nx.complete_graph(4)).A.toarray()
    gaussian = np.random.default_rng(6).normal(size=(3, 7))
    return {
        "zeros": (k4, np.zeros(6)),
        "a row": (k4, k4[0]),
        "two values": (k4, np.array([0.0, 0, 0, 1, 1, 1])),
        "all alike": (k4, np.ones(6)),
        "a row, gaussian": (gaussian, gaussian[1]),
        "two rows, gaussian": (gaussian, 1e200 * (gaussian[0] - 2 * gaussian[2])),
        "duplicates": (np.tile(gaussian[:, :4], 2), np.tile([1.0, -2, 3, 5], 2)),
    }


@pytest.mark.parametrize("name", with_ties())
def test_ties_of_the_objective_are_broken(name, monkeypatch):
    A, c = with_ties()[name]
    zonotope = Zonotope(A, c=c)
    rng = np.random.default_rng(0)
    assert covers_once(zonotope, A, rng)
    for _ in range(20):  # the tile of a point is one of the tiling
        tile = zonotope.tile(A @ rng.random(A.shape[1]))
        same = [t for t in zonotope.tiles() if t.basis.tolist() == tile.basis.tolist()]
        assert [t.at_upper.tolist() for t in same] == [tile.at_upper.tolist()]
    assert uniform(A, zonotope.sample(3000, rng=1)) > 1e-4
    # The same checks see costs that keep their ties.
    monkeypatch.setattr(frame, "PERTURBATION", 0.0)
    broken = Zonotope(A, c=c)
    assert not covers_once(broken, A, rng)
    assert uniform(A, broken.sample(3000, rng=1)) < 1e-4


# Boundaries


def boundary_point(A, rng):
    """Return a point of a random facet, and a direction along the facet."""
    r, n = A.shape
    facet = rng.choice(n, r - 1, replace=False)
    normal = np.linalg.svd(A[:, facet].T)[2][-1]
    y = (normal @ A > 0).astype(float)
    y[facet] = rng.random(r - 1)
    return A @ y, A[:, facet] @ rng.normal(size=r - 1)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_a_walk_along_a_facet_is_as_long_as_the_chord(scale):
    rng = np.random.default_rng(3)
    for _ in range(60):
        r = int(rng.integers(2, 6))
        A = scale * rng.normal(size=(r, r + int(rng.integers(0, 7))))
        zonotope = Zonotope(A, rng=rng)
        x, d = boundary_point(A, rng)
        walk, chord = zonotope.walk(x, d), zonotope.chord(x, d)
        assert walk.breaks[[0, -1]] == pytest.approx(chord, abs=1e-9 * (chord[1] - chord[0]))


def test_walks_along_edges_of_cubes():
    cube = Zonotope(np.eye(3), rng=0)
    for x in np.indices((2, 2, 2)).reshape(3, -1).T:
        for d in np.eye(3):
            assert cube.walk(x, d).breaks[[0, -1]] == pytest.approx(cube.chord(x, d), abs=1e-12)


def test_flat_zonotopes_are_refused():
    A = np.array([[1e8, 1e8, 0.0], [1e8, 1e8, 1e-12]])  # of rank 2, but flat in floating point
    with pytest.raises(ValueError, match=r"flat: .* spans 1 of 2 dimensions; drop rows"):
        Zonotope(A, rng=0)


@pytest.mark.parametrize("kind", ["rows", "columns"])
def test_vertices_of_ill_conditioned_zonotopes_are_inside(kind):
    rng = np.random.default_rng(4)
    for _ in range(60):
        r = int(rng.integers(2, 5))
        A = rng.normal(size=(r, r + int(rng.integers(1, 6))))
        small = 10.0 ** -rng.uniform(4, 12)
        M = np.eye(r)
        if kind == "rows":
            left, right = (np.linalg.qr(rng.normal(size=(r, r)))[0] for _ in range(2))
            M = (left * np.geomspace(1, small, r)) @ right
        else:
            A = np.column_stack([A, A[:, :2] + small * rng.normal(size=(r, 2))])
        zonotope = Zonotope(M @ A, rng=rng)
        centre = A.sum(axis=1) / 2
        for _ in range(10):
            vertex = A @ (rng.normal(size=r) @ A > 0)
            assert zonotope.contains(M @ vertex)
            # Beyond rounding errors, which a flat zonotope has more of, points are outside.
            beyond = 1e-6 + 1e-13 / small if kind == "rows" else 1e-6
            assert not zonotope.contains(M @ (centre + (1 + beyond) * (vertex - centre)))


# Scale


@pytest.mark.parametrize("d", [[1, 0.4], [3e-308, -1e-310], [-5e-310, 7e-311], [1e300, 1e290]])
def test_short_and_long_directions(d):
    """Ends are finite and on the boundary, or the direction is refused."""
    zonotope = Zonotope(1e-3 * PAPER, rng=0)
    x, d = np.array([1e-3, 2e-3]), np.array(d)
    unit = d / np.abs(d).max()
    low, high = zonotope.chord(x, d)
    expected = np.array(zonotope.chord(x, unit)) / np.abs(d).max()
    assert (low, high) == pytest.approx(tuple(expected), rel=1e-9)
    assert zonotope.walk(x, d).breaks[[0, -1]] == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-155, 1e155, 1e300])
def test_the_scale_of_a_matrix_does_not_matter(scale):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(3, 9)) * 10.0 ** rng.uniform(-4, 0, 9)
    c = rng.normal(size=9)
    plain, scaled = Zonotope(A, c=c), Zonotope(A * scale, c=1e280 * c)
    for _ in range(20):
        x, d = A @ rng.random(9), rng.normal(size=3)
        one, other = plain.tile(x), scaled.tile(x * scale)
        assert other.basis.tolist() == one.basis.tolist()
        assert other.at_upper.tolist() == one.at_upper.tolist()
        assert other.coordinates == pytest.approx(one.coordinates, abs=1e-7)
        assert scaled.contains(x * scale)
        assert not scaled.contains(x * scale + 20 * scale)
        assert scaled.chord(x * scale, d * scale) == pytest.approx(plain.chord(x, d), rel=1e-9)
        walk, same = plain.walk(x, d), scaled.walk(x * scale, d * scale)
        assert same.bases.tolist() == walk.bases.tolist()
        assert same.breaks == pytest.approx(walk.breaks, abs=1e-9)
        assert same.log_volumes == pytest.approx(walk.log_volumes + 3 * np.log(scale), abs=1e-7)
    assert not scaled.contains(np.array([1e308, 0, 0]))
    log_volume = plain.volume("exact").log_value + 3 * np.log(scale)
    assert scaled.volume("exact").log_value == pytest.approx(log_volume, abs=1e-9)
    assert scaled.volume("estimate", draws=2000, rng=0).log_value == pytest.approx(
        log_volume, abs=0.2
    )
    for method in ("independence", "hit-and-run"):
        points = scaled.sample(2000, method, rng=1) / scale
        assert uniform(A, points) > 1e-4


@pytest.mark.parametrize(
    ("columns", "rows"),
    [([1e-170, 1e-250, 1e-290], [1, 1, 1]), ([1e-20, 1e-60, 1e-90], [1e-200, 1.0, 1e200])],
)
@pytest.mark.parametrize("objective", [{"rng": 0}, {"c": np.arange(8.0)}])
def test_columns_and_rows_of_very_different_sizes(columns, rows, objective):
    rng = np.random.default_rng(7)
    A = rng.normal(size=(3, 8))
    A[:, 5:] *= columns
    rows = np.array(rows)
    plain = Zonotope(A[:, :5], c=np.arange(5.0))
    other = Zonotope(rows[:, None] * A, **objective)
    assert other.volume("exact").log_value == pytest.approx(plain.volume("exact").log_value)
    x, d = A[:, :5] @ rng.random(5), rng.normal(size=3)
    assert other.chord(rows * x, rows * d) == pytest.approx(plain.chord(x, d), rel=1e-9)
    walk = other.walk(rows * x, rows * d)
    assert walk.breaks[[0, -1]] == pytest.approx(plain.chord(x, d), rel=1e-9)
    for basis, log_volume in zip(walk.bases, walk.log_volumes, strict=True):
        sizes = np.abs(A[:, basis]).max(axis=0)
        expected = np.linalg.slogdet(A[:, basis] / sizes)[1] + np.log(sizes).sum()
        assert log_volume == pytest.approx(expected, abs=1e-7)


def planes():
    rng = np.random.default_rng(0)
    gaussian = rng.normal(size=(2, 9))
    parallel = np.column_stack([PAPER, -3 * PAPER, np.zeros(2), [0.1, 0.3], [0.2, 0.6]])
    return {
        "paper": PAPER,
        "gaussian": gaussian,
        "parallel": parallel,
        "square": np.eye(2),
        "units": gaussian * [[1e-30], [1e30]],
        "sparse": sp.csc_array(PAPER),
    }


@pytest.mark.parametrize("name", planes())
def test_vertices_are_the_convex_hull(name):
    A = planes()[name]
    zonotope = Zonotope(A, rng=0)
    found = zonotope.vertices()
    A = A.toarray() if sp.issparse(A) else A
    size = np.abs(A).sum(axis=1)
    corners = (A @ np.indices((2,) * A.shape[1]).reshape(A.shape[1], -1)).T / size
    hull = corners[ConvexHull(corners, qhull_options="QJ").vertices]
    assert len(np.unique(found, axis=0)) == len(found)
    for vertex in found / size:
        assert np.abs(hull - vertex).max(axis=1).min() < 1e-9
    x, y = (found / size).T
    area = (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2  # positive: counterclockwise
    assert area == pytest.approx(ConvexHull(corners).volume)
    assert found[0, 1] == found[:, 1].min()
    assert zonotope.contains(found).all()
    assert not zonotope.contains(found + 1e-3 * (found - A.sum(axis=1) / 2)).any()


def test_the_support_function():
    rng = np.random.default_rng(1)
    zonotope = Zonotope(PAPER, rng=0)
    directions = rng.normal(size=(20, 2))
    expected = (directions @ zonotope.vertices().T).max(axis=1)
    assert zonotope.support(directions) == pytest.approx(expected)
    assert zonotope.support(directions[0]) == pytest.approx(expected[0])
    A = sp.csc_array(rng.normal(size=(3, 8)))
    x, d = A @ np.full(8, 0.5), rng.normal(size=3)
    assert Zonotope(A, rng=0).support(d) >= d @ x + Zonotope(A, rng=0).chord(x, d)[1] * (d @ d)


def test_many_points_at_once():
    zonotope = Zonotope(PAPER, rng=0)
    points = np.random.default_rng(2).uniform(-3, 6, size=(50, 2))
    found = zonotope.contains(points)
    assert found.dtype == bool
    assert found.tolist() == [zonotope.contains(point) for point in points]
    assert 0 < found.sum() < 50
    assert zonotope.contains(np.empty((0, 2))).shape == (0,)
    for call in (zonotope.contains, zonotope.support):
        with pytest.raises(ValueError, match="r = 2 coordinates"):
            call([[1.0, 2.0, 3.0]])


NEARLY_EQUAL = [
    ([[-2, -2, 0, -2, -1.9999998], [0, 1, -2, -2e-7, 1], [0, 0, -1, 1e-7, 0]], [-2, -2e-7, 1e-7]),
    (
        [
            [0, 2, 2, 2e-8, 2.00000002],
            [-1, 0, -1, -0.99999998, 2e-8],
            [1, 1, 2, 0.99999998, 0.99999998],
        ],
        [2, -1, 2],
    ),
    ([[2, 2.0000002, -2, 2, 2.0000001, 2], [0, 2e-7, 0, -1, 1e-7, -1]], [2, -1]),
]


@pytest.mark.parametrize(("A", "d"), NEARLY_EQUAL)
def test_walks_along_nearly_equal_columns_hold_tiles_with_their_volumes(A, d):
    A = np.array(A, dtype=float)
    for seed in range(8):
        for x in (np.zeros(len(A)), A @ np.random.default_rng(seed).random(A.shape[1])):
            zonotope = Zonotope(A, rng=seed)
            walk, chord = zonotope.walk(x, d), zonotope.chord(x, d)
            assert walk.breaks[[0, -1]] == pytest.approx(chord, abs=1e-6 * (chord[1] - chord[0]))
            for basis, log_volume in zip(walk.bases, walk.log_volumes, strict=True):
                exact = determinant(
                    [[Fraction(entry) for entry in A[:, j].tolist()] for j in basis]
                )
                assert exact != 0
                assert log_volume == pytest.approx(np.log(abs(float(exact))), abs=1e-6)
