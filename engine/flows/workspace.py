"""Workspace: what one handler's call sees and does, before its commit (spec: FL-05, FL-06)."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from dex.engine.flows.access import Access
from dex.engine.flows.handling import StoredMessage
from dex.engine.flows.keys import split
from dex.engine.flows.schema import PersistenceSchema, undeclared
from dex.wcl.errors import AttributeMapNotLoadedError, ChannelMessageNotFoundError, FlowDefinitionError

_NOTHING: Mapping[str, bytes] = {}


class Workspace:
    """Stored values as they were when the call began, and what the call has done on top of them.

    `attributes` holds the plain Attributes that are set and the loaded instances that are set; what is loaded says
    `access`. The effects are `writes` (None deletes), `publishes` (Channel key and value), `deleted_messages`
    (Channel key and message id), `events` and `local_writes` (by name). An effect-free call leaves all empty.
    """

    def __init__(
        self,
        schema: PersistenceSchema,
        access: Access,
        attributes: Mapping[str, bytes],
        *,
        channels: Mapping[str, Sequence[StoredMessage]] | None = None,
        channel_sizes: Mapping[str, int] | None = None,
        consumed: Mapping[str, Sequence[bytes]] | None = None,
        step_locals: Mapping[str, bytes] = _NOTHING,
    ) -> None:
        self.schema = schema
        self._access = access
        self._attributes = attributes
        self._channels = channels or {}
        self._channel_sizes = channel_sizes or {}
        self._consumed = consumed or {}
        self._step_locals = step_locals
        self.writes: dict[str, bytes | None] = {}
        self.publishes: list[tuple[str, bytes]] = []
        self.deleted_messages: list[tuple[str, str]] = []
        self.events: list[tuple[str, bytes]] = []
        self.local_writes: dict[str, bytes] = {}

    @property
    def has_effects(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.writes or self.publishes or self.deleted_messages or self.events or self.local_writes)

    def read_attribute(self, name: str, key: str) -> bytes | None:
        """Give the value of this moment, or None for absent.

        Raises:
            AttributeMapNotLoadedError: the key is an instance that was not loaded.
            FlowDefinitionError: the name is not declared.
        """
        self._check_attribute(name, key)
        if key in self.writes:
            return self.writes[key]
        if key != name and not self._is_loaded(name, key):
            raise _not_loaded(name, key)
        return self._attributes.get(key)

    def write_attribute(self, name: str, key: str, data: bytes | None) -> None:
        """Take a new value, or None to delete; what equals the loaded value is no write.

        Raises:
            FlowDefinitionError: the name is not declared.
        """
        self._check_attribute(name, key)
        if (key == name or self._is_loaded(name, key)) and self._attributes.get(key) == data:
            self.writes.pop(key, None)
        else:
            self.writes[key] = data

    def instance_keys(self, name: str) -> list[str]:
        """Give the instances of a map that was loaded whole, sorted.

        Raises:
            AttributeMapNotLoadedError: it was not.
            FlowDefinitionError: the name is not declared.
        """
        if name not in self.schema.attribute_maps:
            self._refuse_attribute(name)
        if name not in self._access.maps:
            raise _not_loaded(name, None)
        prefix = name + "/"
        keys = {key for key in self._attributes if key.startswith(prefix)}
        for key, data in self.writes.items():
            if key.startswith(prefix):
                (keys.discard if data is None else keys.add)(key)
        return sorted(split(key)[1] or "" for key in keys)

    def publish(self, name: str, key: str, data: bytes) -> None:
        """Take a message for a Channel.

        Raises:
            FlowDefinitionError: the name is not declared.
        """
        self._check_channel(name, key)
        self.publishes.append((key, data))

    def delete_message(self, name: str, key: str, message_id: str) -> None:
        """Take the deletion of a pending message; whether one exists is checked here only if they are loaded.

        Raises:
            ChannelMessageNotFoundError: there is none with this id, or this call has deleted it.
            FlowDefinitionError: the name is not declared.
        """
        self._check_channel(name, key)
        known = not self._is_channel_loaded(name, key) or any(
            message.message_id == message_id for message in self._channels.get(key, ())
        )
        if not known or (key, message_id) in self.deleted_messages:
            raise ChannelMessageNotFoundError(
                f"Channel {key} has no pending message {message_id}",
                "list the pending messages",
                channel=key,
                message_id=message_id,
            )
        self.deleted_messages.append((key, message_id))

    def channel_size(self, name: str, key: str) -> int:
        """Count the pending messages that this call has not deleted.

        Raises:
            FlowDefinitionError: the name is not declared.
        """
        self._check_channel(name, key)
        loaded = self._channels.get(key)
        size = len(loaded) if loaded is not None else self._channel_sizes.get(key, 0)
        return size - sum(deleted == key for deleted, _ in self.deleted_messages)

    def pending_messages(self, name: str, key: str) -> list[StoredMessage]:
        """Give the pending messages that this call has not deleted, oldest first.

        Raises:
            FlowDefinitionError: the name is not declared, or its messages were not loaded.
        """
        self._check_channel(name, key)
        if not self._is_channel_loaded(name, key):
            raise FlowDefinitionError(
                f"the messages of Channel {key} are not loaded", "name it in load_channels", name=name
            )
        return [
            message for message in self._channels.get(key, ()) if (key, message.message_id) not in self.deleted_messages
        ]

    def consumed(self, name: str, key: str) -> Sequence[bytes]:
        """Give the messages that the wait before this execute has taken from the Channel.

        Raises:
            FlowDefinitionError: the name is not declared.
        """
        self._check_channel(name, key)
        return self._consumed.get(key, ())

    def record_event(self, name: str, data: bytes) -> None:
        """Take an event for the history."""
        self.events.append((name, data))

    def read_local(self, name: str) -> bytes | None:
        """Give a value that this Step execution keeps, or None for absent."""
        return self.local_writes.get(name) or self._step_locals.get(name)

    def write_local(self, name: str, data: bytes) -> None:
        """Take a value for this Step execution to keep."""
        self.local_writes[name] = data

    def _is_loaded(self, name: str, key: str) -> bool:
        return key in self._access.instances or name in self._access.maps

    def _is_channel_loaded(self, name: str, key: str) -> bool:
        return key in self._access.channels or name in self._access.channels

    def _check_attribute(self, name: str, key: str) -> None:
        if name not in (self.schema.attributes if key == name else self.schema.attribute_maps):
            self._refuse_attribute(name)

    def _refuse_attribute(self, name: str) -> NoReturn:
        raise undeclared("Attribute", name, [*self.schema.attributes, *self.schema.attribute_maps])

    def _check_channel(self, name: str, key: str) -> None:
        if name not in (self.schema.channels if key == name else self.schema.channel_maps):
            raise undeclared("Channel", name, [*self.schema.channels, *self.schema.channel_maps])


def _not_loaded(name: str, key: str | None) -> AttributeMapNotLoadedError:
    if key is None:
        return AttributeMapNotLoadedError(
            f"AttributeMap {name} is not loaded as a whole",
            "name it in load_attribute_maps",
            attribute_map=name,
            instance=None,
        )
    return AttributeMapNotLoadedError(
        f"{key} is not loaded",
        "name the instance in load_attribute_map_instances of the RPC or the invocation; at the shell, in --load",
        attribute_map=name,
        instance=split(key)[1],
    )
