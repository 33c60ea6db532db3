"""The StateStore of the SDK: a spec that can be defined, and once bound a thin facade that holds no rows."""

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID

from dex.engine.protocol import Engine
from dex.wcl import commands
from dex.wcl.commands import (
    ClearStateStore,
    DefineStateStore,
    DeleteRow,
    Dropped,
    DropStateStore,
    FromFeed,
    GetBy,
    GetRow,
    Json,
    Manual,
    Metadata,
    NamedKey,
    PageRows,
    PutRow,
    RecordKey,
    RowDeleted,
    RowWritten,
    StoreCleared,
    StorePage,
    StoreRow,
    StoreRows,
)
from dex.wcl.errors import InvalidCommand
from dex.wcl.names import check_name
from dex.wcl.values import to_bytes

_ITERATE_PAGE = 1000


class Extractor:
    """How a named key of a feed-sourced store is read from each record (spec: F-03)."""

    @staticmethod
    def record_key() -> RecordKey:
        """Read the record's key."""
        return RecordKey()

    @staticmethod
    def metadata(name: str) -> Metadata:
        """Read the Metadata entry `name`."""
        return Metadata(name)

    @staticmethod
    def json(path: str) -> Json:
        """Read a dotted path of the JSON payload: objects by name, arrays by index."""
        return Json(path)


class StateStore:
    """A store by name.

    `StateStore.named(name)` makes a spec: `add_key` collects its named keys, `client.state_stores.define` declares
    it and gives it back bound. `client.state_store(name)` binds one that exists. Data calls need a bound store
    and raise ValueError on a spec (spec: S-15). Keys and payloads take bytes, or text as UTF-8.
    """

    MAX_NAMED_KEYS: ClassVar[int] = commands.MAX_NAMED_KEYS

    def __init__(self, name: str, engine: Engine | None = None) -> None:
        check_name(name, "store name")
        self.name = name
        self._engine = engine
        self._keys: list[NamedKey] = []

    @classmethod
    def named(cls, name: str) -> "StateStore":
        """Make a spec for a store.

        Raises:
            ValueError: the name is not one (spec: S-15).
        """
        return cls(name)

    def add_key(self, name: str, *, unique: bool = False, extractor: commands.Extractor | None = None) -> "StateStore":
        """Declare a named key for `define`; an existing store is not changed by it.

        Raises:
            ValueError: an 11th, duplicate or blank key (spec: W-07), or an argument of another type.
        """
        if extractor is not None and not isinstance(extractor, commands.Extractor):
            raise InvalidCommand(
                f"an extractor is no {type(extractor).__name__}", "write Extractor.json('a.b') or another of Extractor"
            )
        if not isinstance(unique, bool):
            raise InvalidCommand(f"unique is a bool, not {type(unique).__name__}", "pass True or False")
        commands.check_named_keys([*(key.name for key in self._keys), name])
        self._keys.append(NamedKey(name, unique, extractor))
        return self

    def definition(self, source: str | None = None) -> DefineStateStore:
        """Give the typed command that declares this spec, over the feed `source` if one is named.

        Raises:
            ValueError: a key without extractor and a source, or the other way round (spec: F-05).
        """
        origin = Manual() if source is None else FromFeed(source)
        return DefineStateStore(name=self.name, source=origin, named_keys=list(self._keys))

    def put(
        self,
        key: bytes | str,
        payload: bytes | str,
        named: dict[str, Any] | None = None,
        *,
        mutation_id: UUID | str | None = None,
    ) -> RowWritten:
        """Write the whole row, its named values included (spec: S-01 … S-07).

        Raises:
            Refused: an undeclared key, a value of another type, or a store that takes no puts.
            Conflict: a unique value another row has, or a mutation id used with other contents.
        """
        command = PutRow(
            store=self.name,
            key=to_bytes(key, "key"),
            payload=to_bytes(payload, "payload"),
            named={} if named is None else named,
            mutation_id=mutation_id_text(mutation_id),
        )
        return self._bound().execute(command)

    def delete(self, key: bytes | str, *, mutation_id: UUID | str | None = None) -> RowDeleted:
        """Remove a row; `existed` of the result tells whether there was one (spec: S-08)."""
        command = DeleteRow(
            store=self.name,
            key=to_bytes(key, "key"),
            mutation_id=mutation_id_text(mutation_id),
        )
        return self._bound().execute(command)

    def get(
        self, key: bytes | str, *, strict: bool = False, wait_ms: int = commands.DEFAULT_WAIT_MS
    ) -> StoreRow | None:
        """Read a row with its freshness, or None (spec: S-09).

        Raises:
            Conflict: a strict read could not catch up within `wait_ms` (`reason` index_behind, spec: S-11).
        """
        command = GetRow(store=self.name, key=to_bytes(key, "key"), strict=strict, wait_ms=wait_ms)
        return self._bound().execute(command)

    def get_by(
        self, named_key: str, value: Any, *, strict: bool = False, wait_ms: int = commands.DEFAULT_WAIT_MS
    ) -> StoreRows:
        """Read every row that carries `value` in a named key; a list value is one composite value (spec: S-04, S-10).

        Raises:
            Refused: the key is not declared.
            Conflict: as for `get`.
        """
        command = GetBy(store=self.name, named_key=named_key, value=value, strict=strict, wait_ms=wait_ms)
        return self._bound().execute(command)

    def page(self, limit: int = 256, after: bytes | str | None = None) -> StorePage:
        """Read one bounded page in key order; the last has no `next_key` (spec: S-12)."""
        start = None if after is None else to_bytes(after, "key")
        return self._bound().execute(PageRows(store=self.name, limit=limit, after=start))

    def iterate(self) -> Iterator[StoreRow]:
        """Give every row in key order, a page at a time; one present throughout comes exactly once (spec: S-12)."""
        return self._pages(self._bound())

    def _pages(self, engine: Engine) -> Iterator[StoreRow]:
        after: bytes | None = None
        while True:
            page = engine.execute(PageRows(store=self.name, limit=_ITERATE_PAGE, after=after))
            yield from page.rows
            after = page.next_key
            if after is None:
                return

    def clear(self, *, mutation_id: UUID | str | None = None) -> StoreCleared:
        """Empty the store in one mutation (spec: S-13)."""
        return self._bound().execute(ClearStateStore(name=self.name, mutation_id=mutation_id_text(mutation_id)))

    def drop(self) -> Dropped:
        """Tombstone the store; its name stays taken (spec: S-14)."""
        return self._bound().execute(DropStateStore(name=self.name))

    def bind(self, engine: Engine) -> "StateStore":
        """Give this store bound to an engine.

        Raises:
            ValueError: it is no engine.
        """
        if not hasattr(engine, "execute"):
            raise InvalidCommand(f"{type(engine).__name__} is no engine", "pass client.engine")
        bound = StateStore(self.name, engine)
        bound._keys = list(self._keys)
        return bound

    def _bound(self) -> Engine:
        if self._engine is None:
            raise InvalidCommand(
                f"StateStore {self.name!r} is a spec and not bound to a client",
                "bind it via client.state_stores.define(spec) or client.state_store(name)",
                name=self.name,
            )
        return self._engine


def mutation_id_text(mutation_id: UUID | str | None) -> str | None:
    """Give a mutation id as typed commands have it; they refuse what is neither text nor a UUID."""
    return str(mutation_id) if isinstance(mutation_id, UUID) else mutation_id
