"""Mutations of many requests in few commits: what arrives while one commit is made goes into the next."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dex.engine.protocol import ANYWHERE, Engine, Node
from dex.wcl.commands import Command
from dex.wcl.errors import DexError

_MOST_AT_ONCE = 256


class Commits:
    """Carries out the mutations of each place apart: the journal of one that hangs holds up no other."""

    def __init__(self, engine: Node) -> None:
        self._engine = engine
        self._places: dict[int, SharedCommits] = {}

    async def write(self, mutations: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out mutations, those of one place in order; give for each its result, or the error it raised."""
        indexes: dict[int, list[int]] = {}
        for index, mutation in enumerate(mutations):
            indexes.setdefault(self._engine.place(mutation), []).append(index)
        if len(indexes) == 1 or ANYWHERE in indexes:  # all in order: others may need what that one makes
            return await self._at(ANYWHERE if ANYWHERE in indexes else next(iter(indexes))).write(mutations)
        written = await asyncio.gather(
            *(self._at(place).write([mutations[index] for index in found]) for place, found in indexes.items())
        )
        results: list[Any | DexError] = [None] * len(mutations)
        for found, those in zip(indexes.values(), written, strict=True):
            for index, result in zip(found, those, strict=True):
                results[index] = result
        return results

    def _at(self, place: int) -> "SharedCommits":
        if place not in self._places:
            self._places[place] = SharedCommits(self._engine)
        return self._places[place]

    def close(self) -> None:
        """Finish what was handed over."""
        for commits in self._places.values():
            commits.close()


class SharedCommits:
    """Collects mutations of one place on the event loop and hands them to the engine from one thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, "dex-commits")
        self._waiting: list[tuple[Command[Any], asyncio.Future[Any]]] = []
        self._runs = False
        self.commits = 0

    async def write(self, mutations: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out mutations in order; give for each its result, or the error it raised."""
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in mutations]
        self._waiting.extend(zip(mutations, futures, strict=True))
        if not self._runs:
            self._runs = True
            loop.create_task(self._run())  # noqa: RUF006  # `_waiting` and `_runs` keep it; it ends by itself
        return [await future for future in futures]

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            try:
                commands = [command for command, _ in batch]
                results = await loop.run_in_executor(self._thread, self._engine.execute_many, commands)
            except Exception as error:  # noqa: BLE001  # each request tells of it in its own way
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            self.commits += 1
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():  # its request may have gone away
                    future.set_result(result)
        self._runs = False

    def close(self) -> None:
        """Finish what was handed over and end the thread."""
        self._thread.shutdown()
