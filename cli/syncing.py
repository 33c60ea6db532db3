"""What the commands of `dex sync` share: the configuration, the open stores, and their log on standard error."""

import logging
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from dex.cli.render.text import printable
from dex.cli.session import Session
from dex.wcl.commands.sync import SyncBacklog, SyncDrops
from dex.wcl.errors import DexError, InputError, Refused, Unavailable
from dex.wcl.names import did_you_mean

if TYPE_CHECKING:
    from dex.engine.sync.checking import StoreSchema
    from dex.engine.sync.config import SyncConfig
    from dex.engine.sync.service import Sync


def sync_config(session: Session) -> "SyncConfig":
    """Read and check the configuration that the settings name.

    Raises:
        InputError: none is named, or it has faults.
        DexError: psycopg is not installed.
    """
    from dex.engine.sync.configfile import load_config

    path = session.settings["sync-config"]
    if path is None:
        raise InputError(
            "no configuration of sync is named",
            "name one by --sync-config FILE or DEX_SYNC_CONFIG; see samples/sync.yaml",
        )
    return load_config(path)


def refuse_unknown(session: Session, store: str | None) -> None:
    """Fail where a store is named that is not in the configuration that the settings name, and never was in use.

    Raises:
        Refused: with the nearest name; an answer about it would look as if all was well.
    """
    if store is None or session.settings["sync-config"] is None or session.endpoint is not None:
        return
    from dex.engine.sync.storenames import StoreNames

    known = list(StoreNames(session.settings["sync-config"]))
    was_used = (SyncBacklog(store=store, limit=1), SyncDrops(store=store, limit=1))
    if store in known or session.engine.execute(was_used[0]).total or session.engine.execute(was_used[1]):
        return
    configured = f"configured: {', '.join(known) or 'none'}"
    raise Refused(f"there is no Attribute Store {store!r}", did_you_mean(store, known) or configured)


def check_stores(config: "SyncConfig") -> "dict[str, StoreSchema | DexError]":
    """Connect to every store and check its tables; give what was found or is wrong of each."""
    with _need_driver():
        from dex.engine.sync import service
    return service.check_stores(config)


def refuse_wrong(found: "Mapping[str, StoreSchema | DexError]") -> None:
    """Fail where a store is not as it should be.

    Raises:
        Unavailable, FailedPrecondition: with the faults of all stores; Unavailable if one cannot be reached.
    """
    wrong = [each for each in found.values() if isinstance(each, DexError)]
    if not wrong:
        return
    faults = [fault for error in wrong for fault in error.facts.get("faults", [error.message])]
    first = next((error for error in wrong if isinstance(error, Unavailable)), wrong[0])
    raise type(first)("\n".join(faults), first.remedy, faults=faults)


@contextmanager
def _need_driver() -> Iterator[None]:
    """Say what to install where a library of sync is missing.

    Raises:
        DexError: naming it.
    """
    try:
        yield
    except ImportError as error:
        raise DexError(
            f"sync needs {error.name}, which is not installed", "install dex with its extra `postgres`"
        ) from error


@contextmanager
def open_sync(session: Session, level: int | None = logging.WARNING) -> Iterator["Sync"]:
    """Connect to every store and check its tables; close the connections at the end (spec: Y-06).

    What sync has to say of at least `level` is written to standard error meanwhile; None leaves it to the caller.

    Raises:
        InputError: the configuration is wrong.
        Unavailable, FailedPrecondition: a store is.
        Refused: the target is a server.
    """
    session.refuse_server()
    config = sync_config(session)
    with _need_driver():
        from dex.engine.sync.service import Sync
    sync = Sync(session.local.flows.parts, config)
    try:
        with nullcontext() if level is None else _log_to_stderr(level):
            sync.open()
            yield sync
    finally:
        sync.close()


@contextmanager
def _log_to_stderr(lowest: int) -> Iterator[None]:
    """Write the log of sync with its times in UTC."""
    logger = logging.getLogger("dex.sync")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(lowest)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate
        logger.setLevel(level)


class _Line(logging.Formatter):
    """One line for each record, whatever its text."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Escape what would break the line."""
        return printable(super().formatMessage(record))
