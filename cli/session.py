"""What one command works with: its settings, its output and the engine, opened when first asked for."""

import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from dex.cli.color import wants_color
from dex.cli.deadline import left
from dex.cli.exits import Style, say, warn
from dex.cli.output import Output, prints_aside
from dex.cli.render.text import printable
from dex.cli.settings import chosen_endpoint, resolve
from dex.wcl.errors import DexError, Refused

if TYPE_CHECKING:
    import logging

    from dex.engine.client import Client
    from dex.engine.cluster.engine import ClusterEngine
    from dex.engine.cluster.settings import ClusterSettings
    from dex.engine.flows.registry import Registry
    from dex.engine.housekeeping import Retention
    from dex.engine.local import LocalEngine
    from dex.engine.protocol import Engine
    from dex.engine.remote.engine import RemoteEngine
    from dex.engine.sync.config import SyncConfig


_OF_ENGINE = ("data-dir", "endpoint", "token", "context", "config", "flows", "sync-config")
"""Global options that say which engine a command works with."""


class Session:
    """One command's settings, output and engine; close it when the command ends.

    `flags` are the global options that were given, by name. An `engine` that is passed in stays open.
    """

    def __init__(self, flags: dict[str, Any], engine: "Engine | None" = None) -> None:
        self.flags = flags
        self.settings = resolve(flags, os.environ)
        self._lent = engine
        self._opened: Engine | None = None
        self._writes_before = 0 if engine is None else engine.writes
        self.only_reads = False
        self.server_log: logging.Logger | None = None
        """Where a server tells of itself; None unless this command is one."""

    @property
    def wrote(self) -> bool:
        """Tell whether this command has begun to write anything, whatever became of it.

        What Steps write that are worked meanwhile does not count for one that `only_reads`: it may be repeated.
        """
        engine = self._lent or self._opened
        return not self.only_reads and engine is not None and engine.writes > self._writes_before

    @property
    def engine(self) -> "Engine":
        """The engine of the target."""
        if self._lent is not None:
            return self._lent
        if self._opened is None:
            self._opened = self._open_local() if self.endpoint is None else self._open_remote(self.endpoint)
        return self._opened

    @property
    def local(self) -> "LocalEngine":
        """The embedded engine, for a command that works in its files.

        Raises:
            Refused: the target is a server.
        """
        self.refuse_server()
        return cast("LocalEngine", self.engine)

    def refuse_server(self) -> None:
        """Fail where the target is a server.

        Raises:
            Refused: naming it.
        """
        if self.endpoint is not None:
            raise Refused(
                f"this command works on an embedded engine, and the target is {self.endpoint}",
                "run it where the data directory is, with --data-dir; a server does this work by itself",
            )

    @cached_property
    def endpoint(self) -> str | None:
        """The address of the server that is the target; None where it is the embedded engine."""
        return chosen_endpoint(self.settings)

    def _open_local(self) -> "LocalEngine":
        from dex.engine.local import LocalEngine

        return LocalEngine(self.settings["data-dir"], **self._options())

    def open_node(self, settings: "ClusterSettings") -> "ClusterEngine":
        """Open the data directory as a node of a cluster; it is the engine of this session from now on."""
        from dex.engine.cluster.engine import ClusterEngine

        path = self.settings["sync-config"]

        def sync_config() -> "SyncConfig":
            from dex.engine.sync.configfile import load_config

            return load_config(path)

        data_dir = Path(self.settings["data-dir"])
        sync = None if path is None else sync_config
        self._opened = node = ClusterEngine(data_dir, settings, **self._options(), sync_config=sync)
        return node

    def _options(self) -> dict[str, Any]:
        """Give what engines in a data directory are opened with."""
        from dex.engine.local import DEFAULT_TIMEOUT
        from dex.engine.sync.storenames import StoreNames

        return {
            "timeout": self.settings["timeout"] or DEFAULT_TIMEOUT,
            "retention": self._retention(),
            "registry": self._registry,
            "attribute_stores": StoreNames(self.settings["sync-config"]),
        }

    def _open_remote(self, endpoint: str) -> "RemoteEngine":
        from dex.engine.remote.endpoints import parse_endpoints
        from dex.engine.remote.engine import DEFAULT_TIMEOUT, RemoteEngine

        timeout = self.settings["timeout"]
        timeout = DEFAULT_TIMEOUT if timeout is None else left(timeout)
        token = self.settings["token"]
        return RemoteEngine(parse_endpoints(endpoint), token=token, timeout=timeout, own_ids=True)

    @property
    def client(self) -> "Client":
        """The SDK's client of the same engine."""
        from dex.engine.client import Client

        return Client(self.engine)

    def _registry(self) -> "Registry":
        """Load the Flow types, once a command needs them; what cannot be loaded is told and stops nothing."""
        from dex.engine.flows.builtin import default_registry

        with prints_aside():
            registry = default_registry(self.settings["flows"])
        registry.is_served = self.server_log is not None
        for problem in registry.problems:
            self._warn(problem)
        return registry

    def _warn(self, problem: DexError) -> None:
        """Tell of what went wrong beside a command that goes on: in a server's log, else unless quiet."""
        if self.server_log is not None:
            self.server_log.warning("%s", problem)
        elif not self.quiet:
            warn(problem, self.style)

    def _retention(self) -> "Retention":
        """Give how much of the journal is kept."""
        from dex.engine.housekeeping import Retention

        return Retention(self.settings["journal-max-bytes"], int(self.settings["journal-max-age"] * 1000))

    @cached_property
    def out(self) -> Output:
        """Where results go."""
        color = wants_color(self.settings["color"], sys.stdout, os.environ)
        return Output(self.form, color=color, counted=sys.stdout.isatty() and not self.quiet)

    @property
    def form(self) -> str:
        """The output format: as set, else table on a terminal and json elsewhere."""
        return self.settings["output"] or ("table" if sys.stdout.isatty() else "json")

    @property
    def form_is_explicit(self) -> bool:
        """Tell whether somebody asked for the output format."""
        return self.settings.values["output"].explicit

    @property
    def style(self) -> Style:
        """How this command's errors are written."""
        return Style(
            json=self.form_is_explicit and self.form in ("json", "ndjson"),
            color=wants_color(self.settings["color"], sys.stderr, os.environ),
            traceback=self.flags.get("verbose", 0) > 1,
        )

    @property
    def quiet(self) -> bool:
        """Tell whether notes and progress are unwanted."""
        return bool(self.flags.get("quiet"))

    @property
    def yes(self) -> bool:
        """Tell whether destruction was agreed to beforehand."""
        return bool(self.flags.get("yes"))

    def note(self, text: str) -> None:
        """Tell the person something that is no result, on standard error, unless quiet."""
        if not self.quiet:
            self.tell(text)

    def warn_unchanged(self, note: str, **place: Any) -> None:
        """Tell that a declaration is not the one that exists and changed nothing, unless quiet (spec: W-05)."""
        remedy = "declare it with the keys it has, or define a store of another name"
        self._warn(DexError(note, remedy, kind="unchanged", **place))

    def tell(self, text: str) -> None:
        """Tell the person what belongs to an error, on standard error, also when quiet."""
        say(printable(text) + "\n")

    def close(self) -> None:
        """Close the engine if this session opened it."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None


class Host:
    """Who runs commands: the process, or the shell, which lends its engine and its own global options."""

    def __init__(self, flags: dict[str, Any] | None = None, engine: "Engine | None" = None) -> None:
        self.flags = flags or {}
        self.engine = engine
        self.style: Style | None = None

    def session(self, flags: dict[str, Any]) -> Session:
        """Make the session of one command and remember how its errors are written."""
        merged = {**self.flags, **flags}
        moved = any(merged.get(name) != self.flags.get(name) for name in _OF_ENGINE)
        session = Session(merged, None if moved else self.engine)
        self.style = session.style
        return session


class Ctx(typer.Context):
    """The context that commands get; its `obj` is their session."""

    obj: Session
