"""Columns of tables that are no features: indices that pandas has saved, weights."""

import json
from pathlib import Path

import numpy as np
import pytest

X = np.random.default_rng(0).integers(0, 9, size=(12, 3)) + 0.5


def write_table(name, columns, cells):
    """Write a CSV of the columns given, by name, and of three columns of features."""
    rows = [",".join([*columns, "a", "b", "c"])]
    rows += [",".join(map(str, [*few, *more])) for few, more in zip(cells, X.tolist(), strict=True)]
    Path(name).write_text("\n".join(rows) + "\n")


def test_the_index_of_a_frame_is_no_feature(call):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abc"), index=range(100, 112))
    frame.to_parquet("plain.parquet")
    frame.iloc[[0, 2, 3, 5]].to_parquet("filtered.parquet")
    frame.set_index(pd.Index(list("stuvwxyzklmn"), name="name")).to_parquet("named.parquet")
    frame.assign(name=list("stuvwxyzklmn")).iloc[[0, 2, 3, 5]].to_parquet("both.parquet")
    for words, first in (
        (("plain.parquet",), None),
        (("filtered.parquet",), ["100", "102"]),
        (("named.parquet",), ["s", "t"]),
        (("both.parquet", "--id", "name"), ["s", "u"]),
    ):
        facts = json.loads(call("info", *words, "--json")[1])
        assert facts["columns"] == ["a", "b", "c"]
        assert facts.get("first items", [])[:2] == (first or [])


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


def test_columns_without_a_name_that_are_kept(call, fails):
    numbers = [(k,) for k in range(12)]
    write_table("indexed.csv", [""], numbers)
    kept = ("sample", "indexed.csv", "-n", 1, "--seed", 1, "--columns", "0,a", "--json")
    code, out, err = call(*kept)
    assert (code, err, json.loads(out)["size"]) == (0, "", 2)
    write_table("measured.csv", [""], [(k / 2,) for k in range(12)])
    write_table("named.csv", ["k"], numbers)
    for name in ("measured.csv", "named.csv"):
        code, out, err = call("sample", name, "-n", 1, "--seed", 1, "--json")
        assert (code, err, json.loads(out)["size"]) == (0, "", 4)
    write_table("text.csv", [""], [(f"k{k}",) for k in range(12)])
    assert call("sample", "text.csv", "--id", "0", "--seed", 1)[::2] == (0, "")
    Path("alone.csv").write_text(",key\n0,x\n1,y\n")
    code, _, err = call("sample", "alone.csv", "--id", "key")
    assert code == 2
    assert "no columns left" in err


def test_numbers_of_rows_in_a_file_read_in_passes(call, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"Unnamed: 0": range(12), "a": X[:, 0], "b": X[:, 1]}).to_parquet("x.parquet")
    words = ("sample", "x.parquet", "-n", 1, "--seed", 1, "--json")
    for memory in (10**9, 1):
        monkeypatch.setattr("zonodpp.cli.large.physical_memory", lambda memory=memory: memory)
        code, out, err = call(*words)
        assert code == 0, err
        assert err.count("column 0 (from 0) has no name") == 1
        assert ("in passes" in err) == (memory == 1)
        assert json.loads(out)["size"] == 2


def test_weights_that_are_no_numbers(call, fails):
    pytest.importorskip("pandas")
    write_table(
        "keys.csv", ["key", "on", "gap"], [(f"k{k}", k % 2 > 0, k or "") for k in range(12)]
    )
    place = "column 'key' (row 0; rows and columns count from 0): expected a number, got 'k0'"
    for command in ("rows", "sample"):
        line = fails(command, "keys.csv", "--weights", "key", "--columns", "a,b")
        assert place in line
        assert "--id" not in line  # the column has been named: it is not one of labels
    assert "column 'gap' (row 0" in fails("rows", "keys.csv", "--weights", "gap")
    assert "'salt' is no column" in fails("rows", "keys.csv", "--weights", "salt")
    drawn = json.loads(call("rows", "keys.csv", "--weights", "on", "-k", 5, "--json")[1])
    assert all(item % 2 for item in drawn["indices"])
    by_number = call("rows", "keys.csv", "--weights", 1, "-k", 5, "--json")[1]
    assert json.loads(by_number) == drawn


def test_labels_that_are_numbers_keep_their_digits(call):
    for ids, first in (
        (np.arange(12) + 1234567.0, "1234567"),
        (np.arange(12) + 0.123456789, "0.123456789"),
        (np.arange(12) * 256 + 2.0**60, "1152921504606846976"),
    ):
        np.save("ids.npy", np.column_stack([ids, X]))
        facts = json.loads(call("info", "ids.npy", "--id", 0, "--json")[1])
        assert facts["first items"][0] == first
        words = ("sample", "ids.npy", "--id", 0, "--include", first, "-n", 1, "--csv")
        assert first in call(*words)[1]
    np.save("ids.npy", np.column_stack([np.arange(12) + 2**60 + 1, X.astype(np.int64)]))
    facts = json.loads(call("info", "ids.npy", "--id", 0, "--json")[1])
    assert facts["first items"][0] == "1152921504606846977"


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


GAPS = "n,a,b,w\nA,1,2,1\nB,,3,1\nC,2,5,\nD,4,1,2\nE,3,3,2\n"


def test_rows_without_a_weight_are_dropped(call, fails):
    Path("gaps.csv").write_text(GAPS)
    words = ("sample", "gaps.csv", "--id", "n", "--weights", "w", "--seed", 1)
    code, out, err = call(*words, "--missing", "drop", "--json")
    assert (code, json.loads(out)["items"]) == (0, 3)
    assert "2 of 5 rows have missing values and are left out" in err
    place = "gaps.csv, line 4, column 'w' (row 2;"
    for missing in ("median", "error"):
        line = fails(*words, "--missing", missing, "--columns", "b")
        assert place in line
        assert line.endswith(
            "the cell is empty; pass --missing drop" + " or median" * (missing == "error") + "\n"
        )
    np.save("w.npy", [1.0, 1.0, np.nan, 2.0, 2.0])
    words = ("sample", "gaps.csv", "--id", "n", "--columns", "a,b", "--missing", "drop")
    again = call(*words, "--weights", "w.npy", "--seed", 1, "--json")[1]
    assert json.loads(again)["labels"] == json.loads(out)["labels"]
    np.save("w.npy", [1.0, 1.0, np.nan, -2.0, 2.0])
    assert "weights[3] = -2" in fails(*words, "--weights", "w.npy")
    Path("gaps.csv").write_text("a,b,w\n1,2,\n3,5,NA\n")
    line = fails("sample", "gaps.csv", "--weights", "w", "--missing", "drop")
    assert line == "zonodpp: gaps.csv: every row has a gap\n"


def test_an_empty_cell_names_the_option_for_gaps(fails):
    Path("gaps.csv").write_text(GAPS)
    advice = "the cell is empty; pass --missing drop or median"
    assert advice in fails("sample", "gaps.csv", "--columns", "a,b")
    assert "--missing" not in fails("sample", "gaps.csv", "--columns", "a", "--items", "columns")
    assert "--missing" not in fails("landmarks", "gaps.csv", "--columns", "a,b")
