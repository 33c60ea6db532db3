"""Commands on Flows go to the node that owns their partition, whichever node is asked (spec: K-05)."""

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from dex.engine.cluster.forwarding import Forwarding, after_waiting, may_repeat
from dex.engine.cluster.leases import Holder
from dex.engine.cluster.ownership import Ownership
from dex.engine.cluster.partition import NO_QUORUM, Partition
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.remote.trying import is_repeatable, may_be_applied
from dex.wcl.commands import Command
from dex.wcl.errors import Unavailable

R = TypeVar("R")

UNHEARD = f"the journal takes no writes: {NO_QUORUM}"
"""Why a node whose own writes are not committed can do nothing for Flows."""

_LOOK_SECONDS = 0.25
_LAST_SECONDS = 2.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 1.0


class Routing:
    """Carries commands out here, or has the owner do so. `timeout` is how many seconds an owner is looked for."""

    def __init__(self, settings: ClusterSettings, ownership: Ownership, forwarding: Forwarding, timeout: float) -> None:
        self._settings = settings
        self._ownership = ownership
        self._forwarding = forwarding
        self._timeout = timeout

    def execute(self, part: Partition, command: Command[R]) -> R:
        """Carry out a command on a Flow where its partition is owned, as soon as that is anywhere.

        Raises:
            Unavailable: it is owned by nobody who can be reached, until the time was over.
            DexError: as the command does.
        """
        began = time.monotonic()
        waited_until = began + getattr(command, "wait_ms", 0) / 1000
        deadline = began + self._timeout
        asked = command
        failed: Unavailable | None = None
        tries = 0
        while True:
            owner = self._ownership.owner(part.number)
            try:
                if self._ownership.owns(part.number):
                    return part.execute(asked)
                if owner is not None and owner.node != self._settings.node:
                    return self._send(part, owner, asked)
            except Unavailable as error:
                now = time.monotonic()
                deadline = min(now, waited_until) + self._timeout
                if not may_repeat(command, error) or now > deadline:
                    raise
                asked = after_waiting(command, now - began)
                failed = error
            if time.monotonic() > deadline or not self._ownership.membership.is_heard:
                raise self._without_owner(part, failed)
            tries += 1
            self._ownership.wait_for_other(part.number, owner, _pause(tries))

    def _without_owner(self, part: Partition, failed: Unavailable | None) -> Unavailable:
        """Give the error for a command that no owner was found for; `failed` is what one has said."""
        facts = {} if failed is None else failed.facts
        told = f"partition {part.number} has no owner that can be reached"
        if not self._ownership.membership.is_heard:
            told += f": {UNHEARD}"
        if facts.get("applied") == "unknown":
            return may_be_applied(f"{told}, and the write may have been applied")
        return Unavailable(told, "try again; `dex cluster status` shows who owns what", partition=part.number)

    def _send(self, part: Partition, owner: Holder, command: Command[R]) -> R:
        """Have the owner carry out a command, and wait no longer once another node owns the partition.

        Raises:
            DexError: what it says; Unavailable where it hangs.
        """
        repeatable = is_repeatable(command)
        # One that hangs is soon none, and another may be asked the same.
        patience = min(self._timeout, self._settings.lease_seconds) if repeatable else self._timeout
        if repeatable and not getattr(command, "wait_ms", 0):
            return self._forwarding.send(owner, command, patience)
        sending = _aside(lambda: self._forwarding.send(owner, command, patience))
        while not sending.done():
            now = self._ownership.owner(part.number)
            if now is not None and now.process != owner.process:
                # It may have answered just now that it is the owner no more.
                wait([sending], _LAST_SECONDS)
                break
            wait([sending], _LOOK_SECONDS)
        if sending.done():
            return sending.result()
        told = f"node {owner.node} has not answered, and another one owns partition {part.number} by now"
        if repeatable:
            raise Unavailable(told, "try again")
        raise may_be_applied(f"{told}; the write may have been applied")


def _aside(work: Callable[[], R]) -> "Future[R]":
    """Do some work in a thread of its own, which the end of the process does not wait for."""
    done: Future[R] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  # raised where the result is asked for
            done.set_exception(error)

    threading.Thread(target=run, name="dex-routing", daemon=True).start()
    return done


def _pause(tries: int) -> float:
    """Give for how long to rest before an owner that could not answer is asked again, by chance so as not to crowd."""
    return min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(tries, 9)) * random.uniform(0.5, 1.0)  # noqa: S311
