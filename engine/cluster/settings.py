"""What a node is told of its cluster."""

import re
from dataclasses import dataclass

PARTITIONS = 4
REPLICAS = 3
LEASE_SECONDS = 10.0
FORWARDED_PATH = "/v1/cluster/commands"

_CREDENTIALS = re.compile(r"//[^/@\s]*@")


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """Where the journal servers are, and who this node is. `name` tells clusters on the same servers apart."""

    servers: tuple[str, ...]
    node: str
    name: str = "dex"
    partitions: int = PARTITIONS
    replicas: int = REPLICAS
    lease_seconds: float = LEASE_SECONDS


def hide_credentials(text: str) -> str:
    """Give a text with the user and password of addresses left out."""
    return _CREDENTIALS.sub("//", text)
