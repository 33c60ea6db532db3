"""The sequentially chunked AttributeMap (spec: C-01 … C-05)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex import Client, NotFound, Refused, RPCInvokeOptions, RPCLockConflict
from dex.engine.lockretry import LockRetry
from dex.samples.chunked_subscribers import (
    FLOW_ID,
    ChunkedSubscribers,
    GetSubscriberPageInput,
    SubscriberArchiveState,
    archive_token,
    check_token,
    older_token,
)


def fill(subscribers: ChunkedSubscribers, last: int, first: int = 1) -> None:
    for number in range(first, last + 1):
        assert subscribers.register(f"s{number}", f"s{number}@example.test").sequence == number


def pages(subscribers: ChunkedSubscribers) -> list[tuple[str, list[int], str | None]]:
    """Follow the tokens from `current`: each page's token, its sequences and the next token."""
    found = []
    token: str | None = "current"
    while token is not None:
        page = subscribers.page(token)
        found.append((page.page_token, [one.sequence for one in page.subscribers], page.next_page_token))
        token = page.next_page_token
    return found


def stored(client: Client) -> dict[str, Any]:
    return client.get_attributes(FLOW_ID)


@pytest.mark.spec("C-01")
@given(st.integers(0, 10**17))
def test_tokens_are_twenty_digits_and_lead_back_to_the_first(number: int) -> None:
    token = archive_token(number * 100 + 1)
    check_token(token)
    assert len(token) == 20
    assert int(token) == number * 100 + 1
    assert older_token(token) == (archive_token(number * 100 - 99) if number else None)


@pytest.mark.spec("C-04")
@pytest.mark.parametrize(
    "token",
    [
        "",
        "1",
        "Current",
        "current ",
        "000000000000000000001",
        "0000000000000000001",
        "\u0660" * 19 + "1",
        "-0000000000000000001",
        "00000000000000000000",
        "00000000000000000002",
        "00000000000000000100",
        "0000000000000000000x",
        "a/b",
    ],
)
def test_a_malformed_token_is_refused(subscribers: ChunkedSubscribers, token: str) -> None:
    """The adapter and, for callers without it, the handler: 400 and never "not found"."""
    fill(subscribers, 1)
    with pytest.raises(Refused) as caught:
        subscribers.page(token)
    assert (caught.value.status, caught.value.page_token) == (400, token)
    rpc = subscribers.flow.get_subscriber_page
    with pytest.raises(Refused, match="is not a page token"):
        subscribers.run.client.invoke_rpc(rpc, FLOW_ID, GetSubscriberPageInput(token))


@pytest.mark.spec("C-04")
def test_a_token_without_a_chunk_is_not_found(subscribers: ChunkedSubscribers) -> None:
    fill(subscribers, 100)
    for token in (archive_token(1), archive_token(101), "9" * 18 + "01"):
        with pytest.raises(NotFound) as caught:
            subscribers.page(token)
        assert (caught.value.status, caught.value.page_token) == (404, token)


@pytest.mark.spec("C-03")
def test_an_empty_list_is_one_empty_page(subscribers: ChunkedSubscribers) -> None:
    assert pages(subscribers) == [("current", [], None)]


@pytest.mark.spec("C-01", "C-02", "C-03")
@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [1]), (99, [99]), (100, [100]), (101, [1, 100]), (200, [100, 100]), (201, [1, 100, 100])]
)
def test_pages_hold_each_sequence_once_the_newest_first(
    subscribers: ChunkedSubscribers, count: int, sizes: list[int]
) -> None:
    """At and around the size of a chunk; only the oldest page has no next token."""
    fill(subscribers, count)
    found = pages(subscribers)
    assert [len(sequences) for _, sequences, _ in found] == sizes
    assert [one for _, sequences, _ in found for one in sequences] == list(range(count, 0, -1))
    assert [token for token, _, _ in found[1:]] == [following for _, _, following in found[:-1]]
    assert found[-1][2] is None


@pytest.mark.spec("C-01", "C-02")
def test_the_append_after_a_full_chunk_is_one_commit(client: Client, subscribers: ChunkedSubscribers) -> None:
    """The archive, the new current chunk and the state change together; the archive has the first sequence's name."""
    fill(subscribers, 100)
    before = stored(client)
    assert set(before) == {"SubscriberArchiveState", "SubscriberChunks/current"}
    assert before["SubscriberArchiveState"] == SubscriberArchiveState(101, None)
    events = client.describe_flow(FLOW_ID).history_events
    fill(subscribers, 101, first=101)
    after = stored(client)
    assert client.describe_flow(FLOW_ID).history_events == events + 1
    assert after["SubscriberChunks/00000000000000000001"] == before["SubscriberChunks/current"]
    assert [one.sequence for one in after["SubscriberChunks/current"]] == [101]
    assert after["SubscriberArchiveState"] == SubscriberArchiveState(102, "00000000000000000001")


@pytest.mark.spec("C-05")
def test_archives_never_change(client: Client, subscribers: ChunkedSubscribers) -> None:
    fill(subscribers, 101)
    archive = stored(client)["SubscriberChunks/00000000000000000001"]
    fill(subscribers, 305, first=102)
    assert stored(client)["SubscriberChunks/00000000000000000001"] == archive


@pytest.mark.spec("C-02", "FL-07")
@pytest.mark.parametrize("key", ["SubscriberArchiveState", "SubscriberChunks/current"])
def test_an_append_locks_the_state_and_the_current_chunk(
    client: Client, subscribers: ChunkedSubscribers, key: str
) -> None:
    """While either is held an append is refused and a page is not."""
    fill(subscribers, 1)
    hasty = ChunkedSubscribers(client, LockRetry(attempts=2, sleep=lambda _seconds: None))
    with client.engine.flows.parts.locks.hold(FLOW_ID, [key]):  # type: ignore[attr-defined]  # the embedded engine
        with pytest.raises(RPCLockConflict):
            hasty.register("late", "late@example.test")
        assert [one.sequence for one in hasty.page().subscribers] == [1]
    fill(hasty, 2, first=2)


@pytest.mark.spec("C-02", "FL-07")
def test_concurrent_appends_lose_and_double_no_sequence(connect: Callable[[], Client]) -> None:
    """12 threads of two engines on one file append 240: 1 to 240, each acknowledged number once."""
    lists = [ChunkedSubscribers(connect()) for _ in range(2)]
    lists[0].run.start()
    with ThreadPoolExecutor(12) as pool:
        got = list(pool.map(lambda n: lists[n % 2].register(f"s{n}", "a@example.test"), range(240)))
    assert sorted(one.sequence for one in got) == list(range(1, 241))
    kept = [one for token, _, _ in pages(lists[1]) for one in lists[1].page(token).subscribers]
    assert {one.sequence: one for one in kept} == {one.sequence: one for one in got}
    assert len(kept) == 240


@pytest.mark.spec("C-03", "FL-05")
def test_a_page_loads_its_own_chunk_only(subscribers: ChunkedSubscribers) -> None:
    """A call that loads another instance than it asks for is refused."""
    fill(subscribers, 101)
    options = RPCInvokeOptions(load_attribute_map_instances=(subscribers.flow.subscriber_chunks.load("current"),))
    rpc = subscribers.flow.get_subscriber_page
    with pytest.raises(Refused, match="is not loaded"):
        subscribers.run.client.invoke_rpc(rpc, FLOW_ID, GetSubscriberPageInput(archive_token(1)), options)


@pytest.mark.spec("C-03")
def test_a_list_that_is_not_started_says_how_to_start_it(client: Client) -> None:
    subscribers = ChunkedSubscribers(client)
    for call in (subscribers.page, lambda: subscribers.register("a", "b")):
        with pytest.raises(NotFound, match="start it once with `dex subscriber start`"):
            call()
