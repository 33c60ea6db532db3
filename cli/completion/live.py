"""Names of stores, feeds, contexts, nodes and Flows, read when they are asked for."""

import io
import os
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

from dex.cli.settings import Settings, chosen_endpoint, resolve
from dex.wcl.errors import DexError

if TYPE_CHECKING:
    from dex.engine.flows.flowtype import FlowType
    from dex.engine.flows.registry import Registry

# Who types does not wait for a server that hangs.
_PATIENCE_SECONDS = 2.0


def live_names(kind: str, given: dict[str, str]) -> list[str]:
    """Give the names of a kind under the options given so far, none where that fails.

    The kinds are STORE, FEED, CONTEXT, ATTRIBUTE_STORE and NODE.
    """
    flags = _flags(given)
    try:
        if kind == "CONTEXT":
            flags.pop("context", None)
            environ = {name: value for name, value in os.environ.items() if name != "DEX_CONTEXT"}
            return list(resolve(flags, environ).config.get("contexts", {}))
        if kind == "ATTRIBUTE_STORE":
            from dex.engine.sync.storenames import StoreNames

            return list(StoreNames(resolve(flags, os.environ)["sync-config"]))
        names, target = _names(resolve(flags, os.environ))
        if kind == "NODE":
            return list(names.node_names(target))
        return list(names.list_names(target, kind.lower()))
    except (DexError, OSError):
        return []


def key_names(kind: str, given: dict[str, str], store: str) -> list[str]:
    """Give the named keys of the store that the line names, each with `=` where a value or field is to follow."""
    try:
        names, target = _names(resolve(_flags(given), os.environ))
        keys = list(names.named_keys(target, store))
    except (DexError, OSError):
        return []
    return [f"{key}=" for key in keys] if "=" in kind else keys


def flow_names(kind: str, given: dict[str, str], flow_id: str, word: str) -> list[str]:
    """Give names of a kind that has to do with Flows; they may begin like `word`.

    `flow_id` is the Flow that the line names so far.
    """
    try:
        settings = resolve(_flags(given), os.environ)
        if kind == "TYPE":
            return sorted(_registry(settings).types)
        names, target = _names(settings)
        if kind == "FLOW_ID":
            return list(names.flow_ids(target, word))
        if kind == "RUN_ID":
            return list(names.run_ids(target, flow_id))
        type_ = names.flow_type(target, flow_id)
        known = None if type_ is None else _registry(settings).types.get(type_)
        return [] if known is None else sorted(_OF_TYPE[kind](known))
    except (DexError, OSError):
        return []


def _names(settings: Settings) -> tuple[Any, Any]:
    """Give the functions that read names, and what they read them from: a directory, or a server."""
    endpoint = chosen_endpoint(settings)
    if endpoint is None:
        from dex.engine import names

        return names, settings["data-dir"]
    from dex.engine.remote import names as remote_names
    from dex.engine.remote.endpoints import parse_endpoints
    from dex.engine.remote.engine import RemoteEngine

    return remote_names, RemoteEngine(parse_endpoints(endpoint), token=settings["token"], timeout=_PATIENCE_SECONDS)


def _attributes(known: "FlowType") -> list[str]:
    return [*known.schema.attributes, *(f"{name}/" for name in known.schema.attribute_maps)]


_OF_TYPE: "dict[str, Callable[[FlowType], list[str]]]" = {
    "RPC": lambda known: list(known.rpcs),
    "STEP": lambda known: list(known.steps),
    "ATTRIBUTE": _attributes,
    "ATTRIBUTE=V": lambda known: [f"{name}=" for name in known.schema.attributes],
    "CHANNEL": lambda known: [*known.schema.channels, *(f"{name}/" for name in known.schema.channel_maps)],
}
"""Kinds of names that the definition of a Flow has."""


def _registry(settings: Settings) -> "Registry":
    """Load the Flow types; what their files print is no candidate."""
    from dex.engine.flows.builtin import default_registry

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return default_registry(settings["flows"])


def _flags(given: dict[str, str]) -> dict[str, str]:
    names = ("--data-dir", "--endpoint", "--token", "--config", "--context", "--flows", "--sync-config")
    return {name[2:]: given[name] for name in names if name in given}
