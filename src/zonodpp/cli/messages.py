"""Errors, warnings and pieces of files as one line of text that no terminal misreads."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

# Errors that the library raises on purpose, with a message for people.
_EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError, ArithmeticError, Warning)
# What moves the cursor, changes colours, breaks lines, reverses the direction of writing or cannot
# be encoded: control characters without tab and newline, separators, overrides, lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_QUOTED = 60  # characters shown of a piece of a file
_IN_QUOTES = re.compile(r"""((?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|"(?:[^"\\]|\\.)*")""")
_LONGEST = 1000  # characters in a message; the advice stands at its end
_ENDING = 300  # the last characters of a longer message, which are kept


def printable(text: str) -> str:
    r"""Write control characters as JSON does, so that a file cannot control the terminal.

    Examples
    --------
    >>> from zonodpp.cli.messages import printable
    >>> print(printable("red \x1b[31m"))
    red \u001b[31m
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def quoted(text: str) -> str:
    """Quote a piece of a file in a message, and cut it where it is long.

    Examples
    --------
    >>> from zonodpp.cli.messages import quoted
    >>> quoted("heavy"), len(quoted("heavy" * 1000))
    ("'heavy'", 65)
    """
    return repr(text if len(text) <= _QUOTED else f"{text[:_QUOTED]}...")


def one_line(problem: Exception | str, options: Iterable[click.Parameter] = ()) -> str:
    """Return an error or a warning as one line: what is wrong, and what to do.

    The options of the command are written as at a shell: ``rank=2`` becomes ``--rank 2``.

    Examples
    --------
    >>> from zonodpp.cli.messages import one_line
    >>> one_line(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'a.csv: no such file or directory'
    """
    text = str(problem)
    if isinstance(problem, click.UsageError):
        path = problem.ctx.command_path if problem.ctx else "zonodpp"
        text = problem.format_message().rstrip(".")
        text = f"{text[:1].lower()}{text[1:]} (see '{path} --help')"
    elif isinstance(problem, OSError) and problem.strerror and problem.filename is None:
        text = problem.strerror
    elif isinstance(problem, OSError) and problem.strerror:
        text = f"{problem.filename}: {problem.strerror[:1].lower()}{problem.strerror[1:]}"
    # The library raises RuntimeError itself; those of Python have types of their own.
    elif not (isinstance(problem, (str, *_EXPECTED)) or type(problem) is RuntimeError):
        text = f"unexpected {type(problem).__name__}: {text}; --debug shows where, please report it"
    elif not text and isinstance(problem, MemoryError):
        text = "there is not enough memory for this"
    elif not text:
        text = f"{type(problem).__name__}; --debug shows where"
    else:
        text = _as_at_shell(text, options)
    line = printable(" ".join(text.split()))
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _ENDING]} ... {line[-_ENDING:]}"


def _as_at_shell(text: str, options: Iterable[click.Parameter]) -> str:
    """Write options as at a shell, but not in what is quoted: that comes from a file."""
    parts = _IN_QUOTES.split(text)
    for option in options:
        if not option.opts[-1].startswith("-"):
            continue
        # A name with an underscore is no word of English, so it is an option wherever it stands.
        end = r"(=|\b(?![=.]))" if "_" in str(option.name) else "(=)"
        named = re.compile(rf"(?<![\w.-]){option.name}{end}")
        for place in range(0, len(parts), 2):
            parts[place] = named.sub(rf"{option.opts[-1]} ", parts[place])
    return "".join(parts)
