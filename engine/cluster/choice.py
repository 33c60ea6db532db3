"""Which journal server a connection goes to next."""

from collections.abc import Sequence
from random import choice
from typing import Any

from nats.aio.client import Server

_REST_SECONDS = 0.1


class Choice:
    """Chooses the server of the name `wanted`, once it is known which that is, and else any but the last.

    `names` are those of the servers by their addresses, as all connections of a node have found them.
    """

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.wanted = ""
        self._last = ""
        self._rest = 0.0

    def found(self, address: str, name: str) -> None:
        """Take note of the name of the server that is connected to."""
        self.names[address] = name
        self._last = address
        self._rest = 0.0

    def knows(self, name: str) -> bool:
        """Tell whether it is known where the server of a name is."""
        return name in self.names.values()

    def __call__(self, servers: Sequence[Server], _info: dict[str, Any]) -> tuple[Server, float]:
        """Give the server to try next, and for how many seconds to wait before that."""
        others = [server for server in servers if server.uri.netloc != self._last] or servers
        wanted = [server for server in others if self.names.get(server.uri.netloc) == self.wanted]
        unknown = [server for server in others if self.wanted and server.uri.netloc not in self.names]
        chosen = choice(wanted or unknown or others)  # noqa: S311  # no secret
        rest, self._rest = self._rest, _REST_SECONDS
        self._last = chosen.uri.netloc
        return chosen, rest
