"""Items to pick from: rows of features, or a kernel whose columns are computed when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zonodpp.best.arrays import Array, indices_like, namespace_of, rows_at

# Entries of a block of features that is multiplied at a time: a larger block of products leaves
# the cache before its squares are added up.
_BLOCK = 2**20


@dataclass(frozen=True)
class FeatureItems:
    """Items whose kernel is L_ij = s_i s_j (f_i . f_j), with f_i the rows of features.

    The scale s holds relevance and, for cosines, the inverse lengths of rows, so that features are
    not copied. It is None where it is one.
    """

    rows: Array  # (n, d)
    scale: Array | None  # (n,)
    diagonal: Array  # (n,), L_ii
    index: Array | None = None  # numbers of the items among all, ascending; None: these are all

    @property
    def shape(self) -> tuple[int, int]:
        """The number of items, and of numbers that a product with one of them reads."""
        n, d = self.rows.shape
        return n, d

    def take(self, found: Array) -> FeatureItems:
        """Return some items, whose rows are copied with their scale."""
        xp = namespace_of(self.rows)
        rows = rows_at(self.rows, found)
        if self.scale is not None:
            rows = rows * xp.take(self.scale, found)[:, None]
        index = found if self.index is None else xp.take(self.index, found)
        diagonal = xp.take(self.diagonal, found)
        return FeatureItems(rows, None, diagonal, index)

    def key(self, place: int) -> Array:
        """Return what `columns` needs of an item: its scaled features s_i f_i."""
        row = self.rows[place, :]
        return row if self.scale is None else row * self.scale[place]

    def along(self, direction: Array) -> Array:
        """Return s_j (f_j . w) for all items."""
        products = self.rows @ direction
        return products if self.scale is None else products * self.scale

    def products(self, directions: Array) -> Iterator[tuple[slice, Array]]:
        """Yield the entries s_j (f_j . w), for directions w of shape (b, d), rows by blocks."""
        n, d = self.rows.shape
        right = directions.T
        step = max(1, _BLOCK // d)
        for start in range(0, n, step):
            span = slice(start, min(start + step, n))
            block = self.rows[span, :] @ right
            yield span, block if self.scale is None else block * self.scale[span, None]

    def columns(self, keys: Sequence[Array]) -> Array:
        """Return the columns of the kernel, (n, b), of items with such keys."""
        if len(keys) == 1:
            return self.along(keys[0])[:, None]
        return self._against(namespace_of(self.rows).stack(list(keys)))

    def rows_of_kernel(self, found: Array) -> Array:
        """Return the rows of the kernel, (b, n), of the items at some places."""
        block = self.take(found).rows @ self.rows.T
        return block if self.scale is None else block * self.scale

    def _against(self, vectors: Array) -> Array:
        blocks = [block for _, block in self.products(vectors)]
        return blocks[0] if len(blocks) == 1 else namespace_of(vectors).concat(blocks)


@dataclass(frozen=True)
class KernelItems:
    """Items whose kernel is L_ij = q_i q_j S_ij, with S a function of two sets of rows."""

    rows: Any  # (n, ...), an array, or a sparse one of SciPy
    kernel: Callable[[Any, Any], Array]
    scale: Array | None  # (n,), the relevance q
    diagonal: Array  # (n,), L_ii
    index: Array | None = None
    all: KernelItems | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of items, and a guess of the numbers that an entry of the kernel takes."""
        return self.rows.shape[0], self.rows.shape[1] if self.rows.ndim > 1 else 1

    def take(self, found: Array) -> KernelItems:
        """Return some items."""
        xp = namespace_of(self.diagonal)
        index = found if self.index is None else xp.take(self.index, found)
        scale = None if self.scale is None else xp.take(self.scale, found)
        diagonal = xp.take(self.diagonal, found)
        rows = rows_at(self.rows, found)
        return KernelItems(rows, self.kernel, scale, diagonal, index, self.all or self)

    def key(self, place: int) -> int:
        """Return what `columns` needs of an item: its number among all."""
        return place if self.index is None else int(self.index[place])

    def columns(self, keys: Sequence[int]) -> Array:
        """Return the columns of the kernel, (n, b), of items with such keys."""
        return self._columns_at(indices_like(self.diagonal, keys))

    def rows_of_kernel(self, found: Array) -> Array:
        """Return the rows of the kernel, (b, n), of some of all items."""
        return self._columns_at(found).T

    def _columns_at(self, found: Array) -> Array:
        whole = self.all or self
        block = self.kernel(self.rows, rows_at(whole.rows, found))
        if self.scale is None or whole.scale is None:
            return block
        scale = namespace_of(self.scale).take(whole.scale, found)
        return block * self.scale[:, None] * scale[None, :]


Items = FeatureItems | KernelItems
Key = Any  # of an item, for its column of the kernel
