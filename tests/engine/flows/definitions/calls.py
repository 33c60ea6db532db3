"""Handlers' calls for tests: a context over what is stored."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dex import Context, PersistenceSchema
from dex.engine.flows.access import Access
from dex.engine.flows.codec import encode
from dex.engine.flows.handling import StoredMessage
from dex.engine.flows.workspace import Workspace

BEGAN = datetime(2026, 1, 2, tzinfo=UTC)


def call(
    schema: PersistenceSchema,
    stored: Mapping[str, Any] | None = None,
    *,
    access: Access | None = None,
    channels: Mapping[str, Sequence[Any]] | None = None,
    consumed: Mapping[str, Sequence[Any]] | None = None,
    **facts: Any,
) -> Context:
    """Begin a call over values as Python has them; the messages of `channels` get the ids m0, m1, …"""
    messages = {
        key: [StoredMessage(f"m{number}", encode(value)) for number, value in enumerate(values)]
        for key, values in (channels or {}).items()
    }
    workspace = Workspace(
        schema,
        access or Access(),
        {key: encode(value) for key, value in (stored or {}).items()},
        channels={key: found for key, found in messages.items() if access and key in access.channels},
        channel_sizes={key: len(found) for key, found in messages.items()},
        consumed={key: [encode(value) for value in values] for key, values in (consumed or {}).items()},
    )
    return Context(workspace, flow_id="f1", run_id="r1", first_attempt_at=BEGAN, **facts)
