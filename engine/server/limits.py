"""How much a client may send, keep open and keep waiting (spec: K-02)."""

import resource
from dataclasses import dataclass

from dex.wcl.errors import DexError, Refused

# What the engine, its threads and the Attribute Stores may have open beside connections.
_RESERVED_FILES = 1024


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bytes, counts and seconds.

    A body has `body_seconds`, and more for what has come of it by `body_bytes_per_second`. `bodies_bytes` is for all
    bodies in memory together. `unread_seconds` is how long a client may leave an answer unread.
    """

    body_bytes: int = 16 * 1024 * 1024
    bodies_bytes: int = 512 * 1024 * 1024
    head_bytes: int = 32 * 1024
    head_fields: int = 128
    pipelined: int = 128
    connections: int = 8192
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    body_bytes_per_second: int = 4096
    idle_seconds: float = 75.0
    unread_seconds: float = 30.0


class TooLarge(Refused):
    """The body is longer than is taken."""

    kind = "too_large"
    status = 413


class HeadTooLarge(Refused):
    """Path and headers are longer than is taken."""

    kind = "too_large"
    status = 431


class TooSlow(DexError):
    """The request did not arrive in time."""

    kind = "too_slow"
    status = 408


def make_room_for_files(limits: Limits) -> int:
    """Let this process open as many files as it may, and give how many of them connections can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard == resource.RLIM_INFINITY:
        return limits.connections
    return min(limits.connections, max(hard - _RESERVED_FILES, hard // 2))
