"""AsyncClient: the same calls, awaited."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from dex import AsyncClient, Client, Conflict, Refused, StateStore, connect
from dex.engine.asyncclient import AsyncFeed, AsyncFeeds, AsyncStateStore, AsyncStateStores
from dex.engine.client import StateStores
from dex.engine.feed import Feed, Feeds
from dex.samples.order_flow import STATUS, Order, OrderFlow

T = TypeVar("T")


@pytest.mark.spec("S-01", "S-09", "S-12", "W-09")
def test_the_calls_of_the_client_can_be_awaited(tmp_path: Path) -> None:
    async def use() -> list[bytes]:
        async with AsyncClient(tmp_path) as client:
            spec = StateStore.named("a.b").add_key("pass", unique=True)
            store = await client.state_stores.define(spec)
            await asyncio.gather(*(store.put(f"k{i}", b"p", named={"pass": i}) for i in range(8)))
            with pytest.raises(Conflict):
                await store.put("other", b"p", named={"pass": 3})
            assert (await store.get("k3")).payload == b"p"
            assert (await client.wcl("SHOW STATESTORES"))[0].status == "ok"
            return [row.key async for row in await store.iterate()]

    assert asyncio.run(use()) == [f"k{i}".encode() for i in range(8)]


FACADES = {
    AsyncClient: Client,
    AsyncStateStores: StateStores,
    AsyncStateStore: StateStore,
    AsyncFeeds: Feeds,
    AsyncFeed: Feed,
}
SPEC_ONLY = {"named", "add_key", "definition", "bind"}
"""What makes a StateStore spec, before there is a client."""


@pytest.mark.spec("W-09")
@pytest.mark.parametrize("facade", FACADES)
def test_an_editor_finds_every_method_with_its_arguments(facade: type) -> None:
    """A method that is added to a client is missed here until it is awaited too."""
    methods = dict(inspect.getmembers(FACADES[facade], inspect.isfunction))
    for name in methods.keys() - SPEC_ONLY:
        if not name.startswith("_"):
            method = getattr(facade, name)
            assert name in dir(facade)
            assert inspect.iscoroutinefunction(method)
            assert list(inspect.signature(method).parameters) == list(inspect.signature(methods[name]).parameters)
            assert method.__doc__


@pytest.mark.spec("F-01", "FL-03", "FL-05", "FL-10")
def test_flows_and_feeds_can_be_awaited(tmp_path: Path) -> None:
    async def use() -> None:
        async with AsyncClient(connect(tmp_path)) as client:
            flow = OrderFlow()
            await client.start_flow(flow, "o", Order("o1", 900))
            await client.wait_for_attribute_equal(STATUS, "o", "open", timedelta(seconds=20))
            await client.invoke_rpc(flow.cancel, "o", "too dear")
            assert (await client.wait_for_flow("o", timedelta(seconds=20))).output == "cancelled: too dear"
            assert await client.get_attribute(STATUS, "o") == "cancelled"
            with pytest.raises(Refused, match="flow_id is the int 7"):
                await client.describe_flow(7)  # type: ignore[arg-type]  # what is wrong is the test
            feed = await client.feeds.define("a.events")
            await feed.append("k", "v")
            assert (feed.name, [record.key async for record in first(await feed.tail())]) == ("a.events", [b"k"])
            assert (await (await client.feed("a.events")).page()).records[0].payload == b"v"

    asyncio.run(use())


async def first(records: AsyncIterator[T]) -> AsyncIterator[T]:
    async for record in records:
        yield record
        return
