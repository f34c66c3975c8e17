"""`Zonotope`: tiles, chords, volumes and uniform points of Z(A) = A[0,1]^n."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Booleans, Floats, SeedLike
from zonodpp.arguments import as_count, one_of, spawn
from zonodpp.linalg.dense import to_dense
from zonodpp.samplers.uniform import hit_and_run_points, points_in_tiles
from zonodpp.tiles.tilings import OutsideError
from zonodpp.zonotope.pieces import plane_vertices
from zonodpp.zonotope.tiling import MOST_TILES, Tiling
from zonodpp.zonotope.volume import VolumeEstimate, estimate_volume, exact_volume, independent_bases


class Zonotope(Tiling):
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

    def __repr__(self) -> str:
        return f"Zonotope(r={self.r}, n={self.n})"

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
            return hit_and_run_points(self._target, self._frame, size, generator, steps)
        if thin is not None:
            raise ValueError("thin is for method='hit-and-run'")
        bases = independent_bases(self.A, size, generator)[0]
        return points_in_tiles(self._frame, bases, self._costs, generator)
