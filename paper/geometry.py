"""The paper's example in the plane: tiles, one step of hit-and-run, and pi_v (figure 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.verdicts import DOUBTFUL, Verdict
from zonodpp._types import Floats
from zonodpp.runs.sample import sample
from zonodpp.targets import ProjectionDPP
from zonodpp.zonotope import Zonotope

TITLE = "Geometry"
INTRODUCTION = (
    "A matrix with two rows has a zonotope that can be drawn: the shadow of a cube, cut into one "
    "parallelogram for each pair of columns. A uniform point lands in a parallelogram in "
    "proportion to its area; under the density whose value is that area, in proportion to the "
    "area squared, which is the projection DPP. The pictures are those of figure 1, and both laws "
    "are checked by drawing."
)

A = ((1.0, 2.0, 0.0, -1.0), (0.0, 1.0, 2.0, 1.0))
C = (1.0, 2.0, 4.0, 8.0)  # the linear objective; another one gives another tiling
MARKED = (1, 3)  # the paper's {2, 4}: items count from 0 here
X, D, PROPOSAL = (0.2, 2.3), (1.0, 0.25), 2.35  # a point, a direction, and the alpha proposed


def run(*, quick: bool = False, rng: Any = None, progress: Any = None) -> dict[str, Any]:
    """Cut the zonotope into tiles, make one step, and count where points and chains land.

    Parameters
    ----------
    quick : bool, default False
        Fewer points and draws.
    rng : seed or Generator, optional
    progress : callable, optional
        Never called: this takes a second.

    Returns
    -------
    dict
        Plain data, for `figures` and `verdicts`.

    Examples
    --------
    >>> from paper import geometry
    >>> data = geometry.run(quick=True, rng=0)
    >>> [verdict.word for verdict in geometry.verdicts(data)]
    ['reproduced', 'reproduced', 'reproduced', 'reproduced']
    """
    generator = np.random.default_rng(rng)
    matrix = np.array(A)
    zonotope = Zonotope(matrix, c=C)
    target = ProjectionDPP(matrix)
    points, draws, thin = (2_000, 2_000, 10) if quick else (20_000, 20_000, 10)

    tiles = np.array([tile.basis for tile in zonotope.tiles()])
    volumes = np.array([abs(np.linalg.det(matrix[:, basis])) for basis in tiles])
    landed = [zonotope.tile(x).basis for x in _uniform_points(zonotope, points, generator)]
    chain = sample(
        target, draws, method="zonotope", preset="paper", c=C, thin=thin, rng=generator
    ).subsets[0]
    return {
        "settings": {
            "A": A,
            "c": C,
            "marked": MARKED,
            "x": X,
            "d": D,
            "proposal": PROPOSAL,
            "uniform points": points,
            "draws": draws,
            "steps from draw to draw": thin,
        },
        "tiles": tiles,
        "volumes": volumes,
        "normaliser": float(np.linalg.det(matrix @ matrix.T)),
        "contour area": _contour_area(matrix),
        "points in tiles": _count(tiles, np.array(landed)),
        "draws in tiles": _count(tiles, chain),
        "step": _step(zonotope),
    }


def figures(data: dict[str, Any]) -> dict[str, Any]:
    """Draw the three parts of figure 1: file stem to (figure, caption)."""
    from paper.drawing import new_figure
    from paper.geometry_figures import hit_and_run_step, skyscrapers
    from zonodpp.plotting import tiling

    settings, step = data["settings"], data["step"]
    zonotope = Zonotope(np.array(settings["A"]), c=settings["c"])
    plane, line = (new_figure(size).add_subplot() for size in ((4.2, 3.9), (4.9, 3.9)))
    space = new_figure((4.6, 3.9)).add_subplot(projection="3d")
    tiling(zonotope, plane, mark=settings["marked"], columns=True)
    hit_and_run_step(zonotope, settings["x"], settings["d"], line, proposal=settings["proposal"])
    line.margins(0.2)
    skyscrapers(zonotope, space)
    space.set_zlabel("Density", labelpad=11)
    space.set_box_aspect((1, 1, 0.6), zoom=0.84)  # room for the labels
    verb = "certainly" if step["acceptance"] >= 1 else f"with probability {step['acceptance']:.2f}"
    return {
        "tiling": (
            plane.figure,
            "Figure 1 (a). The contour of the zonotope (dashed), its six tiles and the columns of "
            "A. Items count from zero: the hatched tile {1, 3} is the paper's {2, 4}.",
        ),
        "step": (
            line.figure,
            "Figure 1 (b). One step: a line through x, its chord cut by the tiles it crosses, and "
            f"a point proposed uniformly on the chord, here accepted {verb}.",
        ),
        "skyscrapers": (
            space.figure,
            "Figure 1 (c). The density pi_v, |det A_B| / det AA' over the tile of B. Each block "
            "has the probability of its basis under the projection DPP as its volume.",
        ),
    }


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    """Judge the statements that figure 1 illustrates."""
    volumes, marked = data["volumes"], np.array(data["settings"]["marked"])
    own = volumes[(data["tiles"] == marked).all(axis=1)]
    uniform = _p_value(data["points in tiles"], volumes / volumes.sum())
    squared = _p_value(data["draws in tiles"], volumes**2 / data["normaliser"])
    area = float(data["contour area"])
    return [
        Verdict(
            "the zonotope is tiled by one parallelogram for each basis",
            "volume of Z(A) = sum of |det A_B|, proposition 1",
            f"{len(volumes)} tiles of total area {volumes.sum():.6g}; "
            f"the contour, found by itself, holds {area:.6g}",
            bool(np.isclose(volumes.sum(), area, rtol=1e-9)),
        ),
        Verdict(
            "the pair {2, 4} of the figure is such a tile",
            "marked in figure 1 (a); |det| = 3",
            f"found, with area {own[0]:.6g}" if own.size else "not among the tiles",
            bool(own.size == 1 and np.isclose(own[0], 3.0)),
        ),
        Verdict(
            "a uniform point of the zonotope gives volume sampling",
            "P(B) proportional to |det A_B|, remark 1",
            f"{int(data['points in tiles'].sum()):,} points, chi-square p-value {uniform:.2g}",
            uniform > DOUBTFUL,
        ),
        Verdict(
            "hit-and-run under pi_v samples the projection DPP",
            "P(B) = |det A_B|² / det AA', section 3.3",
            f"{int(data['draws in tiles'].sum()):,} draws, chi-square p-value {squared:.2g}",
            squared > DOUBTFUL,
        ),
    ]


def _uniform_points(zonotope: Zonotope, count: int, rng: np.random.Generator) -> Floats:
    """Uniform points by rejection from the bounding box: a way that knows nothing of tiles."""
    matrix = np.asarray(zonotope.A)
    low, high = np.minimum(matrix, 0).sum(axis=1), np.maximum(matrix, 0).sum(axis=1)
    kept: list[Floats] = []
    while len(kept) < count:
        x = rng.uniform(low, high)
        if zonotope.contains(x):
            kept.append(x)
    return np.array(kept)


def _contour_area(matrix: Floats) -> float:
    """Area of the convex hull of the images of all corners of the cube."""
    from scipy.spatial import ConvexHull

    corners = np.indices((2,) * matrix.shape[1]).reshape(matrix.shape[1], -1)
    return float(ConvexHull((matrix @ corners).T).volume)


def _count(tiles: Any, landed: Any) -> Any:
    return (landed[:, None, :] == tiles[None]).all(axis=2).sum(axis=0)


def _p_value(counts: Any, law: Floats) -> float:
    """P-value of the chi-square test that counts follow the law."""
    from scipy.special import chdtrc

    expected = counts.sum() * law
    return float(chdtrc(len(law) - 1, np.sum((counts - expected) ** 2 / expected)))


def _step(zonotope: Zonotope) -> dict[str, Any]:
    """Where the step goes, and with what probability it is accepted."""
    walk = zonotope.walk(X, D)
    place = int(np.searchsorted(walk.breaks, PROPOSAL)) - 1
    here = int(np.searchsorted(walk.breaks, 0.0)) - 1
    ratio = np.exp(walk.log_volumes[place] - walk.log_volumes[here])
    return {
        "chord": walk.breaks[[0, -1]].tolist(),
        "from": walk.bases[here].tolist(),
        "to": walk.bases[place].tolist(),
        "acceptance": min(1.0, float(ratio)),
    }
