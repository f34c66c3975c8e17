"""Vertices and facets against convex hulls of all sums, and against their known numbers."""

from itertools import combinations, product
from math import comb, factorial

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from zonodpp import Zonotope
from zonodpp.zonotope import vertices as vertices_file

KINDS = ("gaussian", "integers", "duplicates", "lengths", "near")


def generators(kind, r, n, rng):
    G = rng.normal(size=(r, n))
    if kind == "integers":
        G = rng.integers(-1, 2, size=(r, n)).astype(float)
        G[:, :r] = np.eye(r)
    if kind == "duplicates":
        G[:, -1], G[:, -2], G[:, -3] = -2 * G[:, 0], G[:, 1], 0.0
    if kind == "lengths":
        G *= 10.0 ** rng.uniform(-3, 3, n)
    if kind == "near":  # a tenth of a degree apart, and a sum that rounding makes inexact
        G[:, -1] = G[:, 0] + 2e-3 * G[:, 1]
        G[:, -2] = 0.1 * G[:, 0] + 0.7 * G[:, 1]
    return G


def by_hull(G):
    """Vertices and the normals of facets by the hull of all sums with signs, whitened."""
    W = np.linalg.inv(np.linalg.cholesky(G @ G.T)) if len(G) > 1 else np.eye(1)
    X = distinct(np.array(list(product((-1.0, 1.0), repeat=G.shape[1]))) @ G.T)
    if len(G) == 1:
        return np.array([X.min(axis=0), X.max(axis=0)]), 2
    hull = ConvexHull(X @ W.T)
    planes = distinct(hull.equations)
    # Qhull also lists points within facets: a vertex lies on facets with r independent normals.
    lies_on = np.abs(X[hull.vertices] @ W.T @ planes[:, :-1].T + planes[:, -1]) < 1e-9
    ranks = [np.linalg.matrix_rank(planes[row, :-1], tol=1e-7) for row in lies_on]
    return X[hull.vertices][np.equal(ranks, len(G))], len(planes)


def distinct(rows):
    """Rows sorted along a random direction, without those that repeat the one before."""
    keys = rows @ np.random.default_rng(9).normal(size=rows.shape[1])
    order = np.argsort(keys)
    return rows[order[np.diff(keys[order], prepend=-np.inf) > 1e-9]]


def same_rows(first, second, size):
    first, second = (distinct(rows / size) for rows in (first, second))
    return first.shape == second.shape and np.allclose(first, second, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("r", "n"), [(1, 4), (2, 12), (3, 12), (4, 11), (5, 10)])
def test_vertices_and_facets_are_those_of_the_hull(kind, r, n):
    rng = np.random.default_rng(n)
    G, center = generators(kind, r, n, rng), rng.normal(size=r)
    expected, facets = by_hull(G)
    zonotope, size = Zonotope.from_generators(G, center), np.abs(G).sum(axis=1)
    found = zonotope.vertices()
    assert len(found) == len(expected)
    assert same_rows(found - center, expected, size)
    assert not same_rows(found[1:] - center, expected, size)
    N, b = zonotope.facets()
    assert len(N) == facets
    assert np.allclose(np.linalg.norm(N, axis=1), 1.0)
    reach = N @ found.T - b[:, None]
    scale = np.abs(N) @ size
    assert (reach <= 1e-12 * scale[:, None]).all()
    # A facet has r independent vertices, and each vertex lies on r facets.
    on_it = reach > -1e-10 * scale[:, None]
    assert on_it.sum(axis=1).min() >= r
    assert on_it.sum(axis=0).min() >= r
    assert len(distinct(N)) == len(N)


@pytest.mark.parametrize(
    ("r", "n"), [(2, 500), (3, 8), (3, 60), (3, 200), (4, 30), (5, 30), (7, 14), (12, 13)]
)
def test_numbers_of_vertices_and_facets_follow_the_formulas(r, n):
    zonotope = Zonotope.from_generators(np.random.default_rng(r).normal(size=(r, n)))
    vertices, (N, _) = zonotope.vertices(), zonotope.facets()
    assert len(vertices) == 2 * sum(comb(n - 1, i) for i in range(r))
    assert len(N) == 2 * comb(n, r - 1)
    spread = np.random.default_rng(0).normal(size=(200, r))
    assert np.allclose((spread @ vertices.T).max(axis=1), zonotope.support(spread))


def test_the_permutohedron_has_a_vertex_for_each_permutation():
    """Generators e_i - e_j, of which many are dependent: (m + 1)! vertices."""
    for m in (2, 3, 4, 5, 6):
        pairs = combinations(range(m + 1), 2)
        G = np.array([np.eye(m + 1)[i] - np.eye(m + 1)[j] for i, j in pairs]).T
        flat = Zonotope.from_generators(G)  # in the space of sums zero
        vertices = 2 * np.array(flat.vertices())
        assert len(vertices) == factorial(m + 1)
        expected = np.arange(-m, m + 1, 2)
        assert np.allclose(np.sort(vertices / 2, axis=1), expected)
        assert len(flat.facets().N) == 2 ** (m + 1) - 2 + 2  # two more keep it flat
        full = Zonotope.from_generators(G[:m])
        assert len(full.vertices()) == factorial(m + 1)
        assert len(full.facets().N) == 2 ** (m + 1) - 2


def test_prominent_vertices_are_vertices():
    zonotope = Zonotope.from_generators(np.random.default_rng(1).normal(size=(4, 20)), 7.0)
    every = {tuple(row) for row in zonotope.vertices().round(8)}
    some = zonotope.vertices(at_most=25, rng=0)
    assert some.shape == (25, 4)
    assert {tuple(row) for row in some.round(8)} < every
    assert len(distinct(some)) == 25
    assert np.array_equal(some, zonotope.vertices(at_most=25, rng=0))
    assert len(zonotope.vertices(at_most=10**6)) == len(every)
    # The most prominent ones are farther than others in more directions than an average vertex.
    far = (np.random.default_rng(2).normal(size=(4000, 4)) @ zonotope.vertices().T).argmax(axis=1)
    share = np.bincount(far, minlength=len(every)) / 4000
    places = [int(np.abs(zonotope.vertices() - row).sum(axis=1).argmin()) for row in some]
    assert share[places].mean() > 2 * share.mean()


def test_zero_zonotopes_are_points():
    point = Zonotope.from_generators(np.zeros((3, 2)), [1, 2, 3])
    assert point.vertices().tolist() == [[1, 2, 3]]
    N, b = point.facets()
    assert len(N) == 6
    assert np.allclose(N @ [1, 2, 3], b)


def test_more_than_memory_is_refused(monkeypatch):
    zonotope = Zonotope.from_generators(np.random.default_rng(0).normal(size=(20, 200)))
    with pytest.raises(ValueError, match=r"has .* vertices, more than .* vertices\(at_most=1000\)"):
        zonotope.vertices()
    with pytest.raises(ValueError, match=r"has .* facets, more than half of the memory"):
        zonotope.facets()
    # Dependent generators may have few vertices: memory ends while they are listed.
    monkeypatch.setattr(vertices_file, "physical_memory", lambda: 10_000)
    grid = np.array(list(product((0.0, 1.0), repeat=4))).T
    with pytest.raises(ValueError, match=r"has more than .* vertices"):
        Zonotope.from_generators(grid).vertices()


def test_a_person_who_watches_sees_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(vertices_file, "is_watched", lambda: True)
    monkeypatch.setattr(vertices_file, "_SHORT", 0.0)
    Zonotope.from_generators(np.random.default_rng(0).normal(size=(4, 20))).vertices()
    assert "at most 2,320 vertices" in capsys.readouterr().err
