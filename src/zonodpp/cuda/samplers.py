"""Samplers on the device: what the processor prepares, laid out there, and many chains at once.

A run on the device is, for `zonodpp.runs`, one chain whose draws are the draws of all chains side
by side. So progress, time budgets, checkpoints and interrupts are those of any run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numba import cuda
from numpy.typing import NDArray

from zonodpp._types import Floats, Subsets
from zonodpp.basis.alias import alias_table
from zonodpp.basis.columns import UnitColumns, matrix_of
from zonodpp.cuda import exact, exact_groups, exchange, zonotope
from zonodpp.cuda.devices import launch, shared_limit, to_device
from zonodpp.cuda.groups import Layout
from zonodpp.cuda.lanes import lanes_for
from zonodpp.linalg.gram import column_chunks
from zonodpp.samplers import Sampler, State, need_between, refuse_init
from zonodpp.samplers.exact import ExactDraws
from zonodpp.samplers.exchange import RULES, ExchangeWalk
from zonodpp.samplers.hit_and_run import ZonotopeWalk
from zonodpp.samplers.mixture import Mixture
from zonodpp.samplers.tracking import SetTracker
from zonodpp.tiles.start import checked_basis

GROUPED = 16  # items of a draw from which groups of threads hold the proposals
BLOCK_THREADS = 128  # of a block that holds several chains
RESERVED = 1024  # bytes of shared memory that every block takes for itself


class Engine(Protocol):
    """One algorithm on the device; arrays of its state have one row for each chain."""

    counters: tuple[str, ...]
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
    limit = shared_limit() - RESERVED
    if size > limit:
        raise ValueError(
            f"{what} takes {size:,} bytes of shared memory, and a block of this GPU has {limit:,}; "
            "run without device='cuda'"
        )


class ExactEngine:
    """Exact draws of a projection DPP, or of a DPP or k-DPP through its eigenvectors."""

    independent = True

    def __init__(self, sampler: ExactDraws | Mixture) -> None:
        self.counters, self.tracker = sampler.counters, sampler.tracker
        self.width = sampler.width
        if sampler.algorithm != "rejection":
            raise ValueError("device='cuda' draws by algorithm='rejection'; leave algorithm out")
        none = np.zeros((1, 1))
        sure, chances, taking = 0, none[0], none
        if isinstance(sampler, Mixture):
            rows, table, sure = sampler.vectors, sampler.cumulative, sampler.sure
            chances = sampler.chances
            taking = sampler.taking if sampler.taking.shape[1] else np.zeros((1, 0))
        else:
            rows, table = _unit_rows(sampler), sampler.alias
        self.mixture = isinstance(sampler, Mixture)
        self.lay_out(exact_groups.layout_for(self.width) if self.width >= GROUPED else None)
        self.arrays = (
            to_device(rows),
            to_device(table),
            sure,
            to_device(chances),
            to_device(taking),
        )

    def lay_out(self, layout: Layout | None, every: bool = False) -> None:
        """Hold proposals by groups of threads, or, without a layout, each in one thread.

        With ``every``, the first independent proposals are taken, which is not the law.
        """
        r = self.width
        if layout is None:
            self.kernel = exact.exact_kernel(r, self.mixture, every)
            self.threads, self.shared = exact.threads_for(r), 8 * exact.pool_size(r)
        else:
            self.kernel = exact_groups.exact_kernel(r, self.mixture, every, layout)
            self.threads, self.shared = layout.threads, 8 * exact_groups.pool_size(r, layout)
        _need_shared(self.shared, f"a draw of {r} items")

    def start(self, keys: NDArray[np.uint64], init: Any) -> State:
        """Return the counts alone: draws leave nothing behind."""
        refuse_init(init)
        return {"tested": np.zeros(len(keys), np.int64)}

    def advance(
        self, state: dict[str, Any], first: int, subsets: Any, tracked: Any, thin: int
    ) -> None:
        """Draw; every block makes one draw at a time."""
        draws = subsets.shape[0] * subsets.shape[1]
        arguments = (*self.arrays, state["keys"], first, subsets, state["tested"])
        launch(self.kernel, draws, self.threads, self.shared, *arguments)


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


def random_bases(vectors: Any, table: Any, keys: Any, chains: int) -> Any:
    """Return a random basis for each chain: the first independent items of a random order."""
    r = vectors.shape[1]
    shared = 8 * exact.pool_size(r)
    _need_shared(shared, f"a basis of {r} items")
    none = to_device(np.zeros((1, 1)))
    bases = cuda.device_array((1, chains, r), np.int32)
    launch(
        exact.exact_kernel(r, False, True),
        chains,
        exact.threads_for(r),
        shared,
        *(vectors, table, 0, none[0], none, keys, 0, bases, to_device(np.zeros(chains, np.int64))),
    )
    return bases.copy_to_host()[0]


class _BasesEngine:
    """What walks on bases share: the columns on the device, and the layout of blocks."""

    independent = False
    shared_doubles: Any  # of a chain, without what there is for each item
    doubles_per_item = 0

    def __init__(self, sampler: Any, columns: UnitColumns, masses: Floats) -> None:
        self.counters, self.tracker, self.width = sampler.counters, sampler.tracker, sampler.width
        self.sampler = sampler
        # Padding, which only the processor needs, is left out.
        unit = matrix_of(columns)[:, : self.tracker.n]
        unit = unit.toarray() if sp.issparse(unit) else np.asarray(unit)
        r, n = unit.shape
        self.rows, self.vectors = to_device(unit), to_device(unit.T)
        self.table = to_device(alias_table(masses))
        self.lanes = lanes_for(r, n)
        self.items = (to_device(self.tracker.starts), to_device(self.tracker.items))
        alone = 8 * self.shared_doubles(r, n, self.lanes)
        whole = alone + 8 * self.doubles_per_item * n
        limit = shared_limit() - RESERVED
        self.in_shared = whole <= limit
        self.chains = max(1, BLOCK_THREADS // self.lanes)
        while self.chains > 1 and self.chains * whole > limit // 2:
            self.chains //= 2
        if not self.in_shared:
            self.chains = 1
        self.shared = self.chains * (whole if self.in_shared else alone)
        _need_shared(self.shared, f"a chain on bases of {r} items")
        self.n = n
        self.layout = (r, n, self.lanes, self.chains, self.in_shared)

    def start_bases(self, keys: NDArray[np.uint64], init: Any) -> Subsets:
        """Return a basis for each chain: those given, or random ones."""
        if init is not None:
            return np.ascontiguousarray(np.broadcast_to(init, (len(keys), self.width)), np.int32)
        return random_bases(self.vectors, self.table, to_device(keys), len(keys))

    def blocks(self, chains: int) -> int:
        """Return the blocks that hold so many chains."""
        return -(-chains // self.chains)


class ExchangeEngine(_BasesEngine):
    """Exchange walks."""

    shared_doubles = staticmethod(exchange.shared_doubles)
    doubles_per_item = 1

    def __init__(self, sampler: ExchangeWalk) -> None:
        columns = sampler.items.columns
        masses = columns.lengths[: sampler.n] ** sampler.power
        super().__init__(sampler, columns, masses)
        self.masses = to_device(masses)
        self.kernel = exchange.exchange_kernel(
            RULES.index(sampler.rule), sampler.power, *self.layout
        )

    def start(self, keys: NDArray[np.uint64], init: Any) -> State:
        """Start in the given bases, or in random ones; the first step computes the inverses."""
        for basis in [] if init is None else np.unique(np.atleast_2d(init), axis=0):
            self.sampler._given_basis(basis)
        chains, r = len(keys), self.width
        return {
            "bases": self.start_bases(keys, init),
            "inverses": np.zeros((chains, r, r)),
            "chain counts": np.zeros((chains, len(self.counters)), np.int64),
        }

    def advance(
        self, state: dict[str, Any], first: int, subsets: Any, tracked: Any, thin: int
    ) -> None:
        """Walk ``thin`` steps for each draw."""
        chains = subsets.shape[1]
        scratch = cuda.device_array((1 if self.in_shared else chains, self.n))
        launch(
            self.kernel,
            self.blocks(chains),
            self.lanes * self.chains,
            self.shared,
            *(self.rows, self.vectors, self.masses, state["keys"], first, state["bases"]),
            *(state["inverses"], scratch, *self.items, subsets, tracked, thin),
            state["chain counts"],
        )


class ZonotopeEngine(_BasesEngine):
    """Hit-and-run on the zonotope."""

    shared_doubles = staticmethod(zonotope.shared_doubles)
    doubles_per_item = 2

    def __init__(self, sampler: ZonotopeWalk) -> None:
        rule, columns = sampler.rule, sampler.columns
        n = sampler.tracker.n
        lengths = columns.lengths[:n]
        super().__init__(sampler, columns, lengths / lengths.max())
        given = np.zeros(0) if sampler.costs is None else sampler.costs
        self.arrays = (
            self.rows,
            self.vectors,
            to_device(lengths),
            to_device(rule.mass[:n]),
            to_device(rule.level[:n]),
            to_device(rule.factor),
            float(rule.window),
            to_device(given),
        )
        self.fresh = rule.fresh
        self.kernel = zonotope.zonotope_kernel(rule.gibbs, rule.fresh, rule.exponent, *self.layout)
        self.scratch: dict[int, tuple[Any, ...]] = {}

    def start(self, keys: NDArray[np.uint64], init: Any) -> State:
        """Start at a uniform point of the tile of the given bases, or of random ones."""
        for basis in [] if init is None else np.unique(np.atleast_2d(init), axis=0):
            checked_basis(basis, self.sampler.columns, self.tracker.n)
        chains, r = len(keys), self.width
        return {
            "bases": self.start_bases(keys, init),
            "inverses": np.zeros((chains, r, r)),
            "points": np.zeros((chains, r)),
            "reduced costs": np.zeros((chains, self.n)),
            "ages": np.full(chains, zonotope.NEW, np.int64),
            "chain counts": np.zeros((chains, len(self.counters)), np.int64),
        }

    def advance(
        self, state: dict[str, Any], first: int, subsets: Any, tracked: Any, thin: int
    ) -> None:
        """Make ``thin`` steps for each draw."""
        chains, r = subsets.shape[1], self.width
        if chains not in self.scratch:
            self.scratch[chains] = (
                cuda.device_array((chains, r), np.int32),
                cuda.device_array((chains, r, r)),
                cuda.device_array((chains, r)),
                cuda.device_array((1 if self.fresh else chains, self.n)),
                cuda.device_array((1 if self.in_shared else chains, 2, self.n)),
                cuda.device_array((chains, self.tracker.size)),
            )
        launch(
            self.kernel,
            self.blocks(chains),
            self.lanes * self.chains,
            self.shared,
            *(*self.arrays, state["keys"], first, state["bases"], state["inverses"]),
            *(state["points"], state["reduced costs"], state["ages"], *self.scratch[chains]),
            *(*self.items, subsets, tracked, thin, state["chain counts"]),
        )


def engine_of(sampler: Sampler) -> Engine:
    """Return the engine that does on the device what a sampler does on the processor."""
    if isinstance(sampler, ExactDraws | Mixture):
        return ExactEngine(sampler)
    if isinstance(sampler, ExchangeWalk):
        return ExchangeEngine(sampler)
    if isinstance(sampler, ZonotopeWalk):
        return ZonotopeEngine(sampler)
    raise ValueError(
        "device='cuda' runs the methods 'exact', 'exchange' and 'zonotope', and chains on targets "
        "of fixed size; leave device out"
    )


@dataclass
class DeviceChains:
    """All chains of a run on the device, as one sampler for `zonodpp.runs`.

    Attributes
    ----------
    chains : int
        How many; a draw of this sampler is a draw of each of them, side by side.
    checkpointed : bool
        Whether states have to come back to the host after each call.
    """

    engine: Engine
    chains: int
    checkpointed: bool = False
    _resident: dict[str, Any] = field(default_factory=dict)

    @property
    def counters(self) -> tuple[str, ...]:
        """What is counted, over all chains."""
        return self.engine.counters

    @property
    def independent(self) -> bool:
        """Whether draws are independent."""
        return self.engine.independent

    @property
    def tracker(self) -> Any:
        """The tracked sets."""
        return self.engine.tracker

    @property
    def width(self) -> int:
        """The items of a draw of all chains."""
        return self.chains * self.engine.width

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Draw a key for each chain, and start all."""
        keys = rng.integers(2**64, size=self.chains, dtype=np.uint64)
        state = self.engine.start(keys, init)
        self._resident.clear()
        counts = np.zeros(len(self.counters), np.int64)
        return {**state, "keys": keys, "position": np.zeros(1, np.int64), "counts": counts}

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: Subsets,
        tracked: Floats,
        thin: int,
    ) -> None:
        """Advance all chains; row k of subsets holds draw k of each of them."""
        held = self._resident
        if not held:
            held |= {name: to_device(array) for name, array in state.items()}
        draws = len(subsets)
        shape = (draws, self.chains, self.engine.width)
        made = cuda.device_array(shape, np.int32)
        sums = to_device(np.zeros((draws, self.chains, self.tracker.size)))
        self.engine.advance(held, int(state["position"][0]), made, sums, thin)
        subsets[:] = made.copy_to_host().reshape(draws, -1)
        if self.tracker.size and self.independent:
            presence = np.zeros((draws * self.chains, self.tracker.size))
            self.tracker.fill(subsets.reshape(-1, self.engine.width), presence)
            tracked += presence.reshape(draws, -1)
        elif self.tracker.size:
            tracked += sums.copy_to_host().reshape(draws, -1)
        state["position"][0] += draws * thin
        for name in state if self.checkpointed else self._counted():
            if name not in ("position", "counts", "keys"):
                state[name][...] = held[name].copy_to_host()
        self._count(state)

    def _counted(self) -> tuple[str, ...]:
        return ("tested",) if self.independent else ("chain counts",)

    def _count(self, state: State) -> None:
        state["counts"][:] = self.chain_counts(state).sum(axis=0)

    def chain_counts(self, state: State) -> NDArray[np.int64]:
        """Return the counts of each chain, (chains, counters)."""
        if not self.independent:
            return np.asarray(state["chain counts"])
        draws = np.full(self.chains, state["position"][0])
        return np.column_stack([draws, state["tested"]])

    def check(self, state: State) -> None:
        """Check the bases of a state that was read from a file."""
        self._resident.clear()
        if "bases" in state:
            need_between(state["bases"], 0, self.engine.tracker.n - 1, "the basis")
