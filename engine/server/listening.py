"""The address and the data directory of a server: each is one process's (spec: K-01)."""

import errno
import fcntl
import ipaddress
import json
import os
import socket
from pathlib import Path

from dex.wcl.errors import Refused, Unavailable

BACKLOG = 2048
"""How many connections may wait to be taken."""


def listen(host: str, port: int, *, anywhere: bool = False) -> socket.socket:
    """Give a socket that listens; port 0 is any that is free.

    Raises:
        Unavailable: the address is taken, naming the process where the system tells.
        Refused: there is no such address on this machine, it may not be used, or, unless `anywhere`, others than this
            machine could reach it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        if not anywhere:
            _refuse_beyond_loopback(listener)
        listener.listen(BACKLOG)
    except Refused:
        listener.close()
        raise
    except (OSError, OverflowError, TypeError, UnicodeError) as error:  # Python's own look at the name and port
        listener.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            remedy = "stop that, or choose another --port"
            raise Unavailable(f"port {port} of {host} is taken{_by(port)}", remedy) from error
        reason = getattr(error, "strerror", None) or str(error)
        raise Refused(f"cannot listen on {host} port {port}: {reason}", "choose another --host or --port") from error
    return listener


def _refuse_beyond_loopback(listener: socket.socket) -> None:
    host = listener.getsockname()[0]
    if not ipaddress.ip_address(host).is_loopback:
        raise Refused(
            f"others than this machine can reach {host}, and there are not both tokens and TLS",
            "add --tokens, --tls-cert and --tls-key, or --insecure where something else guards it",
        )


def _by(port: int) -> str:
    """Name the process that listens on a port, where the system tells."""
    import psutil

    try:
        owners = [
            found.pid
            for found in psutil.net_connections("tcp")
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == port and found.pid
        ]
        return f" by process {owners[0]} ({psutil.Process(owners[0]).name()})" if owners else ""
    except (psutil.Error, OSError):
        return ""


class ServingLock:
    """The right to serve a data directory: held by one process, and released by the system when it ends."""

    def __init__(self, data_dir: Path) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        self._path = data_dir / "serve.lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, url: str) -> None:
        """Take the lock and write down who serves where.

        Raises:
            Unavailable: another process has it, naming it.
        """
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Unavailable(
                f"the data directory {self._path.parent} is served already{self._owner()}",
                "stop that server, or choose another --data-dir",
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)

    def _owner(self) -> str:
        try:
            told = json.loads(os.pread(self._file, 4096, 0))
        except ValueError:
            return ""
        return f" by process {told['pid']} on {told['url']}"

    def release(self) -> None:
        """Give the lock back."""
        os.close(self._file)
