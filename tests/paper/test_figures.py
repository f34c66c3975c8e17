"""The figures of the report: curves of chains, a line through the tiles, the density above them."""

import numpy as np
import pytest
from artists import area, line
from matplotlib.figure import Figure

from paper.drawing import draw_errors, draw_psrf
from paper.geometry_figures import hit_and_run_step, skyscrapers
from zonodpp import ProjectionDPP, Samples, Zonotope, sample
from zonodpp.diagnostics import deciles, psrf_evolution, relative_error

A = [[1, 2, 0, -1], [0, 1, 2, 1]]  # the paper's example
TARGET = ProjectionDPP(A)
S = [1, 2]
LOOK = ("0.3", "-")


@pytest.fixture(scope="module")
def zonotope():
    return Zonotope(A, c=[1, 2, 4, 8])


def axes(**options):
    return Figure().add_subplot(**options)


def drawn(draw, curve, **options):
    ax = axes()
    draw(ax, {"run": (*curve, LOOK)}, **options)
    return ax


def test_error_curves_are_the_deciles():
    errors = relative_error(sample(TARGET, 300, chains=6, rng=0), S)
    ax = drawn(draw_errors, (np.arange(1, 301), errors))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    expected = deciles(errors)
    np.testing.assert_array_equal(line(ax, "run").get_ydata(), expected.median)
    (band,) = ax.collections
    vertices = band.get_paths()[0].vertices
    for edge in (expected.lower, expected.upper):
        assert (np.abs(vertices - [300, edge[-1]]).sum(axis=1) < 1e-12).any()
    assert not drawn(draw_errors, (np.arange(1, 301), errors), bands=False).collections


def test_errors_of_rounding_do_not_stretch_the_axis():
    """Half the draws hold item 0 exactly: the error is 1e-16 or 0 from time to time."""
    subsets = np.zeros((3, 400, 1), np.int32)
    subsets[:, ::2] = 1
    subsets[1, :50] = 0
    run = Samples(subsets, ProjectionDPP([[1, 1]]), "exact")
    ax = drawn(draw_errors, (np.arange(1, 401), relative_error(run, [0])))
    assert ax.get_ylim()[0] > 1e-6


def test_psrf_curves_are_codas():
    run = sample(TARGET, 300, chains=6, rng=0)
    evolution = psrf_evolution(run.trace(S))
    ax = drawn(draw_psrf, evolution)
    x, y = line(ax, "run").get_data()
    np.testing.assert_array_equal(x, evolution.iterations)
    np.testing.assert_array_equal(y, evolution.point)
    assert any(np.array_equal(a.get_ydata(), evolution.upper) for a in ax.get_lines())
    levels = {a.get_ydata()[0] for a in ax.get_lines() if len(set(a.get_ydata())) == 1}
    assert {1.0, 1.1} <= levels


def test_large_factors_leave_room_for_small_ones():
    """Four chains that hardly move: the first factors are far from 1."""
    stuck = np.zeros((4, 400, 1), np.int32)
    stuck[:2, :60] = 1
    stuck[:, 1::40] = 1
    run = Samples(stuck, ProjectionDPP([[1, 1]]), "exact")
    ax = drawn(draw_psrf, psrf_evolution(run.trace([0])))
    ax.figure.canvas.draw()
    one, near, top = ax.transAxes.inverted().transform(
        [ax.transData.transform((0, level)) for level in (1.0, 1.1, ax.get_ylim()[1])]
    )[:, 1]
    assert near - one > 0.05 * (top - one)
    assert ax.get_ylim()[0] <= 1.0


def test_chord_is_the_walk(zonotope):
    x, d = np.array([0.5, 2.2]), np.array([1, 0.3])
    ax = hit_and_run_step(zonotope, x, d, axes(), proposal=1.0)
    walk = zonotope.walk(x, d)
    (chord,) = [c for c in ax.collections if c.get_label() == "chord"]
    pieces = np.array(chord.get_segments())
    stops = x + walk.breaks[:, None] * d
    np.testing.assert_allclose(pieces[:, 0], stops[:-1])
    np.testing.assert_allclose(pieces[:, 1], stops[1:])
    crossed = ax.collections[1].get_paths()
    areas = [area(path.vertices[:4]) for path in crossed]
    np.testing.assert_allclose(areas, np.exp(walk.log_volumes))
    points = [artist.get_xydata() for artist in ax.get_lines() if artist.get_marker() == "D"]
    np.testing.assert_allclose(points, [[x + d]])
    assert len(ax.figure.axes) == 2  # with the scale of volumes
    assert len(hit_and_run_step(zonotope, x, d, axes(), colorbar=False).figure.axes) == 1
    with pytest.raises(ValueError, match="an alpha on the chord, from"):
        hit_and_run_step(zonotope, x, d, axes(), proposal=100.0)
    with pytest.raises(ValueError, match="outside the zonotope"):
        hit_and_run_step(zonotope, [9, 9], d, axes())


def test_skyscrapers_hold_probability_one(zonotope, monkeypatch):
    art3d = pytest.importorskip("mpl_toolkits.mplot3d.art3d")
    drawn = []

    class Recorded(art3d.Poly3DCollection):
        def __init__(self, faces, **options):
            drawn.extend(faces)
            super().__init__(faces, **options)

    monkeypatch.setattr(art3d, "Poly3DCollection", Recorded)
    skyscrapers(zonotope, axes(projection="3d"))
    faces = [face for face in drawn if np.ptp(face[:, 2]) == 0]
    assert len(faces) == 6
    total = sum(area(face[:, :2]) * face[0, 2] for face in faces)
    assert total == pytest.approx(1)
