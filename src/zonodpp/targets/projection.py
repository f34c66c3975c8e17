"""Projection DPPs, made of features, a kernel or a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from numpy.typing import ArrayLike

from zonodpp._arguments import as_matrix, as_positive, spawn, table_labels
from zonodpp._imports import on_use
from zonodpp._types import Labels, MatrixLike, SeedLike
from zonodpp.numerics.arrays import to_dense
from zonodpp.numerics.kernel import read_kernel
from zonodpp.numerics.spectrum import principal_scores, projection_basis
from zonodpp.targets.base import Arrays, Header
from zonodpp.targets.batches import RowSource, source_of, take_columns
from zonodpp.targets.family import VolumeSampling

if TYPE_CHECKING:
    from zonodpp.targets.graphs import GraphLike
    from zonodpp.targets.spanning_trees import SpanningTrees


class ProjectionDPP(VolumeSampling):
    """The projection DPP of A: r of n items, with probability proportional to ``|det A_B|**2``.

    Parameters
    ----------
    A : (r, n) array_like, DataFrame or scipy.sparse matrix
        Items are columns (for items as rows, use `from_features`). Full row rank.
    weights : (n,) array_like, optional
        Non-negative item weights q: a basis is then drawn in proportion to
        ``|det A_B|**2 * prod(q_B)``.

    Attributes
    ----------
    A, weights
        As given; weights is None when all items count the same.
    n, r : int
        Number of items, and of items in a draw.
    labels : sequence or None
        Names of the items: the columns of a DataFrame, the edges of a graph.

    Raises
    ------
    ValueError
        When the rows of A are linearly dependent.

    See Also
    --------
    sample : Draw subsets.
    find_map : Search for the likeliest subset.
    DPP : Draws that vary in size.
    VolumeSampling : Other powers of the volume.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, equations (1), (2) and (4).

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, sample
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> sample(target, 3, rng=0).subsets.shape
    (1, 3, 2)
    """

    def __init__(self, A: MatrixLike, *, weights: ArrayLike | None = None) -> None:
        super().__init__(A, power=2.0, weights=weights)

    @classmethod
    def restored(cls, header: Header, arrays: Arrays) -> Self:
        """Make the target that `stored` took apart, after checks of what a file may hold."""
        if header["power"] != 2:
            raise ValueError(f"a projection DPP has power 2, not {header['power']!r}")
        return super().restored(header, arrays)

    @classmethod
    def from_features(
        cls,
        X: MatrixLike,
        *,
        weights: ArrayLike | None = None,
        rank: int | None = None,
        jitter: float | None = None,
        rng: SeedLike = None,
        columns: list[str] | None = None,
        ids: str | None = None,
    ) -> ProjectionDPP:
        """Make the target whose items are the rows of X, as in scikit-learn.

        Parameters
        ----------
        X : (n, d) array_like, DataFrame, scipy.sparse matrix, or rows beyond memory
            One row of features for each item. Draws have d items, or ``rank`` items. A float64
            array is not copied: do not change it. Memory maps, Dask collections, paths of Parquet
            files and functions that return an iterator of batches are read in passes, batch by
            batch, and never held in memory; see docs/streams.md.
        weights : (n,) array_like, optional
            Item weights q, for instance relevance; for a table, also the name of its column.
        rank : int, optional
            Use the coordinates along the leading ``rank`` principal directions (PCA, centred).
        jitter : float, optional
            Standard deviation of Gaussian noise added to each entry, which makes a
            rank-deficient X full rank.
        rng : seed or Generator, optional
            For ``jitter``.
        columns : list of str, optional
            The columns of a DataFrame (pandas or Dask) or Parquet file to take; all by default.
        ids : str, optional
            The column of a DataFrame (pandas or Dask) or Parquet file that names the rows.

        Returns
        -------
        ProjectionDPP
            The target.

        Raises
        ------
        ValueError
            When columns of X are linearly dependent; the message names the ways out.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, section 2.3.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import ProjectionDPP
        >>> X = np.random.default_rng(0).normal(size=(100, 20))
        >>> ProjectionDPP.from_features(X, rank=5)
        ProjectionDPP(r=5, n=100, power=2)
        """
        streamed = source_of(X, weights, columns, ids)
        if streamed is not None:
            return _of_stream(*streamed, rank, jitter)
        X, weights = take_columns(X, weights, columns, ids)
        matrix = as_matrix(X, "X")
        if rank is not None:
            matrix = principal_scores(matrix, rank)
        if jitter is not None:
            jitter, [generator] = as_positive(jitter, "jitter"), spawn(rng, purpose="jitter")
            matrix = to_dense(matrix) + jitter * generator.standard_normal(matrix.shape)
        n, d = matrix.shape
        if d > n:
            raise ValueError(
                f"X has items as rows, got {n} items with {d} features: a draw of {d} out of "
                f"{n} items is impossible. Pass rank=r for r < {n} items a draw; if columns are "
                "items, use ProjectionDPP(A)"
            )
        return cls._make(matrix.T, weights, table_labels(X, "index"), given="X")

    @classmethod
    def from_kernel(cls, K: MatrixLike) -> Self:
        """Make the target from its kernel, an orthogonal projection.

        Parameters
        ----------
        K : (n, n) array_like, DataFrame or scipy.sparse matrix
            Symmetric, with eigenvalues 0 and 1, up to an error of 1e-6.

        Returns
        -------
        ProjectionDPP
            The target; r is the rank of K.

        Raises
        ------
        ValueError
            When K is not a projection.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, section 2.1.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import ProjectionDPP
        >>> v = np.array([[0.6, 0.8, 0.0]])
        >>> ProjectionDPP.from_kernel(v.T @ v).marginals()
        array([0.36, 0.64, 0.  ])
        """
        otherwise = "for features use from_features(X) or ProjectionDPP(A)"
        matrix, eps, labels = read_kernel(K, "K", otherwise)
        return cls._make(projection_basis(matrix, eps), None, labels)

    @classmethod
    def from_graph(
        cls, G: GraphLike, *, weight: str | None = None, names: Labels | None = None
    ) -> SpanningTrees:
        """Make the target whose draws are spanning trees, P(T) proportional to prod of weights.

        Parameters
        ----------
        G : networkx.Graph, MultiGraph or scipy.sparse matrix
            Undirected and connected. A sparse matrix holds the edge weights, symmetric.
        weight : str, optional
            The networkx edge attribute that holds the weight. None: all edges count the same.
        names : sequence, optional
            Names of the nodes of a sparse matrix; their numbers by default.

        Returns
        -------
        ProjectionDPP
            Items are edges, labelled by their ends; a draw has one edge less than there are nodes.

        Raises
        ------
        ValueError
            When the graph is not connected.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, sections 2.2 and 4.1.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP
        >>> target = ProjectionDPP.from_graph(nx.cycle_graph("abcd"))
        >>> target.labels
        [('a', 'b'), ('a', 'd'), ('b', 'c'), ('c', 'd')]
        >>> target.marginals()
        array([0.75, 0.75, 0.75, 0.75])
        """
        trees = on_use("zonodpp.targets.spanning_trees")
        target: SpanningTrees = trees.SpanningTrees(G, weight=weight, names=names)
        return target


def _of_stream(
    source: RowSource, ids: RowSource | None, rank: int | None, jitter: float | None
) -> ProjectionDPP:
    """Make the target of rows that are read in passes, perhaps along their leading directions."""
    if jitter is not None:
        raise ValueError("jitter= needs the rows in memory; pass rank= instead")
    streams = on_use("zonodpp.targets.stream")
    view = None if rank is None else streams.principal_view(source, rank)
    target: ProjectionDPP = streams.StreamedDPP(source, view, ids)
    return target
