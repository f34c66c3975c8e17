"""Every public entry that takes an array or a table refuses what holds no real numbers.

The entries are found by their signatures, so that a new one has to join: `NUMBERS`, `ITEMS` and
`NAMES` say how to call each, and `NO_INPUT` which parameters are none of these, and why.
"""

import inspect
import re
import traceback

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from test_reference import not_for_users, public_objects

import zonodpp
from zonodpp import (
    DPP,
    KDPP,
    Design,
    HitAndRun,
    ProjectionDPP,
    VolumeSampling,
    Zonotope,
    diagnostics,
    features,
    pick,
    plotting,
    sample,
)
from zonodpp.apps import (
    ColumnSelector,
    DesignRegression,
    DiverseBatchSampler,
    LandmarkSelector,
    coreset,
    cur,
    deduplicate,
    diverse_rows,
    interpolative,
    near_duplicates,
    next_batch,
    optimal_design,
    rouge,
    shortlist,
    summarize,
)
from zonodpp.targets import StreamedDPP

ARRAYS = r"ArrayLike|MatrixLike|ItemsLike|Responses|Positions|NDArray|Floats|Integers|Subsets"
NAMED = r"|Labels|GraphLike|Sequence\[Hashable\]|\bAny\b"

RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 5))
X = np.ascontiguousarray(A.T)
ONES = np.ones(5)
PAIR = np.array([1.0, 2.0])
TEN = RNG.normal(size=(10, 2))
TARGET = ProjectionDPP(A)
BOX = Zonotope(A, rng=0)
INSIDE = A.sum(axis=1) / 2
CHAINS = RNG.normal(size=(2, 60))
GRAPH = ProjectionDPP.from_graph(nx.cycle_graph(4))
DRAWS = sample(TARGET, 20, chains=2, rng=0)
TREES = sample(GRAPH, 5, rng=0)
TEXT = ["Oil lamps burned.", "The sea was calm.", "Whales swam south.", "Ships came home late."]
TOKENS = [["a", "b"], ["b"], ["c"]]
FITTED = LandmarkSelector(2, random_state=0).fit(X)
SELECTED = ColumnSelector(1).fit(X)
LINE = DesignRegression(4, random_state=0).fit(X, ONES)


def batches(rows, weights=None):
    return lambda: [rows if weights is None else (rows, weights)]


def dask(rows):
    array = pytest.importorskip("dask.array")
    return array.from_array(
        rows, chunks=(3, *(-1 for _ in range(np.ndim(rows) - 1))), asarray=False
    )


def streamed(target):
    return ProjectionDPP.from_features(target)


def zonotope_walk(c):
    return sample(TARGET, 1, method=HitAndRun(preset="paper", c=c), rng=0)


def positions_of(places):
    return dict(enumerate(places))


# For each parameter a call, and a value that it takes. A remark in brackets tells calls apart.
NUMBERS = {
    "DPP.__init__.L": (lambda x: DPP(L=x), np.eye(3)),
    "DPP.__init__.K": (lambda x: DPP(K=x), np.eye(3) / 2),
    "DPP.from_features.Phi": (DPP.from_features, X),
    "KDPP.__init__.L": (lambda x: KDPP(x, 2), np.eye(3)),
    "KDPP.from_features.Phi": (lambda x: KDPP.from_features(x, 2), X),
    "Design.__init__.X": (lambda x: Design(x, 3), X),
    "Design.__init__.weights": (lambda x: Design(X, 3, weights=x), ONES),
    "HitAndRun.__init__.c": (zonotope_walk, ONES),
    "ProjectionDPP.__init__.A": (ProjectionDPP, A),
    "ProjectionDPP.__init__.weights": (lambda x: ProjectionDPP(A, weights=x), ONES),
    "ProjectionDPP.from_features.X": (ProjectionDPP.from_features, X),
    "ProjectionDPP.from_features.X (function)": (lambda x: streamed(batches(x)), X),
    "ProjectionDPP.from_features.X (rank)": (
        lambda x: ProjectionDPP.from_features(batches(x), rank=1),
        X,
    ),
    "ProjectionDPP.from_features.X (Dask)": (lambda x: streamed(dask(x)), X),
    "ProjectionDPP.from_features.weights": (
        lambda x: ProjectionDPP.from_features(X, weights=x),
        ONES,
    ),
    "ProjectionDPP.from_features.weights (function)": (lambda x: streamed(batches(X, x)), ONES),
    "ProjectionDPP.from_features.weights (Dask)": (
        lambda x: ProjectionDPP.from_features(dask(X), weights=x),
        ONES,
    ),
    "ProjectionDPP.from_kernel.K": (ProjectionDPP.from_kernel, np.eye(3)),
    "VolumeSampling.__init__.A": (VolumeSampling, A),
    "VolumeSampling.__init__.weights": (lambda x: VolumeSampling(A, weights=x), ONES),
    "Tiling.__init__.A": (lambda x: Zonotope(x, rng=0), A),
    "Tiling.__init__.c": (lambda x: Zonotope(A, c=x), ONES),
    "Tiling.tile.x": (BOX.tile, INSIDE),
    "Tiling.chord.x": (lambda x: BOX.chord(x, PAIR), INSIDE),
    "Tiling.chord.d": (lambda x: BOX.chord(INSIDE, x), PAIR),
    "Tiling.walk.x": (lambda x: BOX.walk(x, PAIR), INSIDE),
    "Tiling.walk.d": (lambda x: BOX.walk(INSIDE, x), PAIR),
    "Zonotope.contains.x": (BOX.contains, np.array([INSIDE, INSIDE])),
    "Zonotope.contains.x (one)": (BOX.contains, INSIDE),
    "Zonotope.support.direction": (BOX.support, np.array([PAIR, PAIR])),
    "DesignRegression.fit.X": (lambda x: DesignRegression(4).fit(x, ONES), X),
    "DesignRegression.fit.y": (lambda x: DesignRegression(5).fit(X, x), ONES),
    "DesignRegression.fit.y (function)": (
        lambda x: DesignRegression(5).fit(X, lambda rows: x),
        ONES,
    ),
    "DesignRegression.predict.X": (LINE.predict, X),
    "Zonotope.from_generators.G": (Zonotope.from_generators, X.T),
    "Zonotope.from_generators.center": (
        lambda x: Zonotope.from_generators(np.eye(5), center=x),
        ONES,
    ),
    "ColumnSelector.fit.X": (ColumnSelector(1).fit, X),
    "ColumnSelector.transform.X": (SELECTED.transform, X),
    "ColumnSelector.inverse_transform.X": (SELECTED.inverse_transform, X[:, :1]),
    "cur.A": (lambda x: cur(x, 1), X),
    "interpolative.A": (lambda x: interpolative(x, 1), X),
    "interpolative.A (function)": (lambda x: interpolative(batches(x), 1), X),
    "interpolative.A (Dask)": (lambda x: interpolative(dask(x), 1), X),
    "DiverseBatchSampler.__init__.X": (lambda x: DiverseBatchSampler(x, 2), X),
    "LandmarkSelector.fit.X": (lambda x: LandmarkSelector(2).fit(x), X),
    "LandmarkSelector.fit.X (function)": (
        lambda x: LandmarkSelector(2, transformer="pca").fit(batches(x)),
        X,
    ),
    "LandmarkSelector.fit.sample_weight": (
        lambda x: LandmarkSelector(2).fit(X, sample_weight=x),
        ONES,
    ),
    "LandmarkSelector.transform.X": (FITTED.transform, X),
    "coreset.source": (lambda x: coreset(x, 2), X),
    "coreset.source (function)": (lambda x: coreset(batches(x), 2), X),
    "deduplicate.items": (deduplicate, X),
    "diverse_rows.weights": (lambda x: diverse_rows(pd.DataFrame(X), 2, weights=x), ONES),
    "pick.features": (lambda x: pick(x, 2), X),
    "pick.features (batch)": (lambda x: pick(x, 2), X[None]),
    "pick.features (kernel)": (lambda x: pick(X, 1, kernel=lambda a, b: x), np.ones((5, 5))),
    "pick.relevance": (lambda x: pick(X, 2, relevance=x), ONES),
    "next_batch.X": (lambda x: next_batch(x, 2), X),
    "next_batch.uncertainty": (lambda x: next_batch(X, 2, uncertainty=x), ONES),
    "near_duplicates.relevance": (lambda x: near_duplicates(x, X, 2), ONES),
    "near_duplicates.features": (lambda x: near_duplicates(ONES, x, 2), X),
    "optimal_design.candidates": (lambda x: optimal_design(x, 3), X),
    "optimal_design.given": (lambda x: optimal_design(X, 3, given=x), X),
    "shortlist.relevance": (lambda x: shortlist(x, X, 2), ONES),
    "shortlist.relevance (shared features)": (lambda x: shortlist(x, X, 2), np.ones((2, 5))),
    "shortlist.relevance (batch)": (lambda x: shortlist(x, X[None], 2), ONES[None]),
    "shortlist.features": (lambda x: shortlist(ONES, x, 2), X),
    "shortlist.features (batch)": (lambda x: shortlist(ONES[None], x, 2), X[None]),
    "shortlist.costs": (lambda x: shortlist(ONES, X, 2, costs=x, budget=9.0), ONES),
    "summarize.features": (lambda x: summarize(TEXT, 2, features=x), X[:4]),
    "check_psd.K": (features.check_psd, np.eye(3)),
    "nearest_psd.K": (features.nearest_psd, np.eye(3)),
    "median_gamma.X": (features.median_gamma, X),
    "pivoted_cholesky.X": (features.pivoted_cholesky, X),
    "rp_cholesky.X": (lambda x: features.rp_cholesky(x, 2), X),
    "quality_diversity.quality": (lambda x: features.quality_diversity(x, X), ONES),
    "quality_diversity.features": (lambda x: features.quality_diversity(ONES, x), X),
    "similarity.X": (features.similarity, X),
    "similarity.X (kernel)": (lambda x: features.similarity(X, kernel=lambda a, b: x), np.eye(5)),
    "similarity.Y": (lambda x: features.similarity(X, x), X),
    "standardize.X": (features.standardize, X),
    "deciles.x": (diagnostics.deciles, CHAINS),
    "from_arviz.x": (lambda x: diagnostics.from_arviz("ess", x), CHAINS),
    "psrf.x": (diagnostics.psrf, CHAINS),
    "psrf_evolution.x": (diagnostics.psrf_evolution, CHAINS),
    "edge_marginals.shares": (lambda x: plotting.edge_marginals(GRAPH, shares=x), np.ones(4) / 2),
    "edge_marginals.positions": (
        lambda x: plotting.edge_marginals(GRAPH, positions=positions_of(x)),
        X[:4],
    ),
    "spanning_tree.positions": (
        lambda x: plotting.spanning_tree(TREES, positions=positions_of(x)),
        X[:4],
    ),
    "marginals.exact": (lambda x: plotting.marginals(DRAWS, exact=x), ONES / 2),
}

# Parameters that take arrays of more dimensions, or of any length.
ANY_DIMENSIONS = {"deciles.x", "DesignRegression.fit.y", "DesignRegression.fit.y (function)"}
ANY_LENGTH = {
    "shortlist.relevance (shared features)",
    "ColumnSelector.inverse_transform.X",
    "Zonotope.contains.x",
    "Zonotope.support.direction",
}
# Parameters that take one problem, or a batch of them.
THREE_DIMENSIONS = {"shortlist.features", "shortlist.features (batch)"}
THREE_DIMENSIONS |= {
    "shortlist.relevance",
    "pick.features",
    "pick.features (batch)",
    "pick.relevance",
}

ANY_NUMBER = {"Zonotope.from_generators.center"}  # for which one number stands for all

SETS = "an array of sets is welcome"
ITEMS = {
    "LabelledItems.items.S": (TARGET.items, SETS),
    "Target.log_prob.B": (TARGET.log_prob, SETS),
    "Target.inclusion.S": (TARGET.inclusion, SETS),
    "Target.condition.include": (lambda S: TARGET.condition(include=S), ""),
    "Target.condition.exclude": (lambda S: TARGET.condition(exclude=S), ""),
    "Target.to_networkx.edges": (GRAPH.to_networkx, ""),
    "SpanningTrees.to_networkx.edges": (GRAPH.to_networkx, ""),
    "StreamedDPP.marginals.items": (lambda S: streamed(batches(X)).marginals(S), ""),
    "StreamedDPP.rows_of.items": (lambda S: streamed(batches(X)).rows_of(S), ""),
    "sample.init": (lambda S: sample(TARGET, 2, method="exchange", init=S), SETS),
    "sample.track": (lambda S: sample(TARGET, 2, track=[S]), ""),
    "Draws.contains.S": (DRAWS.contains, ""),
    "Draws.inclusion.S": (DRAWS.inclusion, ""),
    "Draws.trace.S": (DRAWS.trace, ""),
    "Draws.ess.S": (DRAWS.ess, ""),
    "Draws.rhat.S": (DRAWS.rhat, ""),
    "Draws.mcse.S": (DRAWS.mcse, ""),
    "Samples.to_arviz.items": (DRAWS.to_arviz, ""),
    "pick.given": (lambda S: pick(X, 2, given=S), ""),
    "shortlist.given": (lambda S: shortlist(ONES, X, 3, given=S), ""),
    "next_batch.labelled": (lambda S: next_batch(X, 1, labelled=S), ""),
    "shortlist.include": (lambda S: shortlist(ONES, X, 3, include=S), ""),
    "shortlist.exclude": (lambda S: shortlist(ONES, X, 3, exclude=S), ""),
    "relative_error.S": (lambda S: diagnostics.relative_error(DRAWS, S), ""),
    "trace.S": (lambda S: plotting.trace(DRAWS, S), ""),
    "tiling.mark": (lambda S: plotting.tiling(BOX, mark=S), ""),
    "mean_rouge.candidates": (lambda S: rouge.mean_rouge(TOKENS, S, [[0], [1]]), SETS),
    "mean_rouge.draws": (lambda S: rouge.mean_rouge(TOKENS, [[0], [1]], S), SETS),
    "minimum_bayes_risk.draws": (lambda S: rouge.minimum_bayes_risk(TOKENS, S), SETS),
}

NAMES = {
    "LabelledItems.with_labels.labels": TARGET.with_labels,
    "shortlist.labels": lambda names: shortlist(ONES, X, 2, labels=names),
    "shortlist.groups": lambda names: shortlist(ONES, X, 2, groups=names, at_most=1),
    "ProjectionDPP.from_graph.names": lambda names: ProjectionDPP.from_graph(
        sp.csr_array(np.ones((5, 5)) - np.eye(5)), names=names
    ),
    "SpanningTrees.__init__.names": lambda names: ProjectionDPP.from_graph(
        sp.csr_array(np.ones((5, 5)) - np.eye(5)), names=names
    ),
}

MADE = "the package makes it"
NO_INPUT = {
    "Draws.__init__.subsets": MADE,
    "Draws.__init__.tracked": MADE,
    "Draws.__init__.stats": MADE,
    "DuplicateReport.__init__.pairs": MADE,
    "Shortlist.__init__.indices": MADE,
    "Shortlist.__init__.relevance": MADE,
    "Maximum.__init__.subset": MADE,
    "LabelledItems.__init__.labels": MADE,
    "Containment.__init__.direction": MADE,
    "ReducedZonotope.__init__.G": MADE,
    "zonotope.dims": "numbers of dimensions: test_plotting.py",
    "CUR.__init__.columns": MADE,
    "CUR.__init__.middle": MADE,
    "CUR.__init__.rows": MADE,
    "Interpolation.__init__.coefficients": MADE,
    "Interpolation.__init__.columns": MADE,
    "ColumnSelector.fit.y": "classes may be text: test_columns.py",
    "ProjectionDPP.from_graph.G": "a graph: test_arguments.py has damaged ones",
    "SpanningTrees.__init__.G": "a graph: test_arguments.py has damaged ones",
    "Coreset.__init__.indices": MADE,
    "Coreset.__init__.weights": MADE,
    "Duplicates.__init__.indices": MADE,
    "Duplicates.__init__.groups": MADE,
    "diverse_rows.table": "cells of any type: test_rows.py",
    "diverse_rows.columns": "names of columns",
}


def parameters():
    """Yield the parameters of public functions that take arrays, tables, items or names."""
    left_out = not_for_users()
    for found in public_objects().values():
        calls = [found]
        if inspect.isclass(found):
            owners = [o for o in inspect.getmro(found) if o.__module__.startswith("zonodpp")]
            calls = [found.__init__]
            if not getattr(found, "_is_protocol", False):
                members = [vars(o)[name] for o in owners for name in vars(o).keys() - left_out]
                members = [getattr(member, "__func__", member) for member in members]
                calls += [m for m in members if inspect.isfunction(m) and m.__name__[0] != "_"]
        for call in calls:
            if not inspect.isfunction(call):
                continue
            for parameter in inspect.signature(call).parameters.values():
                if re.search(ARRAYS + NAMED, str(parameter.annotation)):
                    yield f"{call.__qualname__}.{parameter.name}"


def test_every_parameter_that_takes_an_array_is_here():
    known = {re.sub(r" \(.*", "", name) for name in [*NUMBERS, *ITEMS, *NAMES, *NO_INPUT]}
    assert sorted(set(parameters()) - known) == []
    assert sorted(known - set(parameters())) == []


def put(array, value, dtype=object):
    """Return a copy with another first entry."""
    changed = array.astype(dtype)
    changed.flat[0] = value
    return changed


def masked(array):
    found = np.ma.array(array, copy=True)
    found[(0,) * array.ndim] = np.ma.masked
    return found


def ragged(array):
    return [*array.tolist()[:-1], [[1.0], [2.0, 3.0]]]


NOT_REAL = {
    "masked": masked,
    "masked parts": lambda array: list(masked(np.atleast_2d(array))),
    "complex": lambda array: array.astype(complex),
    "text": lambda array: array.astype("U"),
    "bytes": lambda array: array.astype("U").astype("S"),
    "dates": lambda array: array.astype("i8").astype("M8[D]"),
    "durations": lambda array: array.astype("i8").astype("m8[D]"),
    "objects of text": lambda array: array.astype("U").astype(object),
    "one text": lambda array: put(array, "1"),
    "one complex number": lambda array: put(array, 1j),
    "one date": lambda array: put(array, pd.Timestamp("2020-01-01")),
    "one duration": lambda array: put(array, np.timedelta64(1, "D")),
    "a large whole number": lambda array: put(array, 10**400),
    "ragged": ragged,
}
NOT_FINITE = {
    "NaN": lambda array: put(array, np.nan, float),
    "infinity": lambda array: put(array, np.inf, float),
    "None": lambda array: put(array, None),
}
WRONG_SHAPE = {
    "one dimension more": lambda array: array[None],
    "two dimensions more": lambda array: array[None, None],
    "no dimension": lambda array: np.float64(1.0),
    "nothing": lambda array: array[:0],
}


def refuses_in_one_line(call, value):
    """Fail unless the package itself raises a sentence of one line."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call(value)
    error = caught.value
    assert type(error).__module__ == "builtins" or type(error).__module__.startswith("zonodpp")
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    assert zonodpp.__path__[0] in last, f"{last} raised {error}"
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    assert "\n" not in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize("name", NUMBERS)
def test_what_holds_no_real_numbers_is_refused(name):
    call, good = NUMBERS[name]
    call(good)
    damages = NOT_REAL | NOT_FINITE
    if name not in ANY_DIMENSIONS:
        damages |= WRONG_SHAPE
    for kind, damage in damages.items():
        if "Dask" in name and kind in ("masked parts", "ragged", "no dimension", "nothing"):
            continue  # no Dask array is made of these
        if name in ANY_LENGTH and kind == "nothing":
            continue
        if kind == "no dimension" and ("positions" in name or name in ANY_NUMBER):
            continue
        if kind == "one dimension more" and (name in THREE_DIMENSIONS or good.shape == (2,)):
            continue
        print(kind)  # shown where the test fails
        refuses_in_one_line(call, damage(good))


@pytest.mark.parametrize("name", ITEMS)
def test_what_holds_no_item_numbers_is_refused(name):
    call, sets = ITEMS[name]
    good = np.array([0, 2])
    with_sets = np.array([[0, 1], [1, 2]])
    damages = dict(NOT_REAL)
    damages |= {"floats": lambda items: items * 1.0, "NaN": NOT_FINITE["NaN"]}
    damages["truth"] = lambda items: items.astype(bool)
    if not sets:
        damages["sets"] = lambda items: with_sets
    call(with_sets if sets and "rouge" in name else good)
    for kind, damage in damages.items():
        print(kind)
        refuses_in_one_line(call, damage(good))


@pytest.mark.parametrize("name", NAMES)
def test_names_are_one_for_each(name):
    call = NAMES[name]
    call("abcde")
    call(letter for letter in "abcde")
    for value in (5, list("abcdef"), masked(np.arange(5))):
        refuses_in_one_line(call, value)


TABLES = {
    "text": ["a", "b", "c", "d", "e"],
    "numbers as text": list("12345"),
    "dates": pd.date_range("2020-01-01", periods=5),
    "durations": pd.to_timedelta([1, 2, 3, 4, 5], "D"),
    "categories": pd.Categorical(list("abcab")),
    "numbered categories": pd.Categorical([1, 2, 3, 1, 2]),
    "missing numbers": pd.array([1, None, 3, 4, 5], "Int64"),
}


def table_with(column):
    return pd.DataFrame({"x0": X[:, 0], "x1": pd.Series(column), "weight": ONES})


@pytest.mark.parametrize("kind", TABLES)
def test_columns_of_tables_that_hold_no_numbers_are_refused(kind, tmp_path):
    column, table = TABLES[kind], table_with(TABLES[kind])
    calls = {
        "features": lambda table: ProjectionDPP.from_features(table, columns=["x0", "x1"]),
        "weights": lambda table: ProjectionDPP.from_features(table, columns=["x0"], weights="x1"),
    }
    frames = pytest.importorskip("dask.dataframe")
    path = tmp_path / "table.parquet"
    table.to_parquet(path)
    for call in calls.values():
        call(table_with(ONES + X[:, 1] ** 2))
        sources = [table, frames.from_pandas(table, npartitions=2), path]
        if kind == "numbered categories":
            sources.pop()  # the file has plain numbers
        for source in sources:
            refuses_in_one_line(call, source)
    matrix = table[["x0", "x1"]]
    for name in ("DPP.from_features.Phi", "LandmarkSelector.fit.X", "shortlist.features"):
        refuses_in_one_line(NUMBERS[name][0], matrix)
    refuses_in_one_line(NUMBERS["DesignRegression.fit.y"][0], pd.Series(column))
    refuses_in_one_line(NUMBERS["ProjectionDPP.from_features.X (function)"][0], matrix)


@pytest.mark.parametrize("kind", ["complex", "text", "bytes", "dates", "durations"])
def test_memory_maps_of_other_types_are_refused(kind, tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, NOT_REAL[kind](X))
    mapped = np.load(path, mmap_mode="r")
    for call in (streamed, LandmarkSelector(2, transformer="pca").fit, LandmarkSelector(2).fit):
        refuses_in_one_line(call, mapped)
    np.save(path, NOT_REAL[kind](ONES))
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    refuses_in_one_line(
        lambda weights: ProjectionDPP.from_features(rows, weights=weights),
        np.load(path, mmap_mode="r"),
    )


def test_sparse_matrices_of_complex_numbers_are_refused():
    for name in ("ProjectionDPP.from_features.X", "LandmarkSelector.fit.X", "standardize.X"):
        refuses_in_one_line(NUMBERS[name][0], sp.csr_array(X).astype(complex))


def test_numbers_of_every_kind_are_taken():
    from decimal import Decimal
    from fractions import Fraction

    expected = ProjectionDPP([[1, 2, 0.5], [0, 1, 1]]).marginals()
    mixed = np.array([[1, Decimal(2), Fraction(1, 2)], [False, np.float32(1), np.int8(1)]], object)
    unmasked = np.ma.array([[1, 2, 0.5], [0, 1, 1]])
    for same in (mixed, mixed.tolist(), unmasked, pd.DataFrame(mixed)):
        np.testing.assert_array_equal(ProjectionDPP(same).marginals(), expected)
    assert isinstance(streamed(batches(np.ma.array(X))), StreamedDPP)
