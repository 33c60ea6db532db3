"""Values for Flows as they are written on the command line: JSON, and assignments to attributes.

They go to the engine as JSON, which reads them by the types that the Flow declares.
"""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dex.cli.values import assignments, payload_from, value_from
from dex.wcl import jsontext
from dex.wcl.commands.base import MAX_WAIT_MS
from dex.wcl.durations import format_duration, parse_duration
from dex.wcl.errors import InputError, ValueMappingError
from dex.wcl.shown import shown


def input_from(argument: str | None, what: str = "--input") -> Any:
    """Read JSON, `@FILE` or `-`; `what` names the argument.

    Raises:
        InputError: it is not JSON, with how to write text.
    """
    return None if argument is None else read_json(payload_from(argument), f"{what} {shown(argument)}")


def read_json(text: str | bytes, what: str) -> Any:
    """Read JSON; `what` is what an error says is wrong.

    Raises:
        InputError: it is not JSON, a number is out of range, or an object has a name twice.
    """
    return jsontext.read_json(text, what, """text has its own double quotes, inside single ones: '"text"'""")


def attributes_from(arguments: list[str]) -> dict[str, Any]:
    """Read `K=text`, `K:=JSON` and `K=@FILE`, which is bytes.

    Raises:
        InputError: one is no assignment, or a name comes twice.
    """
    return {name: _edge(value) for name, value in assignments(arguments, read_json_of).items()}


def value_of(argument: str) -> Any:
    """Read a value that stands alone: text, or JSON after `:=`.

    Raises:
        InputError: the part after `:=` is not JSON.
    """
    return read_json_of(argument[2:], argument) if argument.startswith(":=") else _edge(value_from(argument))


def read_json_of(text: str, argument: str) -> Any:
    """Read the JSON part of an argument.

    Raises:
        InputError: it is not JSON.
    """
    return read_json(text, f"the value in {shown(argument)}")


@contextmanager
def typed_hint() -> Iterator[None]:
    """Say how to write what is not text where an attribute is of another type."""
    try:
        yield
    except ValueMappingError as error:
        if not error.message.startswith("Attribute "):
            raise
        remedy = "write NAME=text, NAME=@FILE for bytes, and NAME:=JSON for all else"
        if str(error.facts.get("expected")).startswith('{"bytes"'):
            remedy = "write NAME=@FILE for bytes"
        raise ValueMappingError(error.message, remedy, **error.facts) from error


def milliseconds(duration: str | None) -> int:
    """Give a duration such as `30s` in milliseconds, 0 for none.

    Raises:
        InputError: it is no duration.
    """
    return 0 if duration is None else int(parse_duration(duration) * 1000)


def wait_milliseconds(duration: str) -> int:
    """Give what `--wait` says in milliseconds.

    Raises:
        InputError: it is no duration, or longer than a command may wait.
    """
    found = milliseconds(duration)
    if found > MAX_WAIT_MS:
        raise InputError(
            f"--wait is {duration}, and up to {format_duration(MAX_WAIT_MS / 1000)} is allowed",
            "wait less and ask again",
        )
    return found


def choice(text: str, allowed: tuple[str, ...], option: str) -> Any:
    """Give the choice that a person made; `-` and `_` are the same.

    Raises:
        InputError: it is none of those allowed, with the nearest.
    """
    found = text.replace("-", "_").lower()
    if found in allowed:
        return found
    from dex.wcl.names import did_you_mean

    raise InputError(
        f"{option} {text!r} is not known", did_you_mean(text, allowed) or f"use one of {', '.join(allowed)}"
    )


def _edge(value: Any) -> Any:
    return {"bytes": b64encode(value).decode()} if isinstance(value, bytes) else value
