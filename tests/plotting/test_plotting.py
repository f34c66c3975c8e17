"""Pictures: what is drawn is what the diagnostics and the geometry say."""

import io
import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from artists import area, line
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zonodpp import ProjectionDPP, VolumeSampling, Zonotope, plotting, sample
from zonodpp.plotting._zonotopes import facet_polygons

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
        "trace": lambda ax: plotting.trace(few, S, ax),
        "marginals": lambda ax: plotting.marginals(few, ax),
        "tiling": lambda ax: plotting.tiling(zonotope, ax, mark=[1, 3], columns=True),
        "zonotope": lambda ax: plotting.zonotope([zonotope, zonotope.reduce(1)], ax=ax),
        "spanning_tree": lambda ax: plotting.spanning_tree(trees, ax),
        "edge_marginals": lambda ax: plotting.edge_marginals(trees.target, ax),
    }


NAMES = plotting.__all__


@pytest.mark.parametrize("name", NAMES)
def test_pictures_stand_by_themselves_or_on_given_axes(draw, name):
    before = dict(matplotlib.rcParams)
    mine = Figure().add_subplot()
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
    assert draw["trace"](None) is right
    figure = plt.figure()
    assert draw["marginals"](None).figure is figure


def test_missing_matplotlib_names_the_extra(monkeypatch, draw):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in NAMES:
        with pytest.raises(ImportError, match=r"zonodpp\[plot\]"):
            draw[name](None)


def test_traces_end_at_the_estimates(few):
    ax = plotting.trace(few, S)
    for k in range(6):
        assert line(ax, f"chain {k}").get_ydata()[-1] == few.contains(S)[k].mean()
    assert line(ax, "exact").get_ydata()[0] == TARGET.inclusion(S)


def test_trace_of_other_powers_has_no_exact_line():
    run = sample(VolumeSampling(A), 100, method="exchange", chains=10, rng=0)
    ax = plotting.trace(run, S)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["10 chains"]


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


def test_pictures_are_of_the_plane():
    zonotope = Zonotope(ProjectionDPP.from_graph(nx.complete_graph(5)).A, rng=0)
    with pytest.raises(ValueError, match=r"this one has r = 4. Draw Zonotope\(A\[:2\]\)"):
        plotting.tiling(zonotope)


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


def test_a_zonotope_in_the_plane_is_its_shadow():
    Z = Zonotope.from_generators(np.random.default_rng(0).normal(size=(4, 9)), [1, 2, 3, 4])
    ax = plotting.zonotope([Z, Z.reduce(1)], dims=(3, 1))
    shadow = np.eye(4)[[3, 1]] @ Z
    assert area(ax.patches[0].get_xy()) == pytest.approx(shadow.volume().value)
    assert area(ax.patches[1].get_xy()) > area(ax.patches[0].get_xy())
    assert ax.get_xlabel() == "Coordinate 3"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "9 generators",
        "4 generators",
    ]
    assert plotting.zonotope(Z).get_legend() is None


def test_a_zonotope_in_space_has_a_polygon_for_each_facet():
    G = np.random.default_rng(1).normal(size=(3, 6))
    G[:, -1] = G[:, 0] + G[:, 1]  # three generators in a plane: a hexagon
    Z = Zonotope.from_generators(G, [5, 0, 0])
    ax = plotting.zonotope(Z, dims=(0, 1, 2), labels=["shadow"])
    assert ax.name == "3d"
    assert ax.get_zlabel() == "Coordinate 2"
    faces = facet_polygons(Z)
    N, b = Z.facets()
    assert len(faces) == len(N)
    assert sorted({len(face) for face in faces}) == [4, 6]
    for normal, bound, face in zip(N, b, faces, strict=True):
        assert np.allclose(face @ normal, bound)
    corners = np.unique(np.concatenate(faces).round(8), axis=0)
    assert len(corners) == len(Z.vertices())
    low, high = ax.get_xlim()
    assert low < Z.interval_hull()[0][0] < Z.interval_hull()[1][0] < high


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dims": [0]}, "two or three coordinates"),
        ({"dims": [0, 9]}, "from 0 to 2"),
        ({"labels": ["one", "two"]}, "expected 1 labels, one a zonotope, got 2"),
        ({"zonotopes": []}, "zonotopes is empty"),
        ({"zonotopes": [Zonotope(np.eye(2)), Zonotope(np.eye(3))]}, "same dimension, got 2, 3"),
        ({"dims": [0, 1, 2], "ax": Figure().add_subplot()}, "projection='3d'"),
    ],
)
def test_zonotopes_that_cannot_be_drawn_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        plotting.zonotope(**{"zonotopes": Zonotope(np.eye(3)), **change})


def test_tiles_are_drawn_where_the_zonotope_is():
    G = np.array([[1.0, 0.5, 0], [0, 0.5, 1]])
    ax = plotting.tiling(Zonotope.from_generators(G, [10, 20], rng=0))
    corners = np.concatenate([path.vertices for path in ax.collections[0].get_paths()])
    assert np.allclose(corners.min(axis=0), [8.5, 18.5])
    assert np.allclose(corners.max(axis=0), [11.5, 21.5])
