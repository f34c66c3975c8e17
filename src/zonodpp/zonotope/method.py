"""Hit-and-run on the zonotope: Algorithms 4 and 5 of the paper, and the exact line.

The chain moves a point through Z(A) and reads off the tile it is in. Its density on the tile of B
is |det A_B|^(p-1) prod q_i / s_i, where s are the column factors of the zonotope
(``base_measure``), so that tiles are drawn in proportion to |det A_B|^p prod q_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_column, as_flag, as_positive, one_of
from zonodpp._types import Floats
from zonodpp.chains.columns import UnitColumns, matrix_of
from zonodpp.chains.contract import Sampler
from zonodpp.chains.inverse import inverse_of, random_basis
from zonodpp.chains.small_pivots import (
    equal_copies,
    needs_care,
    refuse_hidden,
    refuse_thin,
    waiting_time,
)
from zonodpp.numerics.arrays import frozen, to_dense
from zonodpp.numerics.compiled import VECTOR
from zonodpp.numerics.gram import RankError
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.base import Target
from zonodpp.targets.family import VolumeSampling
from zonodpp.zonotope.frame import SEED, Frame, frame_of
from zonodpp.zonotope.line import Rule
from zonodpp.zonotope.pool_walk import PoolWalk
from zonodpp.zonotope.tile import PIVOT
from zonodpp.zonotope.walk import ZonotopeWalk

WORDS = {  # the values that each option may have
    "line": ("gibbs", "metropolis"),
    "directions": ("whitened", "isotropic"),
    "tiling": ("fresh", "fixed"),
    "base_measure": ("sqrt", "full"),
    "preset": ("paper",),
    "pricing": ("all", "pool", "lazy"),
}
# A walk along a whole chord of dense columns crosses about n tiles. Long steps take a few pivots
# for each item of a basis, and a pivot takes as long as two or three tiles: long steps are faster
# from about n = 5 r on. They are not used for graphs, whose chords are shorter, nor for few items,
# for which the walk takes less time than the compilation of long steps.
_LONG_CHORD, _LONG_CHORD_PER_ITEM = 100, 5
_TILES_PER_ITEM = 4  # tiles that a step crosses for each item of the basis, see `_crossing_rate`
TILES_PER_ITEM_TRACKED = 32  # the same where all tiles count in averages
_ITEMS_SEEN = 1000  # items for which `_crossing_rate` finds out where they may enter a basis
# A test of all items is fastest up to about n = 400 + 6 r: 500 for r = 10, 700 for r = 50. With
# fresh tilings, a pool is fastest up to about n = 2000 r. See `benchmarks.bench_growth_zonotope`.
_POOL_FROM, _POOL_FROM_PER_ITEM, _LAZY_FROM_PER_ITEM = 400, 6, 2000
# |cos(T_p, e_j)| below which item j depends on the items of the basis other than that at place p.
_DEPENDENT = 1e-9
# A chain with line='metropolis' picks tiles by volume. If the mean number of steps until it finds
# a tile is larger than this, runs of ordinary length are far from the law.
_LONGEST_WAIT = 100.0
_THIN = 1e-3  # entries that are larger make no wait so long
_PLAIN = {"line": "gibbs", "directions": "whitened", "tiling": "fresh"}
_PLAIN_OPTIONS = "line='gibbs', tiling='fresh'"
PAPER = {"line": "metropolis", "directions": "isotropic", "tiling": "fixed"}


@dataclass(frozen=True)
class HitAndRun:
    """Hit-and-run on the zonotope of A, whose tiles are the bases.

    A step draws a line through the point where the chain is, and a point of that line.

    Parameters
    ----------
    line : {"gibbs", "metropolis"}
        Draw from the exact conditional along the line, or propose a uniform point of the chord
        and accept it with the ratio of densities. Default: "gibbs".
    directions : {"whitened", "isotropic"}
        Isotropic after whitening (covariance AA'), or isotropic in the coordinates of A as given.
        Default: "whitened".
    tiling : {"fresh", "fixed"}
        Draw new costs c and a new point of the tile at each step, or keep c and carry the point
        from step to step. Default: "fresh".
    window : float, optional
        Move inside a randomly placed window of this length (in units of the directions) only.
        ``inf`` walks whole chords. Default: such that a step crosses about four tiles for each item
        of a basis, 32 with ``reflect``; whole chords for "metropolis" with a "fixed" tiling.
    base_measure : {"sqrt", "full"}
        Scale column i of the zonotope by sqrt(q_i) or by q_i; see section 3.4 of the paper.
    c : (n,) array_like, optional
        The linear objective of a fixed tiling. Ties, which would leave no tiling, are broken by a
        perturbation of relative size 1e-9. Default: Gaussian, drawn once for each chain.
    preset : {"paper"}, optional
        Algorithm 5 as published: "metropolis", "isotropic" and "fixed" become the defaults.
    reflect : bool, optional
        Reflect the walk at the boundary and go on to the end of the window. Default: True if sets
        are tracked, ``line`` is "gibbs", ``tiling`` is "fresh" and no ``window`` is given, since
        averages gain from long walks; else False.
    pricing : {"all", "pool", "lazy"}, optional
        Which items are tested where the walk leaves a tile: all of them; a pool of items with small
        reduced costs, which gives the same tiles; or, with fresh tilings, those that are met, so
        that a step takes about as long for any number of items. Default: the fastest for r and n,
        "all" where A is sparse.

    See Also
    --------
    sample : Where to pass it.
    Zonotope : Tiles, chords and walks one by one.
    Exact : Independent draws, for power 2.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, algorithms 4 and 5.

    Examples
    --------
    >>> from zonodpp import HitAndRun, ProjectionDPP, sample
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> sample(target, 100, method=HitAndRun(preset="paper"), rng=0).method
    'zonotope'
    """

    line: str | None = None
    directions: str | None = None
    tiling: str | None = None
    window: float | None = None
    base_measure: str = "sqrt"
    c: ArrayLike | None = None
    preset: str | None = None
    reflect: bool | None = None
    pricing: str | None = None
    name: ClassVar[str] = "zonotope"

    def __post_init__(self) -> None:
        for option, words in WORDS.items():
            # None stands for the default, but base_measure has its default and must not be None.
            if getattr(self, option) is not None or option == "base_measure":
                one_of(getattr(self, option), option, words)
        if not (self.window is None or _is_infinite(self.window)):
            as_positive(self.window, "window")
        tiling = self._chosen("tiling")
        if self.c is not None and tiling == "fresh":
            raise ValueError("c fixes the tiling; pass tiling='fixed' or preset='paper' with it")
        if self.pricing == "lazy" and tiling == "fixed":
            raise ValueError(
                "pricing='lazy' draws costs on the way, and so it goes with tiling='fresh'; pass "
                "pricing='pool', or tiling='fresh'"
            )
        if self.reflect is not None and as_flag(self.reflect, "reflect"):
            if tiling == "fixed":
                raise ValueError("reflect=True goes with tiling='fresh': no point is carried")
            if self.window is not None and _is_infinite(self.window):
                raise ValueError("a reflected walk never ends: give reflect=True a finite window")

    def _chosen(self, option: str) -> str:
        """Return an option, or its default."""
        return getattr(self, option) or (_PLAIN if self.preset is None else PAPER)[option]

    def prepare(self, target: Target) -> Sampler:
        """Choose coordinates and the window; the target keeps the sampler if ``c`` is not given."""
        kept = self.c is None  # arrays cannot be hashed
        found: ZonotopeWalk | None = target.prepared.get(self) if kept else None
        if found is None:
            with one_thread(target.r**2 * target.n):
                on_bases = cast(VolumeSampling, target.on_bases(self.name))
                found = self._on_bases(on_bases, target.n)
            if kept:
                target.prepared[self] = found
        return found

    def _on_bases(self, target: VolumeSampling, items: int) -> ZonotopeWalk:
        """Choose coordinates, directions and the window.

        The first columns are the ``items`` that draws are made of.
        """
        gibbs, fresh = self._chosen("line") == "gibbs", self._chosen("tiling") == "fresh"
        q = np.ones(target.n) if target.weights is None else target.weights
        s = np.sqrt(q) if self.base_measure == "sqrt" else q
        frame = _frame(target, s, self.base_measure)
        costs = None if self.c is None else frame.costs(as_column(self.c, target.n, "c"))
        columns = frame.columns
        whole_chord = self.window is None and not gibbs and not fresh
        long = whole_chord and target.n >= max(_LONG_CHORD, _LONG_CHORD_PER_ITEM * target.r)
        factor, exponent = _direction_factor(frame, self._chosen("directions"))
        window = longer = np.inf
        if self.window is not None:
            window = longer = float(np.ldexp(self.window, -exponent))
        elif not whole_chord:
            rate = _crossing_rate(frame, factor)
            window = float(target.r * _TILES_PER_ITEM / rate)
            longer = float(target.r * TILES_PER_ITEM_TRACKED / rate)
        log_mass = _log_masses(columns, q, s, target.power)
        log_weight = _log_weights(columns, log_mass)
        careful = needs_care(log_weight[columns.lengths > 0], target.power, PIVOT)
        if careful:
            columns = equal_copies(columns, target.A)
            refuse_hidden(columns, log_weight, target.power)
        if careful and not fresh:
            refuse_thin(columns, log_weight, target.power, PIVOT, _PLAIN_OPTIONS)
        if not gibbs:
            _refuse_long_waits(columns, log_weight, target.power)
        rule = Rule(
            factor=frozen(np.tril(factor)),
            log_mass=frozen(log_mass),
            exponent=target.power - 1.0,
            window=longer if self.reflect else window,
            gibbs=gibbs,
            fresh=fresh,
            long_steps=long and len(columns.dense) > 0,
            reflect=bool(self.reflect),
            metric=frozen(factor @ factor.T),
            careful=careful and gibbs,
            log_weight=frozen(log_weight),
        )
        tracking = rule
        if self.reflect is None and gibbs and fresh and self.window is None:
            tracking = rule._replace(window=longer, reflect=True)
        sizes = target.n, items
        usual = float(target.r * _TILES_PER_ITEM / _crossing_rate(frame, factor)) if fresh else 1.0
        pricing = self.pricing or _default_pricing(frame, rule, usual)
        if pricing == "all":
            return ZonotopeWalk(columns, *sizes, rule, tracking, frame.ellipsoid, costs)
        return PoolWalk(
            columns,
            *sizes,
            rule._replace(long_steps=False),
            tracking._replace(long_steps=False),
            frame.ellipsoid,
            costs,
            lazy=pricing == "lazy",
            asked=self.pricing is not None,
            met=2 * (TILES_PER_ITEM_TRACKED if tracking.reflect else 2 * _TILES_PER_ITEM),
        )


def _default_pricing(frame: Frame, rule: Rule, usual: float) -> str:
    """Return the pricing that is fastest, by measurement; ``usual`` is the default window."""
    r, n = frame.columns.rows.shape[0], frame.columns.lengths.size
    if rule.long_steps or not frame.columns.dense.size or n < _POOL_FROM + _POOL_FROM_PER_ITEM * r:
        return "all"
    if not rule.fresh or n < _LAZY_FROM_PER_ITEM * r:
        return "pool"
    # Longer lines meet more items, and more of them need all costs.
    return "lazy" if n >= _LAZY_FROM_PER_ITEM * r * max(1.0, rule.window / usual) else "pool"


def _is_infinite(window: float) -> bool:
    return isinstance(window, float | np.floating) and window == np.inf


def _frame(target: VolumeSampling, s: Floats, base_measure: str) -> Frame:
    """Return the zonotope of the columns s_j a_j, or raise an error that names the option."""
    try:
        return frame_of(target.A, s, multiple=VECTOR)
    except RankError as error:
        raise ValueError(
            f"with base_measure={base_measure!r} the columns of the zonotope differ so much in "
            f"length that their numerical rank is {error.rank}, not r = {target.r}; use the other "
            "base_measure, or method='exact'"
        ) from None


def _direction_factor(frame: Frame, directions: str) -> tuple[Floats, int]:
    """Return the matrix F and the exponent k such that directions are 2**k F z, z on the sphere."""
    if directions == "whitened":
        return np.asarray(np.linalg.inv(frame.ellipsoid.whitener)), 0
    exponent = int(frame.heights.min())
    return np.ldexp(frame.W, exponent - frame.heights), exponent


def _log_masses(columns: UnitColumns, q: Floats, s: Floats, power: float) -> Floats:
    """Log density of a tile over |det E_B|^(p-1), an item at a time: |a_j|^(p-1) q_j / s_j."""
    logs = np.zeros(columns.lengths.size)
    usable = np.flatnonzero(columns.lengths)
    log_s = np.log(s[usable])
    logs[usable] = (power - 1.0) * (np.log(columns.lengths[usable]) - log_s)
    logs[usable] += np.log(q[usable]) - log_s
    return logs


def _log_weights(columns: UnitColumns, log_mass: Floats) -> Floats:
    """Log weight of items in exchanges: P(B - s + t) / P(B) is entry^p times their ratio."""
    with np.errstate(divide="ignore"):
        return np.where(columns.lengths > 0, log_mass + np.log(columns.lengths), 0.0)


def _refuse_long_waits(columns: UnitColumns, log_weight: Floats, power: float) -> None:
    """Raise an error if a chain that picks tiles by volume takes too long to find likely ones."""
    if not needs_care(log_weight[columns.lengths > 0], power, _THIN):
        return
    wait = waiting_time(columns, log_weight, power)
    if wait > _LONGEST_WAIT:
        raise ValueError(
            f"with power={power:g}, sets of nearly dependent columns are likely, and a chain with "
            f"line='metropolis' takes about {wait:.1g} steps to find one of their thin tiles; use "
            "method='exchange', or line='gibbs', tiling='fresh'"
        )


def _crossing_rate(frame: Frame, factor: Floats) -> float:
    """Return about how many tiles a line crosses in a unit of its window.

    By default the window is such that a step crosses _TILES_PER_ITEM * r tiles. With fresh tilings
    only the basis carries over from step to step, and it is renewed once each of its r items had
    several chances to leave: longer walks cost more and gain nothing. With reflection the walk is
    longer: its tiles are cheap, and all of them count in the averages.

    A walk along d = F z, z on the sphere, leaves the tile of B at the rate sum_p |T_p d|, where T
    is the inverse of A_B. Let m be the mean number of items that can take the place of an item of
    B: n - r + 1 if all bases have a volume, fewer in a graph. Let W whiten A. Two estimates of the
    mean rate are known:

    - Over bases of the projection DPP, sum_p |T_p F|^2 has the mean m |W F|^2 (Derezinski, Warmuth
      2018), and |T_p F z| is about sqrt(2 / (pi r)) |T_p F|: the rate is sqrt(2 m / pi) |W F|.
    - Over all points of the zonotope, a chord crosses m tiles on average. In whitened coordinates
      the chords of a ball as wide as the zonotope have the mean length radius sqrt(2 pi / r), and a
      unit of z has the length |W F| / sqrt(r).

    The first is too small if columns differ much in length, the second if n is close to r or most
    bases have no volume. So the larger one is taken. m is estimated from one basis and some items.
    """
    columns, ellipsoid = frame.columns, frame.ellipsoid
    basis = random_basis(columns, np.random.default_rng(SEED))
    usable = np.flatnonzero(columns.lengths)
    some = usable[:: -(-usable.size // _ITEMS_SEEN)]
    T = inverse_of(columns, basis)
    tableau = np.abs(to_dense(T @ matrix_of(columns)[:, some]))
    entering = tableau > _DEPENDENT * np.linalg.norm(T, axis=1, keepdims=True)
    m = max(1.0, float(entering.mean()) * usable.size)
    r, size = len(basis), np.linalg.norm(ellipsoid.whitener @ factor)
    chord = ellipsoid.radius * np.sqrt(2 * np.pi / r)
    return float(max(np.sqrt(2 * m / np.pi) * size, m * size / np.sqrt(r) / chord))
