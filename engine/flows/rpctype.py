"""RPCType: an RPC of a Flow, checked and compiled (spec: FL-05)."""

import inspect
from dataclasses import dataclass
from typing import Any

from dex.engine.flows.access import Access
from dex.engine.flows.annotations import check_timeout
from dex.engine.flows.codec import check_type, encode, encode_as, wrong_input
from dex.engine.flows.rpc import RPC
from dex.engine.flows.schema import PersistenceSchema
from dex.wcl.errors import FlowDefinitionError, ValueMappingError
from dex.wcl.names import check_name


@dataclass(frozen=True, slots=True)
class RPCType:
    """An RPC of a FlowType."""

    name: str
    definition: RPC[Any, Any]
    access: Access

    def encode_input(self, value: Any) -> bytes:
        """Give the stored form of an input.

        Raises:
            ValueMappingError: it is not of the RPC's input type.
        """
        try:
            return encode(value, self.definition.input_type)
        except ValueMappingError as error:
            raise self.wrong_input(value, error) from error

    def wrong_input(self, value: Any, error: ValueMappingError) -> ValueMappingError:
        """Give the error for an input that is not of the RPC's input type, made of that for the value alone."""
        if not self.definition.takes_input:
            return ValueMappingError(f"RPC {self.name} takes no input", "call it without one", path="$", expected="")
        return wrong_input(error, value, self.definition.input_type, f"RPC {self.name}")

    def encode_output(self, value: Any) -> bytes:
        """Give the stored form of an output.

        Raises:
            ValueMappingError: it is not of the RPC's output type.
        """
        return encode_as(value, self.definition.output_type, f"output of RPC {self.name}")


def compile_rpcs(cls: type, schema: PersistenceSchema) -> dict[str, RPCType]:
    """Give the RPCs of a Flow's class by their names.

    Raises:
        FlowDefinitionError: two have one name, or one contradicts itself or names what the schema does not have.
    """
    rpcs: dict[str, RPCType] = {}
    for attribute in dir(cls):
        definition = inspect.getattr_static(cls, attribute)
        if not isinstance(definition, RPC):
            continue
        if definition.name in rpcs:
            raise FlowDefinitionError(f"two RPCs are named {definition.name}", "rename one", name=definition.name)
        check_name(definition.name, "RPC name")
        check_timeout(definition.options.timeout, f"RPC {definition.name}")
        check_type(definition.input_type, f"the input of RPC {definition.name}")
        check_type(definition.output_type, f"the output of RPC {definition.name}")
        rpcs[definition.name] = RPCType(definition.name, definition, _rpc_access(definition, schema))
    return rpcs


def _rpc_access(definition: RPC[Any, Any], schema: PersistenceSchema) -> Access:
    options = definition.options
    try:
        return schema.access(
            locks=(*options.lock_attributes, *options.lock_attribute_map_instances),
            maps=options.load_attribute_maps,
            instances=options.load_attribute_map_instances,
            channels=options.load_channels,
            channel_instances=options.load_channel_map_instances,
        )
    except FlowDefinitionError as error:
        raise FlowDefinitionError(
            f"RPC {definition.name} locks or loads: {error.message}", error.remedy, **error.facts
        ) from error
