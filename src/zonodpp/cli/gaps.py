"""Options --missing and --standardize of ``zonodpp sample``."""

from __future__ import annotations

import warnings
from dataclasses import replace

import click
import numpy as np

from zonodpp._arguments import as_weights
from zonodpp.cli.inputs import ItemTable
from zonodpp.cli.interface import SampleOptions
from zonodpp.features import standardize
from zonodpp.numerics.arrays import to_dense


def fill_gaps(table: ItemTable, options: SampleOptions) -> ItemTable:
    """Apply --missing and --standardize; rows that are dropped lose their weights as well."""
    if options.missing == "error" and not options.standardize:
        return table
    if options.items == "columns" or options.kernel:
        raise click.UsageError("--missing and --standardize are for items as rows with features")
    X, labels, weights = to_dense(table.values), table.labels, table.weights
    gaps = np.isnan(X)
    unknown = np.zeros(len(X), bool) if weights is None else np.isnan(weights)
    if weights is not None and options.missing == "drop":
        as_weights(np.where(unknown, 1.0, weights), len(X))  # errors name rows as in the file
    if options.missing == "drop" and (gaps.any() or unknown.any()):
        kept = np.flatnonzero(~(gaps.any(axis=1) | unknown))
        if not kept.size:
            advice = "; pass --missing median" * (not unknown.any())
            raise ValueError(f"{table.source}: every row has a gap{advice}")
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
    return replace(table, values=X, shape=X.shape, labels=labels, weights=weights)
