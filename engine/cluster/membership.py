"""The name of a node, which it keeps by a lease, and which other nodes there are (spec: K-05, K-09)."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from operator import attrgetter
from uuid import uuid4

import msgspec

from dex.engine.cluster.leases import Found, Holder, Leases
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.outages import Outage
from dex.wcl.errors import DexError, Refused

_log = logging.getLogger("dex.cluster")

_LOOK_SECONDS = 0.5
# How long a node that vanished is told of.
_MEMBER_SECONDS = 86_400.0
_ANSWER_SECONDS = 0.8


class Membership:
    """One node among the others. `holder` is who it is; `takes` tells the others whether it takes partitions."""

    def __init__(self, link: Link, leases: Leases, node: str, url: str) -> None:
        self._link = link
        self._leases = leases
        self.holder = Holder(node=node, url=url, process=uuid4().hex)
        self._name = leases.lease(f"node.{node}")
        self._member = f"member.{node}"
        self._naming = asyncio.Lock()
        self._has_left = False
        self._heard = float("-inf")
        self._members: list[Holder] = [self.holder]

    @property
    def is_heard(self) -> bool:
        """Tell whether the journal servers have lately written what this node sent."""
        return self.unheard < self._leases.seconds

    @property
    def unheard(self) -> float:
        """How many seconds ago this node sent the last of its own writes that the journal servers have written."""
        return time.monotonic() - self._heard

    def members(self) -> tuple[list[Holder], bool]:
        """Give the nodes that run, and those that vanished within a day without being stopped.

        The flag tells whether the journal servers answer, and have lately written what this node sent; where not, the
        nodes are those that were known before.
        """
        try:
            self._link.call(self._look_at_members(), _ANSWER_SECONDS)
        except (DexError, *LINK_ERRORS) as error:
            _log.debug("the nodes are not known now: %s", error)
            return self._members, False
        return self._members, self.is_heard

    async def take(self) -> None:
        """Take the name; that of a process that has just ended is free after its time.

        Raises:
            Refused: another process has it.
        """
        deadline = time.monotonic() + self._leases.seconds + 2
        while True:
            asked = time.monotonic()
            found = await self._leases.read(f"node.{self.holder.node}")
            if found.holder is None and await self._name.take(self.holder, expected=found.revision):
                self._heard = asked
                await self._leases.tell(self._member, self.holder, _MEMBER_SECONDS)
                return
            if time.monotonic() > deadline:
                where = found.holder.url if found.holder is not None else "another process"
                raise Refused(
                    f"the node name {self.holder.node!r} is in use by {where}",
                    "choose another --node, or stop that one",
                )
            await asyncio.sleep(_LOOK_SECONDS)

    async def _retake_name(self) -> bool:
        """Take the name again that has ended while the journal servers did not answer; False where others have it."""
        found = await self._leases.read(f"node.{self.holder.node}")
        if self.is_free(found):
            # Refused all the same where another was first, who is found the next time, or by a server that was cut off.
            return await self._name.take(self.holder, expected=found.revision)
        _log.error("the node name %r is in use by another process as well: stop one of them", self.holder.node)
        return False

    def is_free(self, found: Found) -> bool:
        """Tell whether a key is nobody's, or this process's own, which has lost count of its renewals."""
        return found.holder is None or found.holder.process == self.holder.process

    async def _look_at_members(self) -> None:
        found = await self._leases.under("member")
        others = [holder for holder in found if holder.node != self.holder.node]
        self._members = sorted([*others, self.holder], key=attrgetter("node"))

    async def keep(self, takes: Callable[[], bool], then: Callable[[], Awaitable[None]]) -> None:
        """Renew the name for ever, and tell whether this node takes partitions; `then` is awaited each time."""
        outage = Outage("the journal servers do not take what this node tells them")
        while True:
            await asyncio.sleep(self._leases.seconds / 3)
            async with self._naming:
                if self._has_left:
                    return
                try:
                    asked, holder = time.monotonic(), msgspec.structs.replace(self.holder, takes=takes())
                    if await self._name.renew(holder) or await self._retake_name():
                        self._heard = asked
                    await self._leases.tell(self._member, self.holder, _MEMBER_SECONDS)
                    await self._look_at_members()
                    await then()
                    outage.is_over()
                except LINK_ERRORS as error:
                    outage.goes_on(in_words(error))
                    if not self.is_heard:
                        # Nothing that was sent for a whole lease was committed: another server may reach a quorum.
                        await self._link.move()

    async def leave(self) -> None:
        """Give the name back, and be no node of the cluster any more."""
        async with self._naming:
            self._has_left = True
            await self._leases.tell(self._member, None, 1)
            if self._name.is_held:
                await self._name.give()
