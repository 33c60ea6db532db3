"""Registry: the Flow types that this process can run, from code and from `--flows` (spec: FL-17)."""

from typing import Any

from dex.engine.flows.flow import Flow
from dex.engine.flows.flowtype import FlowType
from dex.engine.flows.source import fault, flows_of
from dex.wcl.errors import DexError, FlowDefinitionError
from dex.wcl.names import did_you_mean

_UNKNOWN = "name the file that defines it with --flows; a program passes the Flow to client.register(…)"
_UNKNOWN_HERE = "it is the server that has to know it: start `dex serve` with --flows and the file that defines it"


class Registry:
    """Flow types by name. `problems` are the errors of the sources that could not be loaded.

    One that `is_served` is that of a server: who asks cannot make a type known to it.
    """

    def __init__(self) -> None:
        self.is_served = False
        self.types: dict[str, FlowType] = {}
        self.problems: list[DexError] = []

    def register(self, target: Flow[Any] | type[Flow[Any]]) -> FlowType:
        """Add a Flow by its class, or by an instance where the class takes arguments; again is fine.

        Raises:
            FlowDefinitionError: it contradicts itself, or another Flow has its name.
        """
        if isinstance(target, Flow):
            known = self.types.get(target.get_flow_type())
            if known is not None and _alike(known.flow, target):
                return known  # every call of a client comes by here, and compiling takes a millisecond
        compiled = FlowType.of(target)
        known = self.types.get(compiled.name)
        if known is not None and type(known.flow) is not type(compiled.flow):
            raise FlowDefinitionError(
                f"two Flows have the type {compiled.name}: {_home(known)} and {_home(compiled)}",
                "override get_flow_type in one of them",
                flow_type=compiled.name,
            )
        self.types[compiled.name] = compiled
        return compiled

    def get(self, name: str) -> FlowType:
        """Give a Flow by its type.

        Raises:
            FlowDefinitionError: there is none, with the nearest name, and what could not be loaded.
        """
        if name in self.types:
            return self.types[name]
        remedy = did_you_mean(name, self.types) or (_UNKNOWN_HERE if self.is_served else _UNKNOWN)
        if self.problems:
            remedy = f"{remedy}; not loaded: {self.problems[0].message}"
        raise FlowDefinitionError(f"there is no Flow type {name}", remedy, flow_type=name, known=sorted(self.types))

    def load(self, source: str) -> list[FlowType]:
        """Add the Flows of `path/to/file.py`, `module` or `module:attr`; what fails goes to `problems` (spec: FL-17).

        One Flow's error takes neither the others of its file down nor those of other sources.
        """
        try:
            found = flows_of(source)
        except FlowDefinitionError as error:
            self.problems.append(error)
            return []
        loaded = []
        for target in found:
            try:
                loaded.append(self.register(target))
            except DexError as error:
                self.problems.append(error)
            except Exception as error:  # noqa: BLE001  # get_steps and its like may raise anything
                self.problems.append(fault(error, source))
        return loaded


def _alike(known: Flow[Any], target: Flow[Any]) -> bool:
    """Tell whether two Flows are one, or instances of one class without any state of their own."""
    return known is target or (type(known) is type(target) and not vars(known) and not vars(target))


def _home(compiled: FlowType) -> str:
    kind = type(compiled.flow)
    return f"{kind.__module__}.{kind.__qualname__}"
