"""The names that completion offers, read once for each line that is typed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dex.cli.session import Session
from dex.engine.sqlite.connection import database_path
from dex.wcl.commands import ShowFeeds, ShowStateStores
from dex.wcl.errors import DexError


class LiveNames:
    """Names of the target, kept until `forget`; a target that is not there yet has none and is not made."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[type, list[Any]] = {}

    def forget(self) -> None:
        """Read again when names are wanted next."""
        self._kept.clear()

    def stores(self) -> Iterable[str]:
        """Give the names of the StateStores."""
        return [store.name for store in self._read(ShowStateStores)]

    def feeds(self) -> Iterable[str]:
        """Give the names of the Feeds."""
        return [feed.name for feed in self._read(ShowFeeds)]

    def keys(self) -> Iterable[str]:
        """Give the names of the named keys of all stores."""
        return {key.name for store in self._read(ShowStateStores) for key in store.keys}

    def _read(self, command: type[ShowStateStores | ShowFeeds]) -> list[Any]:
        if command not in self._kept:
            try:
                there = target_exists(self._session)
                self._kept[command] = self._session.engine.execute(command()) if there else []
            except DexError:
                self._kept[command] = []
        return self._kept[command]


def target_exists(session: Session) -> bool:
    """Tell whether the target holds anything yet."""
    return session.endpoint is not None or Path(database_path(session.settings["data-dir"])).exists()
