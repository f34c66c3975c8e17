"""Keeping the inverse T honest: computed anew from the basis, drift measured."""

from __future__ import annotations

from zonodpp._jit import inlined, spliced
from zonodpp.matrices.columns import Floats
from zonodpp.zonotope.pivots import Scratch, Tile
from zonodpp.zonotope.products import Engine, tableau_column


@spliced
def drift_of(engine: Engine, tile: Tile, scratch: Scratch) -> float:
    """Largest entry of T E_B - I."""
    column, basis = scratch.column, tile.basis
    worst = 0.0
    for p in range(basis.shape[0]):
        tableau_column(engine, tile.T, basis[p], column)
        for k in range(column.shape[0]):
            expected = 1.0 if k == p else 0.0
            worst = max(worst, abs(column[k] - expected))
    return worst


@spliced
def refactorise(engine: Engine, tile: Tile, scratch: Scratch) -> bool:
    """Compute T = E_B^{-1} by Gauss-Jordan elimination; False if the basis is singular."""
    T, basis, matrix = tile.T, tile.basis, scratch.matrix
    r = basis.shape[0]
    for p in range(r):
        for i in range(r):
            matrix[i, p] = 0.0
            T[i, p] = 0.0
        T[p, p] = 1.0
    for p in range(r):
        if engine.columns.dense.shape[0] == 0:
            indptr, indices, data = (
                engine.columns.indptr,
                engine.columns.indices,
                engine.columns.data,
            )
            for k in range(indptr[basis[p]], indptr[basis[p] + 1]):
                matrix[indices[k], p] = data[k]
        else:
            for i in range(r):
                matrix[i, p] = engine.columns.dense[basis[p], i]
    for p in range(r):
        best = p
        for i in range(p + 1, r):
            if abs(matrix[i, p]) > abs(matrix[best, p]):
                best = i
        if abs(matrix[best, p]) < 1e-14:
            return False
        if best != p:
            for k in range(r):
                matrix[p, k], matrix[best, k] = matrix[best, k], matrix[p, k]
                T[p, k], T[best, k] = T[best, k], T[p, k]
        inverse = 1.0 / matrix[p, p]
        for k in range(r):
            matrix[p, k] *= inverse
            T[p, k] *= inverse
        for i in range(r):
            factor = matrix[i, p]
            if i != p and factor != 0.0:
                for k in range(r):
                    matrix[i, k] -= factor * matrix[p, k]
                    T[i, k] -= factor * T[p, k]
    return True


@inlined
def set_speed(tile: Tile, d: Floats) -> None:
    """Set v = T d, the speed of the coordinates along the direction d."""
    T, v = tile.T, tile.v
    for p in range(v.shape[0]):
        total = 0.0
        for i in range(v.shape[0]):
            total += T[p, i] * d[i]
        v[p] = total
