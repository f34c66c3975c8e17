"""Files that are damaged or made to do harm, and standard streams that are pipes or closed."""

import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import zonodpp.io.guards
from zonodpp._arguments import as_matrix
from zonodpp.cli.inputs import read_table
from zonodpp.cli.interface import Input
from zonodpp.cli.messages import one_line
from zonodpp.cli.read import Source

FOODS = "food,fat,water\napple,0.2,85.6\nbread,3.2,36\negg,9.5,76.2\n"
SQUARE = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]]))


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def npy(header):
    """Return a .npy file with this text as its header."""
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def save_parts(path, **changed):
    """Save a sparse matrix whose parts are changed; None leaves a part out."""
    parts = {"indices": SQUARE.indices, "indptr": SQUARE.indptr, "data": SQUARE.data}
    parts |= {"format": b"csr", "shape": SQUARE.shape} | changed
    np.savez(path, **{name: part for name, part in parts.items() if part is not None})


DAMAGED_PARTS = {
    "index too large": {"indices": np.array([0, 10**8, 1, 0], np.int32)},
    "index below zero": {"indices": np.array([0, -(10**8), 1, 0], np.int32)},
    "indptr too large": {"indptr": np.array([0, 2, 10**9, 4], np.int32)},
    "indptr falls": {"indptr": np.array([0, 4, 1, 4], np.int32)},
    "large shape": {"shape": (10**9, 10**9)},
    "large COO": {
        "format": b"coo",
        "shape": (10**9, 10**9),
        "row": np.zeros(4, np.int32),
        "col": np.zeros(4, np.int32),
    },
    "unknown format": {"format": b"xyz"},
    "format of no characters": {"format": np.full(3, 2**30, np.uint32).view("<U3").reshape(())},
    "no indptr": {"indptr": None},
    "text": {"data": np.array(["a", "b", "c", "d"])},
}


@pytest.mark.parametrize("name", DAMAGED_PARTS)
def test_sparse_archives_are_checked(name, fails, tmp_path):
    save_parts(tmp_path / "s.npz", **DAMAGED_PARTS[name])
    for words in (("info", "s.npz"), ("sample", "s.npz"), ("trees", "s.npz")):
        line = fails(*words)
        assert "s.npz" in line
        assert "unexpected" not in line
        assert "allocate" not in line


def test_every_sparse_layout_is_read(call, tmp_path):
    for layout in ("csr", "csc", "coo", "bsr", "dia"):
        sp.save_npz(tmp_path / f"{layout}.npz", SQUARE.asformat(layout))
        code, out, _ = call("info", f"{layout}.npz", "--csv")
        assert code == 0
        assert "rank,2" in out.splitlines()


def test_features_without_entries_are_refused_before_they_are_multiplied(fails, tmp_path):
    corner = sp.coo_array((np.ones(2), ([0, 1], [0, 1])), shape=(20_000, 20_000))
    sp.save_npz(tmp_path / "corner.npz", corner)
    for items in ("rows", "columns"):
        assert "only 2 of them" in fails("sample", "corner.npz", "--items", items)


def test_announced_sizes_are_compared_with_the_file(fails, tmp_path, monkeypatch):
    write(tmp_path / "huge.npy", npy("{'descr':'<f8','fortran_order':False,'shape':(10**9,9)}"))
    write(
        tmp_path / "long.npy", npy(f"{{'descr':'<f8','fortran_order':False,'shape':({10**9},9)}}")
    )
    write(tmp_path / "minus.npy", npy("{'descr':'<f8','fortran_order':False,'shape':(-4,-4)}"))
    write(
        tmp_path / "wide.npy", npy(f"{{'descr':'<f8','fortran_order':False,'shape':(0,{10**9})}}")
    )
    for name in ("huge.npy", "long.npy", "minus.npy", "wide.npy"):
        assert name in fails("info", name)
        assert "standard input" in fails("info", "-", stdin=(tmp_path / name).read_bytes())

    np.savez_compressed(tmp_path / "bomb.npz", np.zeros((10_000, 100)))
    write(
        tmp_path / "bomb.mtx",
        b"%%MatrixMarket matrix coordinate real general\n9999 9999 1\n1 1 1\n",
    )
    monkeypatch.setattr(zonodpp.io.guards, "LIMIT", 10**5)
    for name in ("bomb.npz", "bomb.mtx"):
        assert "it announces data of" in fails("info", name)


def test_a_parquet_file_of_repeated_numbers_is_not_unfolded(fails, tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": np.zeros(10**6), "b": np.zeros(10**6)}).to_parquet(
        tmp_path / "zeros.parquet"
    )
    monkeypatch.setattr(zonodpp.io.guards, "LIMIT", 10**5)
    assert "it announces data of" in fails("info", "zeros.parquet")


DAMAGED_HEADERS = {
    "nested": "-" * 9000 + "1",
    "brackets": "[" * 9000,
    "flipped quote": "{'descr\": '<f8', 'fortran_order': False, 'shape': (2, 2), }",
    "open string": "{'descr': '''<f8', 'fortran_order': False, 'shape': (2, 2), }",
    "keys that do not compare": "{1: 2, 'a': 3}",
    "not hashable": "{[]: 1}",
}


@pytest.mark.parametrize("name", DAMAGED_HEADERS)
def test_damaged_headers_of_arrays(name, fails, tmp_path):
    data = npy(DAMAGED_HEADERS[name])
    write(tmp_path / "x.npy", data)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", data)
    for file in ("x.npy", "x.npz"):
        line = fails("info", file)
        assert file in line
        assert "damaged" in line
        assert "unexpected" not in line


def test_archives_with_other_members(fails, tmp_path):
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("readme.txt", "not an array")
    assert "'readme.txt' is not an array" in fails("info", "text.npz")
    array = io.BytesIO()
    np.save(array, np.eye(2))
    with zipfile.ZipFile(tmp_path / "lzma.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.npy", array.getvalue())
    assert "damaged" in fails("info", "lzma.npz")


MATRIX_MARKET = {
    "junk": ("array real general\n2 2\n3.4 junk", "could not convert string 'junk'"),
    "garbage": ("coordinate real general\n2 2 1\n1 1 1.5garbage\n", "'1.5garbage'"),
    "index": ("coordinate real general\n2 2 1\n3 1 1.5\n", "outside the 2 rows"),
    "fraction": ("coordinate real general\n2 2 1\n1.5 1 1.5\n", "outside the 2 rows"),
    "few": ("coordinate real general\n2 2 2\n1 1 1.5\n", "announces 2 entries, but has 1"),
    "many": ("array real general\n2 1\n1\n2\n3\n", "announces 2 entries, but has 3"),
    "none": ("array real general\n2 1\n", "announces 2 entries, but has 0"),
    "ragged": ("coordinate real general\n2 2 2\n1 1 1.5\n1 2\n", "number of columns changed"),
    "narrow": ("coordinate real general\n2 2 1\n1 1\n", "has 2 numbers, not 3"),
    "size": ("array real general\n2 -2\n1\n", "as its size, got '2 -2"),
    "complex": ("array complex general\n1 1\n1 2\n", "'real'"),
    "skew": ("array real skew-symmetric\n2 2\n1\n", "its symmetry must be one of"),
    "square": ("array real symmetric\n2 3\n1\n", "2 rows and 3 columns"),
    "NUL": ("array real general\n2 1\n1\0\n2\n", "binary data"),
    "late NUL": ("array real general\n2 1\n" + "%" * 70_000 + "\n1\0\n2\n", "could not convert"),
}


@pytest.mark.parametrize("name", MATRIX_MARKET)
def test_damaged_matrix_market(name, fails, tmp_path):
    text, reason = MATRIX_MARKET[name]
    write(tmp_path / "x.mtx", f"%%MatrixMarket matrix {text}")
    assert reason in fails("info", "x.mtx")


def test_matrix_market_is_read_as_scipy_writes_it(call, tmp_path):
    from zonodpp.cli.read import open_source, read_array

    rng = np.random.default_rng(0)
    full = rng.integers(-3, 4, size=(5, 5)).astype(float)
    cases = [
        (full[:, :3], "general"),
        (full + full.T, "symmetric"),
    ]
    for matrix, symmetry in cases:
        for found in (matrix, sp.coo_array(matrix), matrix.astype(int)):
            scipy.io.mmwrite("x.mtx", found, comment="a comment", symmetry=symmetry)
            read = read_array(open_source("x.mtx"))
            assert sp.issparse(read) == sp.issparse(found)
            np.testing.assert_array_equal(read.toarray() if sp.issparse(read) else read, matrix)
    scipy.io.mmwrite("x.mtx", sp.coo_array((3, 4)))
    assert read_array(open_source("x.mtx")).shape == (3, 4)
    write("x.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n%\n\n2 2 2\n1 1\n\n2 1\n")
    read = read_array(open_source("x.mtx"))
    np.testing.assert_array_equal(read.toarray(), [[1, 1], [1, 0]])


def test_what_is_quoted_is_cut(fails, tmp_path):
    write(tmp_path / "w.edges", f"a b 1\nb c {'heavy' * 200_000}\n")
    write(tmp_path / "cell.csv", f"1,2\n3,{'x' * 100_000}\n")
    write(tmp_path / "name.csv", f"{'n' * 100_000},b\nx,2\n")
    for words in (("trees", "w.edges"), ("sample", "cell.csv"), ("sample", "name.csv")):
        assert len(fails(*words)) < 1200
    assert len(one_line(ValueError("long " * 10_000 + "pass --rank 2"))) < 1200
    assert one_line(ValueError("long " * 10_000 + "pass --rank 2")).endswith("pass --rank 2")


EVIL = "\x1b[31m\x07\x9b31m\u202e"


def is_clean(text):
    return not set(text) & set("\x1b\x07\x9b\u202e\r")


def test_control_characters_do_not_reach_the_terminal(call, tmp_path, monkeypatch):
    table = f"name,{EVIL}a,b\nx{EVIL},1,2\ny{EVIL},3,5\nz{EVIL},4,4\n"
    write(tmp_path / "t.csv", table)
    name = f"{EVIL}.csv"
    write(tmp_path / name, table)
    write(tmp_path / "g.edges", f"a{EVIL} b\nb c\nc a{EVIL}\n")
    for file in ("t.csv", name):
        for words in (
            ("sample", file, "--id", "name", "-n", 3),
            ("sample", file, "--id", "name", "-n", 3, "--json"),
            ("info", file, "--id", "name"),
            ("info", file, "--id", "name", "--json"),
            ("landmarks", file, "--id", "name", "-k", 2),
            ("shortlist", file, "--id", "name", "--relevance", "b", "-k", 1),
            ("sample", file),
            ("sample", file, "--id", "name", "--columns", "q"),
            ("volume", file),
            ("info", f"no{file}"),
        ):
            _, out, err = call(*words)
            assert out + err
            assert is_clean(out + err), words
    for words in (("trees", "g.edges"), ("trees", "g.edges", "-n", 3)):
        _, out, err = call(*words)
        assert out
        assert is_clean(out + err), words
    assert json.loads(call("info", name, "--id", "name", "--json")[1])["file"] == name
    # For another program the labels stay as they are; for a terminal they do not.
    words = ("sample", "t.csv", "--id", "name", "-n", 3, "--csv")
    assert EVIL in call(*words)[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert is_clean(call(*words)[1])


def test_weights_of_edges(fails, call, tmp_path):
    for weight in ("nan", "0", "-0.0", "inf"):
        write(tmp_path / "w.edges", f"a b 1\nb c {weight}\nb c {weight}\n")
        line = fails("trees", "w.edges")
        assert (
            f"line 2: expected two nodes and perhaps a positive, finite weight, got 'b c {weight}'"
            in line
        )
        assert call("trees", "w.edges", "--unweighted")[1] == "a b\nb c\n"


def test_the_delimiter_is_that_of_the_first_row_not_line():
    def read(text):
        return read_table(Input(id="0"), source=Source("x.csv", "csv", None, text.encode()))

    for text in (
        '"name, first\nand last, second";a;b\nx;1;2\n',
        '"a,b";"c,d,e"\nx;1\n',
        'name;"a\nb";"c,d,e,f"\nx;1;2\n',
        "\n\nname;a\nx;1\n",
        'name;5" pipe\nx;1\n',
    ):
        table = read(text)
        assert table.labels == ["x"]
        assert table.values[0, 0] == 1
    assert read("name,a;b\nx,1\n").labels == ["x"]


def test_wrong_advice(fails, call, monkeypatch):
    for items in ("rows", "columns"):
        line = fails("volume", "-", "--items", items, stdin=b"1,0\n2,0\n")
        assert "1 of 2 dimensions" in line
        assert "--rank" not in line
        assert "--jitter" not in line
    line = fails("summarize", "-", stdin=bytes(100))
    assert "binary" in line
    assert "--format" not in line
    monkeypatch.setitem(sys.modules, "networkx", None)
    line = fails("trees", "-", "--out", "t.graphml", stdin=b"a b\n")
    assert "pip install 'zonodpp[graph]'" in line


def test_long_lists_say_that_there_are_more():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({f"c{k}": ["x"] for k in range(12)})
    with pytest.raises(TypeError, match=r"c7, \.\.\. \(12 in all\)"):
        as_matrix(frame, "X")


def test_errors_of_the_library_are_expected():
    assert one_line(RuntimeError("a tree was not finished")) == "a tree was not finished"
    assert "unexpected RecursionError" in one_line(RecursionError("deep"))


# ---- standard streams


def shell(script, **settings):
    """Run a script in which $Z is the command."""
    words = {**os.environ, "Z": f"{sys.executable} -m zonodpp", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        ["bash", "-c", script], env=words, capture_output=True, timeout=120, text=True, **settings
    )


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is needed")
def test_pipes_as_files(tmp_path, call):
    write(tmp_path / "x.csv", FOODS)
    np.save(tmp_path / "x.npy", np.arange(12.0).reshape(6, 2) ** 2)

    def pipe(content):  # what a shell makes of <(command)
        reader, writer = os.pipe()
        os.write(writer, content)
        os.close(writer)
        return f"/dev/fd/{reader}"

    foods = (tmp_path / "x.csv").read_bytes()
    for words in (
        ["info", pipe(foods), "--id", "food"],
        ["info", pipe((tmp_path / "x.npy").read_bytes())],
        ["sample", "x.npy", "-n", "2", "--seed", "1", "--weights", pipe(b"1\n2\n3\n4\n5\n6\n")],
        ["trees", pipe(b"a b\n"), "--seed", "1"],
    ):
        code, out, err = call(*words)
        assert (code, err) == (0, ""), words
        assert words[0] != "info" or "rank" in out
    for script in (
        "cat x.csv | $Z info /dev/stdin --id food",
        "$Z info /dev/stdin --id food < x.csv",
        "mkfifo f; cat x.csv > f & $Z info f --id food",
    ):
        done = shell(script, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), script
        assert "rank" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is needed")
def test_closed_standard_streams(tmp_path):
    write(tmp_path / "x.csv", FOODS)
    done = shell("$Z info x.csv --id food --out a.json 2>&-", cwd=tmp_path)
    assert done.returncode == 0
    done = shell("$Z info none.csv 2>&-", cwd=tmp_path)
    assert done.returncode == 2
    done = shell("$Z info - <&-", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input is closed" in done.stderr
    done = shell("$Z info x.csv --id food --out b.json >&-", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()
    done = shell("$Z info x.csv --id food >&-", cwd=tmp_path)
    assert done.returncode == 2
    assert "standard output is closed; write to a file with --out" in done.stderr


@pytest.mark.parametrize("words", ["x.csv --id food --json", "--example foods"])
def test_no_standard_output(tmp_path, call, monkeypatch, words):
    write(tmp_path / "x.csv", FOODS)
    monkeypatch.setattr(sys, "stdout", None)  # what Python makes of a closed stream
    code, _, err = call("info", *words.split())
    assert code == 2
    assert "standard output is closed; write to a file with --out" in err
