"""What exact draws share: the space that is left after each pick.

Items are picked one after another, each in proportion to the squared length of what its whitened
column has outside the span of those already picked (Hough, Krishnapur, Peres, Virag 2006). What is
left outside is kept as a matrix N: with m items still to pick, N is m x r, the vector N a_i is the
residual of item i, and its squared length is the conditional weight of item i. A pick turns N by
one Householder reflection and drops a row. So no n x n matrix appears, nothing has to be
orthogonalised again, and an item inside the span gets weight zero without cancellation.
"""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats, Subsets
from zonodpp.numerics.arguments import generator_at
from zonodpp.numerics.arrays import Columns
from zonodpp.numerics.compiled import forceinline, inline_source, jit


@inline_source
def outside(N: Floats, m: int, r: int, column: Floats, residual: Floats) -> float:
    """Set residual = N a for a dense column a of r entries and return |residual|^2."""
    total = 0.0
    for j in range(m):
        product = 0.0
        for i in range(r):
            product += N[j, i] * column[i]
        residual[j] = product
        total += product * product
    return total


@inline_source
def outside_sparse(N: Floats, m: int, columns: Columns, item: int, residual: Floats) -> float:
    """Set residual = N a for a sparse column a and return |residual|^2."""
    total = 0.0
    for j in range(m):
        product = 0.0
        for k in range(columns.indptr[item], columns.indptr[item + 1]):
            product += N[j, columns.indices[k]] * columns.data[k]
        residual[j] = product
        total += product * product
    return total


@forceinline
def outside_item(N: Floats, m: int, columns: Columns, item: int, residual: Floats) -> float:
    """Set residual = N a for the column a of an item, dense or sparse, and return |residual|^2."""
    total: float = 0.0
    if columns.dense.shape[0] == 0:
        total = outside_sparse(N, m, columns, item, residual)
    else:
        total = outside(N, m, N.shape[1], columns.dense[item], residual)
    return total


@inline_source
def reflect(N: Floats, m: int, r: int, residual: Floats, length: float, row: Floats) -> None:
    """Turn the m rows of N, of r entries, so that the last points along the pick, and drop it.

    ``row`` receives the dropped row: row . a_i is the coordinate of item i along the pick. The
    residual of the pick has the length ``length``, and is overwritten.
    """
    inverse = 1.0 / length  # the residual becomes a unit vector first: then no product underflows
    for j in range(m):
        residual[j] *= inverse
    sign = -1.0 if residual[m - 1] < 0.0 else 1.0
    residual[m - 1] += sign
    beta = sign / residual[m - 1]
    for i in range(r):
        row[i] = 0.0
    for j in range(m):
        for i in range(r):
            row[i] += residual[j] * N[j, i]
    for j in range(m - 1):
        factor = beta * residual[j]
        for i in range(r):
            N[j, i] -= factor * row[i]
    for i in range(r):
        row[i] = sign * row[i] - N[m - 1, i]


@jit
def draw_by_chain_rule(
    address: int, columns: Columns, W: Floats, lengths: Floats, leverages: Floats, subsets: Subsets
) -> None:
    """Fill subsets with draws, keeping the conditional weights of all n items up to date."""
    rng = generator_at(address)
    n = lengths.shape[0]
    r = W.shape[0]
    N = np.empty((r, r))
    row = np.empty((1, r))
    residual = np.empty(r)
    along = np.empty(1)
    weights = np.empty(n)
    for k in range(subsets.shape[0]):
        N[:] = W
        weights[:] = leverages
        for m in range(r, 0, -1):
            level = rng.random() * weights.sum()
            item = -1
            for i in range(n):
                if weights[i] > 0.0:
                    item = i
                    level -= weights[i]
                    if level < 0.0:
                        break
            subsets[k, r - m] = item
            reflect(N, m, r, residual, np.sqrt(outside_item(N, m, columns, item, residual)), row[0])
            for i in range(n):
                if lengths[i] > 0.0:
                    square = outside_item(row, 1, columns, i, along)
                    weights[i] = max(0.0, weights[i] - square * leverages[i] / lengths[i])
            weights[item] = 0.0
