"""Keys of Attributes and Channels: the name itself, or `Map/instance` with the instance escaped (spec: FL-04)."""

from typing import Any

from dex.wcl.errors import InvalidCommand
from dex.wcl.names import check_name

MAX_INSTANCE_BYTES = 1024


def escape(name: str, instance: str) -> str:
    """Give the key of a map's instance: `escape("Map", "item/7")` is `Map/item%2F7`.

    Raises:
        InvalidCommand: the instance is not text of 1 to 1024 bytes.
    """
    if instance.__class__ is not str or not instance or not instance.isascii() or len(instance) > MAX_INSTANCE_BYTES:
        _check_instance(name, instance)
    if "%" in instance or "/" in instance:
        instance = instance.replace("%", "%25").replace("/", "%2F")
    return f"{name}/{instance}"


def split(key: str) -> tuple[str, str | None]:
    """Give the name and the instance of a key, None where the key is a plain name."""
    name, slash, instance = key.partition("/")
    return (name, instance.replace("%2F", "/").replace("%25", "%")) if slash else (key, None)


def check_definition_name(name: Any, what: str) -> None:
    """Refuse a name of an Attribute, Channel or map that is no name, or has the slash that begins an instance.

    Raises:
        InvalidCommand: with fact `name`.
    """
    check_name(name, what)
    if "/" in name:
        raise InvalidCommand(f"the {what} {name!r} has a slash", "choose another name", name=name)


def _check_instance(name: str, instance: Any) -> None:
    if not isinstance(instance, str) or not instance:
        raise InvalidCommand(
            f"an instance of {name} is named by text, not by {instance!r}", "pass a name such as partition-001"
        )
    try:
        size = len(instance.encode())
    except UnicodeEncodeError as error:
        raise InvalidCommand(f"the instance of {name} has a lone surrogate", "pass Unicode text") from error
    if size > MAX_INSTANCE_BYTES:
        raise InvalidCommand(
            f"the instance of {name} has {size} bytes, and {MAX_INSTANCE_BYTES} is the limit", "shorten it"
        )
