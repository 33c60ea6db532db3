"""Locked RPCs on a chunk of 100 subscribers, and paging through a great many of them."""

from collections.abc import Iterator

from dex.engine.client import Client, connect
from dex.engine.flows.context import Context
from dex.engine.flows.rpc import RPCResult, rpc
from dex.samples.chunked_subscribers import (
    CHUNK_SIZE,
    CURRENT,
    ChunkedSubscriberFlow,
    ChunkedSubscribers,
    RegisterSubscriberInput,
    Subscriber,
    SubscriberArchiveState,
    archive_token,
)
from dex.wcl.commands.flows import Encoded
from tests.bench.harness import Goal, Line, Run, interleave, seconds, speeds
from tests.bench.rawflow import RawChunks

_WINDOW_ID = "bench-window"
_CHUNKS_AT_ONCE = 100


class WindowFlow(ChunkedSubscriberFlow):
    """The sample's list, but a full chunk loses its oldest record, so that every append meets one of 100."""

    @rpc(
        name="Append",
        lock_attributes=(
            ChunkedSubscriberFlow.archive_state.lock(),
            ChunkedSubscriberFlow.subscriber_chunks.lock(CURRENT),
        ),
        load_attribute_map_instances=(ChunkedSubscriberFlow.subscriber_chunks.load(CURRENT),),
    )
    def append(self, context: Context, registration: RegisterSubscriberInput) -> RPCResult[Subscriber]:
        """Append a subscriber."""
        state = self.archive_state.get(context)
        chunk = self.subscriber_chunks.get(context, CURRENT)
        added = Subscriber(state.next_sequence, registration.subscriber_id, registration.delivery_address)
        self.subscriber_chunks.set(context, CURRENT, [*chunk[1:], added])
        self.archive_state.set(context, SubscriberArchiveState(added.sequence + 1, state.newest_archived_token))
        return RPCResult(added)


def locked_rpc(run: Run) -> Iterator[Line]:
    """Append to a chunk of 100 records of about 100 bytes, a commit each."""
    count = run.size(250, 10)
    flow = WindowFlow()
    raw = RawChunks(run.folder / "raw.db")
    raw.put(_state(CHUNK_SIZE), {CURRENT: _chunk(1)})
    with connect(run.folder) as client:
        client.start_flow(flow, _WINDOW_ID)
        client.set_attribute(flow.archive_state, _WINDOW_ID, _state(CHUNK_SIZE))
        _set_chunks(client, flow, _WINDOW_ID, {CURRENT: _chunk(1)})

        def ours(number: int) -> None:
            for sequence in range(number * count, (number + 1) * count):
                client.invoke_rpc(flow.append, _WINDOW_ID, RegisterSubscriberInput(*_subscriber(sequence)))

        def reference(number: int) -> None:
            for sequence in range(number * count, (number + 1) * count):
                raw.append(CURRENT, *_subscriber(sequence))

        measured = interleave(
            lambda number: seconds(lambda: ours(number)),
            lambda number: seconds(lambda: reference(number)),
            run.pairs(9),
        )
    raw.close()
    yield speeds("locked RPC, 100 records of 100 B", count, measured, Goal("≥", 0.6))


def paging(run: Run) -> Iterator[Line]:
    """Page through a long list from its newest subscriber to the first; the reference reads the chunks it knows."""
    chunks = run.size(1000, 5)
    raw = RawChunks(run.folder / "raw.db")
    tokens = [archive_token(1 + CHUNK_SIZE * number) for number in range(chunks)]
    with connect(run.folder) as client:
        subscribers = ChunkedSubscribers(client)
        subscribers.run.start()
        for start in range(0, chunks, _CHUNKS_AT_ONCE):
            several = {token: _chunk(int(token)) for token in tokens[start : start + _CHUNKS_AT_ONCE]}
            raw.put(_state(chunks * CHUNK_SIZE), several)
            _set_chunks(client, subscribers.flow, subscribers.run.flow_id, several)
        client.set_attribute(subscribers.flow.archive_state, subscribers.run.flow_id, _state(chunks * CHUNK_SIZE))

        def ours() -> None:
            assert sum(_pages(subscribers)) == chunks * CHUNK_SIZE

        def reference() -> None:
            assert sum(len(raw.chunk(token)) for token in reversed(tokens)) == chunks * CHUNK_SIZE

        measured = interleave(lambda _: seconds(ours), lambda _: seconds(reference), run.pairs())
    raw.close()
    yield speeds(f"paging {chunks * CHUNK_SIZE:,} subscribers", chunks * CHUNK_SIZE, measured, None)


def _set_chunks(
    client: Client, flow: ChunkedSubscriberFlow, flow_id: str, several: dict[str, list[Subscriber]]
) -> None:
    chunks = flow.subscriber_chunks
    values = {f"{chunks.name}/{token}": Encoded(chunks.encode(chunk) or b"") for token, chunk in several.items()}
    client.set_attributes(flow_id, values)


def _pages(subscribers: ChunkedSubscribers) -> Iterator[int]:
    """Give the number of subscribers of each page, the newest first."""
    token: str | None = CURRENT
    while token is not None:
        page = subscribers.page(token)
        yield len(page.subscribers)
        token = page.next_page_token


def _state(last: int) -> SubscriberArchiveState:
    return SubscriberArchiveState(last + 1, archive_token(last - CHUNK_SIZE + 1))


def _chunk(first: int) -> list[Subscriber]:
    return [Subscriber(sequence, *_subscriber(sequence)) for sequence in range(first, first + CHUNK_SIZE)]


def _subscriber(number: int) -> tuple[str, str]:
    """Give an id and an address that make a record of about 100 bytes."""
    return f"subscriber-{number:010}", f"https://example.com/{number:010}"


BENCHES = {"locked-rpc": locked_rpc, "paging": paging}
