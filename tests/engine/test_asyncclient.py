"""AsyncClient: the same calls, awaited."""

import asyncio
from pathlib import Path

import pytest

from dex import AsyncClient, Conflict, StateStore


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
