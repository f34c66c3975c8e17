"""Errors and warnings as one line, in the words of the command line."""

from __future__ import annotations

import re

import click

# What the library calls its arguments, people at a shell write with dashes: rank=3 is --rank 3.
_OPTIONS = (
    *("algorithm", "answer", "burn_in", "chains", "checkpoint", "diversity", "draws"),
    *("expected_size", "features", "jitter", "language", "method", "power", "preset", "query"),
    *("rank", "rel_error", "rule", "seconds", "sentences", "thin", "track", "transformer"),
    *("weight", "weights", "workers"),
)
_ARGUMENT = re.compile(rf"\b({'|'.join(_OPTIONS)})=('?)(\[?[\w.+-]+\]?)\2")
_PHRASES = {
    "for features use from_features(X) or ProjectionDPP(A)": "for features leave out --kernel",
    " to from_features": "",
    "use ProjectionDPP(A)": "pass --items columns",
    "use from_features(X)": "pass --items rows",
    "pass G.to_undirected()": "pass --undirected",
    "n_landmarks": "--number",
    "sample_weight": "--weights",
}
_EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError, ArithmeticError)
# What moves the cursor, changes colours, breaks lines, reverses the direction of writing or cannot
# be encoded: control characters without tab and newline, separators, overrides, lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_QUOTED = 60  # characters shown of a piece of a file
_LONGEST = 1000  # characters in a message, in which the advice stands at the end
_ENDING = 300  # of those, the last ones that are kept


def printable(text: str) -> str:
    r"""Write control characters as JSON does, so that a file cannot steer the terminal.

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


def one_line(problem: Exception | str) -> str:
    """Say what is wrong and what to do, in one line.

    Examples
    --------
    >>> from zonodpp.cli.messages import one_line
    >>> one_line(ValueError("X has rank 2 but 3 columns: pass rank=2 to from_features"))
    'X has rank 2 but 3 columns: pass --rank 2'
    >>> one_line(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'a.csv: no such file or directory'
    """
    if isinstance(problem, click.UsageError):
        path = problem.ctx.command_path if problem.ctx else "zonodpp"
        text = problem.format_message().rstrip(".")
        return _flat(f"{text[:1].lower()}{text[1:]} (see '{path} --help')")
    if isinstance(problem, click.ClickException):
        return _flat(problem.format_message())
    if isinstance(problem, OSError) and problem.filename is not None and problem.strerror:
        return _flat(f"{problem.filename}: {problem.strerror[:1].lower()}{problem.strerror[1:]}")
    if isinstance(problem, Exception) and not _is_expected(problem):
        name = type(problem).__name__
        return _flat(f"unexpected {name}: {problem}; --debug shows where, please report it")
    text = str(problem) or f"{type(problem).__name__}; --debug shows where"
    for library, here in _PHRASES.items():
        text = text.replace(library, here)
    return _flat(_ARGUMENT.sub(_as_option, text))


def _is_expected(problem: Exception) -> bool:
    # The library raises RuntimeError itself; those of Python have types of their own.
    return isinstance(problem, (*_EXPECTED, Warning)) or type(problem) is RuntimeError


def _as_option(found: re.Match[str]) -> str:
    return f"--{found[1].replace('_', '-')} {found[3]}"


def _flat(text: str) -> str:
    line = printable(" ".join(text.split()))
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _ENDING]} ... {line[-_ENDING:]}"
