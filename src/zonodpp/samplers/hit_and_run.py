"""Hit-and-run on the zonotope: Algorithms 4 and 5 of the paper, and the exact line.

The chain moves a point through Z(A) and reads off the tile it is in. Its density on the tile of B
is |det A_B|^(p-1) prod q_i / s_i, where s are the column factors of the zonotope
(``base_measure``), so that tiles are drawn in proportion to |det A_B|^p prod q_i.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._jit import VECTOR
from zonodpp._types import Floats, Integers, Subsets
from zonodpp.arguments import as_flag, as_items, as_positive, one_of, spawn
from zonodpp.basis.columns import UnitColumns, matrix_of
from zonodpp.basis.inverse import has_drifted, inverse_of
from zonodpp.linalg.columns import frozen
from zonodpp.linalg.gram import RankError
from zonodpp.samplers import Sampler, Sets, State, remembered_start
from zonodpp.samplers.dilation import chain_on_bases
from zonodpp.samplers.jump_line import run_by_long_steps
from zonodpp.samplers.lines import (
    COUNTERS,
    DONE,
    DRIFTS,
    HALF,
    HOME,
    HUGE,
    LOST,
    LOST_TILES,
    OLD_HOME,
    REFACTORISATIONS,
    TILES,
    WALKER,
    Line,
    Rule,
    TrackedSets,
    new_line,
)
from zonodpp.samplers.tracking import SetTracker
from zonodpp.samplers.walk_line import run_by_walk
from zonodpp.tiles.chord import Ellipsoid
from zonodpp.tiles.costs import as_costs, unit_costs
from zonodpp.tiles.frame import Frame, frame_of
from zonodpp.tiles.long_step import FEASIBLE, order_scratch
from zonodpp.tiles.pivots import TileState, empty_tile, tile_scratch
from zonodpp.tiles.start import (
    any_basis,
    bare_tile,
    checked_basis,
    find_tile,
    put_tile,
    tile_from_basis,
    tile_with_point,
)

if TYPE_CHECKING:
    from zonodpp.targets.family import VolumeSampling
    from zonodpp.targets.target import Target

WORDS = {  # that an option may be
    "line": ("gibbs", "metropolis"),
    "directions": ("whitened", "isotropic"),
    "tiling": ("fresh", "fixed"),
    "base_measure": ("sqrt", "full"),
    "preset": ("paper",),
}
PLAIN = {"line": "gibbs", "directions": "whitened", "tiling": "fresh"}
PAPER = {"line": "metropolis", "directions": "isotropic", "tiling": "fixed"}
TILE_FIELDS = TileState._fields
TILES_PER_ITEM = 4  # tiles that a step crosses for each item of the basis, see `_default_window`
TILES_PER_ITEM_TRACKED = 32  # the same where all tiles count in averages
LONG_STEP_COST = 2.5  # time of a pivot of the long-step method, in tiles of the walk (make bench)
ALWAYS_WALK = 100  # items up to which no chord is long enough for long steps to pay
# Steps of the runs that choose a window: a few for each guess, more for the last one, which the
# mean number of tiles then corrects. At most PROBES * PROBE_STEPS + PILOT_STEPS, 30, are made.
PROBES, PROBE_STEPS, PILOT_STEPS = 6, 3, 12


@dataclass(frozen=True)
class HitAndRun:
    """Hit-and-run on the zonotope: Algorithms 4 and 5 of the paper, and the exact line.

    Parameters
    ----------
    line : {"gibbs", "metropolis"}
        Draw from the exact conditional along the line, or propose a uniform point of the chord
        and accept it with the ratio of densities. Default: "gibbs".
    directions : {"whitened", "isotropic"}
        Isotropic after whitening (covariance AA'), or as A is given. Default: "whitened".
    tiling : {"fresh", "fixed"}
        New costs c and a new point of the tile at each step, or one c and a carried point.
        Default: "fresh".
    window : float, optional
        Move inside a randomly placed window of this length (in units of the directions) only.
        ``inf`` walks whole chords. Default: about four tiles for each item of a basis.
    base_measure : {"sqrt", "full"}
        Scale column i of the zonotope by sqrt(q_i) or by q_i (the paper's section 3.4).
    c : (n,) array_like, optional
        The linear objective of a fixed tiling. Ties, which would leave no tiling, are broken by a
        perturbation of relative size 1e-9. Default: Gaussian, drawn once for each chain.
    preset : {"paper"}, optional
        Algorithm 5 as published: "metropolis", "isotropic" and "fixed" become the defaults.
    reflect : bool, optional
        Let the walk go on from the boundary as from a mirror, to the end of the window. Default:
        where sets are tracked and nothing else is asked for, since averages gain from long walks.

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
    name: ClassVar[str] = "zonotope"

    def __post_init__(self) -> None:
        for option, words in WORDS.items():
            if getattr(self, option) is not None or option == "base_measure":  # has a default
                one_of(getattr(self, option), option, words)
        if self.window is not None and self.window != np.inf:
            as_positive(self.window, "window")
        tiling = self._chosen("tiling")
        if self.c is not None and tiling == "fresh":
            raise ValueError("c fixes the tiling; pass tiling='fixed' or preset='paper' with it")
        if self.reflect is not None and as_flag(self.reflect, "reflect"):
            if tiling == "fixed":
                raise ValueError("reflect=True goes with tiling='fresh': no point is carried")
            if self.window == np.inf:
                raise ValueError(
                    "a walk that is reflected never ends: give reflect=True a finite window"
                )

    def _chosen(self, option: str) -> str:
        """Return an option, or its default."""
        return getattr(self, option) or (PLAIN if self.preset is None else PAPER)[option]

    def suits(self, target: Target) -> bool:
        """Return True: a chain on bases exists for every target that names this method."""
        return True

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Choose coordinates and the window, by a short pilot run."""
        reflect = self.reflect
        if reflect is None:
            plain = self._chosen("line") == "gibbs" and self._chosen("tiling") == "fresh"
            reflect = plain and self.window is None and bool(track)
        method = replace(self, reflect=reflect)
        key = None if self.c is not None else method  # arrays have no hash to find them by
        return chain_on_bases(target, self.name, key, track, method._on_bases)

    def _on_bases(self, target: VolumeSampling) -> ZonotopeWalk:
        """Choose what the options leave open."""
        line, tiling = self._chosen("line"), self._chosen("tiling")
        q = np.ones(target.n) if target.weights is None else target.weights
        s = np.sqrt(q) if self.base_measure == "sqrt" else q
        frame = _frame(target, s, self.base_measure)
        costs = None if self.c is None else unit_costs(as_costs(self.c, target.n), frame.columns)
        columns = frame.columns
        factor, unit = _direction_factor(frame, self._chosen("directions"))
        mass, level = _masses(columns, q, s, target.power)
        rule = Rule(
            factor=frozen(np.tril(factor)),
            mass=frozen(mass),
            level=frozen(level, np.int64),
            exponent=target.power - 1.0,
            window=np.inf if self.window is None else float(np.ldexp(self.window, -unit)),
            tolerance=FEASIBLE * float(columns.lengths.max()),
            gibbs=line == "gibbs",
            fresh=tiling == "fresh",
            long_steps=False,
            reflect=bool(self.reflect),
            metric=frozen(factor @ factor.T),
        )
        tracker = SetTracker.of(None, target.n)
        sampler = ZonotopeWalk(columns, rule, frame.ellipsoid, costs, tracker)
        if self.window is None and line == "metropolis" and tiling == "fixed":
            rule = rule._replace(long_steps=_long_steps_are_cheaper(sampler))
        elif self.window is None:
            rule = rule._replace(window=_default_window(sampler))
        return replace(sampler, rule=rule)


@dataclass(frozen=True)
class ZonotopeWalk:
    """A prepared zonotope sampler."""

    columns: UnitColumns
    rule: Rule
    ellipsoid: Ellipsoid
    costs: Floats | None  # of the fixed tiling, for unit columns
    tracker: SetTracker
    starts: dict[int, State] = field(default_factory=dict)  # those that were made so far
    counters: tuple[str, ...] = COUNTERS
    independent: bool = False

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return len(self.rule.factor)

    def start(self, rng: np.random.Generator, init: ArrayLike | None) -> State:
        """Start in the tile of x0 = A u, u uniform, or in the given basis at a uniform point.

        With fresh tilings, start in a random basis.
        """
        if init is None and self.rule.fresh:
            return remembered_start(self.starts, rng, self._random_start)
        lengths = self.columns.lengths
        n, r = lengths.size, len(self.rule.factor)
        costs = rng.standard_normal(n)
        if self.costs is not None:
            costs[: self.costs.size] = self.costs
        if init is None:
            x = matrix_of(self.columns) @ (lengths * rng.random(n))
            tile = find_tile(self.columns, x, costs)
        else:
            basis = checked_basis(init, self.columns, self.tracker.n)
            tile = tile_from_basis(self.columns, basis, costs)
            tile.u[:] = rng.random(r) * tile.reach
            rest = np.where(tile.side < 0, lengths, 0.0)
            rest[tile.basis] = tile.u
            x = matrix_of(self.columns) @ rest
        return _state_of(tile, x, costs)

    def _random_start(self, rng: np.random.Generator) -> State:
        """Start in a random basis: no point is carried, so there is no program to solve."""
        lengths = self.columns.lengths
        costs = rng.standard_normal(lengths.size)
        basis = any_basis(self.columns, lengths * rng.standard_exponential(lengths.size))
        tile = bare_tile(self.columns, basis)
        return _state_of(tile, np.zeros(len(self.rule.factor)), costs)

    def advance(
        self, state: State, rng: np.random.Generator, subsets: Subsets, tracked: Floats, thin: int
    ) -> None:
        """Make thin * len(subsets) steps."""
        r, n = len(self.rule.factor), self.columns.lengths.size
        in_sets = np.zeros(n, np.bool_)
        in_sets[self.tracker.items] = True
        sets = TrackedSets(self.tracker.starts, self.tracker.items, in_sets)
        tiles = empty_tile(r, n, 3)
        line = new_line(state["x"], state["c"], self.tracker.size)
        scratch, counts = tile_scratch(r, n), state["counts"]
        put_tile(tiles, HOME, TileState(*(state[name] for name in TILE_FIELDS)))
        progress = np.zeros(4, np.int64)
        draws = (tiles, line, scratch, subsets, tracked, progress, thin, counts)
        status = LOST
        while status != DONE:
            if self.rule.long_steps:
                more = (self.ellipsoid, sets, order_scratch(n), np.empty((4, r)))
                status = run_by_long_steps(rng, self.columns, self.rule, *more, *draws)
            else:
                status = run_by_walk(rng, self.columns, self.rule, sets, *draws)
            if status == LOST or (status == OLD_HOME and not self._renew_home(tiles, line, counts)):
                self._find_home(tiles, line, counts)
                progress[HALF:] = 0
            elif status != DONE and status != OLD_HOME:
                self._renew(tiles, WALKER, line.along, counts)
        subsets.sort(axis=1)
        for name in TILE_FIELDS:
            state[name][...] = getattr(tiles, name)[HOME]

    def _renew(self, tiles: TileState, which: SupportsIndex, d: Floats, counts: Integers) -> None:
        """Compute T and the speeds anew from the basis; count whether T had drifted."""
        counts[REFACTORISATIONS] += 1
        tiles.age[which] = 0
        try:
            T = inverse_of(self.columns, tiles.basis[which])
        except ArithmeticError:
            counts[DRIFTS] += 1
            return
        counts[DRIFTS] += has_drifted(tiles.T[which], T)
        tiles.T[which] = T
        tiles.v[which] = T @ d

    def _renew_home(self, tiles: TileState, line: Line, counts: Integers) -> bool:
        """Compute everything anew from the basis and the point; False if the tile was lost."""
        self._renew(tiles, HOME, line.d, counts)
        if self.rule.fresh:
            return True
        tile = tile_with_point(self.columns, tiles.basis[HOME], line.c, line.x)
        put_tile(tiles, HOME, tile)
        return bool(max(-tile.u.min(), (tile.u - tile.reach).max()) <= 100.0 * self.rule.tolerance)

    def _find_home(self, tiles: TileState, line: Line, counts: Integers) -> None:
        """Find the tile of the point again, and count that it was lost."""
        counts[LOST_TILES] += 1
        basis = tiles.basis[HOME].copy()
        if self.rule.fresh:  # there is no point to find
            tile = tile_from_basis(self.columns, basis, line.c)
        else:
            tile = find_tile(self.columns, line.x, line.c, basis)
        put_tile(tiles, HOME, tile)

    def check(self, state: State) -> None:
        """Check the basis, and that bounds are bounds; the rest is measured against these."""
        lengths = self.columns.lengths
        basis = as_items(state["basis"], lengths.size, "the basis")
        if not (lengths[basis] > 0).all() or (state["reach"] != lengths[basis]).any():
            raise ValueError("the lengths of the basis' columns are others")
        if not np.isin(state["side"], (-1.0, 0.0, 1.0)).all() or (state["gap"] < 0).any():
            raise ValueError("the bounds of the items outside the basis are none")


def _state_of(tile: TileState, x: Floats, costs: Floats) -> State:
    """Return the state of a fresh chain."""
    counts = np.zeros(len(COUNTERS), np.int64)
    return {**tile._asdict(), "x": x, "c": costs, "counts": counts}


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
        return np.asarray(np.linalg.inv(frame.whitener)), 0
    unit = int(frame.heights.min())
    return np.ldexp(frame.W, unit - frame.heights), unit


def _masses(columns: UnitColumns, q: Floats, s: Floats, power: float) -> tuple[Floats, Integers]:
    """Density of a tile over |det E_B|^(p-1), an item at a time: |a_j|^(p-1) q_j / s_j.

    It may lie beyond floating-point numbers and is returned as mass * HUGE**level.
    """
    logs = np.zeros(columns.lengths.size)
    usable = np.flatnonzero(columns.lengths)
    log_s = np.log(s[usable])
    logs[usable] = (power - 1.0) * (np.log(columns.lengths[usable]) - log_s)
    logs[usable] += np.log(q[usable]) - log_s
    level = np.round((logs - logs.max()) / np.log(HUGE))
    return np.exp(logs - logs.max() - level * np.log(HUGE)), level.astype(np.int64)


def _long_steps_are_cheaper(sampler: ZonotopeWalk) -> bool:
    """Choose between walk and long steps for whole chords, by what a pilot run counts.

    A pivot of the long-step method costs about LONG_STEP_COST tiles of the walk: the same row of
    the tableau, but a selection in place of a minimum, and many columns in place of one.
    """
    if sampler.columns.lengths.size <= ALWAYS_WALK:
        return False
    pilot = _Pilot(sampler)
    pivots = pilot.tiles(PILOT_STEPS, long_steps=True)
    tiles, window = 0.0, _unit_window(sampler)
    for _ in range(PROBES):
        before, tiles = tiles, pilot.tiles(PROBE_STEPS, window=window)
        if tiles >= LONG_STEP_COST * pivots:
            return True
        if tiles < 1.2 * before or tiles < 3.0:  # the window has outgrown the chord
            return False
        window *= 4.0
    return False


def _default_window(sampler: ZonotopeWalk) -> float:
    """Choose the window in which a step crosses about TILES_PER_ITEM * r tiles.

    With fresh tilings only the basis carries over from step to step, and it is renewed once each
    of its r items had several chances to leave: longer walks cost more and gain nothing. Where
    chords are shorter than that, whole chords are walked. With reflection there is no end to walk
    to, and the walk is longer: its tiles are cheap, and all of them count in the averages.
    """
    per_item = TILES_PER_ITEM_TRACKED if sampler.rule.reflect else TILES_PER_ITEM
    wanted = per_item * len(sampler.rule.factor)
    pilot = _Pilot(sampler)
    tiles, stalled, window = 0.0, 0, _unit_window(sampler)
    for _ in range(PROBES):
        before, tiles = tiles, max(tiles, pilot.tiles(PROBE_STEPS, window=window))
        if tiles >= wanted / 2:
            break
        stalled = stalled + 1 if tiles < 1.2 * before else 0
        if stalled == 2 and not sampler.rule.reflect:  # the window has outgrown the chord
            return np.inf
        window *= min(max(4.0, wanted / tiles), 16.0)
    window *= wanted / tiles
    return window * wanted / pilot.tiles(PILOT_STEPS, window=window)


def _unit_window(sampler: ZonotopeWalk) -> float:
    """Half a unit of whitened length, in units of the directions."""
    reach = sampler.ellipsoid.whitener @ sampler.rule.factor
    return 0.5 / float(np.sqrt(np.mean(np.einsum("ij,ij->j", reach, reach))))


class _Pilot:
    """A short run with a seed of its own, in which the rule changes.

    Tiles are counted, not seconds: the same options mean the same draws on every machine.
    """

    def __init__(self, sampler: ZonotopeWalk) -> None:
        [self.rng] = spawn(0, purpose="pilot")  # not a stream from which A may have been drawn
        self.sampler, self.state = sampler, sampler.start(self.rng, None)

    def tiles(self, steps: int, *, long_steps: bool = False, window: float = np.inf) -> float:
        """Return the mean number of tiles (or pivots) of so many steps."""
        rule = self.sampler.rule._replace(long_steps=long_steps, window=window)
        before = self.state["counts"][TILES]
        subsets = np.empty((1, self.sampler.width), np.int32)
        trial = replace(self.sampler, rule=rule)
        trial.advance(self.state, self.rng, subsets, np.zeros((1, 0)), steps)
        return float(self.state["counts"][TILES] - before) / steps
