"""AsyncClient: the same Client for asyncio, each call in a thread. A thin adapter, so that nothing is written twice."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self

from dex.engine.client import Client, StateStores, connect
from dex.engine.feed import Feed, Feeds
from dex.engine.statestore import StateStore

_END = object()


class AsyncProxy:
    """Gives the methods of an object as coroutines. Stores that they give are wrapped as well.

    `iterate` gives an asynchronous iterator: `async for row in await store.iterate()`.
    """

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        """Give a method as a coroutine, or an attribute as it is."""
        value = getattr(self._target, name)
        if not callable(value):
            return _wrapped(value)

        async def call(*arguments: Any, **named: Any) -> Any:
            return _wrapped(await asyncio.to_thread(value, *arguments, **named))

        return call


class AsyncClient(AsyncProxy):
    """A Client whose methods are awaited: `await client.invoke_rpc(flow.method, flow_id, input)`.

    It takes a directory, or a Client that exists. Close it, or use it in `async with`.
    """

    def __init__(self, target: str | os.PathLike[str] | Client) -> None:
        super().__init__(target if isinstance(target, Client) else connect(target))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _wrapped(value: Any) -> Any:
    if isinstance(value, (StateStore, StateStores, Feed, Feeds)):
        return AsyncProxy(value)
    return _rows(value) if isinstance(value, Iterator) else value


async def _rows(rows: Iterator[Any]) -> AsyncIterator[Any]:
    while (row := await asyncio.to_thread(next, rows, _END)) is not _END:
        yield row
