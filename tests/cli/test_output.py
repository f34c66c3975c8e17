"""What is written: in blocks, in the encoding of the terminal, and never over another file."""

import io
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import zonodpp.io.files
from zonodpp import ProjectionDPP, sample
from zonodpp.cli import commands, main
from zonodpp.cli.draws import describe
from zonodpp.cli.messages import one_line
from zonodpp.cli.output import BLOCK, Destination, Parts, write_result

FOODS = "food,fat,water\napple,0.2,85.6\nbread,3.2,36\negg,9.5,76.2\n"


@pytest.fixture
def foods(call):
    Path("foods.csv").write_text(FOODS)
    return ("foods.csv", "--id", "food")


def run_encoded(monkeypatch, encoding, *words):
    """Run a command line whose standard output has an encoding; return code and bytes."""
    out = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit) as end:
        main(list(map(str, words)))
    out.flush()
    return end.value.code, out.buffer.getvalue()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_that_lacks_characters_gets_the_result(call, capsys, monkeypatch, encoding):
    Path("x.csv").write_text("name,a\n\u0394\u2603,1\ncaf\xe9\U0001f95a,2\n", encoding="utf-8")
    words = ("sample", "x.csv", "--id", "name", "-n", 2, "--seed", 1)
    plain = json.loads(call(*words, "--json")[1])
    code, out = run_encoded(monkeypatch, encoding, *words, "--json")
    found = json.loads(out.decode(encoding))
    assert (code, found["labels"]) == (0, plain["labels"])
    assert capsys.readouterr().err == ""
    for form in ((), ("--csv",)):
        code, out = run_encoded(monkeypatch, encoding, *words, *form)
        assert code == 0
        assert rb"\u0394\u2603" in out or rb"\ud83e\udd5a" in out
        assert f"standard output is {encoding}" in capsys.readouterr().err


def test_long_results_are_written_in_parts(tmp_path, monkeypatch, capsys):
    made = []

    def parts():
        for k in range(3):
            made.append(k)
            yield [[k, k + 1]] * 2

    class Watched(io.StringIO):
        encoding = "utf-8"

        def write(self, text):
            seen.append(list(made))
            return super().write(text)

    seen, out = [], Watched()
    monkeypatch.setattr(sys, "stdout", out)
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(2, 5)))
    draws = sample(target, BLOCK + 3, rng=1, chains=2)
    result = describe(draws, 1)
    write_result(
        type(result)("", {"x": [Parts(parts)], "y": [], "z": {}}, ()),
        Destination(True, False, None),
    )
    assert json.loads(out.getvalue()) == {
        "x": [[[k, k + 1] for k in (0, 0, 1, 1, 2, 2)]],
        "y": [],
        "z": {},
    }
    assert [0] in seen  # the first part is written before the second is made
    for form in (True, False):
        out.truncate(0)
        out.seek(0)
        write_result(result, Destination(form, not form, None))
        if form:
            found = json.loads(out.getvalue())
            assert found["subsets"] == draws.subsets.tolist()
            assert "labels" not in found
        else:
            rows = np.loadtxt(io.StringIO(out.getvalue()), delimiter=",", skiprows=1)
            assert np.array_equal(rows[:, 2:].reshape(draws.subsets.shape), draws.subsets)
            assert rows[-1, :2].tolist() == [1, BLOCK + 2]


def test_places_are_checked_before_the_work(fails, foods, monkeypatch):
    for module in ("trees", "draws"):
        name = f"zonodpp.cli.{module}.run_sample"
        monkeypatch.setattr(name, lambda *_: pytest.fail("it has begun"))
    Path("a.edges").write_text("a b\nb c\nc a\n")
    assert "such a file holds one tree" in fails("trees", "a.edges", "-n", 2, "--out", "t.edges")
    os.mkdir("folder.csv")
    assert "--out" in fails("sample", *foods, "--out", "folder.csv")
    if os.path.isdir("/proc/self"):  # a folder in which not even root creates a file
        line = fails("sample", *foods, "--out", "/proc/self/x.csv")
        assert "cannot write /proc/self/x.csv" in line


def test_a_link_to_a_file_of_the_command_is_not_overwritten(fails, foods):
    os.symlink("foods.csv", "link.csv")
    assert "would overwrite the file of FILE" in fails("sample", *foods, "--out", "./link.csv")
    assert Path("foods.csv").read_text() == FOODS


def test_a_full_disk_is_named(call, fails, foods, monkeypatch):
    def full(*_):
        raise OSError("36864 requested and 0 written")

    monkeypatch.setattr(np, "save", full)
    line = fails("sample", *foods, "--out", "x.npy")
    assert line == "zonodpp: cannot write x.npy: there is no space left\n"
    assert sorted(os.listdir()) == ["foods.csv"]
    assert zonodpp.io.files.check_place("x.npy") is None


def test_options_are_named_as_at_a_shell_but_not_in_cells():
    options = commands.commands["sample"].params
    said = one_line(
        ValueError("got 'a rank=3 b'; pass rank=2, expected_size must be less"), options
    )
    assert said == "got 'a rank=3 b'; pass --rank 2, --expected-size must be less"


def test_errors_are_one_line_and_cut(fails, foods, monkeypatch):
    def broken(*_, **__):
        raise KeyError("oops")

    assert one_line(ValueError("long " * 10_000 + "pass --rank 2")).endswith("pass --rank 2")
    assert len(one_line(ValueError("long " * 10_000 + "pass --rank 2"))) < 1200
    assert one_line(RuntimeError("a tree was not finished")) == "a tree was not finished"
    assert "unexpected RecursionError" in one_line(RecursionError("deep"))
    monkeypatch.setattr("zonodpp.cli.draws.rows_to_sample", broken)
    assert "unexpected KeyError: 'oops'; --debug shows where" in fails("sample", "foods.csv")
    with pytest.raises(KeyError):
        main(["sample", "foods.csv", "--debug"])


def test_long_lists_say_that_there_are_more():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({f"c{k}": ["x"] for k in range(12)})
    with pytest.raises(TypeError, match=r"c7, \.\.\. \(12 in all\)"):
        ProjectionDPP.from_features(frame)


@pytest.mark.parametrize("words", ["foods.csv --id food --json", "--example foods"])
def test_no_standard_output(call, foods, monkeypatch, words):
    monkeypatch.setattr(sys, "stdout", None)  # what Python makes of a closed stream
    code, _, err = call("info", *words.split())
    assert code == 2
    assert "standard output is closed; write to a file with --out" in err


# ---- control characters

EVIL = "\x1b[31m\x07\x9b31m\u202e"


def is_clean(text):
    return not set(text) & set("\x1b\x07\x9b\u202e\r")


def test_control_characters_do_not_reach_the_terminal(call, monkeypatch):
    table = f"name,{EVIL}a,b\nx{EVIL},1,2\ny{EVIL},3,5\nz{EVIL},4,4\n"
    Path("t.csv").write_text(table)
    name = f"{EVIL}.csv"
    Path(name).write_text(table)
    Path("g.edges").write_text(f"a{EVIL} b\nb c\nc a{EVIL}\n")
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
