"""Fixtures that run a command line in this process, as a plugin of the tests that name it."""

import io
import sys

import pytest

from zonodpp.cli import main


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run a command line in this process; return its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return run


@pytest.fixture
def fails(call):
    """Run a command line that has to fail with one line; return the line."""

    def run(*words, stdin=b""):
        code, out, err = call(*words, stdin=stdin)
        assert code == 2
        assert out == ""
        assert err.startswith("zonodpp: ")
        assert err.count("\n") == 1
        return err

    return run
