"""What definitions need of the call they are used in: the narrow side of a Context."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class StoredMessage(msgspec.Struct, frozen=True):
    """A pending message of a Channel: its id and its stored value."""

    message_id: str
    data: bytes


class WorkspaceAccess(Protocol):
    """Stored values by key. `name` is the definition's, `key` is the name or that of a map's instance."""

    def read_attribute(self, name: str, key: str) -> bytes | None:
        """Give the value of this moment, or None for absent.

        Raises:
            AttributeMapNotLoadedError: the key is an instance that was not loaded (spec: FL-05).
            FlowDefinitionError: the name is not declared (spec: FL-03).
        """

    def write_attribute(self, name: str, key: str, data: bytes | None) -> None:
        """Take a new value, or None to delete.

        Raises:
            FlowDefinitionError: the name is not declared.
        """

    def instance_keys(self, name: str) -> list[str]:
        """Give the instances of a map that was loaded whole, sorted."""

    def publish(self, name: str, key: str, data: bytes) -> None:
        """Take a message for a Channel."""

    def delete_message(self, name: str, key: str, message_id: str) -> None:
        """Take the deletion of a pending message."""

    def channel_size(self, name: str, key: str) -> int:
        """Count the pending messages that this call has not deleted."""

    def pending_messages(self, name: str, key: str) -> list[StoredMessage]:
        """Give the pending messages that this call has not deleted, oldest first."""

    def consumed(self, name: str, key: str) -> Sequence[bytes]:
        """Give the messages that the wait before this execute has taken from the Channel."""


class HandlerContext(Protocol):
    """The context of a handler's call."""

    @property
    def workspace(self) -> WorkspaceAccess:
        """What the call sees and does."""
