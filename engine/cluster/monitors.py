"""What the journal servers tell of themselves: a node relies on it that what they acknowledge is on their disks."""

import logging
import socket
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

from dex.engine.cluster.settings import hide_credentials, monitor_of
from dex.wcl.errors import FailedPrecondition

_log = logging.getLogger("dex.cluster")
_SECONDS = 3.0
_LOOK_SECONDS = 60.0


def check_sync(servers: Sequence[str]) -> None:
    """Check that each journal server that runs puts what it acknowledges on its disk.

    Raises:
        FailedPrecondition: one does not, or does not tell.
    """
    for server in servers:
        if not _check(server):
            _log.warning("journal server %s does not run", hide_credentials(server))


class SyncWatch:
    """Looks from time to time, and says once of each server that it does not sync: it may have come up later."""

    def __init__(self, servers: Sequence[str], seconds: float = _LOOK_SECONDS) -> None:
        self._servers = servers
        self._seconds = seconds
        self._ended = threading.Event()
        self._told: dict[str, str] = {}
        self._thread = threading.Thread(target=self._watch, name="dex-monitors", daemon=True)

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def close(self) -> None:
        """End that; a look that is under way ends by itself."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(self._seconds):
            for server in self._servers:
                try:
                    _check(server)
                except FailedPrecondition as error:
                    if self._told.get(server) != error.message:
                        _log.error("%s", error)
                    self._told[server] = error.message
                else:
                    self._told.pop(server, None)


def _check(server: str) -> bool:
    """Check one server; False where it does not run.

    Raises:
        FailedPrecondition: it does not put what it acknowledges on its disk, or does not tell.
    """
    import httpx

    monitor = monitor_of(server)
    try:
        answer = httpx.get(f"{monitor}/varz", timeout=_SECONDS, trust_env=False)
        answer.raise_for_status()
        config = (answer.json().get("jetstream") or {}).get("config")
    except (httpx.HTTPError, ValueError) as error:
        if not _greets(server):
            return False
        raise FailedPrecondition(
            f"journal server {hide_credentials(server)} does not tell at {monitor}/varz whether it syncs its files:"
            f" {error}",
            "set `http` in its configuration; where that is another port than 8222, write it as"
            " nats://HOST:PORT?monitor=PORT",
        ) from error
    if config is None:
        raise FailedPrecondition(
            f"journal server {hide_credentials(server)} has no JetStream", "set `jetstream` in its configuration"
        )
    if not config.get("sync_always"):
        raise FailedPrecondition(
            f"journal server {hide_credentials(server)} may lose what it has acknowledged: it does not sync each write",
            "set `sync_interval: always` under `jetstream` in its configuration, and restart it",
        )
    return True


def _greets(server: str) -> bool:
    """Tell whether a server runs: it greets whoever connects."""
    address = urlsplit(server)
    try:
        with socket.create_connection((address.hostname or "", address.port or 4222), timeout=_SECONDS) as connection:
            return bool(connection.recv(1))
    except OSError:
        return False
