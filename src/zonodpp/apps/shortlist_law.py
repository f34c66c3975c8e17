"""The distribution of a shortlist: features that tell items apart, scaled by relevance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from zonodpp._types import Booleans, Floats, Integers, Matrix
from zonodpp.apps.landmark_features import kernel_features
from zonodpp.linalg.dense import to_dense, unit_rows
from zonodpp.linalg.svd import leading_directions
from zonodpp.targets import ProjectionDPP

_GAP = 40.0  # difference of log scales at which the odds of two items are below 1e-34
_DEPTH = 600.0  # largest difference of log scales in one layer; exp(-600) is a normal number


class ItemFeatures(NamedTuple):
    """k features for each item, and rows that say how alike items are."""

    features: Floats
    rows: Matrix
    spread: float | None  # of distances; None: similarity is the cosine


def item_features(rows: Matrix, k: int) -> ItemFeatures:
    """Give each item k features of unit spread."""
    n, d = rows.shape
    unit = unit_rows(rows)
    if min(n, d) >= k:
        vectors, values = leading_directions(unit.T, k)
        if values[k - 1] > 8 * max(n, d) * np.finfo(float).eps * values[0]:
            return ItemFeatures(vectors[:, :k], unit, None)
    dense = to_dense(rows)
    dense = dense / (float(np.abs(dense).max()) or 1.0)
    spread = float(np.sqrt(dense.var(axis=0).sum())) or 1.0
    lifted = kernel_features(
        dense,
        np.ones(n),
        k,
        lambda a, b: np.exp(-cdist(a, b) / spread),
        np.random.default_rng(0),
    )
    found = lifted.values.shape[1]
    if found < k:
        raise ValueError(
            f"k={k} items asked for, but the features tell only {found} items apart; ask for "
            "fewer, or pass diversity=0 to ignore the features"
        )
    return ItemFeatures(lifted.values / np.linalg.norm(lifted.values, axis=0), dense, spread)


def target_of(
    V: Floats, worth: Floats, diversity: float, usable: Booleans, include: Integers
) -> ProjectionDPP:
    """Make the projection DPP of V with rows scaled by relevance ** (1 / diversity)."""
    n, k = V.shape
    rank = int(np.linalg.matrix_rank(V[usable], tol=8 * n * np.finfo(float).eps))
    if rank < k:
        raise ValueError(
            f"k={k} items asked for, but those that can be picked have only {rank} independent "
            "directions; ask for fewer, exclude fewer, or pass diversity=0 to ignore the features"
        )
    logs = np.full(n, -np.inf)
    np.log(worth, out=logs, where=worth > 0)
    positive = logs[usable & (worth > 0)]
    if positive.size:
        logs -= positive.max()
        np.divide(logs, diversity, out=logs, where=np.isfinite(logs))  # -inf stays: impossible
    logs[include] = 0.0  # always in the draw, so their weights do not matter
    items = np.flatnonzero(usable)
    return ProjectionDPP.from_features(_scaled_span(V, logs, items[np.argsort(-logs[items])]))


def _scaled_span(V: Floats, logs: Floats, order: Integers) -> Floats:
    """Return orthonormal columns that span those of V with rows scaled by exp(logs).

    Scales may differ by thousands of orders of magnitude. Below a gap that leaves no chance worth
    mentioning, items count for those directions alone that all before them do not reach. Among the
    items of one such layer, a QR factorisation of rows sorted by size, with pivoting, keeps each
    row's digits (Cox and Higham, 1998). Items that no direction is left for stay zero.
    """
    n, k = V.shape
    result = np.zeros((n, k))
    left = np.eye(k)  # directions not reached so far, as columns
    begin = 0
    while begin < len(order) and left.shape[1]:
        steps = logs[order[begin:]]
        apart = (steps[:-1] - steps[1:] > _GAP) | (steps[0] - steps[1:] > _DEPTH)
        end = begin + (int(np.argmax(apart)) + 1 if apart.any() else len(steps))
        layer = order[begin:end]
        rows = V[layer] @ left
        _, singular, turned = np.linalg.svd(rows, full_matrices=len(layer) < rows.shape[1])
        rank = int(np.sum(singular > 8 * n * np.finfo(float).eps))
        scaled = rows * np.exp(logs[layer] - logs[layer[0]])[:, None]
        by_size = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")
        Q = scipy.linalg.qr(scaled[by_size], mode="economic", pivoting=True)[0]
        reached = k - left.shape[1]
        result[layer[by_size], reached : reached + rank] = Q[:, :rank]
        left = left @ turned[rank:].T
        begin = end
    return result
