"""What the journal servers tell of themselves: a node relies on it that what they acknowledge is on their disks."""

import logging
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from dex.engine.cluster.settings import hide_credentials, monitor_of
from dex.wcl.errors import FailedPrecondition

_log = logging.getLogger("dex.cluster")
_SECONDS = 3.0


def check_sync(servers: Sequence[str]) -> None:
    """Check that each journal server that runs puts what it acknowledges on its disk.

    Raises:
        FailedPrecondition: one does not, or does not tell.
    """
    for server in servers:
        _check(server)


def _check(server: str) -> None:
    import httpx

    monitor = monitor_of(server)
    try:
        answer = httpx.get(f"{monitor}/varz", timeout=_SECONDS, trust_env=False)
        answer.raise_for_status()
        config = (answer.json().get("jetstream") or {}).get("config")
    except (httpx.HTTPError, ValueError) as error:
        if not _greets(server):
            _log.warning("journal server %s does not run", hide_credentials(server))
            return
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


def _greets(server: str) -> bool:
    """Tell whether a server runs: it greets whoever connects."""
    address = urlsplit(server)
    try:
        with socket.create_connection((address.hostname or "", address.port or 4222), timeout=_SECONDS) as connection:
            return bool(connection.recv(1))
    except OSError:
        return False
