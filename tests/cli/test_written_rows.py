"""`zonodpp rows`: types of Parquet files are kept, and encoded as those of NumPy."""

import json

import numpy as np
import pytest

from zonodpp.apps.rows import encode
from zonodpp.cli.interface import Input
from zonodpp.cli.rows import read_frame

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def rows(call):
    def run(file, *words, k=3):
        code, out, err = call("rows", file, "-k", k, *words)
        assert (code, err) == (0, "")
        return json.loads(out, parse_constant=pytest.fail)["rows"] if "--json" in words else out

    return run


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


def test_views_of_text(rows):
    table = pa.table({"word": pa.array(list("abc"), pa.string_view()), "x": [1, 2, 4]})
    try:
        pq.write_table(table, "x.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip("this version of pyarrow writes no views of text")
    assert rows("x.parquet", "--csv").splitlines()[1] == "a,1"


def test_integers_beyond_64_bits(rows, fails, tmp_path):
    (tmp_path / "large.csv").write_text(f"a,b\n1,{10**30}\n2,5\n3,7\n")
    large = pd.read_csv("large.csv")["b"][0]
    assert rows("large.csv", "--json")[0]["b"] == large
    if pd.__version__ < "3" and isinstance(large, str):  # how older versions read large integers
        return
    assert large == 10**30
    assert "beyond 64 bits; write JSON" in fails("rows", "large.csv", "-k", 3, "--out", "x.parquet")


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
