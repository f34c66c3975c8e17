"""The command `zonodpp`: a thin layer over the library."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence

import click

from zonodpp._version import __version__
from zonodpp.cli import interface  # noqa: F401 - declares the commands
from zonodpp.cli.command import COMMANDS, DEBUG, epilog
from zonodpp.cli.messages import one_line

_INTERRUPTED = 130  # the exit code that shells give to a program ended by Ctrl-C
_FAILED = 2
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


class _InOrder(click.Group):
    """Commands in the order of their declaration; click would sort them by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(self.commands)


@click.group(
    cls=_InOrder,
    commands=COMMANDS,
    params=[DEBUG],
    invoke_without_command=True,
    context_settings=_SETTINGS,
    epilog=epilog(
        "  zonodpp info --example foods > foods.csv\n"
        "  zonodpp sample foods.csv --id food --draws 3 --seed 1"
    ),
)
@click.version_option(__version__, message="zonodpp %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Diverse subsets: r items out of n that differ from each other.

    Items are the rows of a file (.npy, .npz, .csv, .tsv, .parquet, .mtx, or - for standard input).
    Results go to standard output as text, --json or --csv, or with --out to a file.

    Completion of commands and options: see zonodpp completion --help.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit, with code 0, or after an error with code 2 and one line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words of the command line; those of this process by default.

    Examples
    --------
    >>> from zonodpp.cli import main
    >>> main(["--version"])
    Traceback (most recent call last):
    SystemExit: 0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    _fill_closed_streams()
    known = commands.commands
    called = next((known[word] for word in words if word in known), commands)
    warned: list[str] = []

    def show(message: Warning | str, *rest: object, **named: object) -> None:
        """Show a warning as one line, without the line of source that Python adds."""
        warned.append(str(message))
        click.echo(f"zonodpp: warning: {one_line(message, called.params)}", err=True)

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")  # those for developers
            for category in (UserWarning, RuntimeWarning):
                warnings.simplefilter("once", category)
        warnings.showwarning = show
        code = _exit_code(words, called.params)
    if code == 0 and any(text.startswith("interrupted") for text in warned):
        code = _INTERRUPTED  # the draws made until then have been written
    sys.exit(code)


def _fill_closed_streams() -> None:
    """Connect closed standard streams to the null device.

    Otherwise the next file that is opened gets the number of the closed stream, and what is meant
    for that stream is written into the file.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        continue  # the lowest free number was that of a closed stream
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends


def _drop_output() -> None:
    """Connect standard output to the null device, so that nothing waits for the rest of it."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(words: list[str], options: list[click.Parameter]) -> int:
    """Run a command line; write what is wrong with it to standard error."""
    try:
        code = commands.main(words, prog_name="zonodpp", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.Abort:  # Ctrl-C
        _drop_output()
        return _INTERRUPTED
    except BrokenPipeError:  # the program that reads the output has closed the pipe
        _drop_output()
        return 1
    except Exception as error:
        if "--debug" in words and not isinstance(error, click.UsageError):
            raise
        click.echo(f"zonodpp: {one_line(error, options)}", err=True)
        return _FAILED
    return code if isinstance(code, int) else 0
