"""Determinants of many blocks at once, and the error for an A whose determinants are all zero."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats
from zonodpp.linalg.dense import split_rows


def log_dets(rows: Floats) -> Floats:
    """Return log |det| of square blocks of rows, (count, r, r)."""
    unit, log_lengths, smallest = unit_blocks(rows)
    with np.errstate(divide="ignore"):
        logs = np.linalg.slogdet(unit)[1] + log_lengths.sum(axis=1)
    logs[smallest < 4 * rows.shape[2] * np.finfo(float).eps] = -np.inf
    return np.asarray(logs)


def unit_blocks(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Bring the rows of blocks, (count, k, m) for k <= m, to length one.

    Returns also the logs of their lengths, (count, k), and the smallest singular value of each
    block of unit rows: dependent rows leave rounding errors there, where a zero should stand.
    """
    unit, logs = split_rows(rows.reshape(-1, rows.shape[2]))
    blocks = np.asarray(unit).reshape(rows.shape)
    smallest = np.linalg.svd(blocks, compute_uv=False)[:, -1]
    return blocks, logs.reshape(rows.shape[:2]), smallest


def dependent_rows(rank: int, r: int, weighted: bool, given: str) -> ValueError:
    """Return the error for r features of lower rank; ``given`` is the argument that held them."""
    features, to = ("rows", " to from_features") if given == "A" else ("columns", "")
    ways_out = "give more items a positive weight; " if weighted else ""
    if rank:
        ways_out += (
            f"pass rank={rank} (or less){to}; pass jitter=1e-6{to} to add the paper's small noise; "
        )
    return ValueError(
        f"{given} has numerical rank {rank} but {r} {features}"
        f"{' after weighting' if weighted else ''}: these must be linearly independent. "
        f"Ways out: {ways_out}drop {features} that depend on others"
    )
