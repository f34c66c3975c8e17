"""``zonodpp trees``: read a graph, and draw random spanning trees of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import get_args

import click
import numpy as np
import scipy.sparse as sp

from zonodpp import ProjectionDPP, Samples
from zonodpp._imports import optional
from zonodpp.cli.draws import condition, describe, first_line, run_sample, share_table
from zonodpp.cli.header import number_in
from zonodpp.cli.interface import GraphFormat, TreesOptions
from zonodpp.cli.messages import quoted
from zonodpp.cli.names import on_one_line
from zonodpp.cli.output import NEEDED, Result
from zonodpp.cli.read import Source, open_source, read_array, readable, text_lines

_ENDINGS = {"txt": "edges", "edgelist": "edges", "csv": "edges", "tsv": "edges", "xml": "graphml"}
_QUOTES = re.compile(r'"(?:[^"]|"")*"')
_ONE_TREE = (".edges", ".txt", ".graphml")  # endings of files that hold a single tree
# The name of a node, or a weight, in an edge list. In double quotes it may hold any sign.
_WORD = re.compile(r'"(?:[^"]|"")*"(?=[,;|\s]|$)|[^,;|\s]+')
_SEPARATORS = re.compile(r'(?:[^,;|\t"]|"(?:[^"]|"")*")+')  # what stands between , ; | and tabs
# Names of two columns, without weights: known words, since any other words may be an edge.
_HEADERS = {("source", "target"), ("from", "to"), ("src", "dst"), ("head", "tail"), ("u", "v")}
_HEADERS |= {("start", "end"), ("node1", "node2"), ("tail", "head"), ("i", "j"), ("source", "dest")}


def draw_spanning_trees(options: TreesOptions) -> Result:
    """Run ``zonodpp trees``."""
    if options.unweighted and options.weight is not None:
        raise click.UsageError("--weight and --unweighted exclude each other")
    if options.draws is None and options.seconds is None:
        options.draws = 1
    several = options.draws != 1 or options.chains > 1
    if several and (options.out or "").lower().endswith(_ONE_TREE):
        advice = "pass --draws 1 --chains 1, or --out trees.csv"
        raise click.UsageError(f"--out {options.out}: such a file holds one tree; {advice}")
    samples = run_sample(options, condition(_read_graph(options), options))
    found = describe(samples, options.seed)
    writers = dict.fromkeys(_ONE_TREE, partial(_write_tree, samples))
    text, rows = partial(_text_of_trees, samples, options.seed), partial(_rows_of_trees, samples)
    return Result(text, found.data, rows, {**found.files, **writers})


def _rows_of_trees(samples: Samples) -> Iterator[list[object]]:
    """Yield chain, draw and ends of each edge, with its weight unless all weights are one."""
    labels, weights = samples.target.labels, samples.target.weights
    assert labels is not None
    header = ["chain", "draw", "source", "target"]
    edges = [[end if isinstance(end, int) else str(end) for end in label[:2]] for label in labels]
    if weights is not None and (weights != 1).any():
        header.append("weight")
        edges = [[*ends, weight] for ends, weight in zip(edges, weights.tolist(), strict=True)]
    yield [*header]
    for chain, block in enumerate(samples.subsets):
        for draw, items in enumerate(block):
            yield from ([chain, draw, *edges[item]] for item in items.tolist())


def _text_of_trees(samples: Samples, seed: int | None) -> str:
    if len(samples) == 1:
        _, *rows = _rows_of_trees(samples)
        ends = (" ".join(_as_word(str(end)) for end in row[2:4]) for row in rows)
        weights = ("".join(f" {weight:.17g}" for weight in row[4:]) for row in rows)
        return "".join(f"{line}{weight}\n" for line, weight in zip(ends, weights, strict=True))
    note = "all of them: --csv, --json or --out trees.npz"
    return f"{first_line(samples, seed, 'edges')}\n{note}\n\n{share_table(samples, 'edge')}"


def _as_word(name: str) -> str:
    """Return the name of a node as it stands in an edge list; in quotes where it must."""
    name = on_one_line(name)
    if _WORD.fullmatch(name) and name[0] not in '#%"':
        return name
    return '"' + name.replace('"', '""') + '"'


def _write_tree(samples: Samples, path: str) -> None:
    """Write the only tree of a run as GraphML or as an edge list."""
    if path.endswith(".graphml"):
        optional(*NEEDED[".graphml"]).write_graphml(samples.to_networkx(), path)
        return
    _, *rows = _rows_of_trees(samples)
    for name in (str(end) for row in rows for end in row[2:4]):
        if not name or re.search(r'[,;|"\s]', name) or name[0] in "#%":
            advice = "names have no blanks, separators, quotes, # or %; pass --out tree.graphml"
            raise ValueError(f"an edge list cannot hold the node {quoted(name)}: {advice}")
    Path(path).write_text(_text_of_trees(samples, None), encoding="utf-8")


def _read_graph(options: TreesOptions) -> ProjectionDPP:
    """Read a graph and make the target whose draws are its spanning trees."""
    ending = options.file.rsplit(".", 1)[-1].lower()
    format = options.format or _ENDINGS.get(ending)
    source = open_source(options.file, format, get_args(GraphFormat))
    names = None
    if source.format == "graphml":
        nx = optional(*NEEDED[".graphml"])
        with readable(source, "GraphML") as stream:
            graph = nx.read_graphml(stream)
        if graph.is_directed() and not options.undirected:
            raise ValueError(f"{source.name} is a directed graph; pass --undirected")
        graph = graph.to_undirected() if options.undirected else graph
    elif source.format == "edges":
        names, graph = _read_edges(source, not options.unweighted)
    else:
        matrix = read_array(source, options.key)
        if matrix.ndim != 2:
            raise ValueError(f"{source.name}: a matrix has two dimensions, not {matrix.ndim}")
        graph = sp.csr_array(matrix)
        graph = (graph != 0).astype(np.float64) if options.unweighted else graph
        if options.undirected:
            if graph.nnz and graph.data.min() < 0:  # the larger of -1 and no edge would be no edge
                raise ValueError(f"{source.name}: edge weights must be positive")
            graph = graph.maximum(graph.T)
    return ProjectionDPP.from_graph(graph, weight=options.weight, names=names)


def _read_edges(source: Source, weighted: bool) -> tuple[list[str], sp.csr_array]:
    """Read lines ``u v [weight]``; return the names of the nodes and the adjacency matrix.

    An edge given twice, in either direction, is one edge. If the first row has three words and the
    third is no number, they are the names of the columns.
    """
    nodes: dict[str, int] = {}
    edges: dict[tuple[int, int], tuple[float | None, int]] = {}  # weight and line
    for row, (line, words) in enumerate(_edge_rows(source)):
        weight = number_in(words[2]) if len(words) == 3 else None
        if row == 0 and len(words) == 3 and weight is None:
            continue
        has_weight = weight is not None and (0 < weight < np.inf or not weighted)
        if len(words) != 2 + has_weight:
            expected = "expected two nodes and perhaps a positive, finite weight"
            got = quoted(" ".join(words))
            raise ValueError(f"{source.name}, line {line}: {expected}, got {got}")
        weight = weight if weighted else None
        u, v = sorted(nodes.setdefault(name, len(nodes)) for name in words[:2])
        first, at = edges.setdefault((u, v), (weight, line))
        if None not in (first, weight) and first != weight:
            edge = f"edge {quoted(' '.join(words[:2]))} has weight {weight:g}"
            raise ValueError(f"{source.name}, line {line}: {edge}, but {first:g} at line {at}")
    bare = [line for weight, line in edges.values() if weight is None]
    if not edges:
        raise ValueError(f"{source.name} has no edges")
    if 0 < len(bare) < len(edges):
        raise ValueError(f"{source.name}, line {bare[0]}: this edge has no weight, but others have")
    weights = [weight or 1.0 for weight, _ in edges.values()]
    upper = sp.coo_array((weights, tuple(zip(*edges, strict=True))), shape=(len(nodes),) * 2)
    return list(nodes), upper.tocsr() + sp.triu(upper, k=1, format="csr").T


def _edge_rows(source: Source) -> list[tuple[int, list[str]]]:
    """Return the rows of words without the names of two columns."""
    rows = list(_rows_of_words(source))
    if _is_header([words for _, words in rows]):
        found = "the first row is taken as names of columns, since its nodes are in no other row"
        warnings.warn(f"{source.name}: {found}", stacklevel=2)
        del rows[0]
    return rows


def _is_header(rows: list[list[str]]) -> bool:
    """Tell whether the first of some rows of words is the names of two columns."""
    top = tuple(word.lower() for word in rows[0]) if rows else ()
    used = {word for words in rows[1:] for word in words[:2]}
    return len(rows) > 1 and top in _HEADERS and not used & set(rows[0])


def _rows_of_words(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the line (from 1) and the words of each row that is neither empty nor a comment.

    Words are separated by blanks or by , ; | and tabs, and may stand in double quotes.
    """
    for line, text in enumerate(text_lines(source), 1):
        text = text.strip()
        words = _WORD.findall(text)
        if not words or text[0] in "#%":
            continue
        cells = [cell.strip() for cell in _SEPARATORS.findall(text) if cell.strip()]
        blank = next((cell for cell in cells if len(_WORD.findall(cell)) > 1), None)
        where = f"{source.name}, line {line}"
        if len(cells) > 1 and blank is not None:
            advice = "put names with blanks in double quotes"
            raise ValueError(f"{where}: {quoted(blank)} has blanks between separators; {advice}")
        if any(word[:1] == '"' and not _QUOTES.fullmatch(word) for word in words):
            raise ValueError(f"{where}: a quote is not closed, or stands within a name")
        yield line, [w[1:-1].replace('""', '"') if w[0] == '"' else w for w in words]
