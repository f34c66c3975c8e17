"""What the command line reads and what it says of files that it cannot read."""

import json
import os
from typing import get_args

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from zonodpp import DPP, ProjectionDPP, sample
from zonodpp.cli import main

FOODS = "food,fat,water,fibre\napple,0.2,85.6,2.4\nbread,3.2,36,7\negg,9.5,76.2,0\noil,100,0,0\n"


@pytest.fixture
def subsets(call):
    """Draw with a fixed seed and return the subsets."""

    def draw(*words, stdin=b""):
        code, out, err = call("sample", *words, "-n", 20, "--seed", 5, "--json", stdin=stdin)
        assert (code, err) == (0, "")
        return json.loads(out)["subsets"]

    return draw


X = np.random.default_rng(0).integers(-9, 9, size=(12, 3)) + 0.5


def expected(target):
    return sample(target, 20, rng=5).subsets.tolist()


def write(path, text):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def as_csv(X, separator=","):
    return "".join(separator.join(map(str, row)) + "\n" for row in X.tolist())


def test_every_format_gives_the_same_draws(call, subsets, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    np.save("x.npy", X)
    np.save("x32.npy", X.astype(np.float32))
    np.savez("x.npz", X)
    np.savez("two.npz", a=X, b=X[:2])
    sp.save_npz("sparse.npz", sp.csr_array(X))
    scipy.io.mmwrite("x.mtx", X)
    scipy.io.mmwrite("sparse.mtx", sp.coo_array(X))
    pd.DataFrame(X, columns=list("abc")).to_parquet("x.parquet")
    write("x.csv", as_csv(X))
    write("header.csv", "a,b,c\r\n\r\n" + as_csv(X).replace("\n", "\r\n"))
    write("semicolons.csv", "\ufeffa;b;c\n" + as_csv(X, ";"))
    write("x.tsv", as_csv(X, "\t"))
    write("x.data", as_csv(X))
    want = expected(ProjectionDPP.from_features(X))
    for name in ("x.npy", "x32.npy", "x.npz", "sparse.npz", "x.mtx", "sparse.mtx", "x.parquet"):
        assert subsets(name) == want, name
    for name in ("x.csv", "header.csv", "semicolons.csv", "x.tsv", "x.data"):
        assert subsets(name) == want, name
    assert subsets("two.npz", "--key", "a") == want
    for name in ("x.npy", "x.npz", "sparse.mtx", "x.csv", "x.parquet"):
        assert subsets("-", stdin=(tmp_path / name).read_bytes()) == want, name
    np.save("t.npy", X.T)
    assert subsets("t.npy", "--items", "columns") == want


def test_columns_weights_and_labels(call, subsets):
    write("foods.csv", FOODS)
    values = np.array([[0.2, 2.4], [3.2, 7], [9.5, 0], [100, 0]])
    water = np.array([85.6, 36, 76.2, 0])
    want = expected(ProjectionDPP.from_features(values, weights=water))
    assert subsets("foods.csv", "--id", "food", "--weights", "water") == want
    assert subsets("foods.csv", "--columns", "fat,fibre", "--weights", "water") == want
    assert subsets("foods.csv", "--columns", "1,3", "--weights", "2") == want
    np.save("water.npy", water)
    write("water.txt", "water\n85.6\n36\n76.2\n0\n")
    for file in ("water.npy", "water.txt"):
        assert subsets("foods.csv", "--columns", "fat,fibre", "--weights", file) == want
    _, out, _ = call("sample", "foods.csv", "--id", "food", "--weights", "water", "-n", 2, "--csv")
    header, *rows = out.splitlines()
    assert header == "chain,draw,item_0,item_1"
    assert all(set(row.split(",")[2:]) <= {"apple", "bread", "egg"} for row in rows)


def test_targets_of_all_kinds(call, subsets):
    np.save("x.npy", X)
    assert subsets("x.npy", "--rank", 2) == expected(ProjectionDPP.from_features(X, rank=2))
    Q = np.linalg.qr(X)[0]
    np.save("k.npy", Q @ Q.T)
    assert subsets("k.npy", "--kernel") == expected(ProjectionDPP.from_kernel(Q @ Q.T))
    assert {len(row) for row in subsets("x.npy", "--size", 2)[0]} == {2}
    sizes = {len(row) for row in subsets("x.npy", "--dpp", "--expected-size", 1.5)[0]}
    assert len(sizes) > 1
    out = call("sample", "x.npy", "--dpp", "--expected-size", 1e-9, "-n", 20, "--seed", 1)[1]
    assert out.startswith("20 draws of 0 out of ")  # all draws are empty
    np.save("l.npy", 100 * X @ X.T)
    scaled = expected(DPP(L=100 * X @ X.T).scaled(1.5))
    found = subsets("l.npy", "--kernel", "--expected-size", 1.5)
    assert found == [[[i for i in row if i >= 0] for row in chain] for chain in scaled]
    assert {len(row) for row in subsets("l.npy", "--kernel", "--size", 2)[0]} == {2}
    code, out, _ = call("sample", "x.npy", "--power", 1, "--seed", 1, "-n", 5, "-O", "rule=barker")
    assert code == 0
    assert "method exchange" in out


def test_bad_tables(fails):
    write("foods.csv", FOODS.replace("76.2", "much"))
    line = fails("sample", "foods.csv", "--id", "food")
    assert "foods.csv, line 4, column 'water' (row 2; rows and columns count from 0)" in line
    assert "expected a number, got 'much'" in line
    assert "--id food" in fails("sample", "foods.csv")
    write("empty_cell.csv", "1,2\n3,\n")
    assert (
        "line 2, column 1 (row 1; rows and columns count from 0): expected a number, the cell is"
        in fails("sample", "empty_cell.csv")
    )
    write("nan.csv", "a,b\n1,2\n3,nan\n")
    assert "line 3, column 'b' (row 1;" in fails("sample", "nan.csv")
    write("ragged.csv", "a,b\n1,2\n3,4,5\n")
    assert (
        "ragged.csv, line 3 (row 1; rows count from 0): 3 cells, but the first row has 2"
        in fails("sample", "ragged.csv")
    )
    write("empty.csv", "")
    assert "empty.csv is empty" in fails("sample", "empty.csv")
    write("blank.csv", "\n\n")
    assert "blank.csv is empty" in fails("sample", "blank.csv")
    write("header.csv", "a,b\n")
    assert "header but no rows" in fails("sample", "header.csv")
    assert "none.csv: no such file" in fails("sample", "none.csv")
    assert "is a directory" in fails("sample", ".")
    assert "standard input is empty" in fails("sample", "-")


def test_junk(fails):
    junk = bytes(range(256)) * 20
    for name in ("junk.npy", "junk.npz", "junk.csv", "junk.mtx", "junk.tsv", "junk"):
        with open(name, "wb") as file:
            file.write(junk)
        assert name in fails("sample", name)
    with open("latin.csv", "wb") as file:
        file.write("name,a\ncaf\xe9,1\n".encode("latin-1"))
    assert "latin.csv, line 2: not UTF-8" in fails("sample", "latin.csv")
    np.save("cut.npy", X)
    with open("cut.npy", "rb+") as file:
        file.truncate(200)
    assert "damaged" in fails("sample", "cut.npy")
    np.save("objects.npy", np.array([["a", None]], dtype=object), allow_pickle=True)
    assert "objects.npy" in fails("sample", "objects.npy")
    np.save("words.npy", np.array([["a", "b"]]))
    assert "not numbers" in fails("sample", "words.npy")
    np.save("flat.npy", np.arange(5.0))
    assert "two dimensions" in fails("sample", "flat.npy")
    np.savez("two.npz", a=X, b=X)
    assert "--key, a, b" in fails("sample", "two.npz")
    assert "has no array 'c'; it has a, b" in fails("sample", "two.npz", "--key", "c")


def test_junk_parquet(fails):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with open("junk.parquet", "wb") as file:
        file.write(b"PAR1 and then nothing")
    assert "not a Parquet file" in fails("sample", "junk.parquet")
    pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet("text.parquet")
    assert "column 'b' (row 0; rows and columns count from 0): expected a number, got 'x'" in fails(
        "sample", "text.parquet"
    )


def test_requests_that_cannot_be_met(fails):
    write("foods.csv", FOODS)
    foods = ("sample", "foods.csv", "--id", "food")
    assert "at most 3" in fails(*foods, "--rank", 9)
    assert "--size" in fails(*foods, "--size", 2, "--dpp")
    assert "has no column 'salt'; it has food, fat" in fails(*foods, "--columns", "salt")
    neither = "salt is neither a column of foods.csv nor a file of 4 numbers"
    assert f"--weights {neither}" in fails(*foods, "--weights", "salt")
    foods_by = ("shortlist", "foods.csv", "--id", "food", "--relevance")
    assert f"--relevance {neither}" in fails(*foods_by, "salt")
    assert "'salt' is no item" in fails(*foods, "--track", "salt")
    assert "--draws" in fails(*foods, "--draws", "many")
    assert "'--draws': 0" in fails(*foods, "--draws", 0)
    assert "'--seed': -1" in fails(*foods, "--seed", -1)
    assert "it knows 'algorithm'" in fails(*foods, "--rule", "barker", "--method", "exact")
    assert "NAME=VALUE" in fails(*foods, "-O", "rule")
    assert "exclude each other" in fails(*foods, "--json", "--csv")
    assert "must be one of .json" in fails(*foods, "--out", "draws.doc")
    assert "must be one of .json" in fails(*foods, "--out", "draws.csv/")
    assert "no folder" in fails(*foods, "--out", "nowhere/draws.csv")
    assert "pass --items rows" in fails(*foods, "--items", "columns")
    assert "leave out --kernel" in fails("sample", "foods.csv", "--columns", "1", "--kernel")
    assert "no such option" in fails("sample", "foods.csv", "--colour")
    assert "needs --seed" in fails(*foods, "--jitter", 0.1, "--checkpoint", "run.checkpoint")
    assert not os.path.exists("run.checkpoint")
    write("wide.csv", "1,2,3\n4,5,6\n")
    assert "Pass --rank" in fails("sample", "wide.csv")
    write("dependent.csv", "1,2\n2,4\n3,6\n")
    assert "pass --rank 1" in fails("sample", "dependent.csv")
    write("few.csv", "1\n2\n")
    assert "--weights few.csv: expected 4 numbers" in fails(*foods, "--weights", "few.csv")
    assert "--relevance few.csv: expected 4 numbers" in fails(*foods_by, "few.csv")


def test_an_unexpected_error_is_one_line_too(fails, call, monkeypatch):
    def broken(*_, **__):
        raise KeyError("oops")

    write("foods.csv", FOODS)
    monkeypatch.setattr("zonodpp.cli.draws.rows_to_sample", broken)
    assert "unexpected KeyError: 'oops'; --debug shows where" in fails("sample", "foods.csv")
    with pytest.raises(KeyError):
        main(["sample", "foods.csv", "--debug"])


def test_graphs(call, fails):
    nx = pytest.importorskip("networkx")
    nx.write_graphml(nx.cycle_graph("abcd"), "g.graphml")
    write("g.edges", "# a square\na b\nb,c\nc\td\nd a\nb a\n")
    write("header.csv", "source,target,weight\na,b,1\nb,c,1\nc,d,1\nd,a,1\n")
    scipy.io.mmwrite("g.mtx", sp.coo_array(nx.to_scipy_sparse_array(nx.cycle_graph(4))))
    for file in ("g.graphml", "g.edges", "header.csv", "g.mtx"):
        code, out, err = call("trees", file, "--seed", 1)
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == 3, file
    write("w.edges", "a b 1\nb c 1\nc a 1000000\n")
    assert "a c 1000000" in call("trees", "w.edges", "--seed", 1)[1]
    assert call("trees", "-", "--format", "edges", stdin=b"u v\n")[1] == "u v\n"

    nx.write_graphml(nx.DiGraph([("a", "b")]), "directed.graphml")
    assert "--undirected" in fails("trees", "directed.graphml")
    assert call("trees", "directed.graphml", "--undirected")[1] == "a b\n"
    write("bad.edges", "a b\na b c d\n")
    assert "bad.edges, line 2: expected two nodes" in fails("trees", "bad.edges")
    write("word.edges", "a b 1\nb c heavy\n")
    assert "perhaps a positive, finite weight, got 'b c heavy'" in fails("trees", "word.edges")
    write("some.edges", "a b 1\nb c\n")
    assert "line 2: this edge has no weight" in fails("trees", "some.edges")
    write("twice.edges", "a b 1\nb a 2\n")
    assert "line 2: edge 'b a' has weight 2, but 1 at line 1" in fails("trees", "twice.edges")
    write("two.edges", "source target weight\na b heavy\nb a 1\n")  # only the first row is names
    assert "line 2: expected two nodes" in fails("trees", "two.edges")
    write("half.edges", "a,b\n,,\n,b\n")
    assert "line 3: expected two nodes" in fails("trees", "half.edges")
    write("split.edges", "a b\nc d\n")
    assert "disconnected" in fails("trees", "split.edges")
    write("negative.edges", "a b -1\n")
    assert "positive" in fails("trees", "negative.edges")
    write("empty.edges", "# nothing\n")
    assert "no edges" in fails("trees", "empty.edges")
    write("junk.graphml", "<graphml")
    assert "not GraphML" in fails("trees", "junk.graphml")
    write("g2.edges", "a b\n")
    assert "pass --draws 1" in fails("trees", "g2.edges", "-n", 2, "--out", "tree.graphml")


def test_undirected_matrices_keep_edges_given_once(fails, call):
    graph = np.zeros((3, 3))
    graph[0, 1], graph[1, 2], graph[2, 0] = -1.0, 2.0, 1.0
    np.save("graph.npy", graph)
    arguments = ("trees", "graph.npy", "--undirected", "--draws", "3", "--seed", "1")
    assert "edge weights must be positive" in fails(*arguments)
    assert "2 out of 3 edges" in call(*arguments, "--unweighted")[1]


def test_places_of_gaps_are_those_of_the_file(fails):
    np.save("gap.npy", [[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]])
    assert "the first at [0, 0]" in fails("shortlist", "gap.npy", "--relevance", "0", "-k", "1")
    assert "the first at [0, 1]" in fails("volume", "gap.npy")


def test_draws_of_a_large_graph_need_no_factor_of_it(call, monkeypatch):
    pytest.importorskip("networkx")
    from zonodpp import Samples
    from zonodpp.targets.spanning_trees import LARGE_GRAPH

    n = LARGE_GRAPH + 1
    write("wheel.edges", "".join(f"{i} {(i + 1) % (n - 1)}\n{i} hub\n" for i in range(n - 1)))
    write("square.edges", "a b\nb c\nc d\nd a\n")
    assert "exact" in call("trees", "square.edges", "-n", 3, "--seed", 1)[1].splitlines()[3]

    def refuse(*_):
        raise MemoryError("the factor does not fit")

    monkeypatch.setattr("zonodpp.targets.network.Network._reduce", refuse)
    assert call("trees", "wheel.edges", "-n", 3, "--seed", 1, "--out", "trees.npz")[0] == 0
    code, out, err = call("trees", "wheel.edges", "-n", 3, "--seed", 1)
    assert (code, err) == (0, "")
    assert out.splitlines()[3].split() == ["edge", "drawn"]
    assert "share of" in Samples.load("trees.npz")._repr_html_()


def test_files_by_ending(call):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from zonodpp import Samples

    write("foods.csv", FOODS)
    run = ("sample", "foods.csv", "--id", "food", "-n", 6, "--chains", 2, "--seed", 3)
    for name in ("d.npz", "d.npy", "d.csv", "d.json", "d.parquet"):
        assert call(*run, "--out", name) == (0, "", "")
    saved = Samples.load("d.npz")
    assert saved.subsets.shape == (2, 6, 3)
    assert saved.target.labels == ["apple", "bread", "egg", "oil"]
    np.testing.assert_array_equal(np.load("d.npy"), saved.subsets)
    with open("d.json") as file:
        found = json.load(file)
    assert found["subsets"] == saved.subsets.tolist()
    assert found["labels"] == saved.labelled()
    assert (found["seed"], found["method"]) == (3, "exact")
    frame = pd.read_parquet("d.parquet")
    assert frame.astype(str).equals(pd.read_csv("d.csv").astype(str))
    assert frame.iloc[:, 2:].values.tolist() == [
        draw for chain in saved.labelled() for draw in chain
    ]
    assert "6" in call("info", "d.npz")[1]
    assert not [name for name in os.listdir() if name.startswith("d.") and name.count(".") > 1]


def test_runs_repeat(call):
    write("foods.csv", FOODS)
    _, first, _ = call("sample", "foods.csv", "--id", "food", "--json", "-n", 5)
    seed = json.loads(first)["seed"]  # chosen and told, so that the run can be repeated
    _, again, _ = call("sample", "foods.csv", "--id", "food", "--json", "-n", 5, "--seed", seed)
    assert json.loads(again)["subsets"] == json.loads(first)["subsets"]

    chain = ("sample", "foods.csv", "--id", "food", "--method", "exchange", "--rule", "barker")
    chain += ("--seed", 1, "--burn-in", 3, "--thin", 2, "--checkpoint", "run.checkpoint", "--json")
    _, short, _ = call(*chain, "-n", 5)
    _, longer, _ = call(*chain, "-n", 9)
    a, b = (json.loads(out)["subsets"][0] for out in (short, longer))
    assert b[:5] == a
    noisy = ("sample", "foods.csv", "--id", "food", "--jitter", 0.1, "--seed", 1, "--json")
    noisy += ("--checkpoint", "noisy.checkpoint")
    _, short, _ = call(*noisy, "-n", 5)
    _, longer, _ = call(*noisy, "-n", 9)
    assert json.loads(longer)["subsets"][0][:5] == json.loads(short)["subsets"][0]
    more = ("--thin", 1000, "--seconds", 0.2, "--track", "egg,oil", "--json")
    code, out, _ = call(*chain[:-3], *more)
    assert code == 0
    tracked = json.loads(out)["tracked"][0]
    assert tracked["items"] == [2, 3]
    assert 0 <= tracked["share"] <= 1


def test_methods_are_those_of_the_library():
    from zonodpp.chains.methods import METHODS
    from zonodpp.cli.interface import Method

    assert list(get_args(Method)) == ["auto", *METHODS]


def test_weights_may_stand_in_a_sparse_file(subsets):
    weights = np.arange(12.0)
    weights[3:5] = 0.0
    np.save("x.npy", X)
    np.save("dense.npy", weights)
    sp.save_npz("sparse.npz", sp.csr_array(weights[:, None]))
    sp.save_npz("all.npz", sp.csr_array(weights[:, None] + 1))
    assert subsets("x.npy", "--weights", "sparse.npz") == subsets("x.npy", "--weights", "dense.npy")
    assert subsets("x.npy", "--weights", "all.npz") == expected(
        ProjectionDPP.from_features(X, weights=weights + 1)
    )
