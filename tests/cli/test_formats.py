"""Formats of tables: what is read, what a message says of others, and types of what is written."""

import gzip
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
    parquet.write_table(arrow.table([[1, 2], [3, 5]], names=["v", "v"]), "equal.parquet")
    for command in ("info", "sample", "landmarks", "rows", "volume"):
        assert "several columns are called 'v'; save it with" in fails(command, "equal.parquet")
    parquet.write_table(arrow.table({"v": [1, 2]}).select([]), "narrow.parquet")
    assert "narrow.parquet has" in fails("sample", "narrow.parquet")


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


def test_lines_that_end_in_cr(call):
    text = 'name,a,b\nx,1,2\n"y\nz",3,5\nw,9,4\n'
    for end in ("\n", "\r\n", "\r"):
        Path("x.csv").write_bytes(text.replace("\n", end).encode())
        found = json.loads(call("info", "x.csv", "--id", "name", "--json")[1])
        assert found["first items"] == ["x", f"y{end}z", "w"]
        assert (found["rank"], found["columns"]) == (2, ["a", "b"])
    Path("x.edges").write_bytes(b"a b\rb c\rc d")
    assert call("trees", "x.edges")[1] == "a b\nb c\nc d\n"


def test_formats_that_are_not_read(fails):
    text = "name,a,b\nx,1,2\ny,3,5\n"
    packed = gzip.compress(text.encode())
    for name, content, says in (
        ("x.csv", text.encode("utf-16"), "it is UTF-16 text; save it as UTF-8 text"),
        ("x.csv", packed, "it is compressed; unpack it first"),
        ("x.npy.gz", packed, "it is compressed; unpack it first"),
        ("x.xlsx", b"PK\x03\x04", "it is a spreadsheet; save it as CSV"),
        ("x.json", b"[]", "JSON is not read; save it as npy, npz, csv, tsv, jsonl, parquet or mtx"),
    ):
        Path(name).write_bytes(content)
        for command in ("info", "sample", "rows"):
            assert fails(command, name) == f"zonodpp: {name}: {says}\n"
    assert "unpack it first" in fails("sample", "-", stdin=packed)
    assert "save it as UTF-8" in fails("summarize", "-", stdin=text.encode("utf-16"))
    says = "save it as edges, graphml, mtx, npz or npy"
    assert says in fails("trees", "x.json")


def test_landmarks_of_rows_with_gaps(fails):
    pytest.importorskip("sklearn")
    np.save("x.npy", [[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    line = fails("landmarks", "x.npy", "-k", 1)
    assert "NaN or infinity in 1 of its entries, the first at [1, 1]" in line
    assert "Hist" not in line


@pytest.mark.parametrize("items", ["rows", "columns"])
def test_info_of_an_array_with_gaps_names_their_place_in_the_file(fails, items):
    np.save("x.npy", [[1.0, 2.0], [3.0, 4.0], [np.nan, 6.0]])
    line = fails("info", "x.npy", "--items", items)
    assert line.startswith("zonodpp: x.npy has NaN or infinity in 1 of its entries")
    assert "the first at [2, 0]" in line


def test_edges_without_the_weight_asked_for(fails):
    nx = pytest.importorskip("networkx")
    nx.write_graphml(nx.path_graph("abc"), "g.graphml")
    line = fails("trees", "g.graphml", "--weight", "length")
    assert "has no attribute 'length'; give every edge one, or leave weight out" in line
