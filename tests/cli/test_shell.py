"""The command at a shell: examples of --help, pipes, closed streams, Ctrl-C, completion."""

import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from zonodpp.cli import commands, main
from zonodpp.cli.info import EXAMPLES

BIN = Path(sys.executable).parent
COMMAND = str(BIN / "zonodpp")
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "MPLBACKEND": "agg"}
DATA = Path(__file__).parents[2] / "src" / "zonodpp" / "data"

pytestmark = pytest.mark.skipif(not os.path.exists(COMMAND), reason="zonodpp is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(DATA / "foods.csv", tmp_path)
    return tmp_path


def run(words, **settings):
    return subprocess.run(
        [COMMAND, *words], capture_output=True, env=ENVIRONMENT, timeout=120, **settings
    )


def run_here(monkeypatch, words, piped):
    """Run the command in this process; return what it wrote, which may be no text."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    for name, stream in zip(
        ("stdin", "stdout", "stderr"), (io.TextIOWrapper(io.BytesIO(piped)), out, err), strict=True
    ):
        monkeypatch.setattr(sys, name, stream)
    with pytest.raises(SystemExit) as end:
        main(words)
    out.flush()
    err.flush()
    assert (end.value.code, err.buffer.getvalue()) == (0, b"")
    return out.buffer.getvalue()


@pytest.mark.parametrize("name", ["", *commands.commands])
def test_examples_of_help_work(name, tmp_path, monkeypatch):
    """Every line after "Example:" in --help is run here as a shell would."""
    monkeypatch.chdir(tmp_path)
    text = run_here(monkeypatch, [*name.split(), "--help"], b"").decode()
    example = text.split("Example:\n")[1].splitlines()
    assert example
    for line in example:
        pipeline, _, file = line.partition(" > ")
        written = b""
        for command in pipeline.split(" | "):
            words = shlex.split(command)
            if words[0] == "zonodpp":
                written = run_here(monkeypatch, words[1:], written)
            else:
                written = subprocess.run(words, capture_output=True, check=True).stdout
        assert written or "--out" in line
        if file:
            Path(file).write_bytes(written)


def test_bad_input_is_one_line_of_the_installed_command(folder):
    done = run(["sample", "none.csv"])
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"zonodpp: none.csv: no such file")
    assert done.stderr.count(b"\n") == 1


def test_completion(call):
    for shell in ("bash", "zsh", "fish"):
        assert "_ZONODPP_COMPLETE" in call("completion", shell)[1]
    words = {**ENVIRONMENT, "_ZONODPP_COMPLETE": "bash_complete"}
    words |= {"COMP_WORDS": "zonodpp sample --ch", "COMP_CWORD": "2"}
    done = subprocess.run([COMMAND], env=words, capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["plain,--chains", "plain,--checkpoint"]


def test_a_reader_that_has_seen_enough(folder):
    script = f"{COMMAND} sample foods.csv --id food --csv -n 50000 --seed 1 | head -1"
    script += "; exit ${PIPESTATUS[0]}"
    for unbuffered in ("", "1"):
        settings = {**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(["bash", "-c", script], env=settings, capture_output=True)
        assert (done.returncode, done.stderr) == (1, b"")
        assert done.stdout.startswith(b"chain,draw,item_0")


# The command, which sends itself Ctrl-C when the first draws have been stored.
INTERRUPTED = """
import os, signal, sys
from zonodpp.cli import main
from zonodpp.runs.groups import Run

store = Run.store

def store_and_stop(self, index, done):
    store(self, index, done)
    if done.group.drawn:
        os.kill(os.getpid(), signal.SIGINT)

Run.store = store_and_stop
# A process that was started in the background ignores SIGINT, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to send")
def test_ctrl_c_keeps_the_draws(folder):
    words = ["sample", "foods.csv", "--id", "food", "--method", "exchange", "--seconds", "60"]
    words += ["--seed", "1", "--thin", "100", "--checkpoint", "run.checkpoint", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *words], env=ENVIRONMENT, capture_output=True
    )
    out, err = done.stdout, done.stderr
    assert done.returncode == 130
    assert err.startswith(b"zonodpp: warning: interrupted: ")
    assert err.count(b"\n") == 1
    assert json.loads(out)["draws"] > 0


def test_debug_shows_the_traceback(folder):
    for words in (["--debug", "sample", "none.csv"], ["sample", "none.csv", "--debug"]):
        done = run(words, text=True)
        assert done.returncode != 0
        assert "Traceback" in done.stderr


def test_python_dash_m(folder):
    words = [sys.executable, "-m", "zonodpp", "--version"]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, check=True, text=True)
    assert done.stdout.startswith("zonodpp ")


def test_help_needs_no_heavy_imports():
    """The commands and their help import click and the standard library alone."""
    script = """
import sys, types
package = types.ModuleType("zonodpp")
package.__path__ = [sys.argv[1]]
sys.modules["zonodpp"] = package
import zonodpp.cli
for words in (["--help"], ["sample", "--help"], ["info", "--no-such-option"]):
    try:
        zonodpp.cli.main(words)
    except SystemExit:
        pass
heavy = {"numpy", "scipy", "numba", "networkx", "pandas", "sklearn", "matplotlib"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run(
        [sys.executable, "-c", script, str(DATA.parent)], check=True, capture_output=True
    )


def test_every_example_can_be_asked_for():
    [option] = [p for p in commands.commands["info"].params if p.name == "example"]
    assert list(option.type.choices) == list(EXAMPLES)


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to send")
def test_ctrl_c_ends_a_write_that_nobody_reads(folder):
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from zonodpp.cli import main\nmain()"
    words = ["sample", "foods.csv", "--id", "food", "-n", "60000", "--seed", "1", "--csv"]
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


# ---- standard streams


def shell(script):
    """Run a script in which $Z is the command."""
    words = {**os.environ, "Z": f"{sys.executable} -m zonodpp", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        ["bash", "-c", script], env=words, capture_output=True, timeout=120, text=True
    )


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is needed")
def test_pipes_as_files(folder, call):
    np.save("x.npy", np.arange(12.0).reshape(6, 2) ** 2)

    def pipe(content):  # what a shell makes of <(command)
        reader, writer = os.pipe()
        os.write(writer, content)
        os.close(writer)
        return f"/dev/fd/{reader}"

    for words in (
        ["info", pipe(Path("foods.csv").read_bytes()), "--id", "food"],
        ["info", pipe(Path("x.npy").read_bytes())],
        ["sample", "x.npy", "-n", "2", "--seed", "1", "--weights", pipe(b"1\n2\n3\n4\n5\n6\n")],
        ["trees", pipe(b"a b\n"), "--seed", "1"],
    ):
        code, out, err = call(*words)
        assert (code, err) == (0, ""), words
        assert words[0] != "info" or "rank" in out
    for script in (
        "cat foods.csv | $Z info /dev/stdin --id food",
        "$Z info /dev/stdin --id food < foods.csv",
        "mkfifo f; cat foods.csv > f & $Z info f --id food",
    ):
        done = shell(script)
        assert (done.returncode, done.stderr) == (0, ""), script
        assert "rank" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is needed")
def test_closed_standard_streams(folder):
    done = shell("$Z info foods.csv --id food --out a.json 2>&-")
    assert done.returncode == 0
    done = shell("$Z info none.csv 2>&-")
    assert done.returncode == 2
    done = shell("$Z info - <&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input is closed" in done.stderr
    done = shell("$Z info foods.csv --id food --out b.json >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "b.json").read_bytes() == (folder / "a.json").read_bytes()
    done = shell("$Z info foods.csv --id food >&-")
    assert done.returncode == 2
    assert "standard output is closed; write to a file with --out" in done.stderr
