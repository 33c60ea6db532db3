"""What the engine should do, told in plain dicts: the model that the stateful test compares it with."""

import json
from dataclasses import dataclass, field
from typing import Any

from dex.engine.outcomes import RETENTION_MS
from dex.wcl.commands import (
    AppendRecords,
    ClearStateStore,
    DefineFeed,
    DefineStateStore,
    DeleteRow,
    DropFeed,
    Dropped,
    DropStateStore,
    FeedDefined,
    FeedRecord,
    FromFeed,
    Json,
    Metadata,
    NamedKey,
    PutRow,
    RebuildStateStore,
    RecordsAppended,
    RowDeleted,
    RowWritten,
    StoreCleared,
    StoreDefined,
    StoreRebuilt,
)
from dex.wcl.errors import DexError
from dex.wcl.wire import to_json

Row = tuple[bytes, dict[str, Any]]
Told = tuple[Any, ...]
"""What is compared of a result or an error: a word, and the facts that matter."""


@dataclass
class Store:
    """A store's definition and, for a manual one, its rows."""

    keys: list[NamedKey]
    source: Any
    rows: dict[bytes, Row] = field(default_factory=dict)
    dropped: bool = False


@dataclass
class Feed:
    records: list[FeedRecord] = field(default_factory=list)
    dropped: bool = False


class Model:
    """Carries out mutations one by one."""

    def __init__(self) -> None:
        self.stores: dict[str, Store] = {}
        self.feeds: dict[str, Feed] = {}
        self.seq = 0
        self.at = 0
        self._outcomes: dict[tuple[str, str], tuple[int, str, Told]] = {}

    def apply(self, command: Any, now_ms: int) -> Told:
        """Give what the engine must tell of this command."""
        at = max(now_ms, self.at)
        told = self._once(command, at)
        if told[0] != "refused" and "unchanged" not in told and "replayed" not in told:
            self.at = at
        return told

    def _once(self, command: Any, at: int) -> Told:
        mutation_id = getattr(command, "mutation_id", None)
        name = getattr(command, "store", None) or getattr(command, "feed", None) or command.name
        if mutation_id is None or not self._alive(name, command):
            return self._run(command)
        contents = json.dumps(to_json(command), sort_keys=True)
        scope = (type(command) is AppendRecords, name, mutation_id)
        known = self._outcomes.get(scope)
        if known is not None and known[0] > at - RETENTION_MS:
            if known[1] != contents:
                return ("conflict", "mutation_id", "replayed")
            return (*known[2], "replayed")
        told = self._run(command)
        if told[0] == "refused":
            return told
        if told[:2] == ("conflict", "unique"):
            self.seq += 1
            told = (*told, "remembered")
        self._outcomes[scope] = (at, contents, told)
        return told

    def _alive(self, name: str, command: Any) -> bool:
        known = self.feeds if type(command) is AppendRecords else self.stores
        return name in known and not known[name].dropped

    def _run(self, command: Any) -> Told:
        told = getattr(self, f"_{type(command).__name__}")(command)
        if told[0] in {"refused", "conflict"} or "unchanged" in told:
            return told
        self.seq += 1
        return (told[0], self.seq, *told[1:])

    def _DefineStateStore(self, command: DefineStateStore) -> Told:  # noqa: N802  # found by the command's name
        known = self.stores.get(command.name)
        if known is not None:
            if known.dropped:
                return ("refused",)
            if known.source != command.source:
                return ("conflict", "source", "unchanged")
            return ("defined", "unchanged")
        if isinstance(command.source, FromFeed):
            feed = self.feeds.get(command.source.feed)
            if feed is None or feed.dropped:
                return ("refused",)
        self.stores[command.name] = Store(command.named_keys, command.source)
        return ("defined", "created")

    def _DropStateStore(self, command: DropStateStore) -> Told:  # noqa: N802  # as above
        store = self.stores.get(command.name)
        if store is None or store.dropped:
            return ("refused",)
        store.dropped = True
        return ("dropped",)

    def _DefineFeed(self, command: DefineFeed) -> Told:  # noqa: N802  # as above
        feed = self.feeds.get(command.name)
        if feed is not None:
            return ("refused",) if feed.dropped else ("defined", "unchanged")
        self.feeds[command.name] = Feed()
        return ("defined", "created")

    def _DropFeed(self, command: DropFeed) -> Told:  # noqa: N802  # as above
        feed = self.feeds.get(command.name)
        if feed is None or feed.dropped:
            return ("refused",)
        if any(store.source == FromFeed(command.name) and not store.dropped for store in self.stores.values()):
            return ("refused",)
        feed.dropped = True
        return ("dropped",)

    def _manual(self, name: str) -> Store | None:
        store = self.stores.get(name)
        return None if store is None or store.dropped or isinstance(store.source, FromFeed) else store

    def _PutRow(self, command: PutRow) -> Told:  # noqa: N802  # as above
        store = self._manual(command.store)
        if store is None or not set(command.named) <= {key.name for key in store.keys}:
            return ("refused",)
        holder = _holder(store.keys, store.rows, command.key, command.named)
        if holder is not None:
            return ("conflict", "unique", *holder)
        replaced = command.key in store.rows
        store.rows[command.key] = (command.payload, command.named)
        return ("put", replaced)

    def _DeleteRow(self, command: DeleteRow) -> Told:  # noqa: N802  # as above
        store = self._manual(command.store)
        if store is None:
            return ("refused",)
        return ("deleted", store.rows.pop(command.key, None) is not None)

    def _ClearStateStore(self, command: ClearStateStore) -> Told:  # noqa: N802  # as above
        store = self._manual(command.name)
        if store is None:
            return ("refused",)
        existed = bool(store.rows)
        store.rows = {}
        return ("deleted", existed)

    def _RebuildStateStore(self, command: RebuildStateStore) -> Told:  # noqa: N802  # as above
        store = self.stores.get(command.name)
        if store is None or store.dropped or not isinstance(store.source, FromFeed):
            return ("refused",)
        return ("rebuilt",)

    def _AppendRecords(self, command: AppendRecords) -> Told:  # noqa: N802  # as above
        feed = self.feeds.get(command.feed)
        if feed is None or feed.dropped:
            return ("refused",)
        feed.records += command.records
        return ("appended", len(feed.records))

    def rows(self, store: Store) -> tuple[dict[bytes, Row], int]:
        """Give a live store's rows, and how many unique values its records lost."""
        if not isinstance(store.source, FromFeed):
            return store.rows, 0
        rows: dict[bytes, Row] = {}
        lost = 0
        for record in self.feeds[store.source.feed].records:
            if record.payload is None:
                rows.pop(record.key, None)
                continue
            named = {key.name: _extract(key, record) for key in store.keys}
            while (holder := _holder(store.keys, rows, record.key, named)) is not None:
                del named[holder[0]]
                lost += 1
            rows[record.key] = (record.payload, named)
        return rows, lost


def told(result: Any) -> Told:
    """Give of an engine's result what the model gives of its own."""
    if isinstance(result, DexError):
        if result.kind != "conflict":
            return (result.kind,)
        holder = (result.named_key, result.holder) if result.reason == "unique" else ()
        return ("conflict", result.reason, *holder)
    if isinstance(result, FeedDefined | StoreDefined):
        return ("defined", *([result.seq] * (result.status == "created")), result.status)
    fact = [getattr(result, name) for name in _FACTS.get(type(result), ())]
    return (_WORDS[type(result)], result.seq, *fact, *["replayed"] * getattr(result, "replayed", False))


_WORDS = {
    RowWritten: "put",
    RowDeleted: "deleted",
    StoreCleared: "deleted",
    RecordsAppended: "appended",
    Dropped: "dropped",
    StoreRebuilt: "rebuilt",
}
_FACTS = {RowWritten: ["replaced"], RowDeleted: ["existed"], StoreCleared: ["existed"]}


def comparable(expected: Told) -> Told:
    """Leave out of the model's answer what the engine's does not say."""
    if expected[0] == "conflict":
        return tuple(word for word in expected if word not in {"replayed", "remembered", "unchanged"})
    if expected[0] == "appended":
        return (expected[0], *expected[2:])
    return expected


def _holder(keys: list[NamedKey], rows: dict[bytes, Row], key: bytes, named: dict[str, Any]) -> tuple[str, str] | None:
    for declared in keys:
        value = named.get(declared.name)
        if not declared.unique or value is None:
            continue
        for other, (_, theirs) in rows.items():
            if other != key and same(theirs.get(declared.name), value):
                return declared.name, other.decode()
    return None


def same(left: Any, right: Any) -> bool:
    """Tell whether two named values are equal in type and value."""
    return type(left) is type(right) and bool(left == right)


def _extract(key: NamedKey, record: FeedRecord) -> Any:
    if isinstance(key.extractor, Metadata):
        return record.metadata.get(key.extractor.name)
    if isinstance(key.extractor, Json):
        try:
            value = json.loads(record.payload or b"").get(key.extractor.path)
        except ValueError:
            return None
        return value if isinstance(value, (str, int, bool)) else None
    return record.key.decode()
