"""Commands that only the owner of a partition may carry out, sent there by whichever node was asked (spec: K-07)."""

import threading
from typing import Any, TypeVar

import msgspec

from dex.engine.cluster.leases import Holder
from dex.engine.cluster.settings import FORWARDED_PATH
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.engine.remote.trying import is_repeatable
from dex.wcl.commands import Command
from dex.wcl.errors import Unauthorized, Unavailable

R = TypeVar("R")


class Forwarding:
    """Connections to the other nodes, by their URLs; they know this one by `secret`."""

    def __init__(self) -> None:
        self.secret = ""
        self._engines: dict[tuple[str, float, str], RemoteEngine] = {}
        self._lock = threading.Lock()

    def send(self, node: Holder, command: Command[R], seconds: float) -> R:
        """Have another node carry out a command within some seconds, beyond what it waits by itself.

        Raises:
            DexError: what it says; Unavailable where it does not answer.
        """
        try:
            return self._engine(node.url, seconds).execute(command)
        except Unauthorized as error:  # until both have seen that the secret was made anew
            told = f"node {node.node} does not know this one as a node of its cluster"
            raise Unavailable(told, "try again") from error

    def _engine(self, url: str, timeout: float) -> RemoteEngine:
        with self._lock:
            key = url, timeout, self.secret
            if key not in self._engines:
                self._engines[key] = RemoteEngine(
                    parse_endpoints(url), token=self.secret, timeout=timeout, path=FORWARDED_PATH
                )
            return self._engines[key]

    def close(self) -> None:
        """Close the connections."""
        for engine in self._engines.values():
            engine.close()


def may_repeat(command: Command[Any], error: Unavailable) -> bool:
    """Tell whether a command that failed so may be sent to an owner once more: it has not been carried out, or once."""
    return type(error) is Unavailable and (error.facts.get("applied") != "unknown" or is_repeatable(command))


def after_waiting(command: Command[R], seconds: float) -> Command[R]:
    """Give a command that waits for no more than what is left of its wait after some seconds."""
    wait_ms = getattr(command, "wait_ms", 0)
    left = max(0, wait_ms - round(seconds * 1000))
    return msgspec.structs.replace(command, wait_ms=left) if wait_ms else command
