"""What a node is told of its cluster."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

PARTITIONS = 4
REPLICAS = 3
LEASE_SECONDS = 10.0
FORWARDED_PATH = "/v1/cluster/commands"

SNAPSHOT_POSITIONS = 500_000
KEPT_POSITIONS = 100_000
MONITOR_PORT = 8222

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


def monitor_of(server: str) -> str:
    """Give where a journal server tells of itself: port 8222 of its host, or `?monitor=PORT` of its address."""
    address = urlsplit(server)
    host = address.hostname or ""
    port = parse_qs(address.query).get("monitor", [str(MONITOR_PORT)])[-1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def hide_credentials(text: str) -> str:
    """Give a text with the user and password of addresses left out."""
    return _CREDENTIALS.sub("//", text)
