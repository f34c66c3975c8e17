"""The command line draws what the library draws, from every kind of file and into every kind."""

import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from zonodpp import DPP, ProjectionDPP, Samples, sample
from zonodpp.chains.methods import METHODS
from zonodpp.cli.interface import Method

FOODS = "food,fat,water,fibre\napple,0.2,85.6,2.4\nbread,3.2,36,7\negg,9.5,76.2,0\noil,100,0,0\n"
X = np.random.default_rng(0).integers(-9, 9, size=(12, 3)) + 0.5


@pytest.fixture
def subsets(call):
    """Draw with a fixed seed and return the subsets."""

    def draw(*words, stdin=b""):
        code, out, err = call("sample", *words, "-n", 20, "--seed", 5, "--json", stdin=stdin)
        assert (code, err) == (0, "")
        return json.loads(out)["subsets"]

    return draw


def expected(target):
    return sample(target, 20, rng=5).subsets.tolist()


def as_csv(X, separator=","):
    return "".join(separator.join(map(str, row)) + "\n" for row in X.tolist())


def write_table(name, columns, cells):
    """Write a CSV of the columns given, by name, and of three columns of features."""
    rows = [[*few, *more] for few, more in zip(cells, abs(X).tolist(), strict=True)]
    lines = [",".join(map(str, row)) for row in [[*columns, "a", "b", "c"], *rows]]
    Path(name).write_text("\n".join(lines) + "\n")


def test_every_format_gives_the_same_draws(subsets, tmp_path):
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
    for name, text in (
        ("x.csv", as_csv(X)),
        ("header.csv", "a,b,c\r\n\r\n" + as_csv(X).replace("\n", "\r\n")),
        ("semicolons.csv", "\ufeffa;b;c\n" + as_csv(X, ";")),
        ("x.tsv", as_csv(X, "\t")),
        ("x.data", as_csv(X)),
    ):
        Path(name).write_bytes(text.encode())
    want = expected(ProjectionDPP.from_features(X))
    for path in sorted(tmp_path.iterdir()):
        if path.name != "two.npz":
            assert subsets(path.name) == want, path.name
    assert subsets("two.npz", "--key", "a") == want
    for name in ("x.npy", "x.npz", "sparse.mtx", "x.csv", "x.parquet"):
        assert subsets("-", stdin=Path(name).read_bytes()) == want, name
    np.save("t.npy", X.T)
    assert subsets("t.npy", "--items", "columns") == want


def test_columns_weights_and_labels(call, subsets):
    Path("foods.csv").write_text(FOODS)
    values = np.array([[0.2, 2.4], [3.2, 7], [9.5, 0], [100, 0]])
    water = np.array([85.6, 36, 76.2, 0])
    want = expected(ProjectionDPP.from_features(values, weights=water))
    assert subsets("foods.csv", "--id", "food", "--weights", "water") == want
    assert subsets("foods.csv", "--columns", "fat,fibre", "--weights", "water") == want
    assert subsets("foods.csv", "--columns", "1,3", "--weights", "2") == want
    np.save("water.npy", water)
    Path("water.txt").write_text("water\n85.6\n36\n76.2\n0\n")
    sp.save_npz("water.npz", sp.csr_array(water[:, None]))
    sp.save_npz("all.npz", sp.csr_array(water[:, None] + 1))
    for file in ("water.npy", "water.txt", "water.npz"):
        assert subsets("foods.csv", "--columns", "fat,fibre", "--weights", file) == want
    want = expected(ProjectionDPP.from_features(values, weights=water + 1))
    assert subsets("foods.csv", "--columns", "fat,fibre", "--weights", "all.npz") == want
    _, out, _ = call("sample", "foods.csv", "--id", "food", "--weights", "water", "-n", 2, "--csv")
    header, *rows = out.splitlines()
    assert header == "chain,draw,item_0,item_1"
    assert all(set(row.split(",")[2:]) <= {"apple", "bread", "egg"} for row in rows)


def test_targets_of_all_kinds(subsets):
    Q, L = np.linalg.qr(X)[0], 100 * X @ X.T
    for name, array in (("x", X), ("k", Q @ Q.T), ("l", L)):
        np.save(f"{name}.npy", array)
    assert subsets("x.npy", "--rank", 2) == expected(ProjectionDPP.from_features(X, rank=2))
    assert subsets("k.npy", "--kernel") == expected(ProjectionDPP.from_kernel(Q @ Q.T))
    assert {len(row) for row in subsets("x.npy", "--size", 2)[0]} == {2}
    assert {len(row) for row in subsets("l.npy", "--kernel", "--size", 2)[0]} == {2}
    assert len({len(row) for row in subsets("x.npy", "--dpp", "--expected-size", 1.5)[0]}) > 1
    scaled = expected(DPP(L=L).scaled(1.5))
    found = subsets("l.npy", "--kernel", "--expected-size", 1.5)
    assert found == [[[i for i in row if i >= 0] for row in chain] for chain in scaled]


def test_methods_are_those_of_the_library():
    assert list(get_args(Method)) == ["auto", *METHODS]


# ---- files that are written


def test_files_by_ending(call):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    Path("foods.csv").write_text(FOODS)
    run = ("sample", "foods.csv", "--id", "food", "-n", 6, "--chains", 2, "--seed", 3)
    for name in ("d.npz", "d.npy", "d.csv", "d.json", "d.parquet"):
        assert call(*run, "--out", name) == (0, "", "")
    saved = Samples.load("d.npz")
    assert saved.subsets.shape == (2, 6, 3)
    assert saved.target.labels == ["apple", "bread", "egg", "oil"]
    np.testing.assert_array_equal(np.load("d.npy"), saved.subsets)
    found = json.loads(Path("d.json").read_text())
    assert found["subsets"] == saved.subsets.tolist()
    assert found["labels"] == saved.labelled()
    assert (found["seed"], found["method"]) == (3, "exact")
    frame = pd.read_parquet("d.parquet")
    assert frame.astype(str).equals(pd.read_csv("d.csv").astype(str))
    labels = [draw for chain in saved.labelled() for draw in chain]
    assert frame.iloc[:, 2:].values.tolist() == labels
    assert "6" in call("info", "d.npz")[1]
    assert not [name for name in os.listdir() if name.startswith("d.") and name.count(".") > 1]


def test_parquet_files_hold_numbers_as_numbers(call):
    parquet = pytest.importorskip("pyarrow.parquet")

    def written(*words):
        assert call(*words, "--seed", 1, "--out", "out.parquet") == (0, "", "")
        return parquet.read_table("out.parquet")

    np.save("x.npy", X)
    sp.save_npz("graph.npz", sp.csr_array([[0, 1, 2], [1, 0, 0.5], [2, 0.5, 0]]))
    Path("w.edges").write_text("1 2 2\n2 3 0.5\n")
    Path("x.csv").write_text(as_csv(X))
    for words, types in (
        (("sample", "x.npy"), ["int64"] * 5),
        (("sample", "x.csv", "--id", "0"), ["int64"] * 2 + ["string"] * 2),
        (("trees", "graph.npz", "-n", 3), ["int64"] * 4 + ["double"]),
        (("trees", "w.edges"), ["int64"] * 2 + ["string"] * 2 + ["double"]),
    ):
        assert list(map(str, written(*words).schema.types)) == types, words
    table = written("sample", "x.npy", "--dpp", "--expected-size", 1.5, "-n", 50)
    assert {str(kind) for kind in table.schema.types} == {"int64"}
    assert table.column(table.num_columns - 1).null_count  # sizes vary
    assert call("trees", "w.edges", "--seed", 1)[1] == "1 2 2\n2 3 0.5\n"


# ---- runs that are repeated


def test_runs_repeat(call):
    Path("foods.csv").write_text(FOODS)

    def subsets(*words):
        return json.loads(call("sample", "foods.csv", "--id", "food", *words, "--json")[1])

    first = subsets("-n", 5)  # the seed is chosen and told, so that the run can be repeated
    assert subsets("-n", 5, "--seed", first["seed"])["subsets"] == first["subsets"]
    chain = ("--method", "exchange", "--rule", "barker", "--seed", 1, "--burn-in", 3)
    stored = ("--thin", 2, "--checkpoint", "run.checkpoint")
    noisy = ("--jitter", 0.1, "--seed", 1, "--checkpoint", "noisy.checkpoint")
    for words in ((*chain, *stored), noisy):
        short, longer = (subsets(*words, "-n", n)["subsets"][0] for n in (5, 9))
        assert longer[:5] == short
    timed = subsets(*chain, "--thin", 1000, "--seconds", 0.2, "--track", "egg,oil")
    assert timed["tracked"][0]["items"] == [2, 3]
    assert 0 <= timed["tracked"][0]["share"] <= 1


def test_a_seed_that_the_program_chose_is_shown(call):
    pytest.importorskip("sklearn")
    pytest.importorskip("sentencex")
    foods, article = (files("zonodpp") / "data" / name for name in ("foods.csv", "article.txt"))
    Path("square.edges").write_text("a b\nb c\nc d\nd a\n")
    for command, *words in (
        ("sample", foods, "--id", "food", "-n", 5),
        ("trees", "square.edges"),
        ("summarize", article, "-k", 3, "--answer", "draw"),
        ("landmarks", foods, "--id", "food", "-k", 3),
        ("shortlist", foods, "--id", "food", "--relevance", "protein", "-k", 3, "--answer", "draw"),
        ("volume", foods, "--columns", "protein,fat", "--method", "estimate"),
    ):
        code, out, err = call(command, *words)
        assert (code, err.count("\n")) == (0, 1)
        seed = re.fullmatch(r"zonodpp: seed (\d+); --seed \1 gives the same result again\n", err)[1]
        assert call(command, *words, "--seed", seed) == (0, out, "")
        code, out, err = call(command, *words, "--json")
        assert (code, err) == (0, "")
        assert "seed" in json.loads(out)


def test_a_seed_without_effect_is_left_out(call):
    pytest.importorskip("sentencex")
    pytest.importorskip("pandas")
    foods, article = (files("zonodpp") / "data" / name for name in ("foods.csv", "article.txt"))
    for words in (
        ("summarize", article, "-k", 3),
        ("shortlist", foods, "--id", "food", "--relevance", "protein", "-k", 3),
        ("rows", foods, "-k", 3),
        ("volume", foods, "--columns", "protein,fat"),
    ):
        code, out, err = call(*words)
        assert (code, err) == (0, "")
        assert call(*words, "--seed", 4) == (0, out, "")
        assert "seed" not in json.loads(call(*words, "--json")[1])


# ---- features and what is none


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_rows_without_a_name_are_no_feature(call, name, first):
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    write_table("indexed.csv", [name, "key"], [(first + k, f"k{k}") for k in range(12)])
    write_table("plain.csv", ["key"], [(f"k{k}",) for k in range(12)])
    for command, *words in (
        ("sample", "-n", 5, "--seed", 1, "--csv"),
        ("sample", "-n", 5, "--seed", 1, "--weights", "a", "--csv"),
        ("landmarks", "-k", 3, "--seed", 1, "--csv"),
        ("shortlist", "-k", 3, "--relevance", "a", "--json"),
        ("volume", "--json"),
    ):
        expected = call(command, "plain.csv", "--id", "key", *words)
        code, out, err = call(command, "indexed.csv", "--id", "key", *words)
        assert (code, out) == expected[:2]
        assert code == 0
        assert err.count("\n") == 1
        assert "column 0 (from 0) has no name of its own and counts the rows; it is left" in err
    code, out, err = call("rows", "indexed.csv", "-k", 3, "--json")  # few rows
    found, expected = json.loads(out), json.loads(call("rows", "plain.csv", "-k", 3, "--json")[1])
    assert found["indices"] == expected["indices"]
    assert found["columns"] == expected["columns"]
    assert len(found["rows"][0]) == 5  # what is shown has all columns
    assert "column 0 (from 0) has no name" in err
    code, out, err = call("info", "indexed.csv")  # with text
    assert "uses     3 columns as 3 numbers" in out
    assert err.count("column 0 (from 0) has no name") == 1


def test_the_rank_that_info_names_is_that_of_a_draw(call, fails, monkeypatch):
    constant = np.array([[1.0, 1, 2], [1, 5, 6], [1, 2, 3], [1, 9, 10], [1, 4, 5]])
    same, words = "items that differ: all are the same", ("--seed", 1, "--csv")
    for values, most in (
        (constant, 1),
        (constant[:, [0, 0, 1]] * 0.1, 1),
        (np.vander(np.arange(4.0), 9), 3),
        (constant[:1], 0),
        (constant[[0, 0, 0]], 0),
    ):
        np.save("x.npy", values)
        np.save("columns.npy", values.T)
        needed = f"--rank {most} or less" if most else same
        for file in (["x.npy"], ["columns.npy", "--items", "columns"]):
            assert json.loads(call("info", *file, "--json")[1])["a draw needs"] == needed
            assert most == 0 or call("sample", *file, "--rank", most, *words)[0] == 0
            assert "rank" in fails("sample", *file, "--rank", most + 1)
    for values, needed in ((constant, "--rank 1 or less"), (constant[[0, 0, 0]], same)):
        np.save("x.npy", values)
        monkeypatch.setattr("zonodpp.cli.large.physical_memory", lambda: 1)
        assert json.loads(call("info", "x.npy", "--json")[1])["a draw needs"] == needed


def test_draws_of_a_large_graph_need_no_factor_of_it(call, monkeypatch):
    pytest.importorskip("networkx")
    from zonodpp.targets.spanning_trees import LARGE_GRAPH

    n = LARGE_GRAPH + 1
    wheel = "".join(f"{i} {(i + 1) % (n - 1)}\n{i} hub\n" for i in range(n - 1))
    Path("wheel.edges").write_text(wheel)
    Path("square.edges").write_text("a b\nb c\nc d\nd a\n")
    assert "exact" in call("trees", "square.edges", "-n", 3, "--seed", 1)[1].splitlines()[3]

    def refuse(*_):
        raise MemoryError("the factor does not fit")

    monkeypatch.setattr("zonodpp.targets.network.Network._reduce", refuse)
    assert call("trees", "wheel.edges", "-n", 3, "--seed", 1, "--out", "trees.npz")[0] == 0
    code, out, err = call("trees", "wheel.edges", "-n", 3, "--seed", 1)
    assert (code, err) == (0, "")
    assert out.splitlines()[3].split() == ["edge", "drawn"]
    assert "share of" in Samples.load("trees.npz")._repr_html_()
