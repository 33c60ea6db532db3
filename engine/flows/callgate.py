"""Which runs have calls under way, told between the processes of a data directory (spec: FL-14).

A call holds a shared lock on one byte of a file, whose place is made of the run id; who closes the run asks for that
byte alone. The system drops the locks of a process that ends, however it ends. The locks belong to an open file and
not to the process, so that two engines in one process do not mix.
"""

import errno
import fcntl
import os
import struct
from hashlib import blake2b
from pathlib import Path

# struct flock of Linux: type, whence, start, length, process.
_FLOCK = "hhqqi0q"


class CallGate:
    """The gate of a data directory; the file is made when it is first used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inside: int | None = None
        self._outside: int | None = None

    def enter(self, run_id: str) -> None:
        """Tell that a call of a run is under way, once no other process is committing its close."""
        if self._inside is None:
            self._inside = self._open()
        _lock(self._inside, fcntl.F_RDLCK, run_id, wait=True)

    def leave(self, run_id: str) -> None:
        """Tell that no call of a run is under way here any more."""
        if self._inside is not None:
            _lock(self._inside, fcntl.F_UNLCK, run_id, wait=False)

    def shut(self, run_id: str) -> bool:
        """Let nobody enter until `reopen`; False, and nothing is done, where a call is under way anywhere."""
        if self._outside is None:
            self._outside = self._open()
        try:
            _lock(self._outside, fcntl.F_WRLCK, run_id, wait=False)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        return True

    def reopen(self, run_id: str) -> None:
        """Let calls of a run enter again."""
        if self._outside is not None:
            _lock(self._outside, fcntl.F_UNLCK, run_id, wait=False)

    def close(self) -> None:
        """Let go of the file."""
        for descriptor in (self._inside, self._outside):
            if descriptor is not None:
                os.close(descriptor)
        self._inside = self._outside = None

    def _open(self) -> int:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _lock(descriptor: int, kind: int, run_id: str, *, wait: bool) -> None:
    place = int.from_bytes(blake2b(run_id.encode(), digest_size=7).digest())
    command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
    fcntl.fcntl(descriptor, command, struct.pack(_FLOCK, kind, os.SEEK_SET, place, 1, 0))
