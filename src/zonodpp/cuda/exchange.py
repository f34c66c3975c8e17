"""Exchange walks on the device; the rules are those of `zonodpp.samplers.exchange`.

The heat-bath rule draws the entering item from the weights of all items, computed anew from one row
of T: every lane sums the weights of its own items, and the lane in whose part the level falls finds
the item.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.cuda.compile import Word, device, kernel
from zonodpp.cuda.lanes import (
    SMALL,
    ZERO,
    any_thread,
    holds_set,
    inverse_times,
    is_inside,
    load_inverse,
    odd,
    renew_inverse,
    replace_item,
    save_inverse,
    write_sorted,
)
from zonodpp.cuda.philox import STEP, uniforms
from zonodpp.samplers.exchange_walk import (
    ACCEPTED,
    BARKER,
    DRIFTS,
    HEAT_BATH,
    METROPOLIS,
    REFACTORISATIONS,
    STEPS,
    TINY_PIVOTS,
)

REFRESH = 50  # steps for each item of a basis after which T is computed anew


def shared_doubles(r: int, n: int, lanes: int) -> int:
    """Return the doubles of shared memory for one chain, without the weights of the items."""
    return r * odd(r) + 2 * r + lanes


@lru_cache(maxsize=32)
def exchange_kernel(  # noqa: C901
    rule: int, power: float, r: int, n: int, lanes: int, chains: int, weights_shared: bool
) -> Any:
    """Compile the kernel for a rule, a power, a size, and blocks of ``chains`` chains.

    ``weights_shared`` tells whether shared memory holds the weights of all items, too.
    """
    pitch = odd(r)
    size = shared_doubles(r, n, lanes) + (n if weights_shared else 0)

    @device
    def raised(x: float) -> float:
        if power == 2.0:
            return x * x
        if power == 1.0:
            return abs(x)
        return abs(x) ** power

    @device
    def row_norm(T: Floats, r: int, pitch: int, s: int) -> float:
        total = 0.0
        for i in range(r):
            total += T[s * pitch + i] * T[s * pitch + i]
        return total**0.5

    @device
    def weigh(
        T: Floats,
        r: int,
        pitch: int,
        s: int,
        rows: Floats,
        masses: Floats,
        weights: Floats,
        lane: int,
    ) -> float:
        """Set the weights of this lane's items to (|T_s . e_t| l_t)^p; return their sum."""
        noise = ZERO * row_norm(T, r, pitch, s)
        total = 0.0
        for t in range(lane, n, lanes):
            product = 0.0
            for i in range(r):
                product += T[s * pitch + i] * rows[i, t]
            weight = raised(product) * masses[t] if abs(product) > noise else 0.0
            weights[t] = weight
            total += weight
        return total

    @device
    def find(level: float, sums: Floats, weights: Floats, n: int, lane: int) -> int:
        """Return the item in which the level falls, if it is this lane's; -1 if not."""
        before, total = 0.0, 0.0
        for k in range(lanes):
            if k < lane:
                before += sums[k]
            total += sums[k]
        level = level * total
        if not (before <= level < before + sums[lane]):
            return -1
        item = -1
        for t in range(lane, n, lanes):
            if weights[t] > 0.0 and before <= level:
                item = t
                before += weights[t]
        return item

    @device
    def propose(
        key: Word,
        step: int,
        r: int,
        pitch: int,
        T: Floats,
        basis: Integers,
        vectors: Floats,
        masses: Floats,
    ) -> tuple[int, int]:
        """Return the place of s, and t if their exchange is accepted, -1 if not."""
        level, spot = uniforms(key, step, 0, STEP)
        if rule == BARKER:  # given that it is below 1/2, twice the number is uniform again
            level *= 2.0
        s = min(int(spot * r), r - 1)
        if level >= 1.0 or n == r:
            return s, -1
        t = -1
        attempt = 1
        while t < 0:
            spot, other = uniforms(key, step, attempt, STEP)
            attempt += 1
            t = min(int(spot * n), n - 1)
            if is_inside(basis, r, t):
                t = min(int(other * n), n - 1)
                if is_inside(basis, r, t):
                    t = -1
        product = 0.0
        for i in range(r):
            product += T[s * pitch + i] * vectors[t, i]
        ratio = raised(product) * masses[t] / masses[basis[s]]
        if rule == METROPOLIS:
            chance = min(1.0, ratio)
        else:
            chance = ratio / (1.0 + ratio) if ratio < 1e300 else 1.0
        return s, t if level < chance else -1

    @kernel
    def walk(  # noqa: C901
        rows: Floats,
        vectors: Floats,
        masses: Floats,
        keys: Any,
        first_step: int,
        bases: Integers,
        inverses: Floats,
        scratch: Floats,
        starts: Integers,
        members: Integers,
        subsets: Subsets,
        tracked: Floats,
        thin: int,
        counts: Integers,
    ) -> None:
        """Fill subsets (draws, chains, r), ``thin`` steps apart; add to tracked the presence.

        ``rows`` are the unit vectors e_j by rows (r, n), ``vectors`` by columns (n, r), ``masses``
        their lengths to the power p.
        """
        memory = cuda.shared.array(0, float64)
        entering = cuda.shared.array(chains, int32)
        slot, lane = cuda.threadIdx.x // lanes, cuda.threadIdx.x % lanes
        at = slot * size
        T = memory[at : at + r * pitch]
        column = memory[at + r * pitch : at + r * pitch + r]
        sums = memory[at + r * pitch + r : at + r * pitch + r + lanes]
        at += r * pitch + r + lanes
        whole = cuda.shared.array(0, int32)
        basis = whole[2 * at : 2 * at + r]
        order = whole[2 * at + r : 2 * at + 2 * r]
        sets = starts.shape[0] - 1
        for begin in range(cuda.blockIdx.x * chains, bases.shape[0], cuda.gridDim.x * chains):
            chain = begin + slot
            exists = chain < bases.shape[0]
            chain = min(chain, bases.shape[0] - 1)
            weights = memory[at + r : at + r + n] if weights_shared else scratch[chain]
            key = keys[chain]
            cuda.syncthreads()
            load_inverse(T, r, pitch, inverses[chain], lane, lanes)
            for k in range(lane, r, lanes):
                basis[k] = bases[chain, k]
            accepted, renewed, drifts, tiny = 0, 0, 0, 0
            step = first_step
            until_renewal = (REFRESH * r - first_step % (REFRESH * r)) % (REFRESH * r)
            for k in range(subsets.shape[0]):
                for _ in range(thin):
                    cuda.syncthreads()
                    if until_renewal == 0:
                        until_renewal = REFRESH * r
                        drift = renew_inverse(
                            True, T, r, pitch, vectors, basis, column, order, lane, lanes
                        )
                        if step > 0:  # before the first step there is nothing yet
                            renewed += 1
                            drifts += 1 if drift else 0
                    until_renewal -= 1
                    if rule == HEAT_BATH:
                        spot, level = uniforms(key, step, 0, STEP)
                        s = min(int(spot * r), r - 1)
                        sums[lane] = weigh(T, r, pitch, s, rows, masses, weights, lane)
                        if lane == 0:
                            entering[slot] = -1
                        cuda.syncthreads()
                        item = find(level, sums, weights, n, lane)
                        if item >= 0:
                            entering[slot] = item
                    else:
                        s, item = propose(key, step, r, pitch, T, basis, vectors, masses)
                        if lane == 0:
                            entering[slot] = item
                    cuda.syncthreads()
                    t = entering[slot]
                    moves = exists and t >= 0 and t != basis[s]
                    if moves:
                        inverse_times(T, r, pitch, vectors, t, column, lane, lanes)
                    cuda.syncthreads()
                    share = 1.0
                    if moves:
                        total = 0.0
                        for i in range(r):
                            total += column[i] * column[i]
                        share = column[s] * column[s] / total
                    suspect = moves and share <= SMALL * SMALL
                    if any_thread(suspect):
                        drift = renew_inverse(
                            suspect, T, r, pitch, vectors, basis, column, order, lane, lanes
                        )
                        if suspect:
                            tiny += 1
                            renewed += 1
                            drifts += 1 if drift else 0
                            inverse_times(T, r, pitch, vectors, t, column, lane, lanes)
                        cuda.syncthreads()
                        if suspect:
                            total = 0.0
                            for i in range(r):
                                total += column[i] * column[i]
                            moves = column[s] * column[s] > ZERO * ZERO * total
                        cuda.syncthreads()
                    if moves:
                        replace_item(T, r, pitch, s, column, lane, lanes)
                        if lane == 0:
                            basis[s] = t
                        accepted += 1
                    step += 1
                    if sets > 0:
                        cuda.syncthreads()
                        for j in range(lane, sets, lanes):
                            if exists and holds_set(basis, r, starts, members, j):
                                tracked[k, chain, j] += 1.0
                cuda.syncthreads()
                if exists:
                    write_sorted(basis, r, subsets[k, chain], lane, lanes)
            cuda.syncthreads()
            if exists:
                save_inverse(T, r, pitch, inverses[chain], lane, lanes)
                for k in range(lane, r, lanes):
                    bases[chain, k] = basis[k]
                if lane == 0:
                    counts[chain, STEPS] += subsets.shape[0] * thin
                    counts[chain, ACCEPTED] += accepted
                    counts[chain, REFACTORISATIONS] += renewed
                    counts[chain, DRIFTS] += drifts
                    counts[chain, TINY_PIVOTS] += tiny

    return walk
