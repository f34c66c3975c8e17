"""Files of rows that would fill the memory: these are read in passes instead."""

from __future__ import annotations

from typing import NamedTuple

import click
import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Integers, MatrixLike
from zonodpp.arguments import physical_memory
from zonodpp.cli.files import Source, parquet_metadata, parquet_roles, read_array, read_weights
from zonodpp.cli.options import Input
from zonodpp.cli.table import ItemTable
from zonodpp.streams.sources import RowSource, source_of

# Part of the memory that rows may take as float64; the rows of a larger file are read in passes.
_SHARE = 0.25


class LargeFile(NamedTuple):
    """The rows of a file and where their ids come from, with what there is to say about them."""

    name: str
    shape: tuple[int, int]
    columns: list[str] | None
    entries: str
    rows: RowSource
    ids: RowSource | None

    def labels(self, items: Integers) -> list[str] | None:
        """Pass over the column of ids, if there is one, for those of some rows."""
        return None if self.ids is None else list(map(str, self.ids.take(items).rows[:, 0]))


def find_large(source: Source, options: Input, weights: str | None = None) -> LargeFile | None:
    """Return a .npy or Parquet file that is large for this machine's memory, and say that it is.

    Weights are a column of a Parquet file, or in a file of their own. None is returned for a file
    that is small, and for one that cannot be read row by row.
    """
    if source.path is None or source.format not in ("npy", "parquet"):
        return None
    X: MatrixLike = source.path
    columns, id = None, None
    q: ArrayLike | None = None
    if source.format == "npy":
        X = read_array(source)
        if X.ndim != 2 or options.id or options.columns:
            return None
        (n, d), entries = X.shape, f"{X.dtype}, dense"
    else:
        facts = parquet_metadata(source)
        aside = [] if weights is None else [weights]
        roles = parquet_roles(source, facts.schema.to_arrow_schema(), options, aside)
        names = roles.names or []
        columns = [names[place] for place in roles.features]
        id = None if roles.id is None else names[roles.id]
        q = next((names[place] for place in roles.aside.values()), None)
        n, d, entries = facts.num_rows, len(columns), "Parquet"
    if 8 * n * d <= _SHARE * physical_memory():
        return None
    memory = f"{8 * n * d / 2**30:,.1f} GiB as float64"
    click.echo(f"zonodpp: {source.name} takes {memory}: reading it in passes", err=True)
    if weights is not None and q is None:
        q = read_weights(ItemTable(source.name, np.empty((0, 0))), weights, n)
    found = source_of(X, q, columns, id)
    assert found is not None
    return LargeFile(source.name, (n, d), columns, entries, *found)
