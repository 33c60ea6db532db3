"""SQLite's errors, translated once into ours."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dex.wcl.errors import DexError, Refused, Unavailable

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SPACE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}


def primary_code(error: sqlite3.Error) -> int:
    """Give SQLite's primary result code, without the extension bits; 0 where the module set none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether another connection was in the way."""
    return primary_code(error) in _BUSY


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise our error for SQLite's; what is not known here is named with SQLite's own words."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error


def translate(error: sqlite3.Error, path: Path) -> DexError:
    """Give our error for SQLite's, by its code and never by its text."""
    code = primary_code(error)
    facts = {"path": str(path)}
    if code in _BUSY:
        return Unavailable(f"{path} is busy: other processes kept it locked", "try again, or raise --timeout", **facts)
    if code in _SPACE:
        return Unavailable(
            f"{path} could not be written or read: {error}",
            "free space on the disk and try again; nothing was changed",
            **facts,
        )
    if code in _UNWRITABLE:
        return Refused(
            f"{path} cannot be opened for writing", "check the owner and mode of the file and its folder", **facts
        )
    if code in _CORRUPT:
        return corrupt(path, str(error))
    return Unavailable(f"{path}: {error}", "try again; if it stays, report it with `dex -vv`", **facts)


def corrupt(path: Path, detail: str) -> Refused:
    """Give the error for a file that is damaged or not ours."""
    return Refused(
        f"{path} is damaged or is not a dex database ({detail})",
        "restore it from a backup, or name another --data-dir; a node of a cluster reads all anew into an empty one",
        path=str(path),
        reason="corrupt",
    )
