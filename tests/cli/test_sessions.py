r"""Sessions at a terminal: files, commands, and how each command ends.

A line of a file in sessions/ is one of

    ## TITLE            a session, in an empty folder
    needs PACKAGES      what the session needs beside the package
    memory BYTES        the memory that the machine has for the commands that follow
    with WORDS          what "+" stands for at the beginning of the commands that follow
    NAME = EXPRESSION   a file, or one for each of {a,b}: text, an array, a graph, a table, ...
    $ WORDS             a command; {a,b} stands for several commands, and < NAME for its input
    ! TEXT              the command fails, and its one line of errors has this text
    > TEXT              the command works, and its output has this text
    = EXPRESSION        the command works, and this is its output
    ~ TEXT              a warning has this text; without such a line there are no warnings
    - TEXT              nothing that the command says has this text
    : EXPRESSION        true of `out`, `err`, and of `found`, which is its output with --json

"!" and ">" may also follow the words of a command on its line.
"""

import io
import itertools
import json
import re
import shlex
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

SESSIONS = Path(__file__).parent / "sessions"
NICKNAMES = {"networkx": "nx", "pandas": "pd", "pyarrow": "pa"}
FOODS = files("zonodpp").joinpath("data", "foods.csv").read_text("utf-8")
ARTICLE = files("zonodpp").joinpath("data", "article.txt").read_text("utf-8")
NAMES = {"np": np, "sp": sp, "json": json, "FOODS": FOODS, "ARTICLE": ARTICLE}
NAMES |= {"data": lambda name: Path(name).read_bytes()}
NAMES |= {"text": lambda name: Path(name).read_bytes().decode()}  # with its ends of lines
NAMES |= {"X": np.random.default_rng(0).integers(-9, 9, size=(12, 3)) + 0.5}


def npy(header):
    """Return a .npy file with this text as its header."""
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def zipped(members, method=zipfile.ZIP_STORED):
    """Return an archive of the members given, name -> bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def parts(**changed):
    """Return the arrays of a sparse matrix, some of them changed; None leaves one out."""
    matrix = sp.csr_array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])
    found = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data}
    found |= {"format": b"csr", "shape": matrix.shape} | changed
    return {name: part for name, part in found.items() if part is not None}


NAMES |= {"npy": npy, "zipped": zipped, "parts": parts}


def read_sessions():
    """Return title -> numbered lines, of all sessions."""
    found = {}
    for path in sorted(SESSIONS.glob("*.txt")):
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
            if line.startswith("## "):
                title = f"{path.stem}: {line[3:]}"
                assert title not in found, title
                found[title] = []
            elif line and not line.startswith("# "):
                found[title].append((f"{path.name}, line {number}: {line}", line))
    return found


def write(name, content):
    """Write a file in the format of its name."""
    if isinstance(content, bytes):
        Path(name).write_bytes(content)
    elif isinstance(content, str):
        Path(name).write_text(content, encoding="utf-8", newline="")
    elif name.endswith(".parquet") and hasattr(content, "to_parquet"):
        content.to_parquet(name)
    elif name.endswith(".parquet"):
        pytest.importorskip("pyarrow.parquet").write_table(content, name)
    elif name.endswith(".graphml"):
        pytest.importorskip("networkx").write_graphml(content, name)
    elif name.endswith(".mtx"):
        scipy.io.mmwrite(name, content)
    elif name.endswith(".npz") and sp.issparse(content):
        sp.save_npz(name, content)
    elif name.endswith(".npz"):
        np.savez(name, **content)
    else:
        np.save(name, content)


def alternatives(words):
    """Return the commands that braces stand for."""
    parts = re.split(r"\{([^{}]*,[^{}]*)\}", words)
    choices = [part.split(",") if k % 2 else [part] for k, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def check(call, command, ends, names, where):
    """Run a command and compare how it ends with the lines below it."""
    words, _, source = command.partition(" < ")
    words = shlex.split(words)
    if any(sign == ":" and "found" in text for sign, text, _ in ends):
        words.append("--json")
    code, out, err = call(*words, stdin=Path(source).read_bytes() if source else b"")
    signs = [sign for sign, _, _ in ends]
    said = f"{where}\n$ {' '.join(words)[:1000]}\nexit {code}\n{out[:2000]}\n{err[:2000]}"
    assert code == (2 if "!" in signs else 0), said
    if "!" in signs:
        assert out == "", said
        assert err.startswith("zonodpp: "), said
        assert "--debug shows where" not in err, said  # what is said of a defect
        assert err.count("\n") == 1 + signs.count("~"), said
    elif "~" not in signs:
        assert err == "", said
    names = names | {"out": out, "err": err}
    if "--json" in words and code == 0:
        names["found"] = json.loads(out, parse_constant=pytest.fail)
    for sign, text, line in ends:
        true = {
            "!": lambda text=text: text in err,
            "~": lambda text=text: text in err,
            ">": lambda text=text: text in out,
            "-": lambda text=text: text not in out + err,
            "=": lambda text=text: out == eval(text, names),
            ":": lambda text=text: eval(text, names),
        }[sign]
        assert true(), f"{line}\n{said}"


ALL = read_sessions()


def play(session, call, monkeypatch):
    """Write the files of a session and check its commands; a command ends where another begins."""
    names, commands, plus = dict(NAMES), [], ""
    for where, line in [*session, ("", "$")]:
        sign, _, text = line.partition(" ")
        if sign in tuple("!>=~-:"):
            commands[-1][1].append((sign, text, where))
            continue
        for command, ends, place in commands:
            for words in alternatives(command):
                check(call, words, ends, names, place)
        commands.clear()
        if sign == "$" and text:
            words, sign, said = (*re.split(r" ([!>]) ", text, maxsplit=1), "", "")[:3]
            words = re.sub(r"^\+", plus, words)
            commands.append((words, [(sign, said, where)] if sign else [], where))
        elif sign == "needs":
            for package in text.split():
                names[NICKNAMES.get(package, package)] = pytest.importorskip(package)
        elif sign == "with":
            plus = text
        elif sign == "memory":
            memory = int(text)
            monkeypatch.setattr("zonodpp.cli.large.physical_memory", lambda memory=memory: memory)
        elif text.startswith("= "):
            for name in alternatives(sign):
                write(name, eval(text[2:], names))
        elif sign != "$":
            raise ValueError(f"expected a line of a session, got {where!r}")


@pytest.mark.parametrize("title", ALL)
def test_session(title, call, monkeypatch):
    play(ALL[title], call, monkeypatch)


WRONG = [
    "$ sample x.csv -n 1",  # a warning that nobody expects: the seed
    "$ info x.csv ! rank",
    "$ info x.csv > rank 7",
    "$ info x.csv > rank\n- rank",
    "$ info x.csv > rank\n~ rank",
    "$ info x.csv\n= 'rank'",
    "$ info x.csv\n: found['rank'] == 7",
    "$ info none.csv",
    "$ info none.csv ! another",
    "$ info {x,none}.csv > rank",
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_session_that_ends_otherwise_is_rejected(wrong, call, monkeypatch):
    Path("x.csv").write_text("1,2\n2,1\n3,5\n")
    with pytest.raises(AssertionError):
        play([(line, line) for line in wrong.split("\n")], call, monkeypatch)
