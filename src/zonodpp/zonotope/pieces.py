"""What a zonotope is cut into: tiles, and the pieces of a line."""

from __future__ import annotations

from typing import NamedTuple

from zonodpp._types import Floats, Integers


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
        Logarithms of |det A_B|.
    """

    breaks: Floats
    bases: Integers
    log_volumes: Floats
