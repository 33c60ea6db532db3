"""The persistence schema: all names that a Flow may use (spec: FL-03)."""

from collections.abc import Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from dex.engine.flows.access import Access
from dex.engine.flows.attribute import Attribute, AttributeLock, AttributeMap, AttributeMapLoad
from dex.engine.flows.channel import Channel, ChannelMap, ChannelMapLoad
from dex.engine.flows.codec import check_type
from dex.engine.flows.definition import with_article
from dex.engine.flows.keys import escape, split
from dex.wcl.errors import FlowDefinitionError
from dex.wcl.names import did_you_mean

Definition: TypeAlias = Attribute[Any] | AttributeMap[Any] | Channel[Any] | ChannelMap[Any]
LockName: TypeAlias = AttributeLock | Attribute[Any] | str
D = TypeVar("D", bound=Definition)
Plain = TypeVar("Plain", bound=Definition)
Map = TypeVar("Map", bound=Definition)


class _Names(Generic[Plain, Map]):
    """The definitions of one sort by name: plain ones, and maps whose instances are written `Map/instance`."""

    def __init__(self, definitions: tuple[Definition, ...], plain: type[Plain], map_: type[Map]) -> None:
        self.plain = _by_name(definitions, plain)
        self.maps = _by_name(definitions, map_)
        self._sort = plain.__name__
        for name in self.plain.keys() & self.maps.keys():
            raise _twice(name)

    def get(self, name: str) -> Plain | Map:
        found = self.plain.get(name) or self.maps.get(name)
        if found is None:
            raise undeclared(self._sort, name, [*self.plain, *self.maps])
        return found

    def of_key(self, key: str) -> Plain | Map:
        name, instance = split(key)
        found = self.get(name)
        sort = with_article(type(found).__name__)
        if name in self.maps and instance is None:
            raise FlowDefinitionError(f"{name} is {sort}", f"name an instance: {name}/INSTANCE", name=name)
        if name in self.plain and instance is not None:
            raise FlowDefinitionError(f"{name} is {sort} and has no instances", f"use {name} alone", name=name)
        return found

    def key(self, written: str) -> str:
        self.of_key(written)
        name, instance = split(written)
        return name if instance is None else escape(name, instance)


class PersistenceSchema:
    """Attributes, AttributeMaps, Channels and ChannelMaps by name; Attributes and their maps share their names.

    `synced` names the Attributes and maps that are synced to the Attribute Stores of a run.
    """

    def __init__(self, definitions: tuple[Definition, ...]) -> None:
        self.definitions = definitions
        self._attributes = _Names(definitions, Attribute, AttributeMap)
        self._channels = _Names(definitions, Channel, ChannelMap)
        self.attributes = self._attributes.plain
        self.attribute_maps = self._attributes.maps
        self.channels = self._channels.plain
        self.channel_maps = self._channels.maps
        self.synced = frozenset(
            name
            for name, definition in (*self.attributes.items(), *self.attribute_maps.items())
            if definition.sync_to_attribute_store
        )
        self._refuse_shared_indexes()

    @classmethod
    def of(cls, *definitions: Definition) -> "PersistenceSchema":
        """Declare what a Flow uses.

        Raises:
            FlowDefinitionError: two definitions have one name, a value type cannot be stored, or something is none.
        """
        for definition in definitions:
            if not isinstance(definition, Attribute | AttributeMap | Channel | ChannelMap):
                raise FlowDefinitionError(
                    f"{definition!r} is no Attribute, AttributeMap, Channel or ChannelMap",
                    "pass such definitions only",
                )
            check_type(definition.value_type, f"{type(definition).__name__} {definition.name}")
        return cls(definitions)

    def attribute(self, name: str) -> Attribute[Any] | AttributeMap[Any]:
        """Give an Attribute or AttributeMap by name.

        Raises:
            FlowDefinitionError: it is not declared, with the nearest name.
        """
        return self._attributes.get(name)

    def attribute_of_key(self, key: str) -> Attribute[Any] | AttributeMap[Any]:
        """Give the definition of a key: of an Attribute by its name, of an AttributeMap by `Map/instance`.

        Raises:
            FlowDefinitionError: it is not declared, or the key has an instance where it must not, or has none.
        """
        return self._attributes.of_key(key)

    def attribute_key(self, written: str) -> str:
        """Give the key that a person means by `Name` or `Map/instance`; the instance may be escaped or not.

        Raises:
            FlowDefinitionError: as `attribute_of_key`.
        """
        return self._attributes.key(written)

    def channel(self, name: str) -> Channel[Any] | ChannelMap[Any]:
        """Give a Channel or ChannelMap by name.

        Raises:
            FlowDefinitionError: it is not declared, with the nearest name.
        """
        return self._channels.get(name)

    def channel_of_key(self, key: str) -> Channel[Any] | ChannelMap[Any]:
        """Give the definition of a key: of a Channel by its name, of a ChannelMap by `Map/instance`.

        Raises:
            FlowDefinitionError: it is not declared, or the key has an instance where it must not, or has none.
        """
        return self._channels.of_key(key)

    def channel_key(self, written: str) -> str:
        """Give the key that a person means by `Name` or `Map/instance`; the instance may be escaped or not.

        Raises:
            FlowDefinitionError: as `channel_of_key`.
        """
        return self._channels.key(written)

    def access(
        self,
        *,
        locks: Iterable[LockName] = (),
        maps: Iterable[AttributeMap[Any] | str] = (),
        instances: Iterable[AttributeMapLoad] = (),
        channels: Iterable[Channel[Any] | ChannelMap[Any] | str] = (),
        channel_instances: Iterable[ChannelMapLoad] = (),
    ) -> Access:
        """Give what a declaration or invocation locks and loads, once all of it is declared here (spec: FL-05).

        Raises:
            FlowDefinitionError: something is not declared, or is of another kind.
        """
        return Access(
            frozenset(self.attribute_key(_lock_key(lock)) for lock in locks),
            frozenset(self._map(_name(name)).name for name in maps),
            frozenset(escape(self._map(load.attribute).name, load.instance) for load in instances),
            frozenset(self.channel(_name(name)).name for name in channels)
            | frozenset(self.channel_key(load.key) for load in channel_instances),
        )

    def _map(self, name: str) -> AttributeMap[Any]:
        found = self.attribute(name)
        if isinstance(found, AttributeMap):
            return found
        raise FlowDefinitionError(f"{name} is an Attribute, not an AttributeMap", "Attributes load by themselves")

    def _refuse_shared_indexes(self) -> None:
        taken: dict[str, str] = {}
        for definition in (*self.attributes.values(), *self.attribute_maps.values()):
            if definition.index is None:
                continue
            key = definition.index.index_key or definition.name
            if key in taken:
                raise FlowDefinitionError(
                    f"{taken[key]} and {definition.name} have one index key, {key}",
                    "give one of them another index_key",
                    name=definition.name,
                )
            taken[key] = definition.name


def undeclared(what: str, name: str, known: Iterable[str]) -> FlowDefinitionError:
    """Give the error for a name that the schema does not have."""
    known = sorted(known)
    remedy = did_you_mean(name, known) or "declare it in PersistenceSchema.of(…)"
    return FlowDefinitionError(f"{what} {name} is not declared", remedy, name=name, known=known)


def _by_name(definitions: tuple[Definition, ...], kind: type[D]) -> dict[str, D]:
    found: dict[str, D] = {}
    for definition in definitions:
        if isinstance(definition, kind):
            if definition.name in found:
                raise _twice(definition.name)
            found[definition.name] = definition
    return found


def _twice(name: str) -> FlowDefinitionError:
    return FlowDefinitionError(f"two definitions are named {name}", "give each its own name", name=name)


def _lock_key(lock: LockName) -> str:
    return lock.key if isinstance(lock, AttributeLock) else _name(lock)


def _name(named: Definition | str) -> str:
    """Give the name of a definition, or the name as it is."""
    return named if isinstance(named, str) else named.name
