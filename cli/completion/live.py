"""Names of stores, feeds, contexts and Flows, read when they are asked for."""

import io
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from dex.cli.settings import Settings, resolve
from dex.wcl.errors import DexError

if TYPE_CHECKING:
    from dex.engine.flows.flowtype import FlowType
    from dex.engine.flows.registry import Registry


def live_names(kind: str, given: dict[str, str]) -> list[str]:
    """Give the names of a kind under the options given so far, none where that fails.

    The kinds are STORE, FEED, CONTEXT and ATTRIBUTE_STORE.
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
        from dex.engine.names import list_names

        return list_names(resolve(flags, os.environ)["data-dir"], kind.lower())
    except (DexError, OSError):
        return []


def key_names(kind: str, given: dict[str, str], store: str) -> list[str]:
    """Give the named keys of the store that the line names, each with `=` where a value or field is to follow."""
    from dex.engine.names import named_keys

    try:
        keys = named_keys(resolve(_flags(given), os.environ)["data-dir"], store)
    except (DexError, OSError):
        return []
    return [f"{key}=" for key in keys] if "=" in kind else keys


def flow_names(kind: str, given: dict[str, str], flow_id: str, word: str) -> list[str]:
    """Give names of a kind that has to do with Flows; they may begin like `word`.

    `flow_id` is the Flow that the line names so far.
    """
    from dex.engine import names

    try:
        settings = resolve(_flags(given), os.environ)
        data_dir = settings["data-dir"]
        if kind == "FLOW_ID":
            return names.flow_ids(data_dir, word)
        if kind == "RUN_ID":
            return names.run_ids(data_dir, flow_id)
        if kind == "TYPE":
            return sorted(_registry(settings).types)
        type_ = names.flow_type(data_dir, flow_id)
        known = None if type_ is None else _registry(settings).types.get(type_)
        return [] if known is None else sorted(_OF_TYPE[kind](known))
    except (DexError, OSError):
        return []


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

    with redirect_stdout(io.StringIO()):
        return default_registry(settings["flows"])


def _flags(given: dict[str, str]) -> dict[str, str]:
    names = ("--data-dir", "--config", "--context", "--flows", "--sync-config")
    return {name[2:]: given[name] for name in names if name in given}
