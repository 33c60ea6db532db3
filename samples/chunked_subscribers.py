"""Sequentially chunked AttributeMap: an append-only list of subscribers in the order of their registration.

One chunk, `current`, takes the newest records. When it is full it becomes an archive that never changes again, so
an append rewrites a bounded value however long the list is, and pages stay as they are.
"""

import re
from dataclasses import dataclass, field

from dex import (
    Attribute,
    AttributeMap,
    Client,
    Context,
    Flow,
    NotFound,
    PersistenceSchema,
    Refused,
    RPCInvokeOptions,
    RPCResult,
    rpc,
)
from dex.engine.lockretry import LockRetry
from dex.samples.open_flow import OpenFlow

FLOW_ID = "chunked-subscribers"
CURRENT = "current"

# The size is part of the stored layout: `older_token` counts back by it.
CHUNK_SIZE = 100
_ARCHIVE_TOKEN = re.compile("[0-9]{20}")


@dataclass(frozen=True)
class RegisterSubscriberInput:
    """Who registers, and where to deliver to."""

    subscriber_id: str
    delivery_address: str


@dataclass(frozen=True)
class Subscriber:
    """A registration; sequences count from 1 without a gap."""

    sequence: int
    subscriber_id: str
    delivery_address: str


@dataclass(frozen=True)
class SubscriberArchiveState:
    """Where the list stands: the next sequence, and the token of the newest archive if there is one."""

    next_sequence: int = 1
    newest_archived_token: str | None = None


@dataclass(frozen=True)
class GetSubscriberPageInput:
    """Which page: `current`, or the next token of a page."""

    page_token: str = CURRENT


@dataclass(frozen=True)
class SubscriberPage:
    """One chunk, the newest first; the oldest page has no next token."""

    page_token: str
    subscribers: list[Subscriber] = field(default_factory=list)
    next_page_token: str | None = None


def archive_token(first_sequence: int) -> str:
    """Give the token of the archive that begins with a sequence: 101 is `00000000000000000101`."""
    return f"{first_sequence:020}"


def check_token(token: str) -> None:
    """Refuse what is neither `current` nor 20 digits that can begin a chunk (spec: C-04).

    Raises:
        Refused: with the fact `page_token`.
    """
    if token != CURRENT and not (_ARCHIVE_TOKEN.fullmatch(token) and int(token) % CHUNK_SIZE == 1):
        raise Refused(f"{token!r} is not a page token", "use current, or the nextPageToken of a page", page_token=token)


def _check_given(registration: RegisterSubscriberInput) -> None:
    for what, text in (("id", registration.subscriber_id), ("delivery address", registration.delivery_address)):
        if not text.strip():
            raise Refused(f"the {what} of a subscriber cannot be blank", "say who registers, and where to deliver to")


def older_token(token: str) -> str | None:
    """Give the token of the archive before another one, None before the first."""
    first = int(token)
    return archive_token(first - CHUNK_SIZE) if first > CHUNK_SIZE else None


class ChunkedSubscriberFlow(Flow[None]):
    """The list: RPCs only, so it is open until it is stopped."""

    archive_state = Attribute("SubscriberArchiveState", SubscriberArchiveState)
    subscriber_chunks = AttributeMap("SubscriberChunks", list[Subscriber])

    def get_persistence_schema(self) -> PersistenceSchema:
        """Declare the state, and the chunks by their tokens."""
        return PersistenceSchema.of(self.archive_state, self.subscriber_chunks)

    @rpc(
        name="RegisterSubscriber",
        lock_attributes=(archive_state.lock(), subscriber_chunks.lock(CURRENT)),
        load_attribute_map_instances=(subscriber_chunks.load(CURRENT),),
    )
    def register_subscriber(self, context: Context, registration: RegisterSubscriberInput) -> RPCResult[Subscriber]:
        """Append a subscriber; a full `current` becomes an archive in the same commit (spec: C-02).

        Raises:
            Refused: the id or the address is blank.
        """
        _check_given(registration)
        state, chunk = self._state(context), self._chunk(context, CURRENT) or []
        newest_archive = state.newest_archived_token
        if len(chunk) >= CHUNK_SIZE:
            newest_archive = archive_token(chunk[0].sequence)
            self.subscriber_chunks.set(context, newest_archive, chunk)
            chunk = []
        added = Subscriber(state.next_sequence, registration.subscriber_id, registration.delivery_address)
        self.subscriber_chunks.set(context, CURRENT, [*chunk, added])
        self.archive_state.set(context, SubscriberArchiveState(added.sequence + 1, newest_archive))
        return RPCResult(added)

    @rpc(name="GetSubscriberPage", read_only=True)
    def get_subscriber_page(self, context: Context, page: GetSubscriberPageInput) -> RPCResult[SubscriberPage]:
        """Give one chunk, the newest first; the caller loads that instance (spec: C-03, C-04)."""
        token = page.page_token
        check_token(token)
        chunk = self._chunk(context, token)
        if token == CURRENT:
            older = self._state(context).newest_archived_token
        elif chunk is None:
            raise NotFound(f"there is no page {token!r}", "start again from current", page_token=token)
        else:
            older = older_token(token)
        return RPCResult(SubscriberPage(token, (chunk or [])[::-1], older))

    def _state(self, context: Context) -> SubscriberArchiveState:
        try:
            return self.archive_state.get(context)
        except KeyError:
            return SubscriberArchiveState()

    def _chunk(self, context: Context, token: str) -> list[Subscriber] | None:
        try:
            return self.subscriber_chunks.get(context, token)
        except KeyError:
            return None


class ChunkedSubscribers:
    """How an application uses the list: it names what a page loads, and tries again what lost a lock."""

    def __init__(self, client: Client, retry: LockRetry | None = None) -> None:
        self.flow = ChunkedSubscriberFlow()
        self.run = OpenFlow(client, self.flow, FLOW_ID, "`dex subscriber start`", retry)

    def register(self, subscriber_id: str, delivery_address: str) -> Subscriber:
        """Append a subscriber.

        Raises:
            Refused: the id or the address is blank.
            NotFound: the list is not started.
            RPCLockConflict: the list was locked at every attempt.
        """
        registration = RegisterSubscriberInput(subscriber_id, delivery_address)
        return self.run.write(self.flow.register_subscriber, registration, RPCInvokeOptions())

    def page(self, page_token: str = CURRENT) -> SubscriberPage:
        """Give one page, the newest by default.

        Raises:
            Refused: the token is malformed.
            NotFound: there is no page of this token, or the list is not started.
        """
        check_token(page_token)
        load = self.flow.subscriber_chunks.load(page_token)
        options = RPCInvokeOptions(load_attribute_map_instances=(load,))
        return self.run.read(self.flow.get_subscriber_page, GetSubscriberPageInput(page_token), options)
