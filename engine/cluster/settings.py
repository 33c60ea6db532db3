"""What a node is told of its cluster."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from dex.wcl.errors import InputError

PARTITIONS = 4
REPLICAS = 3
LEASE_SECONDS = 10.0
FORWARDED_PATH = "/v1/cluster/commands"

SNAPSHOT_POSITIONS = 500_000
KEPT_POSITIONS = 100_000
MONITOR_PORT = 8222

_NODE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_CREDENTIALS = re.compile(r"//[^/@\s]*@")


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """Where the journal servers are, and who this node is. `name` tells clusters on the same servers apart.

    A snapshot of a partition is taken after so many positions since the last one; below it the journal is purged, but
    for the last `kept_positions`.
    """

    servers: tuple[str, ...]
    node: str
    name: str = "dex"
    partitions: int = PARTITIONS
    replicas: int = REPLICAS
    lease_seconds: float = LEASE_SECONDS
    snapshot_positions: int = SNAPSHOT_POSITIONS
    kept_positions: int = KEPT_POSITIONS


def parse_node(name: str) -> str:
    """Give the name of a node, which is part of keys of the journal servers.

    Raises:
        InputError: it cannot be one.
    """
    if not _NODE.fullmatch(name):
        raise InputError(
            f"{name!r} cannot be a node's name", "use up to 63 letters, digits, '-', '_' and '.', as a host's name has"
        )
    return name


def parse_servers(text: str) -> tuple[str, ...]:
    """Read the addresses of journal servers, with commas between them.

    Raises:
        InputError: one is not an address of NATS, or tells its monitor's port wrongly; nothing is connected to.
    """
    return tuple(_parse(part.strip()) for part in text.split(","))


def _parse(server: str) -> str:
    remedy = "write nats://USER:PASSWORD@HOST:PORT, several with commas between them, and ?monitor=PORT where not 8222"
    shown = hide_credentials(server)
    try:
        address = urlsplit(server)
        options = parse_qs(address.query, keep_blank_values=True)
        ports = [address.port, *map(int, options.pop("monitor", []))]
    except ValueError as error:
        raise InputError(f"{shown!r} is not a journal server's address: a port is not a number", remedy) from error
    if address.scheme not in ("nats", "tls"):
        raise InputError(f"{shown!r} is not a journal server's address: it does not begin with nats://", remedy)
    if options:
        raise InputError(f"{shown!r} has an option that journal servers have not: {next(iter(options))!r}", remedy)
    if not address.hostname or any(port is not None and not 0 < port < 65536 for port in ports):
        raise InputError(f"{shown!r} is not a journal server's address: it has no host, or no such port", remedy)
    return server


def monitor_of(server: str) -> str:
    """Give where a journal server tells of itself: port 8222 of its host, or `?monitor=PORT` of its address."""
    address = urlsplit(server)
    host = address.hostname or ""
    port = parse_qs(address.query).get("monitor", [str(MONITOR_PORT)])[-1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def hide_credentials(text: str) -> str:
    """Give a text with the user and password of addresses left out."""
    return _CREDENTIALS.sub("//", text)
