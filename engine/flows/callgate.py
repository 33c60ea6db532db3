"""What the processes of a data directory tell each other of their calls (spec: FL-07, FL-14).

A call holds a shared lock on one byte of a file, whose place is made of the run id; who closes the run asks for that
byte alone. Each attribute that a call locks has a byte of its own as well. The system drops the locks of a process that
ends, however it ends. The locks belong to an open file and not to the process, so that two engines in one process do
not mix.
"""

import errno
import fcntl
import os
import struct
from collections.abc import Collection
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from weakref import WeakSet

from dex.wcl.errors import Refused, Unavailable

_HELD = (errno.EAGAIN, errno.EACCES)


class CallGate:
    """The gate of a data directory; the file is made when it is first used.

    What one engine holds does not keep the same engine out: between its threads `Locks` decides.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inside: int | None = None
        self._outside: int | None = None
        self._taking = False
        _GATES.add(self)

    def enter(self, run_id: str) -> None:
        """Tell that a call of a run is under way, once no other process is committing its close."""
        self._set(self._entered(), _lock(fcntl.F_RDLCK, run_id), wait=True)

    def leave(self, run_id: str) -> None:
        """Tell that no call of a run is under way here any more."""
        if self._inside is not None:
            self._set(self._inside, _lock(fcntl.F_UNLCK, run_id))

    def shut(self, run_id: str) -> bool:
        """Let nobody enter until `reopen`; False, and nothing is done, where a call is under way anywhere."""
        if self._outside is None:
            self._outside = self._open()
        return self._set(self._outside, _lock(fcntl.F_WRLCK, run_id))

    def reopen(self, run_id: str) -> None:
        """Let calls of a run enter again."""
        if self._outside is not None:
            self._set(self._outside, _lock(fcntl.F_UNLCK, run_id))

    def lock(self, flow_id: str, keys: Collection[str]) -> str | None:
        """Lock attributes of a Flow, all or none; gives None, or the first that another process has.

        Only one process takes locks at a time, so that nobody meets those of a call that does not get all of its own.
        """
        gate = self._entered()
        self._taking = True
        self._set(gate, _TAKE, wait=True)
        for key in keys:
            if not self._set(gate, _lock(fcntl.F_WRLCK, flow_id, key)):
                self.unlock(flow_id, keys)
                return key
        self._set(gate, _TAKEN)
        self._taking = False
        return None

    def unlock(self, flow_id: str, keys: Collection[str]) -> None:
        """Let go of locks; also of what an interrupt has left of taking them."""
        if self._inside is not None:
            for key in keys:
                self._set(self._inside, _lock(fcntl.F_UNLCK, flow_id, key))
            if self._taking:
                self._set(self._inside, _TAKEN)
                self._taking = False

    def close(self) -> None:
        """Let go of the file."""
        descriptors = self._inside, self._outside
        self._inside = self._outside = None
        for descriptor in descriptors:
            if descriptor is not None:
                os.close(descriptor)

    def _entered(self) -> int:
        if self._inside is None:
            self._inside = self._open()
        return self._inside

    def _open(self) -> int:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(
                f"cannot use {self._path}: {error.strerror}",
                "check the folder's owner and mode",
                path=str(self._path),
            ) from error

    def _set(self, descriptor: int, lock: bytes, *, wait: bool = False) -> bool:
        """Set the lock of one byte; False where somebody else's is in the way."""
        command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
        try:
            fcntl.fcntl(descriptor, command, lock)
        except OSError as error:
            if error.errno in _HELD:
                return False
            raise Unavailable(
                f"cannot lock {self._path}: {error.strerror}", "try again in a moment", path=str(self._path)
            ) from error
        return True


_GATES: WeakSet[CallGate] = WeakSet()


def _leave_to_parent() -> None:
    """Close in a fork what it has inherited: the parent's locks would outlive the parent."""
    for gate in _GATES:
        gate.close()


os.register_at_fork(after_in_child=_leave_to_parent)


def _byte(kind: int, place: int) -> bytes:
    """Give the system's form of a lock of one byte, Linux's struct flock: type, whence, start, length, process."""
    return struct.pack("hhqqi0q", kind, os.SEEK_SET, place, 1, 0)


@lru_cache(4096)
def _lock(kind: int, *names: str) -> bytes:
    """Give the lock of a run id, or of a Flow ID and a key: of 2⁶² bytes, so that two do not meet by chance."""
    text = "\n".join(names)  # no Flow ID has a line break, and neither has a run id
    return _byte(kind, int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 2)


_TAKING = 1 << 62  # beyond all places that are made of names
_TAKE, _TAKEN = _byte(fcntl.F_WRLCK, _TAKING), _byte(fcntl.F_UNLCK, _TAKING)
