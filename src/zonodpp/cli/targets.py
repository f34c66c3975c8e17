"""Make a target from a table and options."""

from __future__ import annotations

import warnings
from dataclasses import replace

import click
import numpy as np
import scipy.sparse as sp

from zonodpp import DPP, KDPP, ProjectionDPP, VolumeSampling
from zonodpp._types import Floats, Matrix
from zonodpp.arguments import as_weights
from zonodpp.cli.files import open_source
from zonodpp.cli.inputs import read_large, read_source
from zonodpp.cli.interface import SampleOptions
from zonodpp.cli.items import restricted_items
from zonodpp.cli.options import Restriction
from zonodpp.cli.table import ItemTable
from zonodpp.features import standardize
from zonodpp.linalg.dense import to_dense
from zonodpp.targets.streamed import StreamedDPP, principal_view
from zonodpp.targets.target import Target


def read_target(options: SampleOptions) -> Target:
    """Read the items of a file and make their target, with the labels that the file gives."""
    by_columns = options.items == "columns"
    source = open_source(options.file, options.format)
    changed = options.missing != "error" or options.standardize
    needed = changed or options.kernel or options.dpp or options.size or options.expected_size
    if not (needed or options.jitter or options.power != 2):
        large = read_large(source, options, options.weights)
        if large is not None:
            view = None if options.rank is None else principal_view(large.values, options.rank)
            return condition(StreamedDPP(large.values, view, large.ids), options)
    table = read_source(source, options, options.weights)
    if changed and (by_columns or options.kernel):
        raise click.UsageError("--missing and --standardize are for items as rows with features")
    table = _fill_gaps(table, options) if changed else table
    X, labels = (table.values.T, table.columns) if by_columns else (table.values, table.labels)
    target = _make_target(table.source, X, options, table.weights)
    return condition(target if labels is None else target.with_labels(labels), options)


def _fill_gaps(table: ItemTable, options: SampleOptions) -> ItemTable:
    """Apply --missing and --standardize; rows that are dropped lose their weights as well."""
    X, labels, weights = to_dense(table.values), table.labels, table.weights
    gaps = np.isnan(X)
    if options.missing == "drop" and gaps.any():
        kept = np.flatnonzero(~gaps.any(axis=1))
        if not kept.size:
            raise ValueError(f"{table.source}: every row has a gap; pass --missing median")
        found = f"{len(X) - kept.size} of {len(X)} rows have missing values and are left out"
        warnings.warn(found, stacklevel=2)
        labels = [str(row) if labels is None else labels[row] for row in kept.tolist()]
        X, weights = X[kept], None if weights is None else weights[kept]
    elif options.missing == "median" and gaps.any():
        if gaps.all(axis=0).any():
            raise ValueError(f"{table.source} has a column without any value; see --columns")
        found = f"{int(gaps.sum())} missing values are replaced by medians of their columns"
        warnings.warn(found, stacklevel=2)
        X = np.where(gaps, np.nanmedian(X, axis=0), X)
    X = standardize(X) if options.standardize else X
    return replace(table, values=X, labels=labels, weights=weights)


def _make_target(source: str, X: Matrix, options: SampleOptions, weights: Floats | None) -> Target:
    """Make the target of items as rows, after a check of options that exclude each other."""
    size, dpp = options.size is not None, options.dpp or options.expected_size is not None
    reduced = options.rank is not None or options.jitter is not None or options.power != 2
    if size and dpp:
        raise click.UsageError("--size K is for draws of K items, --dpp for draws that vary")
    if reduced and (size or dpp or options.kernel):
        raise click.UsageError("--size, --dpp and --kernel take no --rank, --jitter or --power")
    if options.kernel and weights is not None:
        raise click.UsageError("--kernel takes no --weights")
    if options.kernel and X.shape[0] != X.shape[1]:
        found = f"{source} is {X.shape[0]} x {X.shape[1]}"
        raise ValueError(f"{found}, but a kernel is n x n; for features leave out --kernel")
    if size or dpp:
        return _spectral_target(X, options, weights)
    if options.kernel:
        return ProjectionDPP.from_kernel(X)
    if options.rank is None:
        _check_features(source, X, options)
    choices = options.pick("rank", "jitter")
    target = ProjectionDPP.from_features(X, weights=weights, rng=options.seed, **choices)
    if options.power == 2:
        return target
    return VolumeSampling(target.A, power=options.power, weights=weights)


def _spectral_target(X: Matrix, options: SampleOptions, weights: Floats | None) -> Target:
    """Make a DPP or k-DPP of L = X X', with weights as qualities: L_ij sqrt(q_i q_j)."""
    if weights is not None:
        quality = np.sqrt(np.asarray(as_weights(weights, X.shape[0])))
        X = quality[:, None] * X if isinstance(X, np.ndarray) else sp.diags_array(quality) @ X
    if options.size is not None:
        return KDPP(X, options.size) if options.kernel else KDPP.from_features(X, options.size)
    target = DPP(L=X) if options.kernel else DPP.from_features(X)
    return target if options.expected_size is None else target.scaled(options.expected_size)


def _check_features(source: str, X: Matrix, options: SampleOptions) -> None:
    """Refuse features that cannot be independent, before memory for their square is taken."""
    n, d = X.shape
    if d > n:
        other = "rows" if options.items == "columns" else "columns"
        advice = f"Pass --rank R for draws of R items; if items are {other}, pass --items {other}"
        raise ValueError(f"{source} has {d} features, but only {n} items. {advice}")
    occupied = min(np.unique(index).size for index in X.nonzero()) if sp.issparse(X) else d
    if occupied < d and options.jitter is None:
        found = f"{d:,} features, but only {occupied:,} of them or of the items have entries"
        raise ValueError(f"{source} has {found}; pass --rank {max(1, occupied)} or less")


def condition(target: Target, options: Restriction) -> Target:
    """Return the target under the condition that --include and --exclude state."""
    items = restricted_items(options, target.labels, target.n)
    return target.condition(**items) if any(items.values()) else target
