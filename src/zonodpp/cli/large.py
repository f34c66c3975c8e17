"""Rows of files that would fill the memory, which some commands read in passes."""

from __future__ import annotations

from dataclasses import dataclass

import click

from zonodpp._arguments import physical_memory
from zonodpp._types import Floats, Integers, MatrixLike
from zonodpp.cli.inputs import ItemTable, open_array, parquet_roles, read_table, read_weights
from zonodpp.cli.interface import Input, LandmarksOptions, SampleOptions
from zonodpp.cli.names import without_row_numbers
from zonodpp.cli.read import Source, open_source, parquet_facts, read_parquet
from zonodpp.targets.batches import RowSource, source_of
from zonodpp.targets.passes import View
from zonodpp.targets.stream import (
    StreamedDPP,
    directions_of_moments,
    principal_view,
    take_moments,
    take_triangle,
)

# Part of the memory that rows may take as float64; the rows of a larger file are read in passes.
_SHARE = 0.25


@dataclass(frozen=True)
class LargeTable:
    """Rows of numbers in a file that would fill the memory, which are read in passes.

    Weights are part of the rows, and ``ids`` holds their names. All else is as in `ItemTable`.
    """

    source: str
    values: RowSource
    shape: tuple[int, ...]
    columns: list[str] | None
    ids: RowSource | None
    weights = None

    def target(self, rank: int | None) -> StreamedDPP:
        """Make the target whose items are the rows, along ``rank`` directions if it is given."""
        view = None if rank is None else principal_view(self.values, rank)
        return StreamedDPP(self.values, view, self.ids)

    def triangle(self) -> Floats:
        """Return R of the QR factorisation of the rows."""
        return take_triangle(self.values, View())

    def most_directions(self) -> int:
        """Count the principal directions of the rows, which are centred: the largest --rank."""
        moments = take_moments(self.values, View(weighted=False), centred=True)
        d = moments.mean.size
        _, spread = directions_of_moments(self.values, moments, d, weighted=False)
        return min(moments.rows - 1, len(spread))

    def labels_of(self, items: Integers) -> list[str] | None:
        """Return the labels of some rows, by a pass over their column."""
        if self.ids is None:
            return None
        return list(map(str, self.ids.take(items).rows[:, 0]))


def read_any_table(
    options: Input, apart: str = "", source: Source | None = None
) -> ItemTable | LargeTable:
    """Read a table as `read_table` does; if it is large for this machine's memory, in passes."""
    source = source or open_source(options.file, options.format)
    large = _read_large(source, options, getattr(options, apart) if apart else None)
    return large or read_table(options, apart, source)


def rows_for_landmarks(options: LandmarksOptions) -> ItemTable | LargeTable:
    """Read the rows; if they are large and the method reads passes, draw with --transformer pca.

    Coverage needs no draw: its landmarks are picked in passes.
    """
    if options.objective == "coverage":
        return read_any_table(options, "weights")
    if options.transformer not in (None, "pca") or options.method not in ("auto", "exact"):
        return read_table(options, "weights")
    table = read_any_table(options, "weights")
    if isinstance(table, LargeTable):
        if options.transformer is None:
            note = "a search needs all rows in memory: drawing as with --transformer pca"
            click.echo(f"zonodpp: {note}", err=True)
        options.transformer = "pca"
    return table


def rows_to_sample(options: SampleOptions) -> ItemTable | LargeTable:
    """Read the items, in passes if they are large and no option needs all of them in memory."""
    whole = options.missing != "error" or options.standardize or options.jitter
    whole = whole or options.kernel or options.dpp or options.size or options.expected_size
    read = read_table if whole or options.power != 2 else read_any_table
    return read(options, "weights")


def is_large(size: int) -> bool:
    """Tell whether so many bytes are large for the memory of this machine."""
    return size > _SHARE * physical_memory()


def _read_large(source: Source, options: Input, weights: str | None) -> LargeTable | None:
    """Return a .npy or Parquet file that is large for this machine's memory, and say that it is.

    Weights are a column of a Parquet file, or in a file of their own. None is returned for a file
    that is small, and for one that cannot be read row by row.
    """
    if source.path is None or source.format not in ("npy", "parquet") or options.items != "rows":
        return None
    X: MatrixLike = source.path
    if source.format == "npy":
        X, roles = open_array(source, options, weights)
        n = len(X)
        if len(roles.features) < X.shape[1] or options.columns:  # these need all in memory
            return None
    else:
        facts = parquet_facts(source)
        schema = facts.schema.to_arrow_schema()
        n, roles = facts.num_rows, parquet_roles(source, schema, options, weights)
    size = 8 * n * len(roles.features)
    if not is_large(size):
        return None
    memory = f"{size / 2**30:,.1f} GiB as float64"
    click.echo(f"zonodpp: {source.name} takes {memory}: reading it in passes", err=True)
    names = roles.names
    roles = without_row_numbers(
        roles, lambda place: read_parquet(source, [names[place]])[0].to_pylist()
    )
    id = None if roles.id is None else names[roles.id]
    q: str | Floats | None = None if roles.weights is None else names[roles.weights]
    if weights is not None and q is None:
        q = read_weights(source.name, "--weights", weights, n)
    columns = roles.feature_names
    found = source_of(X, q, columns, id)
    assert found is not None
    return LargeTable(source.name, found[0], (n, len(roles.features)), columns, found[1])
