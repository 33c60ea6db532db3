"""Which attempts have begun, told to whoever works next, so that one whose process ended counts (spec: FL-08).

They are kept in the file of the worker's lock, which only its holder writes. A write costs no commit and outlives the
process, though not the machine. Each attempt has a slot of its own, so that a process that is killed never leaves half
of what it wrote.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from dex.engine.flows.state.runs import Run
from dex.engine.flows.state.steps import Step
from dex.wcl.errors import Unavailable

WORKER_LOCK = "worker.lock"
_SLOT_BYTES = 1024


class Begun(NamedTuple):
    """An attempt of a step execution that has begun, or with no type the handler of a run's timeout.

    `waited` tells whether the step had waited by then, and so which of its two methods it was.
    """

    run_id: str
    type: str = ""
    number: int = 0
    attempt: int = 0
    waited: bool = False

    @classmethod
    def of_step(cls, run: Run, step: Step) -> "Begun":
        """Give the attempt of a step that is next or under way."""
        return cls(run.run_id, step.type, step.number, step.attempt, step.wait is not None)


class _Slot(NamedTuple):
    begun: Begun
    at: int
    lost: bool


_decode = msgspec.json.Decoder(_Slot).decode


class BegunAttempts:
    """The attempts that have begun, in the open file of the lock that the caller holds.

    `lost` are those that a process left which has ended.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor: int | None = descriptor
        self._path = path
        self._mutex = threading.Lock()
        self._slots = {slot.begun: number for number, slot in _read(descriptor)}
        self.lost = {slot.begun: slot.at for _, slot in _read(descriptor)}
        for begun, at in self.lost.items():
            self._write(self._slots[begun], _Slot(begun, at, lost=True))

    def keep(self, is_open: Callable[[Begun], bool]) -> None:
        """Forget those lost attempts that are not open any more: they were committed, or their run is over."""
        for begun in [begun for begun in self.lost if not is_open(begun)]:
            self.settle(begun)

    def settle(self, begun: Begun) -> None:
        """Forget a lost attempt, once it is counted."""
        del self.lost[begun]
        self._end(begun)

    @contextmanager
    def begin(self, begun: Begun, at: int) -> Iterator[None]:
        """Have an attempt under way since `at`, in ms since the epoch, however the block ends.

        Raises:
            Unavailable: the disk is full.
        """
        with self._mutex:
            used = set(self._slots.values())
            number = next(number for number in range(len(used) + 1) if number not in used)
            self._write(number, _Slot(begun, at, lost=False))
            self._slots[begun] = number
        try:
            yield
        finally:
            self._end(begun)

    def close(self) -> None:
        """Forget the attempts of this process: one that it leaves under way does not count."""
        with self._mutex:
            for begun, number in self._slots.items():
                if begun not in self.lost:
                    self._write(number, None)
            self._descriptor = None

    def _end(self, begun: Begun) -> None:
        with self._mutex:
            number = self._slots.pop(begun, None)
            if number is not None:
                self._write(number, None)

    def _write(self, number: int, slot: _Slot | None) -> None:
        if self._descriptor is None:
            return  # the file is another worker's by now
        data = b"\0" if slot is None else msgspec.json.encode(slot).ljust(_SLOT_BYTES, b"\0")
        try:
            os.pwrite(self._descriptor, data, number * _SLOT_BYTES)
        except OSError as error:
            raise Unavailable(
                f"cannot write {self._path}: {error.strerror}", "check the disk", path=str(self._path)
            ) from error


def under_way(path: Path) -> dict[Begun, int]:
    """Give the attempts that some process of the data directory has under way, and since when in ms."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return {slot.begun: slot.at for _, slot in _read(descriptor) if not slot.lost}
    else:
        return {}  # nobody works
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Iterator[tuple[int, _Slot]]:
    """Give the slots that hold an attempt, by number; what cannot be read is none."""
    size = os.fstat(descriptor).st_size
    for number in range(-(-size // _SLOT_BYTES)):
        data = os.pread(descriptor, _SLOT_BYTES, number * _SLOT_BYTES)
        try:
            yield number, _decode(data.rstrip(b"\0"))
        except msgspec.DecodeError:
            continue
