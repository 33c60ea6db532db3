"""Channels and ChannelMaps: queues of messages to a Flow, which its Steps wait for (spec: FL-08, FL-09)."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from dex.engine.flows.checking import checked
from dex.engine.flows.definition import TypedDefinition
from dex.engine.flows.handling import HandlerContext
from dex.engine.flows.keys import escape
from dex.engine.flows.wait import ChannelCondition

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChannelMessage(Generic[T]):
    """A pending message."""

    message_id: str
    value: T


@dataclass(frozen=True, slots=True)
class ChannelMapLoad:
    """Names an instance of a ChannelMap for a call to load."""

    channel: str
    instance: str

    @property
    def key(self) -> str:
        """The key of what is loaded."""
        return escape(self.channel, self.instance)


class _Queue(TypedDefinition[T]):
    """One queue by its key, which a Channel is and a ChannelMap has many of."""

    @checked("('Payments', int)")
    def __init__(self, name: str, value_type: type[T]) -> None:
        super().__init__(name, value_type)

    def encode(self, value: T) -> bytes:
        """Give the stored form of a message.

        Raises:
            ValueMappingError: the value is not of the declared type; its message names the Channel.
        """
        return self._encode(value)

    def _pending(self, context: HandlerContext, key: str) -> list[ChannelMessage[T]]:
        messages = context.workspace.pending_messages(self.name, key)
        return [ChannelMessage(message.message_id, self.decode(message.data)) for message in messages]

    def _results(self, context: HandlerContext, key: str) -> list[T]:
        return [self.decode(data) for data in context.workspace.consumed(self.name, key)]


class Channel(_Queue[T]):
    """One queue of messages.

    What a handler reads of it is what was committed before its call, less what the call deletes; its own messages
    appear with its commit.
    """

    @checked("PAYMENTS.publish(context, 400)")
    def publish(self, context: HandlerContext, value: T) -> None:
        """Append a message when this call commits.

        Raises:
            ValueMappingError: the value is not of the declared type.
        """
        context.workspace.publish(self.name, self.name, self.encode(value))

    @checked("PAYMENTS.delete(context, message_id)")
    def delete(self, context: HandlerContext, message_id: str) -> None:
        """Delete a pending message when this call commits.

        Raises:
            ChannelMessageNotFoundError: there is none with this id.
        """
        context.workspace.delete_message(self.name, self.name, message_id)

    @checked("PAYMENTS.size(context)")
    def size(self, context: HandlerContext) -> int:
        """Count the pending messages."""
        return context.workspace.channel_size(self.name, self.name)

    @checked("PAYMENTS.pending_messages(context)")
    def pending_messages(self, context: HandlerContext) -> list[ChannelMessage[T]]:
        """Give the pending messages, oldest first; the declaration must load the Channel.

        Raises:
            FlowDefinitionError: it does not.
        """
        return self._pending(context, self.name)

    @checked("PAYMENTS.results(context)")
    def results(self, context: HandlerContext) -> list[T]:
        """Give the messages that the wait before this execute has taken, oldest first."""
        return self._results(context, self.name)

    @checked("PAYMENTS.for_one('paid')")
    def for_one(self, condition_id: str = "") -> ChannelCondition:
        """Wait for one message and take it."""
        return ChannelCondition(self.name, 1, 1, condition_id)

    @checked("PAYMENTS.for_n(3, 'paid')")
    def for_n(self, count: int, condition_id: str = "") -> ChannelCondition:
        """Wait for `count` messages and take so many."""
        return ChannelCondition(self.name, count, count, condition_id)

    @checked("PAYMENTS.at_least(3, 'paid')")
    def at_least(self, minimum: int, condition_id: str = "") -> ChannelCondition:
        """Wait for `minimum` messages and take all there are."""
        return ChannelCondition(self.name, minimum, None, condition_id)

    @checked("PAYMENTS.at_most(3, 'paid')")
    def at_most(self, maximum: int, condition_id: str = "") -> ChannelCondition:
        """Wait for one message and take up to `maximum`."""
        return ChannelCondition(self.name, 1, maximum, condition_id)

    @checked("PAYMENTS.for_range(1, 3, 'paid')")
    def for_range(self, minimum: int, maximum: int, condition_id: str = "") -> ChannelCondition:
        """Wait for `minimum` messages and take up to `maximum`."""
        return ChannelCondition(self.name, minimum, maximum, condition_id)


class ChannelMap(_Queue[T]):
    """Queues by instance, created by their first message; each works as a Channel."""

    @checked("PAYMENTS.publish(context, 'alice', 400)")
    def publish(self, context: HandlerContext, instance: str, value: T) -> None:
        """Append a message when this call commits.

        Raises:
            ValueMappingError: the value is not of the declared type.
        """
        context.workspace.publish(self.name, escape(self.name, instance), self.encode(value))

    @checked("PAYMENTS.delete(context, 'alice', message_id)")
    def delete(self, context: HandlerContext, instance: str, message_id: str) -> None:
        """Delete a pending message when this call commits.

        Raises:
            ChannelMessageNotFoundError: there is none with this id.
        """
        context.workspace.delete_message(self.name, escape(self.name, instance), message_id)

    @checked("PAYMENTS.size(context, 'alice')")
    def size(self, context: HandlerContext, instance: str) -> int:
        """Count the pending messages of an instance."""
        return context.workspace.channel_size(self.name, escape(self.name, instance))

    @checked("PAYMENTS.pending_messages(context, 'alice')")
    def pending_messages(self, context: HandlerContext, instance: str) -> list[ChannelMessage[T]]:
        """Give the pending messages of an instance, oldest first; the declaration or call must load it.

        Raises:
            FlowDefinitionError: neither does.
        """
        return self._pending(context, escape(self.name, instance))

    @checked("PAYMENTS.results(context, 'alice')")
    def results(self, context: HandlerContext, instance: str) -> list[T]:
        """Give the messages that the wait before this execute has taken from an instance, oldest first."""
        return self._results(context, escape(self.name, instance))

    def load(self, instance: str) -> ChannelMapLoad:
        """Name an instance for a call to load."""
        escape(self.name, instance)
        return ChannelMapLoad(self.name, instance)

    @checked("PAYMENTS.for_one('alice', 'paid')")
    def for_one(self, instance: str, condition_id: str = "") -> ChannelCondition:
        """Wait for one message and take it."""
        return ChannelCondition(escape(self.name, instance), 1, 1, condition_id)

    @checked("PAYMENTS.for_n('alice', 3, 'paid')")
    def for_n(self, instance: str, count: int, condition_id: str = "") -> ChannelCondition:
        """Wait for `count` messages and take so many."""
        return ChannelCondition(escape(self.name, instance), count, count, condition_id)

    @checked("PAYMENTS.at_least('alice', 3, 'paid')")
    def at_least(self, instance: str, minimum: int, condition_id: str = "") -> ChannelCondition:
        """Wait for `minimum` messages and take all there are."""
        return ChannelCondition(escape(self.name, instance), minimum, None, condition_id)

    @checked("PAYMENTS.at_most('alice', 3, 'paid')")
    def at_most(self, instance: str, maximum: int, condition_id: str = "") -> ChannelCondition:
        """Wait for one message and take up to `maximum`."""
        return ChannelCondition(escape(self.name, instance), 1, maximum, condition_id)

    @checked("PAYMENTS.for_range('alice', 1, 3, 'paid')")
    def for_range(self, instance: str, minimum: int, maximum: int, condition_id: str = "") -> ChannelCondition:
        """Wait for `minimum` messages and take up to `maximum`."""
        return ChannelCondition(escape(self.name, instance), minimum, maximum, condition_id)
