"""Pictures: what is drawn is what the diagnostics and the geometry say."""

import io
import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zonodpp import ProjectionDPP, Samples, VolumeSampling, Zonotope, plotting, sample
from zonodpp.diagnostics import deciles, psrf_evolution, relative_error

A = [[1, 2, 0, -1], [0, 1, 2, 1]]  # the paper's example
TARGET = ProjectionDPP(A)
S = [1, 2]


@pytest.fixture(autouse=True)
def _close_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def zonotope():
    return Zonotope(A, c=[1, 2, 4, 8])


@pytest.fixture(scope="module")
def runs():
    return {
        "exact": sample(TARGET, 300, chains=6, rng=0, track=[S]),
        "barker": sample(TARGET, 300, method="exchange", rule="barker", chains=6, rng=1, track=[S]),
    }


@pytest.fixture(scope="module")
def few(runs):
    return runs["exact"]


@pytest.fixture(scope="module")
def trees():
    return sample(ProjectionDPP.from_graph(nx.wheel_graph(6)), 50, rng=0)


@pytest.fixture(scope="module")
def draw(zonotope, runs, few, trees):
    """Every picture, as a function of the axes to draw on."""
    return {
        "error_against_steps": lambda ax: plotting.error_against_steps(runs, S, ax),
        "error_against_seconds": lambda ax: plotting.error_against_seconds(runs, S, ax),
        "psrf_against_steps": lambda ax: plotting.psrf_against_steps(runs, S, ax),
        "trace": lambda ax: plotting.trace(few, S, ax),
        "trace of values": lambda ax: plotting.trace(few, S, ax, kind="values"),
        "rank": lambda ax: plotting.rank(few, tracked=0, ax=ax),
        "marginals": lambda ax: plotting.marginals(few, ax),
        "tiling": lambda ax: plotting.tiling(zonotope, ax, mark=[1, 3], columns=True),
        "hit_and_run_step": lambda ax: plotting.hit_and_run_step(
            zonotope, [0.5, 2.2], [1, 0.3], ax, proposal=1.0
        ),
        "skyscrapers": lambda ax: plotting.skyscrapers(zonotope, ax),
        "spanning_tree": lambda ax: plotting.spanning_tree(trees, ax),
        "edge_marginals": lambda ax: plotting.edge_marginals(trees.target, ax),
    }


NAMES = [*plotting.__all__, "trace of values"]


def line(ax, label):
    (found,) = [artist for artist in ax.get_lines() if artist.get_label() == label]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_pictures_stand_by_themselves_or_on_given_axes(draw, name):
    before = dict(matplotlib.rcParams)
    projection = "3d" if name == "skyscrapers" else None
    mine = Figure().add_subplot(projection=projection)
    assert draw[name](mine) is mine
    own = draw[name](None)
    assert own is not mine
    assert isinstance(own, Axes)
    for ax in (mine, own):
        if ax.axison:  # pictures of graphs have no coordinates to show
            assert ax.get_xlabel()
            assert ax.get_ylabel()
        assert len(ax.get_children()) > 5
        ax.figure.savefig(io.BytesIO(), format="png", dpi=40)
    assert dict(matplotlib.rcParams) == before


def test_the_package_does_not_import_matplotlib():
    code = """
import sys
import zonodpp, zonodpp.plotting
assert not any(name.startswith("matplotlib") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.parametrize("name", NAMES)
def test_pyplot_sees_what_is_drawn(draw, name, tmp_path):
    ax = draw[name](None)
    assert plt.gcf() is ax.figure
    plt.savefig(tmp_path / "picture.png", dpi=40)
    assert plt.imread(tmp_path / "picture.png")[..., :3].min() < 0.9  # the page is not blank
    assert draw[name](None).figure is not ax.figure  # a second picture leaves the first alone


def test_empty_axes_of_pyplot_are_used(draw):
    figure, (left, right) = plt.subplots(1, 2)
    plt.sca(left)
    assert draw["tiling"](None) is left
    plt.sca(right)
    assert draw["skyscrapers"](None).figure is not figure  # it needs three dimensions
    figure = plt.figure()
    assert draw["skyscrapers"](None).figure is figure


def test_missing_matplotlib_names_the_extra(monkeypatch, draw):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in NAMES:
        with pytest.raises(ImportError, match=r"zonodpp\[plot\]"):
            draw[name](None)


def test_error_curves_are_the_deciles(runs):
    ax = plotting.error_against_steps(runs, S)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert len(ax.collections) == 2  # one band each
    for name, run in runs.items():
        x, y = line(ax, name).get_data()
        expected = deciles(relative_error(run, S))
        assert (x[0], x[-1]) == (1, 300)
        np.testing.assert_array_equal(y, expected.median[x - 1])
    band = ax.collections[0].get_paths()[0].vertices
    expected = deciles(relative_error(runs["exact"], S))
    for edge in (expected.lower, expected.upper):
        assert (np.abs(band - [300, edge[-1]]).sum(axis=1) < 1e-12).any()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["exact", "barker"]


def test_error_takes_an_exact_value_and_tracked_averages(runs):
    known = plotting.error_against_steps(runs, S, exact=0.5, tracked=0)
    x, y = line(known, "exact").get_data()
    expected = deciles(relative_error(runs["exact"], S, 0.5, tracked=0)).median
    np.testing.assert_array_equal(y, expected[x - 1])


def test_errors_of_rounding_do_not_stretch_the_axis():
    """Half the draws hold item 0 exactly: the error is 1e-16 or 0 from time to time."""
    subsets = np.zeros((3, 400, 1), np.int32)
    subsets[:, ::2] = 1
    subsets[1, :50] = 0
    run = Samples(subsets, ProjectionDPP([[1, 1]]), "exact")
    ax = plotting.error_against_steps({"even": run}, [0])
    assert ax.get_ylim()[0] > 1e-6


def test_long_runs_are_drawn_with_few_points():
    subsets = np.random.default_rng(0).integers(0, 2, (2, 50_000, 1)).astype(np.int32)
    run = Samples(subsets, ProjectionDPP([[1, 1]]), "exact")
    x, _ = line(plotting.error_against_steps({"long": run}, [0]), "long").get_data()
    assert x[0] == 1
    assert x[-1] == 50_000
    assert len(x) <= 400


def test_seconds_count_the_draws_each_chain_had():
    """Chain 1 is twice as slow: at any moment it has half the draws of chain 0."""
    subsets = np.random.default_rng(0).integers(0, 2, (3, 200, 1)).astype(np.int32)
    seconds = np.array([2.0, 4.0, 2.0])
    run = Samples(subsets, ProjectionDPP([[1, 1]]), "exact", stats={"seconds": seconds})
    ax = plotting.error_against_seconds({"run": run}, [0])
    x, y = line(ax, "run").get_data()
    assert x[-1] == 2.0
    error = relative_error(run, [0])
    at_end = np.median([error[0, -1], error[1, 99], error[2, -1]])
    assert y[-1] == pytest.approx(at_end)
    assert "[s]" in ax.get_xlabel()


def test_seconds_must_be_known(few):
    run = Samples(few.subsets, few.target, "exact")
    with pytest.raises(ValueError, match="'mine' took is not known"):
        plotting.error_against_seconds({"mine": run}, S)


def test_psrf_curves_are_codas(runs):
    ax = plotting.psrf_against_steps(runs, S)
    for name, run in runs.items():
        evolution = psrf_evolution(run.trace(S))
        x, y = line(ax, name).get_data()
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
    ax = plotting.psrf_against_steps({"stuck": run}, [0])
    ax.figure.canvas.draw()
    one, near, top = ax.transAxes.inverted().transform(
        [ax.transData.transform((0, level)) for level in (1.0, 1.1, ax.get_ylim()[1])]
    )[:, 1]
    assert near - one > 0.05 * (top - one)
    assert ax.get_ylim()[0] <= 1.0


def test_traces_end_at_the_estimates(few):
    ax = plotting.trace(few, S)
    for k in range(6):
        assert line(ax, f"chain {k}").get_ydata()[-1] == few.contains(S)[k].mean()
    assert line(ax, "exact").get_ydata()[0] == TARGET.inclusion(S)
    lanes = plotting.trace(few, S, kind="values")
    assert len(lanes.patches) == 6
    with pytest.raises(ValueError, match="kind must be one of 'mean', 'values'"):
        plotting.trace(few, S, kind="box")


def test_trace_of_other_powers_has_no_exact_line():
    run = sample(VolumeSampling(A), 100, method="exchange", chains=10, rng=0)
    ax = plotting.trace(run, S)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["10 chains"]


def heights_of_lanes(ax):
    """Heights of the steps in each lane, (chains, bins)."""
    lanes = [lane.get_data() for lane in ax.patches]
    return np.array([lane.values - lane.baseline for lane in lanes])


def test_ranks_without_ties_are_a_plain_histogram():
    rng = np.random.default_rng(0)
    values = rng.random((3, 40))
    run = Samples(np.zeros((3, 40, 2), np.int32), TARGET, "exact", tracked=values[:, :, None])
    ax = plotting.rank(run, tracked=0, bins=10)
    heights = heights_of_lanes(ax)
    ranks = values.ravel().argsort().argsort().reshape(3, 40)
    counts = np.array([np.bincount(row // 12, minlength=10) for row in ranks])
    np.testing.assert_allclose(heights / heights.sum(), counts / counts.sum())
    dashed = ax.get_lines()[0].get_ydata()[0]
    assert dashed == pytest.approx(4 * heights.sum() / 120)


def test_ties_share_their_ranks_evenly():
    same = np.zeros((2, 40, 1))
    run = Samples(np.zeros((2, 40, 2), np.int32), TARGET, "exact", tracked=same)
    heights = heights_of_lanes(plotting.rank(run, tracked=0, bins=8))
    assert heights.shape == (2, 8)
    np.testing.assert_allclose(heights, heights[0, 0])
    with pytest.raises(ValueError, match="ranks compare chains"):
        plotting.rank(Samples(run.subsets[:1], TARGET, "exact"), S)


@pytest.mark.parametrize("chains", [1, 6])
def test_marginals_stand_over_the_exact_ones(chains):
    run = sample(TARGET, 400, chains=chains, rng=0)
    ax = plotting.marginals(run)
    (container,) = ax.containers
    x, y = container.lines[0].get_data()
    np.testing.assert_allclose(x, TARGET.marginals())
    np.testing.assert_allclose(y, run.marginals())
    bars = np.array([bar[:, 1] for bar in container.lines[2][0].get_segments()])
    if chains == 1:
        error = np.sqrt(y * (1 - y) / 400)
    else:
        each = np.array([[(c == i).any(axis=1).mean() for i in range(4)] for c in run.subsets])
        error = each.std(axis=0, ddof=1) / np.sqrt(chains)
    np.testing.assert_allclose(bars[:, 1] - bars[:, 0], 4 * error, atol=1e-12)


def test_marginals_need_to_know():
    thinned = sample(TARGET, 50, rng=0).thinned(1, rng=0)
    with pytest.raises(ValueError, match="pass exact="):
        plotting.marginals(thinned)
    assert plotting.marginals(thinned, exact=TARGET.marginals() / 2)
    with pytest.raises(ValueError, match="each of the 4 items, got"):
        plotting.marginals(thinned, exact=[0.5])


@pytest.mark.parametrize(
    "picture",
    [plotting.error_against_steps, plotting.error_against_seconds, plotting.psrf_against_steps],
)
def test_dict_of_samples(picture, few):
    with pytest.raises(ValueError, match="the dict of samples is empty"):
        picture({}, S)
    with pytest.raises(TypeError, match="dict of names and samples"):
        picture(few, S)


def area(polygon):
    x, y = np.asarray(polygon).T
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


@pytest.mark.parametrize(
    "matrix",
    [A, [[1, -2, 0, 0.5, 3], [0, -1, 0, 0.5, 0]], [[0, 0, 1], [1, -1, 1]]],
    ids=["paper", "zero and opposite columns", "antiparallel columns"],
)
def test_tiles_cover_the_contour(matrix):
    zonotope = Zonotope(matrix, rng=0)
    ax = plotting.tiling(zonotope)
    paths = ax.collections[0].get_paths()
    assert len(paths) == len(zonotope.tiles())
    volume = zonotope.volume().value
    assert sum(area(path.vertices[:4]) for path in paths) == pytest.approx(volume)
    (contour,) = ax.patches
    assert area(contour.get_xy()[:-1]) == pytest.approx(volume)


def test_mark_fills_the_tile_of_a_basis(zonotope):
    ax = plotting.tiling(zonotope, mark=[3, 1], names=False)
    marked = ax.patches[-1].get_xy()[:-1]
    assert area(marked) == pytest.approx(3)
    assert zonotope.tile(marked.mean(axis=0)).basis.tolist() == [1, 3]
    assert ax.patches[-1].get_hatch()
    assert not ax.texts
    with pytest.raises(ValueError, match="a basis of r = 2 items"):
        plotting.tiling(zonotope, mark=[1])
    with pytest.raises(ValueError, match="columns 0 and 2 are parallel or zero"):
        plotting.tiling(Zonotope([[1, 0, 2], [0, 1, 0]], rng=0), mark=[0, 2])


def test_chord_is_the_walk(zonotope):
    x, d = np.array([0.5, 2.2]), np.array([1, 0.3])
    ax = plotting.hit_and_run_step(zonotope, x, d, proposal=1.0)
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
    assert len(plotting.hit_and_run_step(zonotope, x, d, colorbar=False).figure.axes) == 1
    with pytest.raises(ValueError, match="an alpha on the chord, from"):
        plotting.hit_and_run_step(zonotope, x, d, proposal=100.0)
    with pytest.raises(ValueError, match="outside the zonotope"):
        plotting.hit_and_run_step(zonotope, [9, 9], d)


def test_skyscrapers_hold_probability_one(zonotope, monkeypatch):
    art3d = pytest.importorskip("mpl_toolkits.mplot3d.art3d")
    drawn = []

    class Recorded(art3d.Poly3DCollection):
        def __init__(self, faces, **options):
            drawn.extend(faces)
            super().__init__(faces, **options)

    monkeypatch.setattr(art3d, "Poly3DCollection", Recorded)
    plotting.skyscrapers(zonotope)
    faces = [face for face in drawn if np.ptp(face[:, 2]) == 0]
    assert len(faces) == 6
    total = sum(area(face[:, :2]) * face[0, 2] for face in faces)
    assert total == pytest.approx(1)
    with pytest.raises(TypeError, match="projection='3d'"):
        plotting.skyscrapers(zonotope, Figure().add_subplot())


def test_pictures_are_of_the_plane():
    zonotope = Zonotope(ProjectionDPP.from_graph(nx.complete_graph(5)).A, rng=0)
    for picture in (
        plotting.tiling,
        plotting.skyscrapers,
        lambda z: plotting.hit_and_run_step(z, np.zeros(4), np.ones(4)),
    ):
        with pytest.raises(ValueError, match=r"this one has r = 4. Draw Zonotope\(A\[:2\]\)"):
            picture(zonotope)


def test_sparse_columns_are_drawn_too():
    zonotope = Zonotope(ProjectionDPP.from_graph(nx.cycle_graph(3)).A, rng=0)
    assert len(plotting.tiling(zonotope).collections[0].get_paths()) == 3


def segments(collection):
    return {frozenset(map(tuple, ends)) for ends in np.round(collection.get_segments(), 9)}


def test_the_tree_is_the_draw(trees):
    places = {node: (float(node), float(node * node)) for node in range(6)}
    ax = plotting.spanning_tree(trees, draw=7, positions=places)
    every, tree = ax.collections[:2]
    joined = [trees.target.labels[item] for item in trees[7]]
    assert segments(tree) == {frozenset({places[u], places[v]}) for u, v in joined}
    assert len(every.get_segments()) == trees.target.n
    assert {text.get_text() for text in ax.texts} == set("012345")


def test_edges_have_the_colour_of_their_probability(trees):
    target = trees.target
    exact = plotting.edge_marginals(target).collections[0]
    np.testing.assert_allclose(exact.get_array(), target.marginals())
    assert exact.get_clim() == (0, 1)
    drawn = plotting.edge_marginals(target, shares=trees.marginals(), colorbar=False)
    np.testing.assert_allclose(drawn.collections[0].get_array(), trees.marginals())
    assert len(drawn.figure.axes) == 1


def test_nodes_of_a_grid_are_their_own_places():
    target = ProjectionDPP.from_graph(nx.grid_2d_graph(3, 4))
    lines = plotting.edge_marginals(target).collections[0]
    assert segments(lines) == {
        frozenset(tuple(map(float, end)) for end in edge) for edge in target.labels
    }


def test_pictures_of_graphs_need_a_graph(trees, few):
    with pytest.raises(ValueError, match=r"ProjectionDPP\.from_graph"):
        plotting.spanning_tree(few)
    with pytest.raises(ValueError, match="every node, but 1 is not there"):
        plotting.spanning_tree(trees, positions={0: (0, 0)})
    with pytest.raises(ValueError, match="each of the 10 edges"):
        plotting.edge_marginals(trees.target, shares=[0.5])
