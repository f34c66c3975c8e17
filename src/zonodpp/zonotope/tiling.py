"""`Tiling`: the tiles of a zonotope, that of a point or all along a line, and what these are."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_column, as_reals, spawn
from zonodpp._types import Floats, Integers, Matrix, MatrixLike, SeedLike
from zonodpp.chains.inverse import independent_items
from zonodpp.numerics.gram import RankError
from zonodpp.targets import VolumeSampling
from zonodpp.zonotope.chord import chord_ends
from zonodpp.zonotope.frame import Frame, frame_of
from zonodpp.zonotope.long_steps import CYCLED
from zonodpp.zonotope.tile import TileState, copy_of, tile_scratch
from zonodpp.zonotope.tilings import OutsideError, find_tile, tile_from_basis, traverse


class Tile(NamedTuple):
    """A tile, and a point in it: x = A_B u + the sum of the columns at their upper bound.

    Attributes
    ----------
    basis : (r,) array of int
        B, ascending.
    at_upper : (k,) array of int
        Items outside B that rest at 1; the others rest at 0.
    coordinates : (r,) array
        u in [0, 1]^r, in the order of the basis.

    See Also
    --------
    zonodpp.Zonotope.tile : The tile of a point.
    zonodpp.Zonotope.tiles : All tiles.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> Zonotope([[1, 2, 0], [0, 1, 2]], c=[1, 2, 4]).tile([1, 1]).basis
    array([1, 2])
    """

    basis: Integers
    at_upper: Integers
    coordinates: Floats


class Walk(NamedTuple):
    """All tiles along a line, from one end of the chord to the other.

    Attributes
    ----------
    breaks : (k + 1,) array
        Values of alpha, ascending: tile i holds x + alpha d from breaks[i] to breaks[i + 1].
    bases : (k, r) array of int
        Bases, each ascending.
    log_volumes : (k,) array
        Logarithms of ``|det A_B|``.

    See Also
    --------
    zonodpp.Zonotope.walk : The walk along a line.

    Examples
    --------
    >>> from zonodpp import Zonotope
    >>> walk = Zonotope([[1, 2, 0], [0, 1, 2]], rng=0).walk([1, 1], [1, 0])
    >>> len(walk.breaks) == len(walk.bases) + 1
    True
    """

    breaks: Floats
    bases: Integers
    log_volumes: Floats


class Tiling:
    """The tiling of a zonotope by a linear objective; `Zonotope` says what its parameters are."""

    def __init__(self, A: MatrixLike, *, c: ArrayLike | None = None, rng: SeedLike = None) -> None:
        try:
            self._target = VolumeSampling(A)  # checks A
        except RankError as error:
            raise _flat(error.rank, np.shape(A)[0]) from None
        origin, n = np.zeros(self._target.r), self._target.n
        given = None if c is None else as_column(c, n, "c").copy()
        self._begin(self._target.A, origin, given, rng)
        self._corner  # noqa: B018  made at once: it refuses flat zonotopes

    def _begin(self, A: Matrix, origin: Floats, c: Floats | None, rng: SeedLike) -> None:
        """Take origin + A[0,1]^n; what belongs to the tiling is made when it is first needed."""
        self.A, self.origin, self._given, self._rng = A, origin, c, rng
        self.r, self.n = A.shape
        self._moved = bool(origin.any())

    @cached_property
    def _target(self) -> VolumeSampling:
        return VolumeSampling(self.A)

    @cached_property
    def _frame(self) -> Frame:
        try:
            if self.n < self.r:
                raise RankError(self.n, "")
            return frame_of(self.A, None)
        except RankError as error:
            raise _flat(error.rank, self.r) from None

    @cached_property
    def _costs(self) -> Floats:
        """The objective for unit columns."""
        if self._given is not None:
            return self._frame.costs(self._given)
        [generator] = spawn(self._rng, purpose="tiling")
        return np.asarray(generator.standard_normal(self.n))

    @cached_property
    def c(self) -> Floats:
        """The objective that fixes the tiling."""
        return self._costs * self._frame.columns.lengths if self._given is None else self._given

    @cached_property
    def _corner(self) -> TileState:
        # Linear programs start from items of small cost: these are the basis of a point whose dual
        # variables are small, as they are in the middle of the zonotope.
        columns = self._frame.columns
        first = independent_items(columns, np.argsort(np.abs(self._costs)))
        return tile_from_basis(columns, first, self._costs)

    def _point(self, x: ArrayLike, name: str) -> Floats:
        return as_reals(x, name, (self.r,), f"r = {self.r} coordinates", finite=True)

    def _points(self, x: ArrayLike, name: str) -> Floats:
        """Return one point, (r,), or points as rows, (m, r)."""
        points = as_reals(x, name)
        expected = f"r = {self.r} coordinates, of one point or of each row"
        wanted = (self.r,) if points.ndim < 2 else (None, self.r)
        return as_reals(points, name, wanted, expected, finite=True)

    def _from_origin(self, x: ArrayLike) -> Floats:
        """Return x - origin."""
        point = self._point(x, "x")
        return point - self.origin if self._moved else point

    def _find(self, point: Floats) -> TileState:
        """Return the tile that holds origin + point, or raise OutsideError."""
        x = self._frame.map(point)
        try:
            if not np.all(np.isfinite(x)):
                raise OutsideError
            return find_tile(self._frame.columns, x, self._costs, self._corner)
        except OutsideError:
            shown = np.array2string(point + self.origin, precision=4, threshold=6)
            inside = "origin + A y" if self._moved else "A y"
            raise OutsideError(
                f"the point {shown} lies outside the zonotope; points inside are {inside} with "
                "0 <= y <= 1"
            ) from None

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
        tile = self._find(self._from_origin(x))
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
            self._find(point)  # raises the error that it is outside
        columns, ellipsoid = self._frame.columns, self._frame.ellipsoid
        tile, scratch = copy_of(self._corner), tile_scratch(self.r, self.n)
        low, high, pivots = chord_ends(columns, ellipsoid, tile, at, along, scratch)
        if pivots < 0 or not low <= 0.0 <= high:
            self._find(point)  # raises an error if it is outside
            if pivots == CYCLED:
                raise ArithmeticError(
                    f"rounding hides the ends of the line through x = {point + self.origin}; "
                    "scale the rows of A"
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
        back = copy_of(tile)
        ahead_ends, ahead_bases = traverse(columns, tile, along)
        back_ends, back_bases = traverse(columns, back, -along)
        # Both walks start in the tile of x, which is one piece of the line, not two.
        bases = np.concatenate([back_bases[:0:-1], ahead_bases])
        return Walk(
            breaks=rescaled(np.concatenate([-back_ends[::-1], ahead_ends]), exponent),
            bases=bases,
            log_volumes=self._frame.log_volumes(bases),
        )

    def _line(self, x: ArrayLike, d: ArrayLike) -> tuple[Floats, Floats, int]:
        """Return x, and M d / 2**exponent with entries of about size one, and the exponent."""
        direction = self._point(d, "d")
        if not direction.any():
            raise ValueError("d must not be zero: it is the direction of a line")
        sizes = np.frexp(direction)[1] - self._frame.heights
        exponent = int(sizes[direction != 0].max())
        return self._from_origin(x), self._frame.map(direction, exponent), exponent


def rescaled(alphas: Floats, exponent: int) -> Floats:
    """Return values of alpha for d, given those for d / 2**exponent."""
    with np.errstate(over="ignore", under="ignore"):
        found = np.ldexp(alphas, -exponent)
        length = np.ldexp(np.abs(found).max(), exponent)
    if length != np.abs(alphas).max():
        raise ValueError(
            f"d is too {'short' if exponent < 0 else 'long'} for this zonotope: the ends of the "
            f"line, as multiples of d, are beyond floating-point numbers; divide d by 2**{exponent}"
        )
    return np.asarray(found)


def _flat(rank: int, r: int) -> RankError:
    """Return the error that says that a zonotope has no volume."""
    flat = f"up to rounding errors it spans {rank} of {r} dimensions"
    advice = "drop rows that depend on others, or columns far shorter than the rest"
    return RankError(rank, f"the zonotope is flat: {flat}; {advice}")
