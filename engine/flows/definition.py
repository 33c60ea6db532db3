"""What Attributes and Channels declare alike: a name, and the type of the values that are stored under it."""

from typing import Any, Generic, TypeVar

from dex.engine.flows import codec
from dex.engine.flows.keys import check_definition_name
from dex.wcl.errors import ValueMappingError

T = TypeVar("T")


class TypedDefinition(Generic[T]):
    """A definition of a Flow by its name."""

    def __init__(self, name: str, value_type: type[T]) -> None:
        check_definition_name(name, f"name of {with_article(type(self).__name__)}")
        self.name = name
        self.value_type: Any = value_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {codec.type_name(self.value_type)})"

    def decode(self, data: bytes) -> T:
        """Read a stored value.

        Raises:
            ValueMappingError: what is stored is not of the declared type.
        """
        try:
            return codec.decode(data, self.value_type)  # type: ignore[no-any-return]  # by the declared type
        except ValueMappingError as error:
            raise error.within(f"{type(self).__name__} {self.name}") from error

    def _encode(self, value: T) -> bytes:
        try:
            return codec.encode(value, self.value_type)
        except ValueMappingError as error:
            raise error.within(f"{type(self).__name__} {self.name}") from error


def with_article(kind: str) -> str:
    """Give `an Attribute`, `a Channel`."""
    return f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"
