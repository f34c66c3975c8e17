"""Formats of tables: what is read, what a message says of others, and types of what is written."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp


def test_parquet_columns_without_values(call, fails):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("pandas")
    nothing = arrow.array([None] * 4, arrow.string()).dictionary_encode()
    parquet.write_table(arrow.table({"c": nothing, "v": [1, 2, 3, 9]}), "gaps.parquet")
    assert "left out: empty, 4 missing" in call("info", "gaps.parquet")[1]
    assert "column 'c' (row 0;" in fails("sample", "gaps.parquet", "--id", "v")
    parquet.write_table(arrow.table({"v": arrow.array([], arrow.int64())}), "empty.parquet")
    for command in ("info", "sample", "landmarks", "rows", "volume"):
        assert "empty.parquet has columns but no rows" in fails(command, "empty.parquet")


def test_parquet_files_hold_numbers_as_numbers(call, fails):
    parquet = pytest.importorskip("pyarrow.parquet")

    def written(*words):
        assert call(*words, "--seed", 1, "--out", "out.parquet") == (0, "", "")
        return parquet.read_table("out.parquet")

    X = np.random.default_rng(0).normal(size=(9, 2))
    np.save("x.npy", X)
    sp.save_npz("graph.npz", sp.csr_array([[0, 1, 2], [1, 0, 0.5], [2, 0.5, 0]]))
    Path("w.edges").write_text("1 2 2\n2 3 0.5\n")
    Path("x.csv").write_text("".join(f"{a},{b}\n" for a, b in X.tolist()))
    for words, types in (
        (("sample", "x.npy"), ["int64"] * 4),
        (("sample", "x.csv", "--id", "0"), ["int64"] * 2 + ["string"]),
        (("trees", "graph.npz", "-n", 3), ["int64"] * 4 + ["double"]),
        (("trees", "w.edges"), ["int64"] * 2 + ["string"] * 2 + ["double"]),
    ):
        assert list(map(str, written(*words).schema.types)) == types, words
    table = written("sample", "x.npy", "--dpp", "-n", 50)
    assert {str(kind) for kind in table.schema.types} == {"int64"}
    assert table.column(table.num_columns - 1).null_count  # sizes vary
    assert call("trees", "w.edges")[1] == "1 2 2\n2 3 0.5\n"


def test_landmarks_of_a_feature_called_item(call, fails):
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("sklearn")
    Path("x.csv").write_text("item,item_\n1,2\n3,4\n4,9\n7,7\n")
    words = ("landmarks", "x.csv", "-k", 2, "--seed", 1)
    assert call(*words, "--out", "x.parquet")[0] == 0
    table = parquet.read_table("x.parquet")
    assert table.column_names == ["item__", "item", "item_"]
    assert [str(kind) for kind in table.schema.types] == ["int64", "double", "double"]
    assert call(*words, "--csv")[1].startswith("item__,item,item_\n")
    Path("x.csv").write_text("a,a\n1,2\n3,4\n4,9\n7,7\n")
    assert "2 columns are called 'a'; write a .csv file" in fails(*words, "--out", "y.parquet")


@pytest.mark.parametrize(
    "text",
    [
        "name;price, EUR;weight, kg\nA;1;2\nB;3;5\nC;9;4\n",
        "name,price; EUR,weight; kg\nA,1,2\nB,3,5\nC,9,4\n",
        'name;price;weight\n"A";1;2\n"B, b";3;5\nC;9;4\n',
        'name,price; EUR,"weight;\nkg"\n"A",1,2\n"B;b",3,5\nC,9,4\n',
        "A,p;q,1,2\nB,r;s,3,5\nC,t;u,9,4\n",
        "A\t1\t2\nB, b; b\t3\t5\nC\t9\t4\n",
    ],
)
def test_the_separator_cuts_all_first_rows_alike(call, text):
    Path("x.csv").write_text(text)
    words = ("--columns", "1,2") if "p;q" not in text else ("--columns", "2,3")
    found = json.loads(call("info", "x.csv", "--id", 0, *words, "--json")[1])
    assert (found["items"], found["features"], found["first items"][0]) == (3, 2, "A")


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("header", ["", "a|b|c\n"])
def test_decimal_commas_are_refused(fails, separator, header):
    rows = "1,5|2,5|3,5\n2,5|1,25|-3\n-1,5e3|2|0,5\n"
    Path("x.csv").write_text((header + rows).replace("|", separator))
    line = fails("sample", "x.csv")
    assert "'; numbers need a decimal point, not a comma" in line
    assert line.startswith(f"zonodpp: x.csv, line 2, column '{'a' if header else '1,5'}' (row 0;")
