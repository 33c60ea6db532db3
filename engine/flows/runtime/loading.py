"""What a handler sees: loaded from one snapshot, with the versions that its locks are guarded by."""

import sqlite3
from typing import Any, NamedTuple

import msgspec

from dex.engine.flows.access import Access
from dex.engine.flows.flowtype import FlowType
from dex.engine.flows.handling import StoredMessage
from dex.engine.flows.state import attributes, channels
from dex.engine.flows.state.steps import Step
from dex.engine.flows.state.waits import decode_met
from dex.engine.flows.workspace import Workspace

_decode_locals = msgspec.msgpack.Decoder(dict[Any, bytes]).decode


class Loaded(NamedTuple):
    """A workspace for one call, and the version of each locked attribute, 0 where it is unset."""

    workspace: Workspace
    guard: list[tuple[str, int]]


def load(connection: sqlite3.Connection, run: int, flow_type: FlowType, access: Access, step: Step | None) -> Loaded:
    """Load what a call of a handler of `flow_type` may read (spec: FL-05); `step` is the execution it belongs to."""
    schema = flow_type.schema
    stored = attributes.load(connection, run, {*schema.attributes, *access.instances})
    for name in access.maps:
        stored.update(attributes.load_all(connection, run, f"{name}/"))
    versions = {key: value.version for key, value in stored.items()}
    unseen = [key for key in access.locks if key not in versions]
    versions.update(attributes.versions(connection, run, unseen))
    sizes = channels.sizes(connection, run) if schema.channels or schema.channel_maps else {}
    met = decode_met(step.met) if step is not None and step.met is not None else None
    workspace = Workspace(
        schema,
        access,
        {key: value.data for key, value in stored.items()},
        channels={key: _messages(connection, run, key) for key in _channel_keys(access, sizes)},
        channel_sizes=sizes,
        consumed={} if met is None else {key: channels.data(connection, ids) for key, ids in met.messages.items()},
        step_locals={} if step is None or step.local is None else _decode_locals(step.local),
    )
    return Loaded(workspace, [(key, versions.get(key, 0)) for key in sorted(access.locks)])


def _channel_keys(access: Access, sizes: dict[str, int]) -> list[str]:
    """Give the keys of all Channels whose messages a call loads: those named, and all instances of a map that is."""
    of_maps = [key for key in sizes if key.partition("/")[0] in access.channels]
    return [*dict.fromkeys([*access.channels, *of_maps])]


def _messages(connection: sqlite3.Connection, run: int, key: str) -> list[StoredMessage]:
    return [StoredMessage(str(message.id), message.data) for message in channels.pending(connection, run, key)]
