"""Tables as other programs write them: every command reads them alike, or says what they are."""

import json
from pathlib import Path

import numpy as np
import pytest

from zonodpp.cli.inputs import read_table
from zonodpp.cli.interface import Input

X = np.random.default_rng(1).integers(0, 99, size=(6, 2)) + 0.5
TEXT = "".join(f"{a},{b}\n" for a, b in X.tolist())


@pytest.fixture
def warned(call):
    """Run a command line that works; return its output as JSON, and what it says beside it."""

    def run(*words, stdin=b""):
        code, out, err = call(*words, "--json", stdin=stdin)
        assert code == 0, err
        return json.loads(out), err

    return run


def read(text, **options):
    Path("x.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    return read_table(Input(file="x.csv", **options))


def with_first(cells, name=""):
    """Return the table with one more column at the left."""
    rows = TEXT.splitlines()
    return f"{name},a,b\n" + "".join(f"{c},{row}\n" for c, row in zip(cells, rows, strict=True))


# ---- rows keep their places


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_end_in_a_cell_is_no_new_row(warned, end):
    pytest.importorskip("pandas")
    cells = ['"one\rtwo"', "three", '"four\r\nfive"', "six", "seven", "eight"]
    text = "name,a,b\n" + "".join(f"{c},{r}\n" for c, r in zip(cells, TEXT.split(), strict=True))
    Path("x.csv").write_bytes(text.replace("\n", end).encode())
    found, _ = warned("rows", "x.csv", "-k", 6, "--columns", "a,b")
    assert [[row["a"], row["b"]] for row in found["rows"]] == X.tolist()
    assert [row["name"][:3] for row in found["rows"]] == ["one", "thr", "fou", "six", "sev", "eig"]
    found, _ = warned("info", "x.csv")
    assert found["rows"] == 6


def test_a_row_of_empty_cells_is_a_row(call, fails, warned):
    pytest.importorskip("pandas")
    Path("x.csv").write_text("a,b\n1,2\n,\n3,5\n\n7,1\n")
    assert "line 3, column 'a' (row 1;" in fails("sample", "x.csv")
    found, err = warned("sample", "x.csv", "--missing", "drop", "--seed", 1)
    assert "1 of 4 rows have missing values" in err
    assert {item for draw in found["labels"][0] for item in draw} <= {"0", "2", "3"}
    found, _ = warned("rows", "x.csv", "-k", 4)
    assert [row["a"] for row in found["rows"]] == [1, None, 3, 7]
    Path("w.csv").write_text('w\n1\n\n3\n""\n\n\n')  # in one column an empty line is an empty cell
    found, _ = warned("rows", "w.csv", "-k", 4)
    assert [row["w"] for row in found["rows"]] == [1, None, 3, None]


# ---- indices


@pytest.mark.parametrize("index", [[4, 7, 11, 20, 31, 40], [3, 0, 5, 1, 4, 2], list("uvwxyz")])
@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_of_a_frame_becomes_labels(call, warned, index, name):
    pytest.importorskip("pandas")
    text = with_first(index, name)
    Path("x.csv").write_text(text)
    for words in (("sample", "-n", 1), ("info",), ("volume",), ("rows", "-k", 2)):
        code, _, err = call(words[0], "x.csv", *words[1:], "--json")
        assert code == 0
        assert "column 0 (from 0) has no name of its own" in err
        assert "it holds the labels" in err
    facts, _ = warned("info", "x.csv")
    assert (facts["columns"], facts["first items"]) == (["a", "b"], list(map(str, index[:5])))
    assert list(warned("rows", "x.csv", "-k", 2)[0]["columns"]) == ["a", "b"]
    Path("w.csv").write_text(",w\n" + "".join(f"{i},{k + 1}\n" for k, i in enumerate(index)))
    assert warned("sample", "x.csv", "--weights", "w.csv", "--seed", 1)[0]["size"] == 2
    if not isinstance(index[0], str):
        facts, err = warned("info", "x.csv", "--columns", "0,a")
        assert (facts["features"], err) == (2, "")


def test_names_of_rows_as_r_writes_them(call, warned):
    rows = TEXT.split()
    quoted = "".join(f'"r{k}",{row}\n' for k, row in enumerate(rows))
    for head in ('"","a","b"\n', '"a","b"\n'):  # write.csv, and write.table with sep=","
        Path("x.csv").write_text(head + quoted)
        facts, err = warned("info", "x.csv")
        assert (facts["columns"], facts["first items"][0]) == (["a", "b"], "r0")
        assert "is taken for names of rows" in err


def test_levels_of_an_index_are_no_features(call, warned):
    rows = zip(["u", "u", "v", "v", "w", "w"], [1, 2] * 3, TEXT.split(), strict=True)
    Path("x.csv").write_text(",,a,b\n" + "".join(f"{u},{k},{row}\n" for u, k, row in rows))
    facts, err = warned("info", "x.csv")
    assert (facts["columns"], facts["first items"][:3]) == (["a", "b"], ["u", "u", "v"])
    assert err.count("\n") == 2


# ---- names of columns


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("country,2019,2020", ["2019", "2020"]),
        (",0,1", ["0", "1"]),
        ("name,inf,nan", ["inf", "nan"]),
        ("name,7,size", ["7", "size"]),
    ],
)
def test_names_that_are_numbers(tmp_path, monkeypatch, head, names):
    monkeypatch.chdir(tmp_path)
    text = head + "\n" + "".join(f"k{k},{row}\n" for k, row in enumerate(TEXT.split()))
    if "inf,nan" in head:
        table = read(text, id="0", header=True)
    else:
        with pytest.warns(UserWarning, match="the first row is taken as names|has no name"):
            table = read(text, id=None if head[0] == "," else "0")
    assert (table.columns, table.values.tolist()) == (names, X.tolist())
    assert read(text, id="0", header=False).shape[0] == 7 if head[:4] == "coun" else True


def test_inf_and_nan_are_names_above_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for head in ("inf,b", "a,nan", "inf,nan"):
        assert read(f"{head}\n{TEXT}").columns == head.split(",")


def test_a_first_row_of_numbers_is_an_item(call, fails, tmp_path):
    assert read("A,1990,2001\nB,1985,2003\nC,1999,1960\n", id="0").shape == (3, 2)
    assert read("A,1,2\nB,3,4\nC,9,1\n", id="0").shape == (3, 2)
    assert read("A,nan,2\nB,3,4\n", id="0", columns="2").shape == (2, 1)
    assert read("x,-5,2\n7,3,4\n8,9,1\n", id="0").labels == ["x", "7", "8"]
    with pytest.warns(UserWarning, match="pass --header"):
        assert read("0,1,2\n5,3,4\n7,8,1\n").shape == (3, 3)
    with pytest.warns(UserWarning, match="pass --no-header"):
        assert read("0,1,2\n.5,3.5,4.0\n7.5,8.,1e3\n").shape == (2, 3)
    Path("x.csv").write_text("A,5,6\nB,3,4\n")
    assert "if the first row has names, pass --header" in fails("sample", "x.csv")


def test_two_columns_of_one_name(call, fails):
    pytest.importorskip("pandas")
    Path("x.csv").write_text("a,b,a\n1,2,3\n4,5,7\n")
    says = "x.csv: 2 columns are called 'a', 0, 2; give one by its number from 0"
    for words in (("--columns", "a"), ("--id", "a"), ("--weights", "a")):
        for command in ("sample", "rows"):
            assert says in fails(command, "x.csv", *words)
    assert call("sample", "x.csv", "--weights", "2", "-n", 1, "--seed", 1)[0] == 0


# ---- separators


def test_separators(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in (
        "name|a|b\nk|1|2\nl|3|5\n",
        "sep=;\nname;a;b\nk;1;2\nl;3;5\n",
        '"sep=|"\r\nname|a|b\r\nk|1|2\r\nl|3|5\r\n',
        "name,a,b,\nk,1,2,\nl,3,5,\n",
        "name,a,b\nk,1,2,\nl,3,5,\n",
        "name;a;b;;;\nk;1;2;;;\nl;3;5;;;\n",
        '{"name": "k", "a": 1, "b": 2}\n\n{"b": 5, "a": 3, "name": "l"}\n',
    ):
        table = read(text, id="name")
        assert (table.labels, table.columns) == (["k", "l"], ["a", "b"]), text
        assert table.values.tolist() == [[1, 2], [3, 5]]
    assert read("1|2|\n3|5|\n").values.tolist() == [[1, 2], [3, 5]]
    with pytest.raises(ValueError, match="column '2' \\(row 0;"):  # a value stands far below
        read("a,b,\n" + "1,2,\n" * 30 + "3,5,7\n")


def test_a_value_behind_the_last_name_is_refused(call, fails):
    Path("x.csv").write_text("a,b\n" + "1,2,\n" * 40 + "3,5,7\n")
    assert "line 42 (row 40; rows count from 0): 3 cells, but the first row has 2" in fails(
        "sample", "x.csv"
    )


def test_json_lines(call, fails, warned):
    pytest.importorskip("pandas")
    lines = [{"id": f"00{k}", "a": a, "b": b, "on": k > 2} for k, (a, b) in enumerate(X.tolist())]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    for name in ("x.jsonl", "x.ndjson", "x.json", "x.csv", "-"):
        Path(name).write_text(text)
        stdin = text.encode() if name == "-" else b""
        words = (name, "--columns", "a,b", "--id", "id")
        facts, _ = warned("info", *words, stdin=stdin)
        assert (facts["rank"], facts["first items"][1]) == (2, "001")
        found, _ = warned("rows", name, "-k", 6, stdin=stdin)
        assert found["rows"] == lines
    assert "JSON is not read; save it as edges" in fails("trees", "-", stdin=text.encode())
    Path("x.jsonl").write_text('{"a": 1}\n{"a": 2\n')
    assert "x.jsonl, line 2: not a JSON object" in fails("sample", "x.jsonl")
    Path("x.jsonl").write_text('{"a": 1, "a": 2}\n')
    assert "a name stands twice" in fails("sample", "x.jsonl")
    Path("x.jsonl").write_text('{"a": 1}\n[2]\n')
    assert "line 2: expected a JSON object" in fails("sample", "x.jsonl")
    Path("x.jsonl").write_text('{"a": 1}\n{"b": 2}\n')
    assert "line 1, column 'b' (row 0;" in fails("sample", "x.jsonl")
    big = '{"a": 123456789012345678, "b": null, "c": [1]}\n{"a": null, "b": 2, "c": {}}\n'
    Path("x.jsonl").write_text(big)
    rows = warned("rows", "x.jsonl", "-k", 2)[0]["rows"]
    assert [row["a"] for row in rows] == [123456789012345678, None]
    assert rows[0]["c"] == "[1]"


# ---- numbers, codes and cells without a value


def test_codes_keep_their_zeros(call, warned):
    pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    Path("x.csv").write_text("zip,part,a\n06812,04E4,0\n10115,12,0.5\n007,5,-0\n")
    codes = [["06812", "04E4"], ["10115", "12"], ["007", "5"]]
    rows = warned("rows", "x.csv", "-k", 3)[0]["rows"]
    assert [[row["zip"], row["part"]] for row in rows] == codes
    assert [row["a"] for row in rows] == [0, 0.5, 0]
    assert call("rows", "x.csv", "-k", 3, "--out", "x.parquet")[0] == 0
    assert parquet.read_table("x.parquet")["zip"].to_pylist() == ["06812", "10115", "007"]
    _, err = warned("info", "x.csv", "--columns", "zip,a")
    assert "numbers with leading zeros in 'zip' (06812)" in err
    late = "zip,a\n" + "".join(f"{k},{k % 7}\n" for k in range(1, 5000)) + "007,3\n"
    Path("late.csv").write_text(late)
    found, _ = warned("rows", "late.csv", "-k", 4999, "--columns", "a")
    assert found["rows"][0]["zip"] == "1"


@pytest.mark.parametrize("word", ["", "#N/A", "<NA>", "-nan", "NULL", "-", "n.a.", "1.#QNAN"])
def test_words_for_a_missing_number_are_the_same_everywhere(call, fails, warned, word):
    pytest.importorskip("pandas")
    Path("x.csv").write_text(f"a,b\n1,2\n3,{word}\n4,4\n9,5\n2,2\n")
    _, err = warned("sample", "x.csv", "--missing", "drop", "--seed", 1)
    assert "1 of 5 rows have missing values" in err
    rows = warned("rows", "x.csv", "-k", 5)[0]
    assert rows["rows"][1]["b"] is None
    assert "number, 1 missing" in rows["columns"]["b"]
    assert "used: number, 1 missing" in warned("info", "x.csv")[0]["column b"]
    assert "pass --missing drop or median" in fails("sample", "x.csv")


def test_a_dash_is_a_value_among_text(call, warned):
    pytest.importorskip("pandas")
    Path("x.csv").write_text("strand,a\n" + "+,1\n-,2\n" * 4)
    found, err = warned("rows", "x.csv", "-k", 2)
    assert (found["columns"]["strand"], err) == ("used: category; 2 levels", "")


def test_a_column_that_is_nearly_numbers_is_named(call, warned):
    pytest.importorskip("pandas")
    Path("x.csv").write_text("a,b\n" + "".join(f"{k},{k * k % 7}\n" for k in range(9)) + "<5,1\n")
    _, err = warned("rows", "x.csv", "-k", 3)
    assert "column 'a' counts as text: 9 of 10 cells are numbers, but '<5' in row 9 is not" in err


def test_numbers_with_commas_are_not_left_out_without_a_word(call, warned):
    pytest.importorskip("pandas")
    Path("x.csv").write_text("Artikel;Preis;Menge\nBrot;1,50;1.200\nEi;3,20;35\nTee;9,50;76\n")
    for command in ("info", "rows"):
        _, err = warned(command, "x.csv", *(["-k", 2] if command == "rows" else []))
        assert "column 'Preis' counts as text: it holds numbers with commas, such as 1,50" in err


def test_thousands_are_no_decimal_commas(fails):
    Path("x.csv").write_text('a,b\n1,"975,163"\n2,3\n')
    assert "other signs, such as 975163\n" in fails("sample", "x.csv")
    assert "other signs" in fails("sample", "-", stdin=b'a,b\n"1,234,567.5",2\n2,3\n')


# ---- weights


def test_weights_are_one_column(call, fails):
    np.save("x.npy", np.arange(64.0).reshape(32, 2) ** 2)
    np.savetxt("w.csv", np.ones((16, 2)), delimiter=",")
    for words in (
        ("sample", "--weights"),
        ("shortlist", "--relevance"),
        ("landmarks", "--weights"),
    ):
        line = fails(words[0], "x.npy", words[1], "w.csv")
        assert f"{words[1]} w.csv: expected 32 numbers, one an item, got 16 x 2" in line
    Path("w.csv").write_text("".join(f"apple{k},{k}\n" for k in range(32)))
    line = fails("sample", "x.npy", "--weights", "w.csv")
    assert "--id" not in line
    assert "such a file holds one number for each item" in line


def test_numbers_of_items_have_no_zeros_in_front(call, fails):
    np.save("x.npy", np.random.default_rng(0).normal(size=(200, 2)))
    for name in ("007", "07", "00"):
        assert f"'{name}' is no item" in fails("sample", "x.npy", "--include", name)
    assert call("sample", "x.npy", "--include", "7", "-n", 1, "--seed", 1)[0] == 0
