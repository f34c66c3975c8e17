"""`Zonotope`: tiles, chords, volumes, vertices, sums and uniform points of Z(A) = A[0,1]^n."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from itertools import combinations
from math import comb
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import (
    as_count,
    as_flag,
    as_matrix,
    as_positive,
    as_reals,
    check_finite,
    one_of,
    spawn,
)
from zonodpp._types import Booleans, Floats, MatrixLike, Rng, SeedLike
from zonodpp.chains.contract import make_draw
from zonodpp.chains.tracking import NO_SETS
from zonodpp.numerics.arrays import to_dense
from zonodpp.numerics.threads import one_thread
from zonodpp.zonotope.containment import Containment, containment
from zonodpp.zonotope.facets import Facets, facets_of
from zonodpp.zonotope.method import HitAndRun
from zonodpp.zonotope.reduction import METHODS, SEARCH, VolumeRatio, ratio_of, reduced_generators
from zonodpp.zonotope.tiling import Tile, Tiling
from zonodpp.zonotope.tilings import OutsideError, point_of, tile_from_basis
from zonodpp.zonotope.vertices import all_vertices, most_vertices, polygon, prominent_vertices
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
    origin : (r,) array
        The zonotope is origin + A[0,1]^n. Zero, unless it was made by `from_generators`.
    center, generators
        The same as ``{center + generators @ b : |b| <= 1}``.
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

    __array_ufunc__ = None  # so that NumPy leaves M @ zonotope and v + zonotope to this class

    @classmethod
    def from_generators(
        cls, G: MatrixLike, center: ArrayLike = 0.0, *, rng: SeedLike = None
    ) -> Zonotope:
        """Return ``{center + G b : |b| <= 1}``, as reachability and control write zonotopes.

        It may be flat: points and tiles of it are then refused, and all else is computed.

        Parameters
        ----------
        G : (r, n) array_like or scipy.sparse matrix
            Generators are columns.
        center : (r,) array_like or float, default 0
            The centre of symmetry.
        rng : seed or Generator, optional
            For the objective c, which fixes the tiling.

        Returns
        -------
        Zonotope
            With A = 2 G and origin = center - the sum of all generators.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> box = Zonotope.from_generators([[1, 0], [0, 2]], center=[5, 0])
        >>> box.contains([5.5, -1.5]), round(box.volume().value, 12)
        (True, 8.0)
        >>> sheared = [[1, 1], [0, 1]] @ box + [0, 1]
        >>> sheared.center, sheared.generators
        (array([5., 1.]), array([[1., 2.],
                                 [0., 2.]]))
        """
        A = 2.0 * as_matrix(G, "G")
        check_finite(A, "G")
        middle, r = as_reals(center, "center", finite=True), A.shape[0]
        expected = f"r = {r} coordinates as G has rows, or be a number"
        middle = as_reals(middle, "center", () if middle.ndim == 0 else (r,), expected)
        middle = np.full(A.shape[0], middle)
        zonotope = cls.__new__(cls)
        zonotope._begin(A, middle - np.asarray(A.sum(axis=1)) / 2.0, None, rng)
        zonotope.center = middle
        return zonotope

    @cached_property
    def center(self) -> Floats:
        """The centre of symmetry, (r,)."""
        return self.origin + np.asarray(self.A.sum(axis=1)) / 2.0

    @cached_property
    def generators(self) -> Floats:
        """G of ``{center + G b : |b| <= 1}``, (r, n): half of A."""
        return to_dense(self.A) / 2.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(r={self.r}, n={self.n})"

    @overload
    def contains(self, x: Zonotope) -> Containment: ...

    @overload
    def contains(self, x: ArrayLike) -> bool | Booleans: ...

    def contains(self, x: ArrayLike | Zonotope) -> bool | Booleans | Containment:
        """Tell whether points, or another zonotope, lie in the zonotope.

        Points are found by the dual simplex method. For a zonotope all facets of this one are
        looked at if there are at most 200,000; else a linear program may prove containment, and a
        direction in which the other one reaches farther may exclude it.

        Parameters
        ----------
        x : (r,) or (m, r) array_like, or Zonotope
            One point, points as rows, or a zonotope.

        Returns
        -------
        bool, (m,) array of bool for points as rows, or Containment for a zonotope
            True for what lies in the zonotope. `Containment` also says how that is known.

        References
        ----------
        S. Sadraddini, R. Tedrake, "Linear encodings for polytope containment problems", CDC 2019.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> square = Zonotope([[1, 0], [0, 1]], rng=0)
        >>> square.contains([0.5, 1.5])
        False
        >>> square.contains([[0.5, 1.5], [0.5, 0.5]])
        array([False,  True])
        >>> bool(square.contains(Zonotope([[0.5], [0.5]] * np.eye(2), rng=0)))
        True
        """
        if isinstance(x, Zonotope):
            if x.r != self.r:
                raise ValueError(f"a zonotope with r = {self.r} cannot contain one with r = {x.r}")
            return containment(self.generators, x.generators, x.center - self.center)
        points = self._points(x, "x")
        found = np.array([self._holds(point) for point in np.atleast_2d(points)], dtype=bool)
        return found if points.ndim == 2 else bool(found[0])

    def _holds(self, point: Floats) -> bool:
        with suppress(OutsideError):
            self._find(point - self.origin if self._moved else point)
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
        found += np.atleast_2d(directions) @ self.origin
        return found if directions.ndim == 2 else float(found[0])

    def vertices(self, at_most: int | None = None, *, rng: SeedLike = None) -> Floats:
        """Return the vertices, in any dimension, in time in proportion to their number.

        There are at most 2 sum_{i<r} C(n-1, i) vertices, and so many if any r generators are
        independent. The vertices of a flat zonotope are listed, too.

        Parameters
        ----------
        at_most : int, optional
            List no more than so many: prominent ones, each farther than all others in a large
            share of directions, as random directions find them. Default: all vertices.
        rng : seed or Generator, optional
            For the random directions.

        Returns
        -------
        (m, r) array
            In the plane all of them counterclockwise from the lowest one.

        Raises
        ------
        ValueError
            When all vertices need more than half of the memory of this machine.

        References
        ----------
        T. Zaslavsky, "Facing up to arrangements", Memoirs of the AMS 154 (1975): their number.

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
        >>> import numpy as np
        >>> cube = Zonotope(np.eye(5))
        >>> len(cube.vertices()), len(cube.vertices(at_most=4, rng=0))
        (32, 4)
        """
        if at_most is not None:
            at_most = as_count(at_most, "at_most", 1)
            if most_vertices(self.n, self.r) > at_most:
                [generator] = spawn(rng, purpose="vertices")
                return self.center + prominent_vertices(self.generators, at_most, generator)
        A = to_dense(self.A)
        if self.r == 2 and A.any():
            return self.origin + polygon(A)
        return self.center + all_vertices(self.generators)

    def facets(self) -> Facets:
        """Return all facets as inequalities N x <= b, each once.

        There are at most 2 C(n, r-1) facets, and so many if any r generators are independent. Of a
        flat zonotope, two opposite inequalities for each direction at a right angle to it come
        with those of its facets in its span.

        Returns
        -------
        Facets
            ``N, b = zonotope.facets()`` unpacks the (m, r) normals, of length one, and (m,) bounds.

        Raises
        ------
        ValueError
            When the facets need more than half of the memory of this machine.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> N, b = Zonotope([[1, 0, 1], [0, 1, 1]], rng=0).facets()
        >>> N.shape, bool((N @ [1.5, 1] <= b).all()), bool((N @ [2, 0.5] <= b).all())
        ((6, 2), True, False)
        """
        return facets_of(self.generators, self.center)

    def reduce(
        self, order: float, *, inner: bool = False, method: str | None = None
    ) -> ReducedZonotope:
        """Return a zonotope with fewer generators that contains this one, or lies within it.

        Parameters
        ----------
        order : float
            The result has at most order * r generators; 1 gives a parallelotope.
        inner : bool, default False
            Look for a zonotope within this one.
        method : {"search", "girard", "combastel", "pca", "scott"}, optional
            Our own search, by default, or a method of the field. The others take less time and
            give larger zonotopes.

        Returns
        -------
        ReducedZonotope
            A zonotope with ``ratio()``: how much larger it is, with a standard error.

        References
        ----------
        A.-K. Kopetzki, B. Schuermann, M. Althoff, "Methods for order reduction of zonotopes", CDC
        2017. X. Yang, J. K. Scott, "A comparison of zonotope order reduction techniques",
        Automatica 95 (2018).

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import Zonotope
        >>> G = np.random.default_rng(0).normal(size=(3, 30))
        >>> zonotope = Zonotope.from_generators(G)
        >>> reduced = zonotope.reduce(2)
        >>> reduced.n, bool(reduced.contains(zonotope)), reduced.ratio().value < 1.2
        (6, True, True)
        """
        order = as_positive(order, "order")
        if order < 1:
            raise ValueError(
                f"order must be at least 1, got {order:g}: a zonotope with fewer generators than "
                "dimensions is flat"
            )
        known = (SEARCH, *METHODS)
        method = SEARCH if method is None else one_of(method, "method", known)
        if as_flag(inner, "inner") and method != SEARCH:
            raise ValueError(f"method={method!r} makes zonotopes around this one: leave out inner")
        with one_thread():
            G = reduced_generators(self.generators, order, method, inner)
        return ReducedZonotope(self, G, method)

    def interval_hull(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest value of each coordinate.

        Returns
        -------
        lower, upper : (r,) array
            Corners of the smallest box with edges along the axes that contains the zonotope.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> Zonotope.from_generators([[1, 1], [0, 2]], center=[5, 0]).interval_hull()
        (array([ 3., -2.]), array([7., 2.]))
        """
        reach = np.abs(self.generators).sum(axis=1)
        return self.center - reach, self.center + reach

    def __add__(self, other: Zonotope | ArrayLike) -> Zonotope:
        """Return the Minkowski sum with a zonotope, or the zonotope moved by a vector."""
        if not isinstance(other, Zonotope):
            return self._made(self.generators, self.center + self._point(other, "the vector"))
        if other.r != self.r:
            raise ValueError(
                f"zonotopes must have the same dimension to be added up, got {self.r} and {other.r}"
            )
        G = np.column_stack([self.generators, other.generators])
        return self._made(G, self.center + other.center)

    __radd__ = __add__

    def __rmatmul__(self, M: MatrixLike) -> Zonotope:
        """Return the image under a linear map: M @ zonotope."""
        matrix = to_dense(as_matrix(M, "M"))
        check_finite(matrix, "M")
        if matrix.shape[1] != self.r:
            raise ValueError(
                f"M must have one column for each of the {self.r} dimensions, got shape "
                f"{matrix.shape}"
            )
        return self._made(matrix @ self.generators, matrix @ self.center)

    def _made(self, G: Floats, center: Floats) -> Zonotope:
        return Zonotope.from_generators(G, center, rng=self._rng)

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
        return self.origin + self._frame.map_back(points)

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


class ReducedZonotope(Zonotope):
    """A zonotope with few generators around another one, or within it.

    Parameters
    ----------
    original : Zonotope
        What was reduced.
    G : (r, n) array
        The generators that are left.
    method : str
        How they were found.

    See Also
    --------
    zonodpp.Zonotope.reduce : Makes one.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> octagon = Zonotope.from_generators([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> square = octagon.reduce(1)
    >>> square.n, bool(square.contains(octagon)), bool(octagon.contains(square))
    (2, True, False)
    """

    def __init__(self, original: Zonotope, G: Floats, method: str) -> None:
        self._begin(2.0 * G, original.center - G.sum(axis=1), None, original._rng)
        self.center, self.original, self.method = original.center, original, method

    def ratio(self, *, rel_error: float = 0.01, rng: SeedLike = None) -> VolumeRatio:
        """Return the ratio of the two volumes to the power 1/r, with its standard error.

        Parameters
        ----------
        rel_error : float
            Standard error of each volume, as a share of it, where it has to be estimated.
        rng : seed or Generator, optional
            For the estimates.

        Returns
        -------
        VolumeRatio
            ``value, stderr = reduced.ratio()`` unpacks the two.

        Examples
        --------
        >>> from zonodpp import Zonotope
        >>> octagon = Zonotope.from_generators([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> value, stderr = octagon.reduce(1).ratio()
        >>> 1 < value < 1.2, stderr
        (True, 0.0)
        """
        first, second = spawn(rng, 2, purpose="ratio")
        of_this = self.volume(rel_error=rel_error, rng=first)
        return ratio_of(of_this, self.original.volume(rel_error=rel_error, rng=second), self.r)
