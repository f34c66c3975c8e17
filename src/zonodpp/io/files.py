"""Files that appear whole under their name or not at all: the one way this package writes them."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import secrets
from collections.abc import Iterator
from typing import IO

try:
    import fcntl
except ImportError:  # not Unix: files are not locked, and those left over are not removed
    fcntl = None  # type: ignore[assignment]

_SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")  # NumPy's words for a full disk


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a temporary file, which replaces ``path`` in one instant at the end.

    Whatever happens, power cuts included, the path holds either the old file or the new one. The
    temporary file lies in the same folder, has the same ending, and is locked while it is written:
    one that is not locked was left by a process that was killed, and the next write to the same
    path removes it.

    Raises
    ------
    OSError
        If the file cannot be written; one that was there before is untouched.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from zonodpp.io.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as temporary:
    ...         _ = Path(temporary).write_text("new")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('a.txt', 'new')]
    """
    with _readable_errors(path):
        place, temporary = _places(path)
        sweep(place)
        with open(temporary, "xb") as lock:  # open until the file is in place
            try:
                with contextlib.suppress(OSError):  # a file system without locks
                    _lock(lock)
                yield temporary
                _sync(temporary)
                os.replace(temporary, place)
                with contextlib.suppress(OSError):  # not every system lets a folder be opened
                    _sync(os.path.dirname(place))
            finally:
                with contextlib.suppress(OSError):  # after a success there is none
                    os.remove(temporary)


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise the error of `replacing` now if no file can be written there, before any work is done.

    Examples
    --------
    >>> from zonodpp.io.files import check_place
    >>> check_place("no such folder/a.txt")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] cannot write no such folder/a.txt: No such file or directory
    """
    with _readable_errors(path):
        _, temporary = _places(path)
        with open(temporary, "xb"):
            pass
        os.remove(temporary)


@contextlib.contextmanager
def _readable_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise an OSError that names the file; NumPy's own says how many entries were written."""
    try:
        yield
    except OSError as error:
        full = "there is no space left" if _SHORT_WRITE.fullmatch(str(error)) else ""
        reason = f"cannot write {os.fspath(path)}: {full or error.strerror or error}"
        raise OSError(error.errno or errno.EIO, reason) from error


def _places(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the real path of a file, since a link stays a link, and a temporary one beside it."""
    place = os.path.realpath(path)
    if os.path.exists(place) and not os.path.isfile(place):
        raise OSError(errno.EISDIR, "it is not a regular file")
    start, ending = _parts(place)
    return place, f"{start}{secrets.token_hex(4)}.tmp{ending}"


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files of this path that killed processes have left."""
    start, _ = _parts(os.path.realpath(path))
    for left in glob.glob(f"{glob.escape(start)}{'[0-9a-f]' * 8}.tmp*") if fcntl else ():
        with contextlib.suppress(OSError), open(left, "rb+") as file:
            _lock(file)  # an OSError if the process that writes it is alive
            os.remove(left)


def _parts(place: str) -> tuple[str, str]:
    """Return how paths of temporary files for this place begin and end.

    Names may have 255 bytes, so of long names and endings only a part is kept.
    """
    folder, name = os.path.split(place)
    return os.path.join(folder, f".{name[:40]}."), os.path.splitext(name)[1][:10].lower()


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed, also by the death of the process; OSError if it is locked."""
    if fcntl is None:
        file.close()  # such systems do not rename open files
    else:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync(path: str) -> None:
    """Make a file, or the names in a folder, durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
