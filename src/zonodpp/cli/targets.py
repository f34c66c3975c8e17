"""Make a target from a table and options."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import click
import numpy as np
import scipy.sparse as sp

from zonodpp.arguments import as_weights
from zonodpp.cli.files import ItemTable, open_source, read_array, read_table
from zonodpp.targets import ProjectionDPP
from zonodpp.targets.dpp import DPP
from zonodpp.targets.family import VolumeSampling
from zonodpp.targets.kdpp import KDPP


class Shape(NamedTuple):
    """What the table holds, and the target to make from it."""

    items: str = "rows"  # or "columns", as in the paper
    kernel: bool = False
    rank: int | None = None
    jitter: float | None = None
    power: float = 2.0
    size: int | None = None  # of the draws of a k-DPP
    dpp: bool = False
    expected_size: float | None = None  # of the draws of a DPP

    @property
    def spectral(self) -> bool:
        """Whether the target is a DPP or k-DPP of a kernel L, not a projection DPP."""
        return self.size is not None or self.dpp or self.expected_size is not None

    @property
    def reduced(self) -> bool:
        """Whether an option is given that only projection DPPs of features have."""
        return self.rank is not None or self.jitter is not None or self.power != 2


def make_target(table: ItemTable, shape: Shape, weights: Any, seed: int | None) -> Any:
    """Make the target of a table, with the labels that its file gives."""
    by_columns = shape.items == "columns"
    X = table.values.T if by_columns else table.values
    labels = table.columns if by_columns else table.labels
    target: Any
    if shape.kernel and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{table.source} is {X.shape[0]} x {X.shape[1]}, but a kernel is n x n; for features "
            "leave out --kernel"
        )
    if shape.spectral:
        target = _spectral_target(X, shape, weights)
    elif shape.kernel:
        if weights is not None or shape.reduced:
            raise click.UsageError("--kernel takes no --weights, --rank, --jitter or --power")
        target = ProjectionDPP.from_kernel(X)
    else:
        if shape.rank is None:
            _check_features(table.source, X, shape)
        target = ProjectionDPP.from_features(
            X, weights=weights, rank=shape.rank, jitter=shape.jitter, rng=seed
        )
        if shape.power != 2:
            target = VolumeSampling(target.A, power=shape.power, weights=weights)
    return target if labels is None else target.with_labels(labels)


def _check_features(source: str, X: Any, shape: Shape) -> None:
    """Refuse features that cannot be independent, before memory for their square is taken."""
    n, d = X.shape
    if d > n:
        other = "rows" if shape.items == "columns" else "columns"
        raise ValueError(
            f"{source} has {n} items with {d} features: a draw of {d} out of {n} items is "
            f"impossible. Pass --rank R for R < {n} items in a draw; if the items are the {other}, "
            f"pass --items {other}"
        )
    if shape.jitter is not None or not sp.issparse(X):
        return
    occupied = min(np.unique(index).size for index in X.nonzero())
    if occupied < d:
        raise ValueError(
            f"{source} has {d:,} features, but only {occupied:,} of them or of the items "
            "have entries: features must be linearly independent. Leave out those without entries "
            f"or pass --rank {max(1, occupied)} or less"
        )


def _spectral_target(X: Any, shape: Shape, weights: Any) -> Any:
    """Make a DPP or k-DPP of L = X X', with weights as qualities: L_ij sqrt(q_i q_j)."""
    if shape.reduced:
        raise click.UsageError("--size and --dpp take none of --rank, --jitter, --power")
    if shape.size is not None and (shape.dpp or shape.expected_size is not None):
        raise click.UsageError("--size K is for draws of K items, --dpp for draws that vary")
    if shape.kernel and weights is not None:
        raise click.UsageError("--kernel takes no --weights")
    if weights is not None:
        quality = np.sqrt(np.asarray(as_weights(weights, X.shape[0])))
        X = sp.diags_array(quality) @ X if sp.issparse(X) else quality[:, None] * X
    if shape.size is not None:
        return KDPP(X, shape.size) if shape.kernel else KDPP.from_features(X, shape.size)
    target = DPP(L=X) if shape.kernel else DPP.from_features(X)
    return target if shape.expected_size is None else target.scaled(shape.expected_size)


def read_weights(table: ItemTable, weights: str | None, n: int, option: str = "--weights") -> Any:
    """Return numbers for items: a column kept aside, or a file with one for each item."""
    if weights is None:
        return None
    if weights in table.aside:
        return table.aside[weights]
    if not os.path.exists(weights):
        raise ValueError(
            f"{option} {weights}: neither a column of {table.source} nor a file of {n} numbers"
        )
    source = open_source(weights, None)
    arrays = ("npy", "npz")
    values = read_array(source) if source.format in arrays else read_table(source).values
    found = np.asarray(values)
    if found.size != n:
        shape = " x ".join(map(str, found.shape))
        raise ValueError(f"{option} {weights}: expected {n} numbers, one an item, got {shape}")
    return found.ravel()
