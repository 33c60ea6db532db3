"""The worker in a thread of its own, and waiting for what it does."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dex.engine.sync.config import StoreConfig, SyncConfig
from dex.engine.sync.dsn import Dsn
from dex.engine.sync.metrics import SyncMetrics
from dex.engine.sync.storewriter import Destination
from dex.engine.sync.tablename import TableName
from dex.engine.sync.worker import SyncWorker

PATIENCE = 20.0


def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)


@contextmanager
def working(run: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run a worker inside the block."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def worker_of(parts: Any, destinations: dict[str, Destination], **config: Any) -> SyncWorker:
    """Give a worker over destinations."""
    stores = {name: StoreConfig(name=name, dsn=Dsn("host=none"), table=TableName(None, name)) for name in destinations}
    return SyncWorker(parts, SyncConfig(stores=stores, **config), destinations, SyncMetrics())
