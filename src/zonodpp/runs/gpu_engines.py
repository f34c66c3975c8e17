"""Engines: what the processor has prepared, laid out on the device, and the calls of kernels."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numba import cuda
from numpy.typing import NDArray

from zonodpp._types import Floats, Subsets
from zonodpp.chains.bases import ChainOnBases
from zonodpp.chains.columns import UnitColumns, matrix_of
from zonodpp.chains.contract import Sampler, State
from zonodpp.chains.gpu_inverses import lanes_for, places_for
from zonodpp.chains.gpu_rows import share_items
from zonodpp.chains.gpu_state import Geometry, Records, Tiles
from zonodpp.chains.inverse import given_basis
from zonodpp.chains.small_pivots import TINY
from zonodpp.chains.tracking import SetTracker
from zonodpp.exact import gpu as exact
from zonodpp.exact.gpu_groups import Layout
from zonodpp.exact.mixture import Mixture
from zonodpp.exact.projection import ExactDraws
from zonodpp.exchange import gpu as exchange
from zonodpp.exchange.gpu_entering import BlockShape, blocks_for
from zonodpp.exchange.method import RULES, ExchangeWalk
from zonodpp.numerics.alias import alias_table
from zonodpp.numerics.arrays import column_chunks, to_dense
from zonodpp.numerics.gpu import launch, shared_limit, to_device
from zonodpp.numerics.gpu_warps import WARP
from zonodpp.zonotope import gpu as zonotope
from zonodpp.zonotope.gpu_tile import tile_size
from zonodpp.zonotope.method import refuse_thin
from zonodpp.zonotope.pool_walk import PoolWalk
from zonodpp.zonotope.tile import PIVOT
from zonodpp.zonotope.walk import ZonotopeWalk

_WITHOUT = "leave device out"  # kernels take small entries of the tableau as zero
_RESERVED = 1024  # bytes of shared memory that every block takes for itself
_LONG_LINE = 10  # times r items; with more, long steps are far faster, and the GPU has none


class Engine(Protocol):
    """One algorithm on the device; arrays of its state have one row for each chain.

    ``changing`` names the arrays that a call changes, ``counted`` the arrays of counts among them.
    """

    counters: tuple[str, ...]
    counted: tuple[str, ...]
    changing: tuple[str, ...]
    independent: bool
    width: int
    tracker: SetTracker

    def start(self, keys: NDArray[np.uint64], init: Any) -> State:
        """Return the states of fresh chains, on the host."""

    def advance(
        self, state: dict[str, Any], first: int, subsets: Any, tracked: Any, thin: int
    ) -> None:
        """Fill subsets (draws, chains, width) on the device, from draw or step ``first`` on."""


def _need_shared(size: int, what: str) -> None:
    """Raise an error that says what fits, if a block cannot have so many bytes."""
    limit = shared_limit() - _RESERVED
    if size > limit:
        raise ValueError(
            f"{what} takes {size:,} bytes of shared memory, and a block of this GPU has {limit:,}; "
            "run without device='cuda'"
        )


class _Draws:
    """Exact draws by vectors (n, r) on the device and the table that proposals are drawn from.

    For DPPs and k-DPPs, ``taking`` has the probabilities with which eigenvectors are chosen.
    """

    def __init__(self, width: int, vectors: Any, table: Any, taking: Floats | None = None) -> None:
        self.width, self.mixture = width, taking is not None
        self.arrays = vectors, table, to_device(np.zeros((1, 1)) if taking is None else taking)

    def lay_out(self, layout: Layout, every: bool = False) -> None:
        """Choose how threads hold proposals, which changes no draw.

        With ``every``, each proposal that is independent of the earlier ones is accepted. That
        is another law than that of the target; chains start from such draws.
        """
        self.kernel = exact.exact_kernel(self.width, self.mixture, every, layout)
        self.threads = layout.threads
        self.shared = 8 * exact.draw_sizes(self.width, layout).pool
        _need_shared(self.shared, f"a draw of {self.width} items")

    def make(self, keys: Any, first: int, subsets: Any, tested: Any) -> None:
        """Fill subsets (draws, chains, width); every block makes one draw at a time."""
        draws = subsets.shape[0] * subsets.shape[1]
        arguments = (*self.arrays, keys, first, subsets, tested)
        launch(self.kernel, draws, self.threads, self.shared, *arguments)


class _ExactEngine(_Draws):
    """Exact draws of a projection DPP, or of a DPP or k-DPP through its eigenvectors."""

    independent = True
    counted: tuple[str, ...] = ("tested",)
    changing: tuple[str, ...] = ("tested",)

    def __init__(self, sampler: ExactDraws | Mixture) -> None:
        self.counters, self.tracker = sampler.counters, sampler.tracker
        if sampler.algorithm != "rejection":
            raise ValueError("device='cuda' draws by algorithm='rejection'; leave algorithm out")
        if isinstance(sampler, Mixture):
            rows, table, taking = sampler.vectors, sampler.cumulative, sampler.taking
        else:
            rows, table, taking = _unit_rows(sampler), sampler.alias, None
        super().__init__(sampler.width, to_device(rows), to_device(table), taking)
        self.lay_out(exact.layout_for(self.width))

    def start(self, keys: NDArray[np.uint64], init: Any) -> State:
        """Return the counts alone: independent draws have no other state."""
        return {"tested": np.zeros(len(keys), np.int64)}

    def advance(
        self, state: dict[str, Any], first: int, subsets: Any, tracked: Any, thin: int
    ) -> None:
        """Draw; independent draws have no steps between them."""
        self.make(state["keys"], first, subsets, state["tested"])


def _unit_rows(sampler: ExactDraws) -> Floats:
    """Return the whitened columns as unit rows (n, r)."""
    W, columns = sampler.whitening, sampler.columns
    n = sampler.leverages.size
    rows = np.zeros((n, len(W)))
    A = columns.dense.T
    if columns.dense.shape[0] == 0:
        A = sp.csc_array((columns.data, columns.indices, columns.indptr), shape=(len(W), n))
    for span, chunk in column_chunks(A, None):
        rows[span] = (W @ chunk).T
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


class _BasesEngine:
    """What walks on bases share: the columns on the device, and the layout of blocks."""

    independent = False
    counted: tuple[str, ...] = ("counts",)
    chains: int  # of a block
    kernel: Any
    threads: int  # of a block
    shared: int  # bytes

    def __init__(self, sampler: Any, columns: UnitColumns, masses: Floats) -> None:
        self.counters, self.tracker, self.width = sampler.counters, sampler.tracker, sampler.width
        self.sampler = sampler
        # Padding, which only the processor needs, is left out.
        self.unit = to_dense(matrix_of(columns))[:, : self.tracker.n]
        self.n = self.tracker.n
        self.vectors = to_device(self.unit.T)
        self.table = to_device(alias_table(masses))
        self.sets = (to_device(self.tracker.starts), to_device(self.tracker.items))

    def padded_rows(self, total: int) -> Any:
        """Return the unit vectors by rows, one after another, with zeros for items beyond n."""
        return to_device(np.pad(self.unit, ((0, 0), (0, total - self.n))).ravel())

    def start_bases(self, keys: NDArray[np.uint64], init: Any) -> Subsets:
        """Return a basis for each chain: as given, or the first independent items proposed."""
        if init is not None:
            for basis in np.unique(np.atleast_2d(init), axis=0):
                given_basis(basis, self.sampler.columns, self.n)
            return np.ascontiguousarray(np.broadcast_to(init, (len(keys), self.width)), np.int32)
        draws = _Draws(self.width, self.vectors, self.table)
        draws.lay_out(exact.layout_for(self.width), every=True)
        bases = cuda.device_array((1, len(keys), self.width), np.int32)
        draws.make(to_device(keys), 0, bases, to_device(np.zeros(len(keys), np.int64)))
        found: Subsets = bases.copy_to_host()[0]
        return found

    def launch(self, chains: int, *arguments: Any) -> None:
        """Run the kernel, with as many blocks as hold so many chains."""
        launch(self.kernel, -(-chains // self.chains), self.threads, self.shared, *arguments)


class _ExchangeEngine(_BasesEngine):
    """Exchange walks."""

    changing: tuple[str, ...] = ("bases", "inverses", "counts")

    def __init__(self, sampler: ExchangeWalk) -> None:
        columns = sampler.columns
        masses = columns.lengths[: sampler.tracker.n] ** sampler.power
        if sampler.careful:
            with np.errstate(divide="ignore"):
                log_weight = sampler.power * np.log(columns.lengths)
            refuse_thin(columns, log_weight, sampler.power, TINY, _WITHOUT)
        super().__init__(sampler, columns, masses)
        self.masses, self.no_shares = to_device(masses), to_device(np.zeros((1, 1)))
        self.lay_out()

    def lay_out(
        self, blocks: BlockShape | None = None, registers: int = 0, power: float | None = None
    ) -> None:
        """Choose how blocks hold chains, and with how many registers threads work.

        A ``power`` other than the sampler's gives another law, for checks by a broken twin.
        """
        r, n, rule = self.width, self.n, RULES.index(self.sampler.rule)
        self.blocks = blocks or blocks_for(rule, r, n, shared_limit() - _RESERVED)
        self.chains, self.threads = self.blocks.chains, self.blocks.threads
        self.shared = 8 * self.chains * self.blocks.size(r, n)
        _need_shared(self.shared, f"a chain on bases of {r} items")
        self.rows = self.padded_rows(self.blocks.items(n).total)
        power = self.sampler.power if power is None else power
        self.kernel = exchange.exchange_kernel(rule, power, r, n, self.blocks, registers)

    def start(self, keys: NDArray[np.uint64], init: Any) -> State:
        """Start in the given bases, or in random ones; the first step computes the inverses."""
        return {
            "bases": self.start_bases(keys, init),
            "inverses": np.zeros((len(keys), places_for(self.width).column)),
        }

    def advance(
        self, state: dict[str, Any], first: int, subsets: Any, tracked: Any, thin: int
    ) -> None:
        """Walk ``thin`` steps for each draw."""
        chains, room = subsets.shape[1], 1
        if self.sampler.rule == "heat-bath" and not self.blocks.products_shared:
            room = (chains + self.chains) * self.blocks.items(self.n).total
        items = exchange.ItemArrays(self.rows, self.vectors, self.masses)
        records = Records(subsets, tracked, self.no_shares, *self.sets, state["counts"])
        places = state["bases"], state["inverses"], cuda.device_array(room)
        self.launch(chains, items, state["keys"], first, *places, records, thin)


class _ZonotopeEngine(_BasesEngine):
    """Hit-and-run on the zonotope."""

    changing: tuple[str, ...] = ("bases", "inverses", "points", "reduced costs", "ages", "counts")

    def __init__(self, sampler: ZonotopeWalk) -> None:
        rule, columns = sampler.rule, sampler.columns
        if isinstance(sampler, PoolWalk) and sampler.asked:
            asked = "lazy" if sampler.lazy else "pool"
            raise ValueError(
                f"device='cuda' tests all items at each facet and has no pricing={asked!r}; leave "
                "pricing out, pass pricing='all', or leave device out"
            )
        if rule.reflect:
            raise ValueError("device='cuda' has no reflect=True; leave reflect or device out")
        if rule.long_steps and sampler.tracker.n >= _LONG_LINE * sampler.width:
            raise ValueError(
                "device='cuda' walks through every tile of a line, and these lines have so many "
                "that the processor takes long steps; pass window=..., or leave device out"
            )
        if rule.careful:
            refuse_thin(columns, rule.log_weight, rule.exponent + 1.0, PIVOT, _WITHOUT)
        n = sampler.tracker.n
        lengths = columns.lengths[:n]
        super().__init__(sampler, columns, lengths / lengths.max())
        self.lay_out()
        given = np.zeros(0) if sampler.costs is None else sampler.costs
        self.geometry = Geometry(
            self.padded_rows(self.items.total),
            self.vectors,
            to_device(lengths),
            to_device(rule.log_mass[:n]),
            to_device(rule.factor.T),
            to_device(given),
            float(rule.window),
        )
        self.scratch: dict[int, tuple[Any, ...]] = {}

    def lay_out(
        self, lanes: int = 0, registers: int | None = None, exponent: float | None = None
    ) -> None:
        """Choose how many threads work on a chain, and with how many registers each.

        An ``exponent`` other than the rule's gives another law, for checks by a broken twin.
        """
        rule = self.sampler.rule
        lanes = lanes or lanes_for(self.n)
        registers = zonotope.registers_for(self.width, lanes) if registers is None else registers
        self.items = share_items(self.n, lanes)
        self.chains, self.threads = WARP // lanes, WARP
        self.shared = 8 * self.chains * tile_size(self.width, lanes)
        _need_shared(self.shared, f"a chain on bases of {self.width} items")
        power = rule.exponent if exponent is None else exponent
        self.kernel = zonotope.zonotope_kernel(
            rule.gibbs, rule.fresh, power, self.width, self.items, registers
        )

    def start(self, keys: NDArray[np.uint64], init: Any) -> State:
        """Start at a uniform point of the tile of the given bases, or of random ones."""
        chains, r = len(keys), self.width
        return {
            "bases": self.start_bases(keys, init),
            "inverses": np.zeros((chains, places_for(r).column)),
            "points": np.zeros((chains, r)),
            "reduced costs": np.zeros((chains, self.items.total)),
            "ages": np.full(chains, zonotope.NEW, np.int64),
        }

    def advance(
        self, state: dict[str, Any], first: int, subsets: Any, tracked: Any, thin: int
    ) -> None:
        """Make ``thin`` steps for each draw."""
        chains = subsets.shape[1]
        names = ("bases", "inverses", "points", "reduced costs")
        home = Tiles(*(state[name] for name in names))
        if chains not in self.scratch:
            picked = Tiles(*(cuda.device_array_like(array) for array in home))
            self.scratch[chains] = picked, to_device(np.zeros((chains, self.tracker.size)))
        picked, shares = self.scratch[chains]
        records = Records(subsets, tracked, shares, *self.sets, state["counts"])
        given = self.geometry, state["keys"], state["ages"], home, picked, records, first, thin
        self.launch(chains, *given)


def engine_of(sampler: Sampler) -> Engine:
    """Return the engine that does on the device what a sampler does on the processor."""
    if isinstance(sampler, ExactDraws | Mixture):
        return _ExactEngine(sampler)
    if isinstance(sampler, ChainOnBases) and sampler.items is not None:
        raise ValueError(
            "device='cuda' has no chains for DPPs, whose draws vary in size; pass method='exact', "
            "or leave device out"
        )
    if isinstance(sampler, ExchangeWalk):
        return _ExchangeEngine(sampler)
    if isinstance(sampler, ZonotopeWalk):
        return _ZonotopeEngine(sampler)
    raise ValueError(
        "device='cuda' runs the methods 'exact', 'exchange' and 'zonotope', with the whole target "
        "in memory; leave device out"
    )
