"""Lewis position, and bases annealed from squared volume to volume.

A part of `zonodpp.zonotope.volume`, where the mathematics is.
"""

from __future__ import annotations

import math

import numpy as np

from zonodpp._arguments import as_count, as_matrix, check_finite
from zonodpp._types import Floats, Integers, MatrixLike, Rng, Subsets
from zonodpp.chains.columns import (
    UnitColumns,
    even_rows,
    keep_columns,
    tableau_column,
    tableau_entry,
    unit_vectors,
)
from zonodpp.chains.contract import Block
from zonodpp.chains.inverse import replace_item, row_length
from zonodpp.chains.tracking import NO_SETS
from zonodpp.exact.projection import prepare_projection
from zonodpp.numerics.alias import draw_alias
from zonodpp.numerics.arguments import address_of, generator_at
from zonodpp.numerics.arrays import to_dense
from zonodpp.numerics.compiled import no_refcount
from zonodpp.numerics.gram import DenseGram, RankError, factorise
from zonodpp.targets import ProjectionDPP

# Whitening steps, at most, and the relative change of lengths at which no further step is made.
# Estimates are unbiased in any position; close to Lewis position their variance is small.
_WHITENINGS, _CHANGE = 200, 1e-11
_PILOT = 200  # draws run forwards and backwards, from which the number of exchanges is chosen
_EVEN = 0.6  # effective share of draws from which on more exchanges cost more time than they save
_MOST_MOVES = 128  # exchanges for each item of a basis, at most, where their number is not given
OLDEST = 1000  # exchanges after which the inverse is computed anew
ENTRIES_AT_ONCE = 2**20  # of the r x r matrices that are kept at a time: 8 MiB
_LOG_LARGEST = 700.0  # exp of more than about 709 is beyond floating-point numbers
_DEPENDENT = 1e-12  # |cos(T_s, e_t)| that is rounding noise: t depends on B - s


def lewis_position(A: MatrixLike) -> tuple[UnitColumns, float, Integers]:
    """Bring the columns of A into Lewis position; return them, a log scale, and their numbers.

    Zero columns are left out. The others are unit vectors e_i with lengths w_i, and
    log |det A_B| = log |det E_B| + sum log w_B + log scale.

    Each step whitens the columns X_i / sqrt(w_i); the lengths of the new X_i are the next w. Each
    step starts from the columns that the step before whitened, so A may be badly conditioned.
    """
    X, shift, items, gram = read_columns(A)
    log_scale = shift * math.log(2)
    former = np.zeros(items.size)
    for _ in range(_WHITENINGS):
        X = gram.W @ X
        log_scale += gram.logdet / 2
        w = unit_vectors(X)[1]
        if np.all(np.abs(w - former) <= _CHANGE * w):
            break
        gram, former = factorise(X, 1.0 / np.sqrt(w), check_rank=False), w
    return keep_columns(*unit_vectors(X)), log_scale, items


def read_columns(A: MatrixLike) -> tuple[Floats, int, Integers, DenseGram]:
    """Return A / 2^k without zero columns, the sum of k over rows, the columns left, their Gram.

    Powers of two bring rows to one size and change no digit. The Gram matrix is that of unit
    columns, so that lengths do not decide the rank.
    """
    matrix = as_matrix(A, "A")
    check_finite(matrix, "A")
    X, heights = even_rows(to_dense(matrix), None)
    items = np.flatnonzero(X.any(axis=0))
    X = X[:, items]
    try:
        gram = factorise(unit_vectors(X)[0], None)
    except RankError as error:
        raise ValueError(
            f"A has numerical rank {error.rank} but {X.shape[0]} rows: its zonotope is flat and "
            "has no volume; drop rows that depend on others"
        ) from None
    return X, int(heights.sum()), items, gram


class Annealed:
    """Bases drawn from the projection DPP and annealed towards |det A_B|, with their weights."""

    def __init__(self, A: MatrixLike, moves: int | None, rng: Rng) -> None:
        self.columns, self.log_scale, self.items = lewis_position(A)
        target = ProjectionDPP(self.columns.rows, weights=self.columns.lengths)
        self.log_scale += target.log_normaliser  # zero, up to rounding
        self.sampler = prepare_projection(target)
        self.state = self.sampler.start([rng], None, NO_SETS)
        self.moves = 2 * target.r if moves is None else as_count(moves, "moves", 0)
        while self._pilot(rng) < _EVEN and moves is None and self.moves < _MOST_MOVES * target.r:
            self.moves *= 2

    def _pilot(self, rng: Rng) -> float:
        """Set the mean weight of annealing backwards; return the effective share of pilot draws."""
        bases, logs = self.draw(_PILOT, rng)
        self._walk(bases, np.ones(self.moves + 4 * bases.shape[1]), rng)  # to |det A_B| itself
        back = self._walk(bases, self._powers()[::-1].copy(), rng) + self.log_scale
        self.log_back = log_mean(back)
        return 1.0 / (1.0 + self.variance(logs))

    def _powers(self) -> Floats:
        return 2.0 - (np.arange(self.moves) + 0.5) / max(1, self.moves)

    def variance(self, logs: Floats) -> float:
        """Relative variance: that of the weights or, if larger, that of annealing backwards."""
        log_value = log_mean(logs)
        seen = float(np.exp(logs - log_value).var(ddof=1))
        return max(seen, math.expm1(min(self.log_back - log_value, _LOG_LARGEST)))

    def draw(self, size: int, rng: Rng) -> tuple[Subsets, Floats]:
        """Return bases, and the logarithms of weights whose mean is the volume."""
        bases = np.empty((size, self.columns.rows.shape[0]), np.int32)
        block = Block(bases[None], np.empty((1, size, 0)), thin=1)
        self.sampler.advance(self.state, [rng], block, NO_SETS)
        return bases, self._walk(bases, self._powers(), rng) + self.log_scale

    def _walk(self, bases: Subsets, powers: Floats, rng: Rng) -> Floats:
        """Exchange items of bases in place; return the averages of -log |det E_B|.

        The power changes by half a step before and half a step after an exchange, so that the
        sequence can also be run backwards.
        """
        r = bases.shape[1]
        tables = self.columns, self.sampler.alias
        sums, scratch = np.empty(len(bases)), np.empty((2, r))
        chunk = max(1, ENTRIES_AT_ONCE // r**2)
        for first in range(0, len(bases), chunk):
            span = slice(first, first + chunk)
            logs = self._log_sizes(bases[span])
            sums[span] = -logs / 2 if powers.size else logs
            for start in range(0, powers.size, OLDEST):
                part = powers[start : start + OLDEST]
                T = np.ascontiguousarray(np.linalg.inv(self._vectors(bases[span])))
                sound = _anneal(
                    address_of(rng), *tables, part, bases[span], T, logs, sums[span], scratch
                )
                logs = self._log_sizes(bases[span], sound)
            if powers.size:
                sums[span] = (sums[span] + logs / 2) / powers.size
        return sums

    def _vectors(self, bases: Subsets) -> Floats:
        """Return E_B for each basis."""
        return self.columns.dense[bases].transpose(0, 2, 1)

    def _log_sizes(self, bases: Subsets, sound: bool = True) -> Floats:
        """Return -log |det E_B| for each basis; raise an error if one is singular."""
        logs: Floats = -np.linalg.slogdet(self._vectors(bases))[1]
        if not (sound and np.all(logs < np.inf)):
            raise ArithmeticError("a basis turned out singular; rescale A, or pass fewer moves")
        return logs


def log_mean(logs: Floats) -> float:
    """Return the logarithm of the mean of exponentials."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))


@no_refcount
def _anneal(
    address: int,
    columns: UnitColumns,
    alias: Floats,
    powers: Floats,
    bases: Subsets,
    inverses: Floats,
    logs: Floats,
    sums: Floats,
    scratch: Floats,
) -> bool:
    """Exchange an item of each basis at each power p, and add -log |det E_B| to sums before it.

    An exchange takes away an item s, uniformly, and adds t in proportion to
    |det E_{B - s + t}|^p w_t, that is to |cos(T_s, e_t)|^p w_t. As sum_t w_t cos^2 = 1 and the w_t
    sum to r, proposals from the alias table of w are accepted once in r times or more often.
    ``logs`` holds -log |det E_B|. Returns False if a basis is singular.
    """
    rng = generator_at(address)
    r, column, row = bases.shape[1], scratch[0], scratch[1]
    for k in range(bases.shape[0]):
        T = inverses[k]
        for m in range(powers.shape[0]):
            sums[k] += logs[k]
            s = min(int(rng.random() * r), r - 1)
            size = row_length(T, s)
            if not size < np.inf:
                return False
            while True:
                t = draw_alias(rng, alias)
                entry = tableau_entry(columns, T[s], t)
                cosine = abs(entry) / size
                level = rng.random()
                if level < cosine and cosine > _DEPENDENT and level < cosine ** powers[m]:
                    break
            if t != bases[k, s]:
                tableau_column(columns, T, t, column)
                replace_item(T, s, column, row)
                bases[k, s] = t
                logs[k] -= math.log(abs(entry))
    return True
