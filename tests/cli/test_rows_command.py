"""`zonodpp rows`: the rows written have the cells of the file, in every form of output."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from zonodpp.apps.rows import encode
from zonodpp.cli.interface import Input
from zonodpp.cli.rows import read_frame

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ORDERS = """order,dose,zip,count,paid,day
123456789012345678,1.23e-12,01234,9007199254740993,yes,2024-01-01
123456789012345680,4.5,007,,no,
123456789012345999,NA,5,12,,2024-03-01
"""


@pytest.fixture
def rows(call):
    def run(file, *words, k=3):
        code, out, err = call("rows", file, "-k", k, *words)
        assert (code, err) == (0, "")
        return json.loads(out, parse_constant=pytest.fail)["rows"] if "--json" in words else out

    return run


def test_numbers_of_text_keep_their_digits(rows):
    Path("orders.csv").write_text(ORDERS)
    expected = [
        [123456789012345678, 1.23e-12, "01234", 9007199254740993, True, "2024-01-01"],
        [123456789012345680, 4.5, "007", None, False, None],
        [123456789012345999, None, "5", 12, None, "2024-03-01"],
    ]
    assert [list(row.values()) for row in rows("orders.csv", "--json")] == expected
    rows("orders.csv", "--out", "few.json")
    assert json.loads(Path("few.json").read_text())["rows"] == rows("orders.csv", "--json")
    rows("orders.csv", "--out", "few.parquet")
    assert pq.read_table("few.parquet").to_pylist() == rows("orders.csv", "--json")
    assert rows("orders.csv", "--csv") == ORDERS


def test_labels_stay_text(rows, call):
    Path("orders.csv").write_text(ORDERS)
    labels = ["01234", "007", "5"]
    assert [row["zip"] for row in rows("orders.csv", "--id", "zip", "--json")] == labels
    rows("orders.csv", "--id", "zip", "--out", "few.parquet")
    assert pq.read_table("few.parquet")["zip"].to_pylist() == labels
    assert rows("orders.csv", "--id", "zip", "--csv") == ORDERS
    np.save("x.npy", [[1234567.0, 0.5], [7, 2], [8, 4]])
    assert [row["0"] for row in rows("x.npy", "--id", 0, "--json")] == ["1234567", "7", "8"]


def test_parquet_keeps_types_and_empty_cells(rows):
    time = pd.Timestamp("2024-05-01 10:20:30.123456789")
    table = pa.table(
        {
            "big": pa.array([2**60 + 1, None, 2**60]),
            "day": pa.array([time.date(), None, time.date()]),
            "time": pa.array([time, None, time], pa.timestamp("ns")),
            "share": pa.array([0.1, None, float("inf")]),
            "price": pa.array(["1.10", None, "12345678901234567890.10"]).cast(pa.decimal128(30, 2)),
            "paid": [True, None, False],
            "word": ["x", None, "nan"],
            "kind": pa.array(["a", None, "a"]).dictionary_encode(),
            "list": [[1, None], None, []],
            "code": pa.array([b"a", None, b"\xff"]),
        }
    )
    pq.write_table(table, "x.parquet")
    first, empty, last = rows("x.parquet", "--json")
    day, moment = "2024-05-01", "2024-05-01T10:20:30.123456789"
    assert list(first.values()) == [
        2**60 + 1,
        day,
        moment,
        0.1,
        1.1,
        True,
        "x",
        "a",
        [1, None],
        "a",
    ]
    assert set(empty.values()) == {None}
    price = "12345678901234567890.10"  # more digits than a floating-point number has
    assert list(last.values()) == [2**60, day, moment, None, price, False, "nan", "a", [], r"\xff"]
    _, *lines = rows("x.parquet", "--csv").splitlines()
    moment = moment.replace("T", " ")
    assert lines[0] == f'{2**60 + 1},{day},{moment},0.1,1.10,True,x,a,"[1, None]",a'
    assert lines[1] == "," * 9
    assert lines[2] == rf"{2**60},{day},{moment},inf,{price},False,nan,a,[],\xff"
    rows("x.parquet", "--out", "few.parquet")
    assert pq.read_table("few.parquet").equals(table)  # has no index either
    assert str(2**60 + 1) in rows("x.parquet")


def test_periods(rows):
    frame = pd.DataFrame({"month": pd.period_range("2024-01", periods=3, freq="M"), "x": [1, 2, 4]})
    frame.to_parquet("x.parquet")
    assert rows("x.parquet", "--csv").splitlines()[1] == "2024-01,1"
    assert rows("x.parquet", "--json")[2] == {"month": "2024-03", "x": 4}


def test_views_of_text(rows):
    table = pa.table({"word": pa.array(list("abc"), pa.string_view()), "x": [1, 2, 4]})
    try:
        pq.write_table(table, "x.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip("this version of pyarrow writes no views of text")
    assert rows("x.parquet", "--csv").splitlines()[1] == "a,1"


def test_a_saved_index_is_no_feature(rows, call):
    frame = pd.DataFrame({"a": [1.0, 4, 9, 2], "word": list("xyxy")}, index=[5, 7, 100, 3])
    frame.to_parquet("x.parquet")
    levels = [pd.Index([1, 1, 2, 2], name="u"), pd.Index(list("abcd"), name="v")]
    frame.set_index(levels).to_parquet("levels.parquet")
    for file, index in (("x.parquet", ["__index_level_0__"]), ("levels.parquet", ["u", "v"])):
        report = json.loads(call("rows", file, "-k", 4, "--json")[1])
        assert list(report["columns"]) == ["a", "word"]
        assert list(report["rows"][0]) == ["a", "word", *index]
        facts = json.loads(call("info", file, "--json")[1])
        assert [name for name in facts if name.startswith("column ")] == ["column a", "column word"]
    assert [row["__index_level_0__"] for row in rows("x.parquet", "--json", k=4)][:2] == ["5", "7"]
    facts = json.loads(call("info", "levels.parquet", "--columns", "u,a", "--json")[1])
    assert facts["columns"] == ["u", "a"]  # unless it is named
    assert rows("x.parquet", k=4).splitlines()[3].split() == ["5", "1.0", "x"]


def test_out_to_parquet_has_no_index(rows):
    Path("x.csv").write_text("a,b\n1,5\n2,9\n7,7\n7,7\n9,1\n")
    rows("x.csv", "--out", "few.parquet", k=4)  # equal rows leave a gap in the row numbers
    assert pq.read_schema("few.parquet").names == ["a", "b"]


def test_a_form_is_made_only_if_it_is_asked_for(rows, fails):
    Path("twice.csv").write_text("a,b,c,c\n1,2,3,4\n5,6,7,8\n9,1,2,2\n")
    words = ("twice.csv", "--columns", "a,b")
    assert rows(*words, "--csv") == Path("twice.csv").read_text()
    assert rows(*words).startswith("3 of 3 rows")
    assert rows(*words, "--id", 2).splitlines()[3].split() == ["3", "1", "2", "4"]
    for form in (["--json"], ["--out", "few.parquet"]):
        line = fails("rows", *words, "-k", 3, *form)
        assert "twice.csv: several columns are called c" in line
        assert line.endswith("rename them, or write CSV\n")
    Path("large.csv").write_text(f"a,b\n1,{10**30}\n2,5\n3,7\n")
    large = pd.read_csv("large.csv")["b"][0]
    assert rows("large.csv", "--json")[0]["b"] == large
    if pd.__version__ < "3" and isinstance(large, str):  # how older versions read large integers
        return
    assert large == 10**30
    assert "beyond 64 bits; write JSON" in fails("rows", "large.csv", "-k", 3, "--out", "x.parquet")


def test_sparse_matrices_and_other_arrays(rows, fails, monkeypatch):
    matrix = sp.csc_array([[1.5, 0], [0, 2.5], [9, 0]])
    sp.save_npz("x.npz", matrix)
    text = "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1.5\n2 2 2.5\n3 1 9\n"
    Path("x.mtx").write_text(text)
    for file in ("x.npz", "x.mtx"):
        assert rows(file, "--csv") == "0,1\n1.5,0.0\n0.0,2.5\n9.0,0.0\n"
    monkeypatch.setattr("zonodpp.cli.large.physical_memory", lambda: 100)
    line = fails("rows", "x.npz", "-k", 2)
    assert "x.npz is sparse" in line
    assert "too much for the memory of this machine; select fewer rows or columns" in line
    np.save("x.npy", np.ones((2, 3, 4)))
    assert "x.npy holds an array of shape (2, 3, 4); a table has two dimensions" in fails(
        "rows", "x.npy", "-k", 1
    )


def test_half_precision_is_shown_without_warnings(rows):
    half = np.array([[0.25, 3], [4, 60000], [7, 10]], np.float16)
    np.save("x.npy", half)
    pq.write_table(pa.table({"a": half[:, 0], "b": half[:, 1]}), "x.parquet")
    for file in ("x.npy", "x.parquet"):
        assert "60000.0" in rows(file)  # a warning would be an error here


def test_types_of_arrow_are_encoded_as_those_of_numpy(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(50) < 0.1, np.nan, rng.normal(size=50)),
            "count": rng.integers(0, 9, 50),
            "day": pd.date_range("2024-01-01", periods=50)[rng.permutation(50)],
            "word": rng.choice(["a", "b", None], 50),
            "kind": pd.Categorical(rng.choice(["a", "b"], 50)),
        }
    )
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_frame(Input(file=str(tmp_path / "x.parquet"))).frame
    assert encode(table).columns == encode(frame).columns
    np.testing.assert_allclose(encode(table).points, encode(frame).points, atol=1e-12)
