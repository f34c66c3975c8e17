"""What is written: in blocks, in the encoding of the terminal, and never over another file."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import zonodpp.io.files
from zonodpp import ProjectionDPP, sample
from zonodpp.cli import main
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


def test_line_ends_in_names_break_no_line(call):
    Path("x.csv").write_text('name,a,"b\nc"\n"one\ntwo",1,4\nx,2,1\ny,3,3\n')
    for words in (("info",), ("sample", "-n", 30, "--seed", 1)):
        lines = call(words[0], "x.csv", "--id", "name", *words[1:])[1].splitlines()
        assert not any(line.startswith(("two", "c")) for line in lines if not line.startswith("co"))
    out = call("rows", "x.csv", "-k", 2)[1]
    assert "b c " in out


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


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to send")
def test_ctrl_c_ends_a_write_that_nobody_reads(foods):
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from zonodpp.cli import main\nmain()"
    words = ["sample", *foods, "-n", "60000", "--seed", "1", "--csv"]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.read(1) == b"c"  # the pipe is full soon, and the process waits
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert b"Traceback" not in process.stderr.read()
    process.stdout.close()
    process.stderr.close()


def test_places_are_checked_before_the_work(call, fails, foods, monkeypatch):
    for module in ("trees", "draws"):
        name = f"zonodpp.cli.{module}.run_sample"
        monkeypatch.setattr(name, lambda *_: pytest.fail("it has begun"))
    Path("a.edges").write_text("a b\nb c\nc a\n")
    for words in (("-n", 2), ("--chains", 2), ("--seconds", 1)):
        for name in ("t.edges", "t.graphml", "T.TXT"):
            line = fails("trees", "a.edges", *words, "--out", name)
            assert "such a file holds one tree; pass --draws 1" in line
    os.mkdir("folder.csv")
    assert "--out" in fails("sample", *foods, "--out", "folder.csv")
    if os.path.isdir("/proc/self"):  # a folder in which not even root creates a file
        assert "cannot write /proc/self/x.csv" in fails(
            "sample", *foods, "--out", "/proc/self/x.csv"
        )


def test_files_of_the_command_are_not_overwritten(call, fails, foods):
    Path("w.csv").write_text("1\n2\n3\n")
    os.symlink("foods.csv", "link.csv")
    for words, says in (
        (
            ("landmarks", *foods, "--out", "foods.csv"),
            "--out foods.csv would overwrite the file of",
        ),
        (("sample", *foods, "--out", "./link.csv"), "would overwrite the file of FILE"),
        (("sample", *foods, "--weights", "w.csv", "--out", "w.csv"), "the file of --weights"),
        (("shortlist", *foods, "--relevance", "w.csv", "--out", "w.csv"), "file of --relevance"),
        (("sample", *foods, "--checkpoint", "r.npz", "--out", "r.npz"), "the file of --checkpoint"),
        (("sample", *foods, "--checkpoint", "foods.csv"), "--checkpoint foods.csv would overwrite"),
    ):
        assert says in fails(*words)
    assert Path("foods.csv").read_text() == FOODS


def test_rows_read_in_passes_are_not_saved_with_their_draws(call, fails, monkeypatch):
    np.save("x.npy", np.random.default_rng(0).normal(size=(40, 2)))
    monkeypatch.setattr("zonodpp.cli.large.physical_memory", lambda: 1)
    code, out, err = call("sample", "x.npy", "-n", 2, "--out", "x.npz")
    assert (code, out) == (2, "")
    assert "--out draws.npy, .csv or .parquet has the draws alone" in err
    assert call("sample", "x.npy", "-n", 2, "--seed", 1, "--out", "d.npy")[0] == 0


def test_a_full_disk_is_named(call, fails, foods, monkeypatch):
    def full(*_):
        raise OSError("36864 requested and 0 written")

    monkeypatch.setattr(np, "save", full)
    line = fails("sample", *foods, "--out", "x.npy")
    assert line == "zonodpp: cannot write x.npy: there is no space left\n"
    assert sorted(os.listdir()) == ["foods.csv"]
    assert zonodpp.io.files.check_place("x.npy") is None


def test_examples_have_one_ending(call, fails):
    for name, wrong in (("digits", "d.csv"), ("foods", "f.npy"), ("graph", "g.csv")):
        assert "--out" in fails("info", "--example", name, "--out", wrong)
    assert call("info", "--example", "graph", "--out", "g.edges")[0] == 0


def test_options_are_named_as_at_a_shell_but_not_in_cells():
    from zonodpp.cli import commands

    options = commands.commands["sample"].params
    said = one_line(
        ValueError("got 'a rank=3 b'; pass rank=2, expected_size must be less"), options
    )
    assert said == "got 'a rank=3 b'; pass --rank 2, --expected-size must be less"


def test_advice_of_single_options(call, fails, foods):
    line = fails("sample", *foods, "--size", 40)
    assert line.endswith(
        "--size 40: foods.csv has 2 features and 3 items, so that draws have at most 2 items\n"
    )
    assert "--expected-size must be between" in fails("sample", *foods, "--expected-size", 9)
    words = ("shortlist", *foods, "--relevance", "fat", "-k", 1, "--include", "egg")
    assert "'egg' cannot be in the draw and not in it" in fails(*words, "--exclude", "egg")
    err = call("sample", *foods, "--method", "exchange", "--seconds", 60, "-n", 1)[2]
    assert "begins with the same draws; how many depends on the time" in err


def test_a_short_shortlist_says_why(call):
    rows = [[1, 0, 0, 5], [1, 1e-4, 0, 5], [1, 0, 1e-4, 5], [1, 1e-4, 1e-4, 5]]
    lines = ["a,b,c,d,r", *(",".join(map(str, [*row, k])) for k, row in enumerate(rows))]
    Path("x.csv").write_text("\n".join(lines) + "\n")
    words = ("shortlist", "x.csv", "--relevance", "r", "-k", 3, "--json")
    code, out, err = call(*words)
    assert (code, len(json.loads(out)["indices"])) == (0, 1)
    assert "1 of 3 items: the others are near-duplicates" in err
    code, out, err = call(*words, "--duplicates", 2)
    assert (len(json.loads(out)["indices"]), err) == (3, "")


def test_words_that_have_no_effect_on_a_summary_are_named(call):
    pytest.importorskip("sentencex")
    Path("x.txt").write_text("Cats sleep all day. Dogs bark at night. Birds sing at dawn.")
    words = ("summarize", "x.txt", "-k", 1)
    assert "no word of --query 'volcano' is in x.txt" in call(*words, "--query", "volcano")[2]
    assert call(*words, "--query", "dog")[2] == ""
    assert "--language ja: no stemmer is known" in call(*words, "--language", "ja")[2]
    assert call(*words, "--language", "de")[2] == ""


# ---- edge lists


def test_quotes_around_names_of_nodes(call, fails):
    Path("q.csv").write_text('source,target\na,"b"\n"b","c ""d"", e"\n')
    code, out, err = call("trees", "q.csv", "--seed", 1)
    assert (code, out) == (0, 'a b\nb "c ""d"", e"\n')
    assert "first row is taken as names of columns" in err
    Path("again.edges").write_text(out)
    assert call("trees", "again.edges", "--seed", 1)[1] == out
    assert "a quote is not closed" in fails("trees", "-", stdin=b'a "b\nb c\n')
    assert "'New York' has blanks between" in fails("trees", "-", stdin=b"New York,Boston\na,b\n")
    assert call("trees", "-", "--seed", 1, stdin=b"a|b\nb | c\n")[1] == "a b\nb c\n"


def test_a_headed_edge_list_on_standard_input(call, fails):
    code, out, err = call("trees", "-", "--seed", 1, stdin=b"source,target\na,b\nb,c\n")
    assert (code, out, err.count("\n")) == (0, "a b\nb c\n", 1)
    assert call("trees", "-", "--seed", 1, stdin=b"u v\nv w\n") == (0, "u v\nv w\n", "")
    assert "disconnected" in fails("trees", "-", stdin=b"a b\nc d\n")
