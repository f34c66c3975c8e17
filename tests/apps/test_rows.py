"""Diverse rows of tables: what becomes of each kind of column, the choice, and the command."""

import datetime
import json
import tracemalloc

import numpy as np
import pytest

from zonodpp.apps import diverse_rows

pd = pytest.importorskip("pandas")

from zonodpp.apps.rows import encode  # noqa: E402 - needs pandas


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 120
    return pd.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "price": rng.lognormal(size=n),
            "größe": rng.integers(0, 5, n),
            "colour": rng.choice(["röd", "blå", "grön"], n),
            "sold": rng.random(n) < 0.5,
            "day": pd.date_range("2024-01-01", periods=n)[rng.permutation(n)],
            "note": [f"note {i}" for i in range(n)],
            "unit": "cm",
            "nothing": None,
        },
        index=[f"row {i}" for i in range(n)],
    )


def columns_of(table, **named):
    return {column.name: column for column in encode(table, **named).columns}


def test_each_kind_of_column(table):
    found = columns_of(table)
    assert {name: column.kind for name, column in found.items()} == {
        "id": "id",
        "price": "number",
        "größe": "number",
        "colour": "category",
        "sold": "boolean",
        "day": "date",
        "note": "text",
        "unit": "constant",
        "nothing": "empty",
    }
    assert [name for name, column in found.items() if not column.width] == [
        "id",
        "note",
        "unit",
        "nothing",
    ]
    assert found["nothing"].missing == len(table)
    assert "120" in found["note"].note


def test_every_column_counts_the_same(table):
    encoded = encode(table)
    widths = [column.width for column in encoded.columns if column.width]
    variances = encoded.points.var(axis=0)
    sums = [part.sum() for part in np.split(variances, np.cumsum(widths)[:-1])]
    np.testing.assert_allclose(sums, 1.0)
    np.testing.assert_allclose(encoded.points.mean(axis=0), 0.0, atol=1e-12)


def test_missing_values_are_filled_flagged_and_counted(table):
    table.iloc[:10, table.columns.get_loc("price")] = np.nan
    table.iloc[5:9, table.columns.get_loc("colour")] = None
    table["price"] = table["price"].where(table["price"] < 5, np.inf)  # infinity is missing too
    before = columns_of(table)
    assert before["price"].width == 2
    assert before["price"].missing >= 10
    assert "median" in before["price"].note
    assert before["colour"].missing == 4
    assert before["colour"].width == 4
    assert np.isfinite(encode(table).points).all()


def test_one_value_and_gaps_are_a_flag():
    table = pd.DataFrame({"deck": ["A", None] * 10, "bonus": [1.0, np.nan] * 10})
    points = encode(table).points
    assert len(np.unique(points.round(6), axis=0)) == 2


def test_rare_levels_share_a_column_and_do_not_rule():
    table = pd.DataFrame({"city": ["a"] * 500 + ["b"] * 490 + list("cdefghijkl")})
    [column] = encode(table).columns
    assert column.width == 3
    assert "the 10 rarest as one" in column.note
    flag = pd.DataFrame({"fraud": [True] + [False] * 999})
    assert np.abs(encode(flag).points).max() < 5  # one in a thousand would be 31 by deviation alone


def test_dates_as_text_objects_and_with_zones():
    days = ["2024-01-01", "2024-01-03", None, "2024-02-01"]
    for cells in (
        days,
        pd.to_datetime(days),
        pd.to_datetime(days).tz_localize("Asia/Tokyo"),
        pd.to_datetime(days) - pd.Timestamp("2020-01-01"),
    ):
        [column] = encode(pd.DataFrame({"when": cells})).columns
        assert (column.kind, column.missing, column.width) == ("date", 1, 2)
    odd = pd.DataFrame({"when": ["2024-13-45", "2024-13-46", "2024-13-45", "2024-13-46"]})
    assert encode(odd).columns[0].kind == "category"


@pytest.mark.parametrize(
    "cells",
    [
        pd.array([1, 2, None, 3], dtype="Int64"),
        pd.array([True, False, None, True], dtype="boolean"),
        pd.Categorical(["x", "y", None, "x"]),
        [True, None, False, True],
        [["a"], ["b"], ["a"], None],
    ],
    ids=["Int64", "boolean", "categorical", "objects", "lists"],
)
def test_other_types_of_pandas(cells):
    [column] = encode(pd.DataFrame({"x": cells}), columns=["x"]).columns
    assert column.missing == 1
    assert column.width


@pytest.mark.parametrize("kind", ["Int64", "category", "null[pyarrow]", "string", object])
def test_columns_without_values_are_left_out(kind):
    if "pyarrow" in str(kind):
        kind = pd.ArrowDtype(pytest.importorskip("pyarrow").null())
    [column] = encode(pd.DataFrame({"x": pd.Series([None] * 6, dtype=kind)})).columns
    assert str(column) == "left out: empty, 6 missing; no cell has a value"


def test_dates_of_arrow():
    pytest.importorskip("pyarrow")
    days = pd.Series([datetime.date(2024, 1, day) for day in (1, 2, 9)] + [None])
    [column] = encode(pd.DataFrame({"day": days.astype("date32[day][pyarrow]")})).columns
    assert (column.kind, column.missing, column.width) == ("date", 1, 2)


def test_ids_by_name_by_count_and_on_request():
    table = pd.DataFrame({"userId": [7, 7, 3, 9], "paid": [1, 2, 3, 4], "x": [0.5, 1, 2, 3]})
    found = columns_of(table)
    assert [found[name].kind for name in table] == ["id", "number", "number"]
    long = pd.DataFrame({"row": np.random.default_rng(0).permutation(50), "x": np.arange(50) ** 2})
    assert [column.kind for column in encode(long).columns] == ["id", "number"]
    assert columns_of(long, columns=["row"])["row"].kind == "number"
    assert len(diverse_rows(long, 5, columns=["row"])) == 5


def test_rows_come_back_as_they_are(table):
    found = diverse_rows(table, 7)
    pd.testing.assert_frame_equal(found, table.loc[found.index], check_flags=False)
    assert list(found.index) == sorted(found.index, key=list(table.index).index)
    report = found.attrs["diverse_rows"]
    assert report["columns"]["note"].startswith("left out: text")
    json.dumps(found.attrs)  # as pandas does when it writes Parquet
    assert "diverse_rows" not in table.attrs


@pytest.mark.parametrize("answer", ["best", "draw"])
@pytest.mark.parametrize("k", [1, 2, 30, 119, 120])
def test_any_number_of_rows(table, k, answer):
    found = diverse_rows(table, k, answer=answer, rng=1)
    assert len(found) == k
    assert found.index.is_unique


def test_draws_follow_the_seed_and_best_does_not(table):
    draws = [list(diverse_rows(table, 5, answer="draw", rng=s).index) for s in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    best = [list(diverse_rows(table, 5, rng=s).index) for s in (1, 2)]
    assert best[0] == best[1]


def test_copies_come_in_only_when_distinct_rows_are_used_up():
    table = pd.DataFrame({"x": [1.0, 1.0, 1.0, 5.0, 5.0, 9.0], "y": list("aaabba")})
    assert list(diverse_rows(table, 3).index) == [0, 3, 5]
    assert len(set(diverse_rows(table, 5).index)) == 5
    assert list(diverse_rows(table, 6).index) == list(range(6))
    assert diverse_rows(table, 2).attrs["diverse_rows"]["distinct_rows"] == 3


def test_many_copies_of_few_rows():
    table = pd.DataFrame({"x": np.arange(100_000) % 50_000 < 25, "y": 1.0})  # 50 rows are True
    found = diverse_rows(table, 50_000)
    assert found["x"].sum() == 50
    assert len(set(found.index)) == 50_000
    assert diverse_rows(table, 21)["x"].sum() in (10, 11)  # ten copies of both, and one of either


def test_picks_clusters_that_uniform_draws_miss():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0, 0], [20, 0], [0, 20], [20, 20]], [970, 10, 10, 10], axis=0)
    table = pd.DataFrame(centres + rng.normal(size=(1000, 2)), columns=list("xy"))
    cluster = np.repeat(range(4), [970, 10, 10, 10])
    assert set(cluster[diverse_rows(table, 10).index]) == {0, 1, 2, 3}
    found = [diverse_rows(table, 10, answer="draw", rng=seed).index for seed in range(10)]
    assert np.mean([len(set(cluster[rows])) for rows in found]) > 3  # of uniform draws: 1.3


def test_weights_by_column_and_array(table):
    table["weight"] = 0.0
    table.iloc[:20, table.columns.get_loc("weight")] = 2.0
    found = diverse_rows(table, 6, weights="weight", answer="draw", rng=0)
    assert (found["weight"] == 2).all()
    assert "weight" not in found.attrs["diverse_rows"]["columns"]
    same = diverse_rows(
        table.drop(columns="weight"), 6, weights=table["weight"], answer="draw", rng=0
    )
    assert list(found.index) == list(same.index)
    with pytest.raises(ValueError, match="20 have positive weight"):
        diverse_rows(table, 21, weights="weight")


def test_named_text_is_used_unless_every_value_differs():
    names = [f"n{i}" for i in range(300)]
    table = pd.DataFrame({"name": names, "code": [name[:-1] for name in names[10:]] + ["n0"] * 10})
    rare = pd.concat([table] * 4, ignore_index=True)  # no level has a hundredth of the rows
    rare["code"] = [f"{code}{i % 4}" for i, code in enumerate(rare["code"])]
    assert columns_of(rare)["code"].width == 0
    named = columns_of(rare, columns=["code"])["code"]
    assert (named.width, named.kind) == (21, "category")
    found = diverse_rows(rare, 9, columns="code")
    assert found["code"].is_unique
    assert found.attrs["diverse_rows"]["distinct_rows"] == 21
    with pytest.raises(ValueError, match=r"every one differs\); name other columns"):
        diverse_rows(table, 4, columns=["name"])
    both = diverse_rows(table, 4, columns=["name", "code"]).attrs["diverse_rows"]["columns"]
    assert both["name"].startswith("left out: text")
    table.loc[::2, "name"] = None
    assert diverse_rows(table, 2, columns="name")["name"].isna().sum() == 1


def test_a_name_need_not_stand_in_a_list():
    table = pd.DataFrame({"a": [1, 2, 3], "b": [3, 1, 2], "ab": [5, 9, 7]})
    report = diverse_rows(table, 2, columns="ab").attrs["diverse_rows"]
    assert list(report["columns"]) == ["ab"]
    report = diverse_rows(pd.DataFrame([[1, 5], [2, 6], [4, 0]]), 2, columns=0).attrs
    assert list(report["diverse_rows"]["columns"]) == ["0"]


@pytest.mark.parametrize("rows", [1, 3])
def test_all_rows_need_no_columns(rows):
    table = pd.DataFrame({"unit": ["cm"] * rows})
    found = diverse_rows(table, rows)
    assert list(found.index) == list(range(rows))
    assert found.attrs["diverse_rows"]["distinct_rows"] == 1
    assert found.attrs["diverse_rows"]["columns"]["unit"].startswith("left out: constant")


@pytest.mark.parametrize(
    ("k", "options", "kind", "message"),
    [
        (121, {}, ValueError, "k = 121 rows asked for, but the table has 120"),
        (0, {}, ValueError, "at least 1"),
        (2, {"columns": ["colur"]}, ValueError, "no column colur"),
        (2, {"weights": "w"}, ValueError, "is no column"),
        (2, {"weights": "colour"}, TypeError, "weights must hold real numbers"),
        (2, {"columns": ["unit"]}, ValueError, "no column can be used"),
        (2, {"answer": "worst"}, ValueError, "answer"),
    ],
)
def test_what_is_wrong_is_said(table, k, options, kind, message):
    with pytest.raises(kind, match=message):
        diverse_rows(table, k, **options)


def test_only_tables():
    with pytest.raises(TypeError, match="table of pandas"):
        diverse_rows(np.eye(3), 2)
    twice = pd.DataFrame([[1, 2], [3, 5]], columns=["a", "a"])
    with pytest.raises(ValueError, match="several columns are called a"):
        diverse_rows(twice, 1)


CARS = """name,mpg,origin,electric,since
Åsa,18.50,EU,yes,2001-05-01
Bolt,,US,no,2002-01-01
Cub,33,JP,no,2003-01-01
"Dart, GT",15,US,no,2004-07-01
Elan,NA,US,yes,2005-01-01
Fox,25,EU,no,2006-01-01
"""


@pytest.fixture
def shell(call, tmp_path):
    (tmp_path / "cars.csv").write_text(CARS, "utf-8")
    (tmp_path / "gaps.csv").write_text("a,b\n1,20\n,30\n3,90\n4,10\n7,60\n", "utf-8")

    def run(*words, code=0, input=""):
        found, out, err = call(*words, stdin=input.encode())
        assert found == code, err
        return out if code == 0 else err

    return run


def test_command_rows(shell):
    text = shell("rows", "cars.csv", "-k", 3)
    assert text.startswith("3 of 6 rows")
    assert "left out: text" in text
    lines = shell("rows", "cars.csv", "-k", 6, "--csv")
    assert lines == CARS  # cells as they stand in the file
    facts = json.loads(shell("rows", "-", "-k", 2, "--id", "name", "--json", input=CARS))
    assert len(facts["rows"]) == len(facts["indices"]) == 2
    assert "name" not in facts["columns"]
    shell("rows", "cars.csv", "-k", 4, "--out", "few.parquet")
    again = json.loads(shell("rows", "few.parquet", "-k", 4, "--json"))
    assert again["columns"]["since"].startswith("used: date")
    assert "the table has 6" in shell("rows", "cars.csv", "-k", 7, code=2)
    assert "no column 'x'" in shell("rows", "cars.csv", "--columns", "x", code=2)


def test_command_info_lists_columns(shell):
    text = shell("info", "cars.csv")
    assert "column mpg" in text
    assert "2 missing" in text
    assert "boolean" in text
    assert "left out: text" in text
    assert shell("info", "-", input=CARS).count("column ") == 5
    ragged = CARS + "Gnu,1\n"
    assert "2 cells" in shell("info", "-", input=ragged, code=2)


def test_command_sample_with_gaps(shell):
    assert "the cell is empty" in shell("sample", "gaps.csv", code=2)
    words = ("sample", "gaps.csv", "--draws", 50, "--seed", 1, "--standardize", "--json")
    dropped = json.loads(shell(*words, "--missing", "drop"))
    assert dropped["items"] == 4
    assert set(np.ravel(dropped["labels"])) == {"0", "2", "3", "4"}  # numbers of rows of the file
    filled = json.loads(shell(*words, "--missing", "median"))
    assert np.max(filled["subsets"]) == 4
    columns = ("--missing", "median", "--items", "columns")
    assert "items as rows" in shell(*words, *columns, code=2)


def test_memory_for_many_rows_is_that_of_one_factor():
    """The factor of the kernel has 100 numbers for each row; there is no second copy of it."""
    n = 20_000
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 4)), columns=list("abcd"))
    diverse_rows(table[:300], 3)  # compiles
    tracemalloc.start()
    diverse_rows(table, 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2.4 * 8 * n * 100
