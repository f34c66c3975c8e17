"""`Zonotope`: tiles, chords, volumes and uniform points of Z(A) = A[0,1]^n."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_count, one_of, spawn
from zonodpp._types import Booleans, Floats, Rng, SeedLike
from zonodpp.chains.contract import make_draw
from zonodpp.chains.tracking import NO_SETS
from zonodpp.numerics.arrays import to_dense
from zonodpp.zonotope.method import HitAndRun
from zonodpp.zonotope.tiling import Tile, Tiling
from zonodpp.zonotope.tilings import OutsideError, point_of, tile_from_basis
from zonodpp.zonotope.volume import (
    VolumeEstimate,
    estimate_volume,
    exact_volume,
    independent_bases,
)

_MOST_TILES = 200_000  # `tiles` lists no more; with more, `volume` makes an estimate by default


class Zonotope(Tiling):
    """The zonotope Z(A) = A[0,1]^n with the tiling of a linear objective c.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        Generators are columns. Full row rank.
    c : (n,) array_like, optional
        The objective that fixes the tiling. Ties, which would leave no tiling, are broken by a
        perturbation of relative size 1e-9, the same each time. Default: the length of each column
        times a Gaussian number.
    rng : seed or Generator, optional
        For the default c.

    Attributes
    ----------
    A, c
        The matrix and the objective.
    n, r : int
        Number of generators, and of dimensions.

    See Also
    --------
    VolumeSampling : The law of the tile that holds a uniform point.
    HitAndRun : The chain on zonotopes that draws from projection DPPs.
    zonodpp.plotting.tiling : A picture of the tiles.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, section 3.

    M. Dyer, A. Frieze, "Random walks, totally unimodular matrices, and a randomised dual simplex
    algorithm", Mathematical Programming 64 (1994).

    Examples
    --------
    The paper's example, figure 1:

    >>> from zonodpp import Zonotope
    >>> zonotope = Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[0.3, -0.2, 0.5, 0.1])
    >>> zonotope.volume().value
    13.0
    >>> zonotope.contains([1, 2]), zonotope.contains([9, 9])
    (True, False)
    >>> zonotope.chord([1, 2], [1, 0])
    (-2.0, 2.0)
    >>> zonotope.tile([1, 1]).basis
    array([1, 3])
    """

    def __repr__(self) -> str:
        return f"Zonotope(r={self.r}, n={self.n})"

    def contains(self, x: ArrayLike) -> bool | Booleans:
        """Tell whether points lie in the zonotope, by the dual simplex method.

        Parameters
        ----------
        x : (r,) or (m, r) array_like
            One point, or points as rows.

        Returns
        -------
        bool, or (m,) array of bool for points as rows
            True for points of the zonotope.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> square = Zonotope([[1, 0], [0, 1]], rng=0)
        >>> square.contains([0.5, 1.5])
        False
        >>> square.contains([[0.5, 1.5], [0.5, 0.5]])
        array([False,  True])
        """
        points = self._points(x, "x")
        found = np.array([self._holds(point) for point in np.atleast_2d(points)], dtype=bool)
        return found if points.ndim == 2 else bool(found[0])

    def _holds(self, point: Floats) -> bool:
        with suppress(OutsideError):
            self._find(point)
            return True
        return False

    def tiles(self) -> list[Tile]:
        """Return the whole tiling, one tile for each basis (small cases).

        Returns
        -------
        list of Tile
            Each with the coordinates of its centre.

        Raises
        ------
        ValueError
            When there may be more than 200,000 tiles.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, proposition 1.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> [tile.basis.tolist() for tile in Zonotope([[1, 0, 1], [0, 1, 1]], rng=0).tiles()]
        [[0, 1], [0, 2], [1, 2]]
        """
        if comb(self.n, self.r) > _MOST_TILES:
            raise ValueError(
                f"up to {comb(self.n, self.r):,} tiles: more than {_MOST_TILES:,} are not listed; "
                "use walk() or sample()"
            )
        found = []
        for basis in map(np.array, combinations(range(self.n), self.r)):
            with suppress(ArithmeticError):  # dependent columns: no tile
                tile = tile_from_basis(self._frame.columns, basis, self._costs)
                found.append(Tile(basis, np.flatnonzero(tile.side < 0), np.full(self.r, 0.5)))
        return found

    def support(self, direction: ArrayLike) -> float | Floats:
        """Return the largest d'x of all points x: the sum of max(0, a_j'd) over generators a_j.

        Parameters
        ----------
        direction : (r,) or (m, r) array_like
            One direction d, or directions as rows.

        Returns
        -------
        float, or (m,) array for directions as rows
            The support function.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> hexagon = Zonotope([[1, 0, 1], [0, 1, 1]], rng=0)
        >>> hexagon.support([1, 1])
        4.0
        >>> hexagon.support([[1, 0], [0, -1]])
        array([2., 0.])
        """
        directions = self._points(direction, "direction")
        rows = (self.A.T @ d for d in np.atleast_2d(directions))
        found = np.array([np.maximum(row, 0.0).sum() for row in rows], dtype=np.float64)
        return found if directions.ndim == 2 else float(found[0])

    def vertices(self) -> Floats:
        """Return the vertices of a zonotope in the plane, counterclockwise from the lowest one.

        Returns
        -------
        (m, 2) array
            Two vertices for each direction that generators have.

        Raises
        ------
        ValueError
            When r is not 2.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> Zonotope([[1, 2, 0, 1], [0, 0, 1, 1]], rng=0).vertices()
        array([[0., 0.],
               [3., 0.],
               [4., 1.],
               [4., 2.],
               [1., 2.],
               [0., 1.]])
        """
        if self.r != 2:
            raise ValueError(
                f"vertices are listed for zonotopes in the plane, r = 2, and here r = {self.r}; "
                "support(d) tells how far the zonotope reaches along d"
            )
        # The edges of the right-hand side are the generators, turned upwards and sorted by their
        # angle; parallel ones make one edge. The left-hand side mirrors it at the centre.
        A = to_dense(self.A)
        A = A[:, A.any(axis=0)]
        downwards = (A[1] < 0) | ((A[1] == 0) & (A[0] < 0))
        edges = np.where(downwards, -A, A).T
        x, y = (edges / np.abs(edges).max(axis=0)).T
        angles = np.arctan2(y, x)
        order = np.argsort(angles)
        apart = np.diff(angles[order]) > 8 * np.finfo(float).eps
        edges = np.add.reduceat(edges[order], np.concatenate([[0], np.flatnonzero(apart) + 1]))
        lowest = A[:, downwards].sum(axis=1)
        right = lowest + np.cumsum(edges, axis=0) - edges
        return np.concatenate([right, A.sum(axis=1) - right])

    def volume(
        self,
        method: str | None = None,
        *,
        draws: int | None = None,
        rel_error: float = 0.01,
        rng: SeedLike = None,
    ) -> VolumeEstimate:
        """Return the volume: the sum of ``|det A_B|``, or an estimate with its standard error.

        Parameters
        ----------
        method : {"exact", "estimate"}, optional
            Default: exact where there are at most 200,000 subsets of r columns.
        draws : int, optional
            Draws of the estimate, which is then unbiased. Default: as many as it takes to reach
            ``rel_error``.
        rel_error : float
            Standard error to reach, as a share of the volume, if ``draws`` is not given.
        rng : seed or Generator, optional
            For the estimate.

        Returns
        -------
        VolumeEstimate
            With ``value``, ``stderr`` and ``log_value``; ``stderr`` is 0 for the exact sum.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, equation (8).

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], rng=0).volume("exact").value
        13.0
        """
        if method is None:
            method = "exact" if comb(self.n, self.r) <= _MOST_TILES else "estimate"
        if one_of(method, "method", ("exact", "estimate")) == "exact":
            return exact_volume(self.A)
        return estimate_volume(self.A, draws=draws, rel_error=rel_error, rng=rng)

    def sample(
        self,
        size: int = 1,
        method: str = "independence",
        *,
        thin: int | None = None,
        rng: SeedLike = None,
    ) -> Floats:
        """Draw uniform points of the zonotope.

        Parameters
        ----------
        size : int
            Number of points.
        method : {"independence", "hit-and-run"}
            A Markov chain that proposes whole tiles independently of the last one (about one point
            in four or five is in the same tile as the point before it), or Algorithm 2. Neither
            gives independent points.
        thin : int, optional
            Steps of hit-and-run from one point to the next; r by default.
        rng : seed or Generator, optional
            For the draws.

        Returns
        -------
        (size, r) array
            Points as rows.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, algorithm 2.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> points = Zonotope([[1, 0, 1], [0, 1, 1]], rng=0).sample(100, rng=1)
        >>> points.shape
        (100, 2)
        """
        size = as_count(size, "size", 1)
        [generator] = spawn(rng, purpose="points")
        points = np.empty((size, self.r))
        if one_of(method, "method", ("independence", "hit-and-run")) == "hit-and-run":
            steps = as_count(self.r if thin is None else thin, "thin", 1)
            self._fill_by_walk(points, generator, steps)
        elif thin is not None:
            raise ValueError("thin is for method='hit-and-run'")
        else:
            for k, basis in enumerate(independent_bases(self.A, size, generator)[0]):
                tile = tile_from_basis(self._frame.columns, basis, self._costs)
                tile.u[:] = generator.random(self.r) * tile.reach
                points[k] = point_of(self._frame.columns, tile)
        return self._frame.map_back(points)

    def _fill_by_walk(self, points: Floats, rng: Rng, thin: int) -> None:
        """Fill rows with points of Algorithm 2, with whitened directions.

        It is the chain for power 1, whose density is the same in all tiles: every proposal is
        accepted.
        """
        walk = HitAndRun(preset="paper", directions="whitened").prepare(self._target)
        state, basis = walk.start([rng], None, NO_SETS), np.empty((1, self.r), np.int32)
        burn_in = 10 * self.r
        for k in range(len(points)):
            make_draw(walk, state, rng, basis, thin if k else burn_in)
            [points[k]] = state["x"]
