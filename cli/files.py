"""Files that are imported and exported: their forms, and how they are written."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean

FORMS = ("ndjson", "csv")

_OPEN_FILES = ("/dev/fd/", "/proc/")
"""Where names stand for what is open already; a file renamed there would not be the one that is open."""


def file_format(file: str | None, form: str | None) -> str:
    """Give the form of a file: as asked for, else by its name, else ndjson.

    Raises:
        InputError: the form that is asked for is none.
    """
    form = form or ("csv" if str(file).lower().endswith(".csv") else "ndjson")
    if form not in FORMS:
        raise InputError(f"{form!r} is not a format of files", did_you_mean(form, FORMS) or "use ndjson or csv")
    return form


def is_stdout(name: str) -> bool:
    """Tell whether a name means standard output: as `-`, or as a name of the file that it is."""
    if name == "-":
        return True
    try:
        return os.path.samestat(os.stat(name), os.fstat(sys.stdout.fileno()))  # noqa: PTH116 - beside fstat
    except OSError:
        return False


@contextmanager
def whole_file(name: str, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file to write that is replaced by all of it at the end, and by nothing after an error.

    A link is followed, and a file that exists keeps its permissions; `mode` is for a new one, less the umask. What is
    no regular file, such as a named pipe or a device, is written as it is and never replaced.

    Raises:
        InputError: the name is that of a directory.
        OSError: the file cannot be written; with `name`, not that of the part.
    """
    if Path(name).is_dir():
        raise InputError(f"{name} is a directory", "name a file in it", file=name)
    try:
        if _is_replaceable(name):
            with _replacing(Path(os.path.realpath(name)), mode) as stream:
                yield stream
        else:
            with Path(name).open("wb") as stream:
                yield stream
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from error


def _is_replaceable(name: str) -> bool:
    path = Path(name)
    return not str(path.absolute()).startswith(_OPEN_FILES) and (path.is_file() or not path.exists())


@contextmanager
def _replacing(target: Path, mode: int) -> Iterator[BinaryIO]:
    part = target.with_name(f".dex-{secrets.token_hex(8)}.partial")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as stream:
            if target.exists():
                part.chmod(target.stat().st_mode & 0o7777)
            yield stream
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
