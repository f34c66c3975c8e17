"""`Zonotope`: tiles, chords, volumes and uniform points of Z(A) = A[0,1]^n."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Booleans, Floats, MatrixLike, SeedLike
from zonodpp.arguments import as_count, check_finite, one_of, spawn
from zonodpp.linalg.dense import to_dense
from zonodpp.samplers.uniform import hit_and_run_points, points_in_tiles
from zonodpp.targets import VolumeSampling
from zonodpp.tiles.chord import chord_ends
from zonodpp.tiles.costs import as_costs, unit_costs
from zonodpp.tiles.frame import frame_of
from zonodpp.tiles.long_step import FEASIBLE, LOST, order_scratch
from zonodpp.tiles.pivots import TileState, copy_of, tile_scratch
from zonodpp.tiles.start import OutsideError, any_basis, bare_tile, find_tile
from zonodpp.tiles.traverse import traverse
from zonodpp.zonotope.pieces import Tile, Walk, all_tiles, plane_vertices, rescaled
from zonodpp.zonotope.volume import VolumeEstimate, estimate_volume, exact_volume, independent_bases

MOST_TILES = 200_000  # `tiles` lists no more


class Zonotope:
    """The zonotope Z(A) = A[0,1]^n with the tiling of a linear objective c.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
        Generators are columns. Full row rank.
    c : (n,) array_like, optional
        The objective that fixes the tiling. Ties, which would leave
        no tiling, are broken by a perturbation of relative size 1e-9, the same each time. Default:
        the length of each column times a Gaussian number.
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

    def __init__(self, A: MatrixLike, *, c: ArrayLike | None = None, rng: SeedLike = None) -> None:
        target = VolumeSampling(A)  # checks A
        self.A = target.A
        self.r, self.n = target.r, target.n
        self._frame = frame_of(self.A, None)
        columns = self._frame.columns
        self._first = any_basis(columns)
        if c is None:
            [generator] = spawn(rng, purpose="tiling")
            self._costs = generator.standard_normal(self.n)  # for unit columns
            self.c = self._costs * columns.lengths
        else:
            self.c = as_costs(c, self.n)
            self._costs = unit_costs(self.c, columns)

    def __repr__(self) -> str:
        return f"Zonotope(r={self.r}, n={self.n})"

    def _point(self, x: ArrayLike, name: str) -> Floats:
        point = np.asarray(x, dtype=np.float64)
        if point.shape != (self.r,):
            raise ValueError(f"{name} must have r = {self.r} coordinates, got {point.shape}")
        check_finite(point, name)
        return point

    def _find(self, point: Floats) -> TileState:
        """Return the tile that holds a point, or raise OutsideError."""
        x = self._frame.map(point)
        try:
            if not np.all(np.isfinite(x)):
                raise OutsideError
            return find_tile(self._frame.columns, x, self._costs, self._first)
        except OutsideError:
            shown = np.array2string(point, precision=4, threshold=6)
            raise OutsideError(
                f"the point {shown} lies outside the zonotope; points inside are A y with "
                "0 <= y <= 1"
            ) from None

    def contains(self, x: ArrayLike) -> bool | Booleans:
        """Tell whether points lie in the zonotope (phase one of the simplex method).

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
        if np.ndim(x) == 2:
            return np.array([self.contains(point) for point in np.asarray(x)], dtype=bool)
        try:
            self._find(self._point(x, "x"))
        except OutsideError:
            return False
        return True

    def support(self, direction: ArrayLike) -> float | Floats:
        """Return the largest d'x of its points x: the sum of max(0, a_j'd) over generators a_j.

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
        if np.ndim(direction) == 2:
            return np.array([self.support(d) for d in np.asarray(direction)], dtype=np.float64)
        products = self.A.T @ self._point(direction, "direction")
        return float(np.maximum(products, 0.0).sum())

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
        return plane_vertices(to_dense(self.A))

    def tile(self, x: ArrayLike) -> Tile:
        """Return the tile that holds a point, by one linear program.

        Parameters
        ----------
        x : (r,) array_like
            A point of the zonotope.

        Returns
        -------
        Tile
            With ``basis``, ``at_upper`` and ``coordinates``, the place of x in the tile.

        Raises
        ------
        ValueError
            When x lies outside the zonotope.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, algorithm 3 and equation (9).

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> tile = Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[1, 2, 4, 8]).tile([1, 2])
        >>> tile.basis, tile.at_upper
        (array([1, 2]), array([], dtype=int64))
        """
        tile = self._find(self._point(x, "x"))
        order = np.argsort(tile.basis)
        coordinates = np.clip((tile.u / tile.reach)[order], 0.0, 1.0)
        return Tile(tile.basis[order], np.flatnonzero(tile.side < 0), coordinates)

    def chord(self, x: ArrayLike, d: ArrayLike) -> tuple[float, float]:
        """Return the range of alpha in which x + alpha d is inside, by two linear programs.

        Parameters
        ----------
        x : (r,) array_like
            A point of the zonotope.
        d : (r,) array_like
            The direction of the line.

        Returns
        -------
        alpha_min, alpha_max : float
            The ends of the chord; 0 is between them.

        Raises
        ------
        ValueError
            When x lies outside the zonotope.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, equation (11).

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> Zonotope([[1, 0], [0, 1]], rng=0).chord([0.25, 0.5], [1, 0])
        (-0.25, 0.75)
        """
        point, along, exponent = self._line(x, d)
        at = self._frame.map(point)
        if not np.all(np.isfinite(at)):
            self._find(point)  # says that it is outside
        columns, ellipsoid = self._frame.columns, self._frame.ellipsoid
        tile = bare_tile(columns, self._first)
        tolerance = FEASIBLE * float(columns.lengths.max())
        scratch = (tile_scratch(self.r, self.n), order_scratch(self.n), np.empty((4, self.r)))
        low, high, pivots = chord_ends(columns, ellipsoid, tile, at, along, tolerance, *scratch)
        if pivots < 0 or not low <= 0.0 <= high:
            self._find(point)  # raises an error if it is outside
            if pivots == LOST:
                raise ArithmeticError(
                    f"rounding hides the ends of the line through x = {point}; scale the rows of A"
                )
            low, high = min(low, 0.0), max(high, 0.0)
        low, high = rescaled(np.array([low, high]), exponent)
        return float(low), float(high)

    def walk(self, x: ArrayLike, d: ArrayLike) -> Walk:
        """Return every tile along the line x + alpha d, with its length and log volume.

        Parameters
        ----------
        x : (r,) array_like
            A point of the zonotope.
        d : (r,) array_like
            The direction of the line.

        Returns
        -------
        Walk
            With ``breaks``, ``bases`` and ``log_volumes``, from one end of the chord to the other.

        Raises
        ------
        ValueError
            When x lies outside the zonotope.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, section 3.3 and figure 1 (b).

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> walk = Zonotope([[1, 2, 0, -1], [0, 1, 2, 1]], c=[1, 2, 4, 8]).walk([1, 2], [1, 0])
        >>> walk.breaks
        array([-2., -1.,  1.,  2.])
        >>> walk.bases
        array([[2, 3],
               [1, 2],
               [0, 2]])
        """
        point, along, exponent = self._line(x, d)
        columns, tile = self._frame.columns, self._find(point)
        log_volume = self._frame.log_volume(tile.basis)
        back = copy_of(tile)
        ahead_ends, ahead_bases, ahead_logs = traverse(columns, tile, along, log_volume)
        back_ends, back_bases, back_logs = traverse(columns, back, -along, log_volume)
        # Both walks start in the tile of x: it is one piece, not two.
        return Walk(
            breaks=rescaled(np.concatenate([-back_ends[::-1], ahead_ends]), exponent),
            bases=np.concatenate([back_bases[:0:-1], ahead_bases]),
            log_volumes=np.concatenate([back_logs[:0:-1], ahead_logs]),
        )

    def _line(self, x: ArrayLike, d: ArrayLike) -> tuple[Floats, Floats, int]:
        """Return x, and M d / 2**exponent with entries of about size one, and the exponent."""
        direction = self._point(d, "d")
        if not direction.any():
            raise ValueError("d must not be zero: it is the direction of a line")
        sizes = np.frexp(direction)[1] - self._frame.heights
        exponent = int(sizes[direction != 0].max())
        return self._point(x, "x"), self._frame.map(direction, exponent), exponent

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
        if comb(self.n, self.r) > MOST_TILES:
            raise ValueError(
                f"up to {comb(self.n, self.r):,} tiles: more than {MOST_TILES:,} are not listed; "
                "use walk() or sample()"
            )
        return all_tiles(self._frame.columns, self._costs)

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
            Draws of the estimate, which is then unbiased. Default: as many as ``rel_error`` takes.
        rel_error : float
            Standard error to reach, as a share of the volume.
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
            method = "exact" if comb(self.n, self.r) <= MOST_TILES else "estimate"
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
            in four or five stays in the tile before it), or Algorithm 2. Points of neither are
            independent.
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
        if one_of(method, "method", ("independence", "hit-and-run")) == "hit-and-run":
            steps = as_count(self.r if thin is None else thin, "thin", 1)
            burn_in = 10 * self.r
            return hit_and_run_points(self._frame, size, generator, thin=steps, burn_in=burn_in)
        if thin is not None:
            raise ValueError("thin is for method='hit-and-run'")
        bases = independent_bases(self.A, size, generator)[0]
        return points_in_tiles(self._frame, bases, self._costs, generator)
