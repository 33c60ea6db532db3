"""AsyncClient: the same Client for asyncio, each call in a thread, so that nothing is written twice."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from dex.engine.client import Client, StateStores, connect
from dex.engine.feed import Feed, Feeds
from dex.engine.statestore import StateStore
from dex.wcl.commands import CommittedRecord, StoreRow

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_END = object()


class _Wrapped(Generic[T]):
    def __init__(self, target: T) -> None:
        self._target = target


def _awaited(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[_Wrapped[Any], P], Coroutine[Any, Any, R]]:
    """Give a method of the wrapped object as a coroutine function, with its signature and documentation."""

    @wraps(method)
    async def call(self: _Wrapped[Any], /, *arguments: P.args, **named: P.kwargs) -> R:
        return await asyncio.to_thread(method, self._target, *arguments, **named)

    return call


class AsyncStateStore(_Wrapped[StateStore]):
    """A StateStore whose methods are awaited: `row = await store.get(key)`."""

    @property
    def name(self) -> str:
        """The store's name."""
        return self._target.name

    put = _awaited(StateStore.put)
    delete = _awaited(StateStore.delete)
    get = _awaited(StateStore.get)
    get_by = _awaited(StateStore.get_by)
    page = _awaited(StateStore.page)
    clear = _awaited(StateStore.clear)
    drop = _awaited(StateStore.drop)

    async def iterate(self) -> AsyncIterator[StoreRow]:
        """Give every row in key order: `async for row in await store.iterate()`."""
        return _each(await asyncio.to_thread(self._target.iterate))


class AsyncStateStores(_Wrapped[StateStores]):
    """The control plane of stores: `client.state_stores`."""

    drop = _awaited(StateStores.drop)
    describe = _awaited(StateStores.describe)
    list = _awaited(StateStores.list)

    async def define(self, spec: StateStore, source: str | None = None) -> AsyncStateStore:
        """Declare a spec, over the feed `source` if one is named, and give it bound; raises as `StateStores.define`."""
        return AsyncStateStore(await asyncio.to_thread(self._target.define, spec, source))


class AsyncFeed(_Wrapped[Feed]):
    """A Feed whose methods are awaited: `await feed.append(key, payload)`."""

    @property
    def name(self) -> str:
        """The feed's name."""
        return self._target.name

    append = _awaited(Feed.append)
    append_many = _awaited(Feed.append_many)
    page = _awaited(Feed.page)
    drop = _awaited(Feed.drop)

    async def tail(self, after: int = 0) -> AsyncIterator[CommittedRecord]:
        """Give the records after a position and then each new one: `async for record in await feed.tail()`."""
        return _each(await asyncio.to_thread(self._target.tail, after))


class AsyncFeeds(_Wrapped[Feeds]):
    """The control plane of feeds: `client.feeds`."""

    drop = _awaited(Feeds.drop)
    describe = _awaited(Feeds.describe)
    list = _awaited(Feeds.list)

    async def define(self, name: str) -> AsyncFeed:
        """Declare a feed, or find it declared; raises as `Feeds.define`."""
        return AsyncFeed(await asyncio.to_thread(self._target.define, name))


class AsyncClient(_Wrapped[Client]):
    """A Client whose methods are awaited: `await client.invoke_rpc(flow.method, flow_id, input)`.

    It takes what `connect` takes, or a Client that exists. Close it, or use it in `async with`.
    """

    def __init__(self, target: str | os.PathLike[str] | Client) -> None:
        super().__init__(target if isinstance(target, Client) else connect(target))
        self.state_stores = AsyncStateStores(self._target.state_stores)
        self.feeds = AsyncFeeds(self._target.feeds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    wcl = _awaited(Client.wcl)
    commands = _awaited(Client.commands)
    execute = _awaited(Client.execute)
    close = _awaited(Client.close)

    register = _awaited(Client.register)
    start_flow = _awaited(Client.start_flow)
    invoke_rpc = _awaited(Client.invoke_rpc)
    get_attribute = _awaited(Client.get_attribute)
    get_attributes = _awaited(Client.get_attributes)
    set_attribute = _awaited(Client.set_attribute)
    set_attributes = _awaited(Client.set_attributes)
    publish = _awaited(Client.publish)
    wait_for_flow = _awaited(Client.wait_for_flow)
    wait_for_step_completion = _awaited(Client.wait_for_step_completion)
    wait_for_attribute_equal = _awaited(Client.wait_for_attribute_equal)
    describe_flow = _awaited(Client.describe_flow)
    search_flows = _awaited(Client.search_flows)
    skip_timer = _awaited(Client.skip_timer)
    stop_flow = _awaited(Client.stop_flow)
    time_travel = _awaited(Client.time_travel)
    update_flow_config = _awaited(Client.update_flow_config)

    async def state_store(self, name: str) -> AsyncStateStore:
        """Bind a store that exists; raises as `Client.state_store`."""
        return AsyncStateStore(await asyncio.to_thread(self._target.state_store, name))

    async def feed(self, name: str) -> AsyncFeed:
        """Bind a feed that exists; raises as `Client.feed`."""
        return AsyncFeed(await asyncio.to_thread(self._target.feed, name))


async def _each(items: Iterator[T]) -> AsyncIterator[T]:
    while (item := await asyncio.to_thread(next, items, _END)) is not _END:
        yield item  # type: ignore[misc]  # only the end is no T
