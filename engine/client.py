"""The SDK's Client: conveniences over the two doors, WCL and typed commands (spec: W-09)."""

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from dex.engine.feed import Feed, Feeds
from dex.engine.flowclient import FlowClient
from dex.engine.protocol import Engine
from dex.engine.statestore import StateStore
from dex.wcl.commands import (
    Command,
    DescribeStateStore,
    Dropped,
    DropStateStore,
    PageRecords,
    PageRows,
    ShowStateStores,
    StoreDescription,
    StoreSummary,
)
from dex.wcl.errors import InputError
from dex.wcl.names import check_is_text, check_name
from dex.wcl.wire import command_from

R = TypeVar("R")


class StatementResult(msgspec.Struct):
    """What one WCL statement did: its typed command's name, and created, unchanged, dropped or ok."""

    command: str
    status: str
    result: Any


def run_statement(engine: Engine, command: Command[Any]) -> StatementResult:
    """Carry out the typed command of a statement and say what it did.

    Raises:
        DexError: as `Engine.execute`.
    """
    result = engine.execute(command)
    return StatementResult(str(command.__struct_config__.tag), getattr(result, "status", "ok"), result)


class StateStores:
    """The control plane of stores: `client.state_stores`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def define(self, spec: StateStore, source: str | None = None) -> StateStore:
        """Declare a spec, over the feed `source` if one is named, and give it bound (spec: W-05, F-02).

        Raises:
            ValueError: keys and source do not fit; nothing was called (spec: F-05).
            InputError: it is no spec.
            Refused: the name was dropped before, or the feed does not exist.
            Conflict: the store exists with another source.
        """
        if not isinstance(spec, StateStore):
            raise InputError(f"a spec is a StateStore, not {type(spec).__name__}", "pass StateStore.named('accounts')")
        self._engine.execute(spec.definition(source))
        return spec.bind(self._engine)

    def drop(self, name: str) -> Dropped:
        """Tombstone a store (spec: S-14).

        Raises:
            Refused: there is none, or it was dropped before.
        """
        return self._engine.execute(DropStateStore(name=name))

    def describe(self, name: str) -> StoreDescription:
        """Tell all about a store, a dropped one included (spec: S-19).

        Raises:
            Refused: there is none.
        """
        return self._engine.execute(DescribeStateStore(name=name))

    def list(self) -> list[StoreSummary]:
        """List the stores that are not dropped, by name."""
        return self._engine.execute(ShowStateStores())


class Client(FlowClient):
    """One target: the embedded engine in a directory. Close it, or use it as a context manager."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.state_stores = StateStores(engine)
        self.feeds = Feeds(engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wcl(self, text: str) -> list[StatementResult]:
        """Parse WCL, then run its statements in order (spec: W-09).

        Raises:
            WclSyntaxError: with line and column; nothing was run.
            DexError: the first statement that fails; those before it have been carried out.
        """
        from dex.wcl.parser import parse

        check_is_text(text, "WCL")
        return [run_statement(self.engine, statement.command) for statement in parse(text)]

    def commands(self, commands: Iterable[Command[Any] | Mapping[str, Any]]) -> list[Any]:
        """Run typed commands, or their JSON form as dicts, in order (spec: W-09).

        Raises:
            InputError: one is not a command; nothing was run.
            DexError: the first command that fails; those before it have been carried out.
        """
        if isinstance(commands, str | bytes | Mapping) or not hasattr(commands, "__iter__"):
            raise InputError(f"commands are a list, not {type(commands).__name__}", "pass client.commands([command])")
        typed = [
            command if isinstance(command, Command) else command_from(command, f"$[{index}]")
            for index, command in enumerate(commands)
        ]
        return [self.engine.execute(command) for command in typed]

    def execute(self, command: Command[R]) -> R:
        """Run one typed command and give its result; `commands` also takes their JSON form.

        Raises:
            InputError: it is not a typed command.
            DexError: of the kind that fits.
        """
        if not isinstance(command, Command):
            raise InputError(f"{type(command).__name__} is not a typed command", "pass dicts to client.commands([...])")
        return self.engine.execute(command)

    def state_store(self, name: str) -> StateStore:
        """Bind a store that exists (spec: S-18).

        Raises:
            Refused: there is none, with the nearest names.
        """
        check_name(name, "store name")
        self.engine.execute(PageRows(store=name, limit=1))
        return StateStore(name, self.engine)

    def feed(self, name: str) -> Feed:
        """Bind a feed that exists.

        Raises:
            Refused: there is none, with the nearest names.
        """
        check_name(name, "feed name")
        self.engine.execute(PageRecords(feed=name, limit=1))
        return Feed(name, self.engine)

    def close(self) -> None:
        """Release the engine's files and threads."""
        self.engine.close()


def connect(
    target: str | os.PathLike[str],
    *,
    token: str | None = None,
    timeout: float = 60.0,
    sync_config: str | os.PathLike[str] | None = None,
) -> Client:
    """Give a client of `target`: a directory, made on first use, for the embedded engine, or the URL of a server.

    Several URLs, with commas between them, are tried in turn; a put, an append or a start then gets an id of its own
    where it has none, so that one whose answer is lost is sent to the next and done once. `token` is what they know the
    client by. `timeout` is how many seconds a command may wait. `sync_config` is the file with the Attribute Stores
    that Flows may be started with, as `dex sync run` takes it (spec: Y-04); a server has its own.

    Raises:
        InputError: a URL that is none of HTTP, or an argument of another type or that a server cannot take.
    """
    from dex.engine.remote.endpoints import is_endpoint, parse_endpoints

    if not isinstance(target, str | os.PathLike):
        raise InputError(f"a target is a directory or URL, not {type(target).__name__}", "pass a str or a Path")
    seconds: Any = timeout
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds > 0:
        raise InputError(f"timeout is a number of seconds above 0, not {timeout!r}", "pass one such as 30.0")
    if isinstance(target, str) and is_endpoint(target):
        from dex.engine.remote.engine import RemoteEngine

        if sync_config is not None:
            raise InputError("a server has its own sync_config", "pass one with a directory only")
        endpoints = parse_endpoints(target)
        return Client(RemoteEngine(endpoints, token=token, timeout=timeout, own_ids=len(endpoints) > 1))
    from dex.engine.local import LocalEngine
    from dex.engine.sync.storenames import StoreNames

    if sync_config is not None and not isinstance(sync_config, str | os.PathLike):
        raise InputError(f"sync_config is a file, not {type(sync_config).__name__}", "pass a str or a Path")
    return Client(LocalEngine(target, timeout=timeout, attribute_stores=StoreNames(sync_config)))
