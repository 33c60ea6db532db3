"""Attributes and AttributeMaps: the durable values of a Flow (spec: FL-03, FL-04)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from dex.engine.flows.checking import check_fields, checked
from dex.engine.flows.definition import TypedDefinition
from dex.engine.flows.handling import HandlerContext
from dex.engine.flows.keys import escape

T = TypeVar("T")


class IndexType(StrEnum):
    """How the values of an indexed Attribute are searched."""

    KEYWORD = "keyword"
    TEXT = "text"
    INT = "int"
    DOUBLE = "double"
    BOOL = "bool"
    DATETIME = "datetime"
    KEYWORD_ARRAY = "keyword_array"


@dataclass(frozen=True, slots=True)
class AttributeIndex:
    """Makes an Attribute searchable, under its own name or under `index_key`."""

    type: IndexType
    index_key: str = ""

    def __post_init__(self) -> None:
        check_fields(self, "(IndexType.KEYWORD)")


@dataclass(frozen=True, slots=True)
class AttributeLock:
    """Names an Attribute, or one instance of an AttributeMap, for a call to lock (spec: FL-07)."""

    attribute: str
    instance: str | None = None

    @property
    def key(self) -> str:
        """The key of what is locked."""
        return self.attribute if self.instance is None else escape(self.attribute, self.instance)


@dataclass(frozen=True, slots=True)
class AttributeMapLoad:
    """Names an instance of an AttributeMap for a call to load (spec: FL-05)."""

    attribute: str
    instance: str

    @property
    def key(self) -> str:
        """The key of what is loaded."""
        return escape(self.attribute, self.instance)


class _Definition(TypedDefinition[T]):
    """What Attribute and AttributeMap declare alike."""

    @checked("('Status', str, index=AttributeIndex(IndexType.KEYWORD))")
    def __init__(
        self,
        name: str,
        value_type: type[T],
        index: AttributeIndex | None = None,
        sync_to_attribute_store: bool = False,
        hard_delete_on_null: bool = False,
    ) -> None:
        super().__init__(name, value_type)
        self.index = index
        self.sync_to_attribute_store = sync_to_attribute_store
        self.hard_delete_on_null = hard_delete_on_null

    def encode(self, value: T | None) -> bytes | None:
        """Give the stored form of a value; None, which deletes, has none.

        Raises:
            ValueMappingError: the value is not of the declared type; its message names the Attribute.
        """
        return None if value is None else self._encode(value)


class Attribute(_Definition[T]):
    """One durable value. It is unset until it is set, and None unsets it.

    `index` makes it searchable, `sync_to_attribute_store` has it written to the stores that the FlowConfig names,
    and `hard_delete_on_null` allows its stored object to be erased after the run has closed.
    """

    @checked("STATUS.get(context)")
    def get(self, context: HandlerContext) -> T:
        """Give the value as this call sees it, its own writes included.

        Raises:
            KeyError: it is unset.
        """
        data = context.workspace.read_attribute(self.name, self.name)
        if data is None:
            raise KeyError(self.name)
        return self.decode(data)

    @checked("STATUS.set(context, 'paid')")
    def set(self, context: HandlerContext, value: T | None) -> None:
        """Set the value when this call commits; None deletes it.

        Raises:
            ValueMappingError: the value is not of the declared type.
        """
        context.workspace.write_attribute(self.name, self.name, self.encode(value))

    @checked("STATUS.delete(context)")
    def delete(self, context: HandlerContext) -> None:
        """Unset it when this call commits."""
        context.workspace.write_attribute(self.name, self.name, None)

    def lock(self) -> AttributeLock:
        """Name it for a call to lock."""
        return AttributeLock(self.name)


class AttributeMap(_Definition[T]):
    """Durable values by instance, each loaded, locked and stored alone and created only when set (spec: FL-04)."""

    @checked("PROFILES.get(context, 'partition-001')")
    def get(self, context: HandlerContext, instance: str) -> T:
        """Give the value of an instance as this call sees it.

        Raises:
            KeyError: the instance is unset.
            AttributeMapNotLoadedError: neither the declaration nor the call loads it (spec: FL-05).
        """
        key = escape(self.name, instance)
        data = context.workspace.read_attribute(self.name, key)
        if data is None:
            raise KeyError(key)
        return self.decode(data)

    @checked("PROFILES.set(context, 'partition-001', value)")
    def set(self, context: HandlerContext, instance: str, value: T | None) -> None:
        """Set the value of an instance when this call commits; None deletes it.

        Raises:
            ValueMappingError: the value is not of the declared type.
        """
        context.workspace.write_attribute(self.name, escape(self.name, instance), self.encode(value))

    @checked("PROFILES.delete(context, 'partition-001')")
    def delete(self, context: HandlerContext, instance: str) -> None:
        """Unset an instance when this call commits."""
        context.workspace.write_attribute(self.name, escape(self.name, instance), None)

    @checked("PROFILES.instance_keys(context)")
    def instance_keys(self, context: HandlerContext) -> list[str]:
        """Give the names of the instances that are set, sorted; the map must be loaded whole.

        Raises:
            AttributeMapNotLoadedError: it is not.
        """
        return context.workspace.instance_keys(self.name)

    @checked("PROFILES.size(context)")
    def size(self, context: HandlerContext) -> int:
        """Count the instances that are set; the map must be loaded whole.

        Raises:
            AttributeMapNotLoadedError: it is not.
        """
        return len(context.workspace.instance_keys(self.name))

    def lock(self, instance: str) -> AttributeLock:
        """Name an instance for a call to lock.

        Raises:
            InvalidCommand: it cannot be the name of one.
        """
        escape(self.name, instance)
        return AttributeLock(self.name, instance)

    def load(self, instance: str) -> AttributeMapLoad:
        """Name an instance for a call to load.

        Raises:
            InvalidCommand: it cannot be the name of one.
        """
        escape(self.name, instance)
        return AttributeMapLoad(self.name, instance)
