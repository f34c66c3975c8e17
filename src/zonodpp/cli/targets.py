"""From a table and options to a target."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import click
import numpy as np
import scipy.sparse as sp

from zonodpp.cli.files import Table, open_source, read_array, read_table
from zonodpp.inputs import as_weights
from zonodpp.targets import ProjectionDPP
from zonodpp.targets.family import VolumeSampling


class Shape(NamedTuple):
    """What the table is and what to make of it."""

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


def make_target(table: Table, shape: Shape, weights: Any, seed: int | None) -> Any:
    """Make the target of a table, with the labels that its file gives."""
    values = table.values
    by_columns = shape.items == "columns"
    labels = table.columns if by_columns else table.labels
    target: Any
    if shape.spectral:
        target = _spectral_target(values.T if by_columns else values, shape, weights)
    elif shape.kernel:
        if weights is not None or shape.reduced:
            raise click.UsageError("--kernel takes no --weights, --rank, --jitter or --power")
        target = ProjectionDPP.from_kernel(values)
    elif by_columns and shape.rank is None and shape.jitter is None:
        _check_occupied(table.source, values.T)
        if shape.power == 2:
            target = ProjectionDPP(values, weights=weights)
        else:
            target = VolumeSampling(values, power=shape.power, weights=weights)
    else:
        X = values.T if by_columns else values
        if shape.rank is None and shape.jitter is None:
            _check_occupied(table.source, X)
        target = ProjectionDPP.from_features(
            X, weights=weights, rank=shape.rank, jitter=shape.jitter, rng=seed
        )
        if shape.power != 2:
            target = VolumeSampling(target.A, power=shape.power, weights=weights)
    if labels is not None:
        target = target.with_labels(labels)
    return target


def _check_occupied(source: str, X: Any) -> None:
    """Refuse sparse features that are zero before memory for their square is taken."""
    if not sp.issparse(X):
        return
    occupied = min(np.unique(index).size for index in X.nonzero())
    if occupied < X.shape[1]:
        raise ValueError(
            f"{source} has {X.shape[1]:,} features, but only {occupied:,} of them or of the items "
            "have entries: features must be linearly independent. Leave out those without entries "
            f"or pass --rank {max(1, occupied)} or less"
        )


def _spectral_target(X: Any, shape: Shape, weights: Any) -> Any:
    """Make a DPP or k-DPP of L = X X', with weights as qualities: L_ij sqrt(q_i q_j)."""
    from zonodpp import DPP, KDPP

    if shape.reduced:
        raise click.UsageError("--size and --dpp take none of --rank, --jitter, --power")
    if shape.size is not None and (shape.dpp or shape.expected_size is not None):
        raise click.UsageError("--size K is for draws of K items, --dpp for draws that vary")
    if shape.kernel:
        if weights is not None:
            raise click.UsageError("--kernel takes no --weights")
        if shape.size is not None:
            return KDPP(X, shape.size)
        target = DPP(L=X)
    else:
        if weights is not None:
            quality = np.sqrt(np.asarray(as_weights(weights, X.shape[0])))
            X = sp.diags_array(quality) @ X if sp.issparse(X) else quality[:, None] * X
        if shape.size is not None:
            return KDPP.from_features(X, shape.size)
        target = DPP.from_features(X)
    return target if shape.expected_size is None else target.scaled(shape.expected_size)


def read_weights(table: Table, weights: str | None, n: int, option: str = "--weights") -> Any:
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
