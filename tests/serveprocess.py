"""The real `dex serve`, as a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

DEX = Path(sys.executable).with_name("dex")
_PATIENCE = 60.0


class ServeProcess:
    """A running `dex serve`; what it says on standard error is kept in a file."""

    def __init__(
        self,
        home: Path,
        *arguments: str | Path,
        port: int = 0,
        name: str = "serve",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self._log = home / f"{name}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [DEX, "serve", "--port", str(port), "--data-dir", home / "data", *arguments],
                env={"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **(environ or {})},
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def wait_until_ready(self) -> "ServeProcess":
        """Wait until it says that it serves."""
        deadline = time.monotonic() + _PATIENCE
        while not any("url" in line for line in self._lines_so_far()):
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
        return self

    def _lines_so_far(self) -> list[dict[str, Any]]:
        whole = self.text.rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    @property
    def text(self) -> str:
        """All that it has said."""
        return self._log.read_text(encoding="utf-8")

    @property
    def lines(self) -> list[dict[str, Any]]:
        """All that it has logged; each line is JSON."""
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What it has logged of requests."""
        return [line for line in self.lines if line["message"] == "request"]

    @property
    def url(self) -> str:
        """Where it serves."""
        return str(next(line["url"] for line in self._lines_so_far() if "url" in line))

    @property
    def address(self) -> tuple[str, int]:
        """Host and port, for a bare socket."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def connect(self) -> socket.socket:
        """Open a bare connection."""
        return socket.create_connection(self.address, timeout=_PATIENCE)

    def talk(self, *parts: bytes) -> bytes:
        """Send bytes on a connection of their own, and give all that comes back until it is closed."""
        with self.connect() as connection:
            for part in parts:
                connection.sendall(part)
            return read_all(connection)

    def send(self, number: int) -> None:
        """Send a signal to this process."""
        os.kill(self.process.pid, number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it, and give its exit code."""
        self.send(number)
        return self.process.wait(_PATIENCE)


def read_all(connection: socket.socket) -> bytes:
    """Read until the other side closes or resets."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


@contextmanager
def serving_process(home: Path, *arguments: str | Path, **options: Any) -> Iterator[ServeProcess]:
    """Run `dex serve` on a port of its own and the data directory in `home`."""
    running = ServeProcess(home, *arguments, **options)
    try:
        yield running.wait_until_ready()
    finally:
        running.process.kill()
        running.process.wait()
