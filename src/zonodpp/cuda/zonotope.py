"""Hit-and-run on the zonotope on the device; the step is that of `zonodpp.samplers.walk_line`.

Lanes share the r coordinates of the point, the n reduced costs and the columns of T. What a chain
has of single numbers (lengths, weights, the pick) is computed by each of its lanes alike.

Reduced costs carry their sign here: an item whose reduced cost is negative, or minus zero, rests at
its length.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.cuda.compile import Word, device, kernel
from zonodpp.cuda.lanes import (
    any_thread,
    holds_set,
    inverse_times,
    load_inverse,
    odd,
    renew_inverse,
    replace_item,
    save_inverse,
    write_sorted,
)
from zonodpp.cuda.philox import COST, DIRECTION, PICK, PLACE, POINT, normals, uniforms
from zonodpp.samplers.lines import (
    ACCEPTED,
    DRIFTS,
    HUGE,
    LOST_TILES,
    MOVED,
    REFACTORISATIONS,
    ROOT,
    STEPS,
    TILES,
)
from zonodpp.samplers.walk_line import ENDLESS
from zonodpp.tiles.pivots import LARGE, PIVOT

REFRESH = 1000  # pivots after which T is computed anew
NEW = 2 * REFRESH  # the age of a chain that has a basis and nothing else
INFINITE = np.inf


def shared_doubles(r: int, n: int, lanes: int) -> int:
    """Return the doubles of shared memory for one chain, without those for each item."""
    return r * odd(r) + 6 * r + 2 * lanes


@lru_cache(maxsize=32)
def zonotope_kernel(  # noqa: C901
    gibbs: bool,
    fresh: bool,
    exponent: float,
    r: int,
    n: int,
    lanes: int,
    chains: int,
    items_shared: bool,
) -> Any:
    """Compile the kernel for a rule, a size, and blocks of ``chains`` chains.

    ``items_shared`` tells whether shared memory holds the reduced costs of all items, too.
    """
    pitch = odd(r)
    size = shared_doubles(r, n, lanes) + (2 * n if items_shared else 0)

    @device
    def draw_costs(key: Word, step: int, given: Floats, costs: Floats, n: int, lane: int) -> None:
        """Set the costs of the tiling: drawn anew, or those of the chain's one tiling."""
        if given.shape[0] > 0:
            for j in range(lane, n, lanes):
                costs[j] = given[j]
            return
        for k in range(lane, (n + 1) // 2, lanes):
            if fresh:
                one, other = uniforms(key, step, k, COST)
            else:
                one, other = normals(key, 0, k, COST)
            costs[2 * k] = one
            if 2 * k + 1 < n:
                costs[2 * k + 1] = other

    @device
    def price(
        T: Floats,
        r: int,
        pitch: int,
        rows: Floats,
        basis: Integers,
        reduced: Floats,
        column: Floats,
        lane: int,
    ) -> None:
        """Turn costs into reduced costs c_j - (c_B T) e_j."""
        for i in range(lane, r, lanes):
            total = 0.0
            for p in range(r):
                total += reduced[basis[p]] * T[p * pitch + i]
            column[i] = total
        cuda.syncthreads()
        for j in range(lane, n, lanes):
            total = 0.0
            for i in range(r):
                total += column[i] * rows[i, j]
            reduced[j] -= total
        cuda.syncthreads()
        for p in range(lane, r, lanes):
            reduced[basis[p]] = 0.0

    @device
    def draw_direction(
        key: Word, step: int, factor: Floats, r: int, normal: Floats, d: Floats, lane: int
    ) -> None:
        """Set d = factor z / |z|, z standard normal."""
        for k in range(lane, (r + 1) // 2, lanes):
            one, other = normals(key, step, k, DIRECTION)
            normal[2 * k] = one
            if 2 * k + 1 < r:
                normal[2 * k + 1] = other
        cuda.syncthreads()
        size = 0.0
        for i in range(r):
            size += normal[i] * normal[i]
        size = 1.0 / math.sqrt(size)
        for i in range(lane, r, lanes):
            total = 0.0
            for k in range(i + 1):
                total += factor[i, k] * normal[k]
            d[i] = total * size
        cuda.syncthreads()

    @device
    def set_speed(
        T: Floats, r: int, pitch: int, d: Floats, forward: float, v: Floats, lane: int
    ) -> None:
        for p in range(lane, r, lanes):
            total = 0.0
            for i in range(r):
                total += T[p * pitch + i] * d[i]
            v[p] = forward * total

    @device
    def smallest(values: Floats, places: Integers) -> tuple[float, int]:
        """Return the smallest value of all lanes and its place; of equal values the first place."""
        best, place = values[0], places[0]
        for k in range(1, lanes):
            if values[k] < best or (values[k] == best and places[k] < place):
                best, place = values[k], places[k]
        return best, place

    @device
    def nearest_bound(u: Floats, v: Floats, reach: Floats, r: int, lane: int) -> tuple[float, int]:
        nearest, leaving = INFINITE, r
        for p in range(lane, r, lanes):
            speed = v[p]
            if speed != 0.0:
                distance = ((reach[p] if speed > 0.0 else 0.0) - u[p]) / speed
                if distance < nearest:
                    nearest, leaving = distance, p
        return nearest, leaving

    @device
    def ratio_test(
        T: Floats,
        r: int,
        pitch: int,
        p: int,
        left: int,
        upward: float,
        rows: Floats,
        reduced: Floats,
        drops: Floats,
        lane: int,
    ) -> tuple[float, int]:
        """Return the first of this lane's items whose reduced cost reaches zero, and the step."""
        size = 0.0
        for i in range(r):
            size += T[p * pitch + i] * T[p * pitch + i]
        least = PIVOT * math.sqrt(size)
        theta, entering = INFINITE, n
        for j in range(lane, n, lanes):
            total = 0.0
            for i in range(r):
                total += T[p * pitch + i] * rows[i, j]
            drop = 0.0 if j == left else upward * math.copysign(1.0, reduced[j]) * total
            drops[j] = drop
            if drop > least:
                ratio = abs(reduced[j]) / drop
                if ratio < theta:
                    theta, entering = ratio, j
        return theta, entering

    @device
    def density_ratio(mass: Floats, entered: int, left: int, size: float) -> float:
        ratio = mass[entered] / mass[left]
        if exponent == 1.0:
            ratio *= size
        elif exponent != 0.0:
            ratio *= size**exponent
        return ratio

    @device
    def tile_weight(length: float, density: float, level: int, top: int) -> tuple[float, float]:
        """Return the weight with which a tile is picked, and the part that a test lets pass."""
        if gibbs:
            weight = 0.0
            if level == top:
                weight = length * density
            elif level == top - 1:
                weight = length * (density / HUGE)
            return weight, weight
        if level == 0:
            return length, length * min(1.0, density)
        return length, length if level > 0 else 0.0

    @kernel
    def walk(  # noqa: C901
        rows: Floats,
        vectors: Floats,
        lengths: Floats,
        mass: Floats,
        mass_level: Integers,
        factor: Floats,
        window: float,
        costs: Floats,
        keys: Any,
        first_step: int,
        bases: Integers,
        inverses: Floats,
        points: Floats,
        reduced_costs: Floats,
        ages: Integers,
        chosen_bases: Integers,
        chosen_inverses: Floats,
        chosen_points: Floats,
        chosen_costs: Floats,
        scratch: Floats,
        shares: Floats,
        starts: Integers,
        members: Integers,
        subsets: Subsets,
        tracked: Floats,
        thin: int,
        counts: Integers,
    ) -> None:
        """Fill subsets (draws, chains, r), ``thin`` steps apart; add to tracked."""
        memory = cuda.shared.array(0, float64)
        whole = cuda.shared.array(0, int32)
        slot, lane = cuda.threadIdx.x // lanes, cuda.threadIdx.x % lanes
        at = slot * size
        T = memory[at : at + r * pitch]
        at += r * pitch
        u = memory[at : at + r]
        v = memory[at + r : at + 2 * r]
        reach = memory[at + 2 * r : at + 3 * r]
        d = memory[at + 3 * r : at + 4 * r]
        column = memory[at + 4 * r : at + 5 * r]
        at += 5 * r
        values = memory[at : at + lanes]
        places = whole[2 * (at + lanes) : 2 * (at + lanes) + lanes]
        at += 2 * lanes
        basis = whole[2 * at : 2 * at + r]
        order = whole[2 * at + r : 2 * at + 2 * r]
        at += r
        sets = starts.shape[0] - 1
        for begin in range(cuda.blockIdx.x * chains, bases.shape[0], cuda.gridDim.x * chains):
            chain = begin + slot
            exists = chain < bases.shape[0]
            chain = min(chain, bases.shape[0] - 1)
            # Threads without a chain of their own go along with the last one and write nothing.
            reduced = memory[at : at + n] if items_shared else scratch[chain, 0]
            drops = memory[at + n : at + 2 * n] if items_shared else scratch[chain, 1]
            key = keys[chain]
            age = ages[chain]
            accepted_steps, moved, all_tiles, renewed, drifts, lost = 0, 0, 0, 0, 0, 0
            step = first_step
            for k in range(subsets.shape[0]):
                for _ in range(thin):
                    # The home tile, from which the line starts.
                    cuda.syncthreads()
                    load_inverse(T, r, pitch, inverses[chain], lane, lanes)
                    for p in range(lane, r, lanes):
                        basis[p] = bases[chain, p]
                    is_new = age >= NEW
                    old = age >= REFRESH
                    if any_thread(old):
                        drift = renew_inverse(
                            old, T, r, pitch, vectors, basis, column, order, lane, lanes
                        )
                        if old:
                            age = 0
                            if exists:
                                save_inverse(T, r, pitch, inverses[chain], lane, lanes)
                            if not is_new:
                                renewed += 1
                                drifts += 1 if drift else 0
                    if fresh or any_thread(old):
                        if fresh or old:
                            draw_costs(key, step, costs, reduced, n, lane)
                        cuda.syncthreads()
                        if fresh or is_new:
                            for p in range(lane, r, lanes):
                                reach[p] = lengths[basis[p]]
                                number, _spare = uniforms(key, step, p, POINT)
                                points[chain, p] = number * reach[p]
                        price(T, r, pitch, rows, basis, reduced, column, lane)
                        cuda.syncthreads()
                        if exists and (fresh or old):
                            for j in range(lane, n, lanes):
                                reduced_costs[chain, j] = reduced[j]
                        cuda.syncthreads()
                    draw_direction(key, step, factor, r, column, d, lane)
                    for s in range(lane, sets, lanes):
                        shares[chain, s] = 0.0
                    placing, choosing = uniforms(key, step, 0, PLACE)
                    testing, within = uniforms(key, step, 1, PLACE)
                    ahead = window * placing if window < INFINITE else window
                    stay, others, threshold, passed_weight = 0.0, 0.0, 0.0, 0.0
                    first_ahead, first_back, picked_ratio = 0.0, 0.0, 0.0
                    top, picks, chosen_age = 0, 0, 0
                    is_lost = False
                    for half in range(2):
                        forward = 1.0 - 2.0 * half
                        limit = ahead
                        if half == 1:
                            limit = window - ahead if window < INFINITE else window
                            cuda.syncthreads()
                            load_inverse(T, r, pitch, inverses[chain], lane, lanes)
                            for p in range(lane, r, lanes):
                                basis[p] = bases[chain, p]
                        cuda.syncthreads()
                        for p in range(lane, r, lanes):
                            u[p] = points[chain, p]
                            reach[p] = lengths[basis[p]]
                        for j in range(lane, n, lanes):
                            reduced[j] = reduced_costs[chain, j]
                        set_speed(T, r, pitch, d, forward, v, lane)
                        density, level, gone, tiles = 1.0, 0, 0.0, 0
                        walker_age = age
                        active = exists
                        crossing = False
                        while True:
                            worn = crossing and walker_age >= REFRESH
                            if any_thread(worn):
                                drift = renew_inverse(
                                    worn, T, r, pitch, vectors, basis, column, order, lane, lanes
                                )
                                if worn:
                                    walker_age = 0
                                    renewed += 1
                                    drifts += 1 if drift else 0
                                    set_speed(T, r, pitch, d, forward, v, lane)
                                cuda.syncthreads()
                            if active:
                                values[lane], places[lane] = nearest_bound(u, v, reach, r, lane)
                            if not any_thread(active):
                                break
                            going = False
                            length, upward = 0.0, 1.0
                            p, left = 0, 0
                            if active:
                                length, p = smallest(values, places)
                                length = max(length, 0.0)
                                last = gone + length >= limit
                                if last:
                                    length = limit - gone
                                while gibbs and level > top:
                                    top += 1
                                    stay /= HUGE
                                    others /= HUGE
                                    threshold /= HUGE
                                    for s in range(lane, sets, lanes):
                                        shares[chain, s] /= HUGE
                                weight, passed = tile_weight(length, density, level, top)
                                passed_weight += passed
                                for s in range(lane, sets, lanes):
                                    if holds_set(basis, r, starts, members, s):
                                        shares[chain, s] += passed
                                if tiles == 0:
                                    stay += weight
                                    if half == 0:
                                        first_ahead = length
                                    else:
                                        first_back = length
                                else:
                                    others += weight
                                    if others > threshold:
                                        number, part = uniforms(key, step, picks, PICK)
                                        picks += 1
                                        threshold = others / (1.0 - number)
                                        picked_ratio = density
                                        if level != 0:
                                            picked_ratio = INFINITE if level > 0 else 0.0
                                        chosen_age = walker_age
                                        save_inverse(
                                            T, r, pitch, chosen_inverses[chain], lane, lanes
                                        )
                                        for q in range(lane, r, lanes):
                                            chosen_bases[chain, q] = basis[q]
                                        if not fresh:
                                            for q in range(lane, r, lanes):
                                                moved_on = u[q] + part * length * v[q]
                                                chosen_points[chain, q] = moved_on
                                            for j in range(lane, n, lanes):
                                                chosen_costs[chain, j] = reduced[j]
                                tiles += 1
                                going = not last
                                if tiles > ENDLESS:
                                    going = False
                                    is_lost = True
                                if p >= r:  # nothing moves: the direction was zero
                                    going = False
                            active = going
                            if going:
                                left = basis[p]
                                upward = 1.0 if v[p] > 0.0 else -1.0
                            cuda.syncthreads()
                            if going:
                                values[lane], places[lane] = ratio_test(
                                    T, r, pitch, p, left, upward, rows, reduced, drops, lane
                                )
                            cuda.syncthreads()
                            crossing = False
                            theta, entering = INFINITE, 0
                            if going:
                                theta, entering = smallest(values, places)
                                crossing = theta < INFINITE
                                active = crossing  # no item can enter: the boundary
                            enters_at = 0.0
                            if crossing:
                                for q in range(lane, r, lanes):
                                    u[q] += length * v[q]
                                inverse_times(T, r, pitch, vectors, entering, column, lane, lanes)
                                for j in range(lane, n, lanes):
                                    size_left = max(0.0, abs(reduced[j]) - theta * drops[j])
                                    if j == entering:
                                        if math.copysign(1.0, reduced[j]) < 0.0:
                                            enters_at = lengths[j]
                                        reduced[j] = 0.0
                                    elif j == left:
                                        reduced[j] = -upward * theta
                                    else:
                                        reduced[j] = math.copysign(size_left, reduced[j])
                            cuda.syncthreads()
                            speed, pivot = 0.0, 1.0
                            if crossing:
                                pivot = column[p]
                                speed = v[p] / pivot
                            cuda.syncthreads()
                            if crossing:
                                for q in range(lane, r, lanes):
                                    v[q] = speed if q == p else v[q] - column[q] * speed
                                replace_item(T, r, pitch, p, column, lane, lanes)
                                if entering % lanes == lane:
                                    basis[p] = entering
                                    reach[p] = lengths[entering]
                                    u[p] = enters_at
                                walker_age += 1 if abs(pivot) * LARGE > 1.0 else REFRESH
                                gone += length
                                density *= density_ratio(mass, entering, left, abs(pivot))
                                level += mass_level[entering] - mass_level[left]
                                while density > ROOT:
                                    density /= HUGE
                                    level += 1
                                while density < 1.0 / ROOT:
                                    density *= HUGE
                                    level -= 1
                        all_tiles += tiles
                    # Decide between the first tile and the pick.
                    cuda.syncthreads()
                    total = stay + others
                    for s in range(lane, sets, lanes):
                        share = shares[chain, s]
                        if not gibbs and holds_set(bases[chain], r, starts, members, s):
                            share += total - passed_weight
                        if exists:
                            tracked[k, chain, s] += share / total
                    cuda.syncthreads()
                    moves = choosing * total >= stay and others > 0.0 and not is_lost
                    accepted = gibbs or not moves or testing < picked_ratio
                    if is_lost:
                        lost += 1
                        age = REFRESH
                    if exists and moves and accepted:
                        moved += 1
                        age = chosen_age
                        for q in range(lane, r * r, lanes):
                            inverses[chain, q // r, q % r] = chosen_inverses[chain, q // r, q % r]
                        for q in range(lane, r, lanes):
                            bases[chain, q] = chosen_bases[chain, q]
                            if not fresh:
                                points[chain, q] = chosen_points[chain, q]
                        if not fresh:
                            for j in range(lane, n, lanes):
                                reduced_costs[chain, j] = chosen_costs[chain, j]
                    elif exists and not (moves or fresh or is_lost):
                        alpha = (first_ahead + first_back) * within - first_back
                        for q in range(lane, r, lanes):
                            velocity = 0.0
                            for i in range(r):
                                velocity += inverses[chain, q, i] * d[i]
                            points[chain, q] += alpha * velocity
                    accepted_steps += 1 if accepted else 0
                    step += 1
                cuda.syncthreads()
                if exists:
                    write_sorted(bases[chain], r, subsets[k, chain], lane, lanes)
            cuda.syncthreads()
            if exists and lane == 0:
                ages[chain] = age
                counts[chain, STEPS] += subsets.shape[0] * thin
                counts[chain, ACCEPTED] += accepted_steps
                counts[chain, MOVED] += moved
                counts[chain, TILES] += all_tiles
                counts[chain, REFACTORISATIONS] += renewed
                counts[chain, DRIFTS] += drifts
                counts[chain, LOST_TILES] += lost

    return walk
