"""Opening the SQLite file: made on first use with mode 0600, in WAL mode, migrated when its version is behind."""

import errno
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from dex.engine.sqlite.errors import corrupt, is_busy, translate
from dex.wcl.errors import Refused, Unavailable

FILE_NAME = "dex.db"
SCHEMA_VERSION = 7

_PRAGMAS = (
    "PRAGMA synchronous=FULL",  # acknowledged means on disk
    "PRAGMA wal_autocheckpoint=10000",  # bulk writes run 1.2-1.5 times faster than with 1000 pages
    "PRAGMA mmap_size=67108864",  # mapped pages count as memory of the process, once for each connection
    "PRAGMA temp_store=MEMORY",
)
_BUSY_RETRY_SECONDS = 0.002
_LONGEST_WAIT_SECONDS = 7 * 24 * 3600.0
_SPACE = {errno.ENOSPC, errno.EDQUOT}


def database_path(data_dir: str | os.PathLike[str]) -> Path:
    """Give the path of the database inside a data directory."""
    return Path(data_dir) / FILE_NAME


def open_database(path: Path, timeout: float) -> sqlite3.Connection:
    """Open the file, and make or migrate it where needed.

    `timeout` is how many seconds a read may wait for another connection. The connection is in autocommit mode and
    may move between threads; whoever holds it takes care that one thread uses it at a time.

    Raises:
        Refused: the folder or file cannot be used, is damaged, or was made by a newer dex.
        Unavailable: the disk is full or the file stays busy.
    """
    _ensure_file(path)
    connection = None
    try:
        connection = _connect(path, timeout)
        _prepare(connection, path, timeout)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.Error):
            raise translate(error, path) from error
        raise
    return connection


def open_existing(path: Path, timeout: float = 0.2) -> sqlite3.Connection | None:
    """Open the file for reading only, or give None where there is none of this version; nothing is ever created."""
    if not path.is_file():
        return None
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=timeout)
    if connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
        connection.close()
        return None
    return connection


def is_missing(path: Path) -> bool:
    """Tell whether there is no file; one that cannot be looked at is not missing."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def begin_immediate(connection: sqlite3.Connection, timeout: float, path: Path) -> None:
    """Take the write lock, waiting up to `timeout` seconds for other processes.

    SQLite's own busy handler sleeps up to 100 ms a time, which starves a process among busy ones; short sleeps
    keep the wait close to the time that others really need.

    Raises:
        Unavailable: others held the lock for the whole time.
    """
    deadline = 0.0
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            now = time.monotonic()
            deadline = deadline or now + timeout
            if now >= deadline:
                raise Unavailable(
                    f"{path} is busy: other processes held it for {timeout:g} s",
                    "try again, or raise --timeout",
                    path=str(path),
                ) from error
            time.sleep(_BUSY_RETRY_SECONDS)
        else:
            return


def _ensure_file(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # An existing file is never opened and closed here: closing any descriptor of a file drops every lock that
        # this process has on it, and another process would take itself for the last one and remove the WAL.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        if error.errno in _SPACE:
            raise Unavailable(
                f"{path} could not be made: {error.strerror}", "free space on the disk and try again", path=str(path)
            ) from error
        raise _unusable(path, error) from error


def _unusable(path: Path, error: OSError) -> Refused:
    """Give the error for a data directory that cannot be made or written in."""
    in_the_way = next((place for place in (path.parent, *path.parents) if os.path.lexists(place)), path.parent)
    if not in_the_way.is_dir():
        return Refused(
            f"cannot use {path.parent} as the data directory: {in_the_way} is {_kind(in_the_way)} and not a directory",
            "name another --data-dir, or move it away",
            path=str(path),
        )
    return Refused(
        f"cannot use {path}: {error.strerror}",
        "check the folder's owner and mode, or name another --data-dir",
        path=str(path),
    )


def _kind(place: Path) -> str:
    if place.is_symlink():
        return "a link that leads nowhere" if not place.exists() else "a link to a file"
    return "a named pipe" if place.is_fifo() else "a file" if place.is_file() else "a device or socket"


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    # SQLite counts this wait in milliseconds of 31 bits, and one beyond is none at all.
    wait = min(timeout, _LONGEST_WAIT_SECONDS)
    return sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False, cached_statements=512)


def _prepare(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Check that the file is ours and of this version, migrating it where that is behind, and set the connection up."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    _refuse_foreign(connection, path)
    if version > SCHEMA_VERSION:
        raise Refused(
            f"{path} was written by a newer dex (schema {version}, this one knows {SCHEMA_VERSION})",
            "upgrade dex, or name another --data-dir",
            path=str(path),
        )
    if version < SCHEMA_VERSION:
        _migrate(connection, path, timeout)
    for pragma in _PRAGMAS:
        connection.execute(pragma)


def _migrate(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Bring the tables to this version; two processes may try at once, and the second finds the work done."""
    from sqlite_utils import Database

    from dex.engine.sqlite.schema import migrations

    deadline = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_RETRY_SECONDS)
    begin_immediate(connection, timeout, path)
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] < SCHEMA_VERSION:
            migrations.apply(Database(connection, use_counts_table=False))
            connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file whose tables are not ours before anything is written, even the mode of its journal."""
    first = connection.execute("SELECT tbl_name FROM sqlite_master ORDER BY rowid LIMIT 1").fetchone()
    if first not in {None, ("_sqlite_migrations",)}:
        raise corrupt(path, "it has tables of another program")
